"""Encoding: every chunk of the corpus gets its vector, batch by batch; it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from citewell.domain.library import EncodeProgress, EncodeReport, VectorCoverage
from citewell.domain.ports import Clock

if TYPE_CHECKING:
    from citewell.models.embeddings import Embedder, Vectors

# Between two batches a writer next door gets its turn, and a kill loses no more than one of them.
BATCH = 32


class Passage(Protocol):
    """A chunk and the text that stands for it."""

    @property
    def chunk(self) -> int: ...

    @property
    def text(self) -> str: ...


class PassageStore(Protocol):
    """Which chunks lack a vector, and where vectors go."""

    def coverage(self) -> VectorCoverage: ...

    def begin(self, model: str, dimension: int) -> None: ...

    def next_passages(self, limit: int) -> tuple[int, Sequence[Passage]]: ...

    def put(self, model: str, after: int, ids: Sequence[int], vectors: Vectors) -> bool: ...


def encode_corpus(
    store: PassageStore, embedder: Embedder, clock: Clock, most_seconds: float | None = None, batch: int = BATCH
) -> Iterator[EncodeProgress | EncodeReport]:
    """Encode what lacks a vector, for so long at most; the last event is the report. No transaction is open while the
    model works."""
    started = clock.monotonic()
    store.begin(embedder.model_id, embedder.dimension)
    total, done = store.coverage().left, 0
    yield EncodeProgress(0, total)
    while most_seconds is None or clock.monotonic() - started < most_seconds:
        after, passages = store.next_passages(batch)
        if not passages:
            break
        vectors = embedder.encode_passages([passage.text for passage in passages])
        if not store.put(embedder.model_id, after, [passage.chunk for passage in passages], vectors):
            # Another process encodes too, or was given another model: what is left is asked for anew.
            store.begin(embedder.model_id, embedder.dimension)
            continue
        done += len(passages)
        yield EncodeProgress(done, max(total, done))
    coverage = store.coverage()
    seconds = round(clock.monotonic() - started, 3)
    yield EncodeReport(embedder.model_id, done, coverage.left, coverage.encoded + coverage.left, seconds)
