"""The large set: real documentation pages (MDN, CC-BY-SA 2.5) in chunks, whole, or replicated with noise."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from citewell.evals.bench import CollectionDocument, JudgedCollection, read_jsonl, write_notes

CHANGED_WORDS = 0.15  # of each replicate
_SHARD = 1_000  # documents in one file of JSON lines


class Mdn:
    """The chunks and questions in a folder."""

    def __init__(self, folder: Path) -> None:
        self._chunks = folder / "mdn_chunks.jsonl.gz"
        self._questions = folder / "mdn_questions.jsonl"

    @property
    def is_there(self) -> bool:
        return self._chunks.is_file() and self._questions.is_file()

    def questions(self, count: int = 300) -> list[str]:
        """Questions, evenly spread."""
        texts = [str(entry["text"]) for entry in read_jsonl(self._questions)]
        return texts[:: max(1, len(texts) // count)][:count]

    def chunks(self) -> Iterator[CollectionDocument]:
        with gzip.open(self._chunks, "rt", encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                yield CollectionDocument(entry["_id"], entry["title"], entry["text"])

    def pages(self) -> list[CollectionDocument]:
        """Whole pages: the chunks of each put together."""
        texts: defaultdict[str, list[str]] = defaultdict(list)
        titles: dict[str, str] = {}
        for chunk in self.chunks():
            page = chunk.doc_id.partition("#")[0]
            texts[page].append(chunk.text)
            titles.setdefault(page, chunk.title.partition(" > ")[0])
        return [CollectionDocument(page, titles[page], "\n\n".join(parts)) for page, parts in texts.items()]

    def spread(self, count: int) -> list[CollectionDocument]:
        """This many chunks, evenly spread, so that sets of every size are alike."""
        chunks = list(self.chunks())
        return [chunks[index * len(chunks) // count] for index in range(min(count, len(chunks)))]

    def replicated(self, count: int) -> Iterator[CollectionDocument]:
        """The chunks, then copies with some words exchanged, until there are this many. Always the same."""
        chunks = list(self.chunks())
        rng = random.Random(20_260_101)
        vocabulary = [word for chunk in chunks[::50] for word in chunk.text.split()]
        for number in range(count):
            chunk = chunks[number % len(chunks)]
            if number < len(chunks):
                yield chunk
                continue
            words = chunk.text.split(" ")
            for _ in range(max(1, int(len(words) * CHANGED_WORDS))):
                words[rng.randrange(len(words))] = vocabulary[rng.randrange(len(vocabulary))]
            yield CollectionDocument(f"{chunk.doc_id}~{number // len(chunks)}", chunk.title, " ".join(words))


def write_documents(documents: list[CollectionDocument], folder: Path) -> int:
    """Write documents as notes; how many bytes they have."""
    write_notes(JudgedCollection(folder.name, tuple(documents), {}, {}), folder)
    return sum(path.stat().st_size for path in folder.rglob("*.md"))


def write_shards(documents: Iterator[CollectionDocument], folder: Path) -> int:
    """Write documents as files of JSON lines, many documents each; how many there were."""
    folder.mkdir(parents=True)
    count = 0
    lines: list[str] = []
    for document in documents:
        lines.append(json.dumps({"_id": document.doc_id, "title": document.title, "text": document.text}))
        count += 1
        if len(lines) == _SHARD:
            (folder / f"{count // _SHARD:05d}.jsonl").write_text("\n".join(lines), "utf-8")
            lines = []
    if lines:
        (folder / "last.jsonl").write_text("\n".join(lines), "utf-8")
    return count
