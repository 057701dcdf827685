"""Public test collections in BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

A collection is held in memory as a whole, so its size is bounded; what is not as the layout says is refused by the name
of its file and line. Queries without a relevant document are left out, as the measures ask.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from citewell.domain.errors import BadInput

MAX_DOCUMENTS = 2_000_000
MAX_LINE_BYTES = 32_000_000
_A_FOLDER = 1_000  # notes in one folder: very large ones are slow to list on some file systems
_LAYOUT = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
_WANTED = f"A collection has {', '.join(_LAYOUT)}."


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgedCollection:
    """A collection with the queries that have judgements."""

    name: str
    documents: tuple[CollectionDocument, ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]


def is_collection(folder: Path) -> bool:
    return (folder / "corpus.jsonl").is_file() and (folder / "qrels" / "test.tsv").is_file()


def find_collections(folder: Path) -> list[Path]:
    """The collections a user named: the folder itself, or every collection directly in it."""
    if not folder.is_dir():
        reason = "is not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {reason}.", fix="Name the folder of a collection, or a folder of them.")
    if any((folder / name).exists() for name in _LAYOUT):
        return [folder]
    try:
        found = sorted(path for path in folder.iterdir() if is_collection(path))
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror}.", fix="Check its permissions.") from None
    if not found:
        raise BadInput(f"{folder} holds no collection.", fix=_WANTED)
    return found


def load_collection(folder: Path) -> JudgedCollection:
    """Read a collection; queries without a relevant document are left out."""
    missing = [name for name in _LAYOUT if not (folder / name).is_file()]
    if missing:
        raise BadInput(
            f"{folder.name} has no {' and no '.join(missing)}.", fix=f"A collection has {', '.join(_LAYOUT)}."
        )
    judgements = _read_judgements(folder / "qrels" / "test.tsv")
    queries = {query_id: text for query_id, _, text in _read_texts(folder / "queries.jsonl") if query_id in judgements}
    if not queries:
        raise BadInput(
            f"{folder.name} has no query with a relevant document.",
            fix="The first column of qrels/test.tsv names ids of queries.jsonl; the third is above 0 where relevant.",
        )
    documents = tuple(CollectionDocument(*fields) for fields in _read_texts(folder / "corpus.jsonl"))
    if not documents:
        raise BadInput(f"{folder.name}/corpus.jsonl is empty.", fix="It has one JSON object a line: _id, title, text.")
    return JudgedCollection(folder.name, documents, queries, {key: judgements[key] for key in queries})


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = line.split("\t")
        if number == 1 and len(fields) >= 3 and not _is_grade(fields[2]):
            continue  # the header
        if len(fields) < 3 or not _is_grade(fields[2]):
            raise _bad_line(path, number, "is not 'query-id, tab, corpus-id, tab, score'")
        if int(fields[2]) > 0:
            judgements.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    if not judgements:
        raise BadInput(
            f"{path.parent.parent.name}/qrels/test.tsv judges no document relevant.",
            fix="It has one line a judgement: query-id, tab, corpus-id, tab, score.",
        )
    return judgements


def _is_grade(field: str) -> bool:
    digits = field.strip().removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 6


def _read_texts(path: Path) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of each line."""
    for count, (number, line) in enumerate(_lines(path)):
        entry = _object(path, number, line)
        identifier, text = entry.get("_id"), entry.get("text")
        title = entry.get("title") or ""
        if isinstance(identifier, bool) or not isinstance(identifier, str | int) or identifier == "":
            raise _bad_line(path, number, "has no '_id'")
        if not isinstance(text, str) or not isinstance(title, str):
            raise _bad_line(path, number, "has no 'text', or one that is not a string")
        if count == MAX_DOCUMENTS:
            raise BadInput(
                f"{path.name} has more than {MAX_DOCUMENTS:,} lines, which is more than is measured in one run.",
                fix="Measure a part of it.",
            )
        yield str(identifier), title, text


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise _bad_line(path, number, f"is not JSON: {error}") from None
    except RecursionError:
        raise _bad_line(path, number, "is nested too deeply") from None
    if not isinstance(entry, dict):
        raise _bad_line(path, number, "is not a JSON object")
    return entry


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers; one of them at a time."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise _bad_line(path, number, f"is longer than {MAX_LINE_BYTES:,} bytes")
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    raise _bad_line(path, number, "is not UTF-8") from None
                if text.strip():
                    yield number, text
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.", fix="Check its permissions.") from None


def _bad_line(path: Path, number: int, what: str) -> BadInput:
    return BadInput(f"{path.name} line {number} {what}.", fix="Fix or remove that line.")


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Each line of a file of JSON objects."""
    for number, line in _lines(path):
        yield _object(path, number, line)


def write_notes(collection: JudgedCollection, folder: Path) -> dict[str, str]:
    """Write each document as a Markdown note; which document each file holds."""
    names: dict[str, str] = {}
    for number, document in enumerate(collection.documents):
        name = f"{number // _A_FOLDER:04d}/{number:07d}.md"
        if number % _A_FOLDER == 0:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        title = json.dumps(document.title or "untitled", ensure_ascii=False)
        content = f"---\ntitle: {title}\n---\n{document.text}\n"
        # A lone surrogate, which JSON can name, has no place in a file.
        (folder / name).write_bytes(content.encode("utf-8", "replace"))
        names[name] = document.doc_id
    return names


def thinned(collection: JudgedCollection, most: int) -> JudgedCollection:
    """The same documents with at most so many queries, evenly drawn."""
    ids = sorted(collection.queries)
    kept = ids[:: max(1, -(-len(ids) // most))]
    return replace(collection, queries={query_id: collection.queries[query_id] for query_id in kept})
