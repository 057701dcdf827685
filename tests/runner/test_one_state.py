"""Ranking and reading see one state of the corpus: a document removed in between is still whole where it was found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread

import pytest

from citewell import Citewell, MissingDocument, RunResult, Settings
from citewell.store.corpus import SqliteCorpus
from citewell.store.port import CorpusStore
from conftest import SteadyClock, Write, add

NOTES: dict[str, str | bytes] = {
    "Lamp.md": "---\naliases: [The light]\n---\n# Lamp\n\nThe lamp was lit in 1859. See [[Oil]].\n",
    "Oil.md": "# Oil\n\nThe oil of the lamp came from Leith, see [[Lamp]].\n",
}
LAMP = "note:vault/lamp"


class LosesADocument(SqliteCorpus):
    """The corpus, from which somebody else removes the lamp just before the first text is read."""

    removed = False

    def _lose(self) -> None:
        if not self.removed:
            self.removed = True
            elsewhere = Thread(target=self._remove)
            elsewhere.start()
            elsewhere.join()

    def _remove(self) -> None:
        other = SqliteCorpus(self.database.path)
        other.remove([LAMP])
        other.close()

    def slice(self, content_hash: str, start: int, end: int) -> str:
        self._lose()
        return super().slice(content_hash, start, end)

    def slices(self, spans: Sequence[tuple[str, int, int]]) -> list[str]:
        self._lose()
        return super().slices(spans)


class LosingEngine(Citewell):
    def open_store(self) -> CorpusStore:
        return LosesADocument(self.settings.corpus_path)


@pytest.fixture
def losing(tmp_path: Path, vault: Write) -> Iterator[Citewell]:
    add(engine := Citewell(Settings(data_dir=tmp_path / "data"), SteadyClock()), vault(NOTES))
    engine.close()
    opened = LosingEngine(engine.settings, SteadyClock())
    yield opened
    assert opened.store.find(LAMP) is None
    opened.close()


def test_a_run_shows_every_row_whole(losing: Citewell) -> None:
    async def run() -> RunResult:
        async for event in losing.stream("When was the lamp lit?"):
            if isinstance(event, RunResult):
                return event
        raise AssertionError("a run ends with its result")

    pack = asyncio.run(run()).pack
    assert pack is not None
    rows = {row.source_key: row for row in pack.evidence}
    assert "The lamp was lit in 1859." in rows[LAMP].text
    assert all(len(row.text) == row.span.end - row.span.start for row in rows.values())


READS: dict[str, Callable[[Citewell], Sequence[str]]] = {
    "search": lambda engine: [row.text for row in engine.search("lamp lit").results],
    "research_pack": lambda engine: [row.text for row in engine.pack("When was the lamp lit?").evidence],
    "get": lambda engine: [view.text for view in engine.corpus.get(LAMP, LAMP).documents],
    "get_many": lambda engine: [
        entry.error.message if isinstance(entry, MissingDocument) else entry.text
        for entry in engine.corpus.get_many(LAMP, LAMP).documents
    ],
    "related": lambda engine: [row.text for row in engine.corpus.related("note:vault/oil").related],
}


@pytest.mark.parametrize("name", READS)
def test_each_way_of_reading_is_one_consistent_read(losing: Citewell, name: str) -> None:
    found = READS[name](losing)
    assert any("1859" in text for text in found)
    assert all(found)


def test_a_topic_brief_is_one_consistent_read(losing: Citewell) -> None:
    brief = losing.corpus.topic_brief("lamp")
    assert LAMP in {node.id for node in brief.nodes}
    assert "1859" in brief.summary


def test_an_entity_map_is_one_consistent_read(losing: Citewell) -> None:
    documents = losing.corpus.entity_map("The light").documents
    assert LAMP in {document.source_key for document in documents}
