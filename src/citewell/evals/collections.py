"""Public test collections in BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CollectionDocument:
    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class TestCollection:
    """A collection with the queries that have judgements."""

    name: str
    documents: tuple[CollectionDocument, ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]


def is_collection(folder: Path) -> bool:
    return (folder / "corpus.jsonl").is_file() and (folder / "qrels" / "test.tsv").is_file()


def load_collection(folder: Path) -> TestCollection:
    """Read a collection; queries without a relevant document are left out, as the measures ask."""
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query_id, doc_id, grade = line.split("\t")[:3]
        if int(grade) > 0:
            judgements.setdefault(query_id, {})[doc_id] = int(grade)
    queries = {
        entry["_id"]: entry["text"] for entry in read_jsonl(folder / "queries.jsonl") if entry["_id"] in judgements
    }
    documents = tuple(
        CollectionDocument(entry["_id"], entry.get("title") or "", entry["text"])
        for entry in read_jsonl(folder / "corpus.jsonl")
    )
    return TestCollection(folder.name, documents, queries, {key: judgements[key] for key in queries})


def read_jsonl(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def write_notes(collection: TestCollection, folder: Path) -> dict[str, str]:
    """Write each document as a Markdown note; which document each file holds."""
    names: dict[str, str] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate(collection.documents):
        name = f"{number:06d}.md"
        title = json.dumps(document.title or "untitled", ensure_ascii=False)
        (folder / name).write_text(f"---\ntitle: {title}\n---\n{document.text}\n", "utf-8")
        names[name] = document.doc_id
    return names
