"""Encoding: every chunk of the corpus gets its vector, batch by batch; it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from citewell.domain.corpus_port import VectorIndex
from citewell.domain.library import EncodeProgress, EncodeReport
from citewell.domain.ports import Clock

if TYPE_CHECKING:
    from citewell.models.embeddings import Embedder

# Between two batches a writer next door gets its turn, and a kill loses no more than one of them.
BATCH = 32


def encode_corpus(
    store: VectorIndex, embedder: Embedder, clock: Clock, most_seconds: float | None = None, batch: int = BATCH
) -> Iterator[EncodeProgress | EncodeReport]:
    """Encode what lacks a vector, for so long at most; the last event is the report. No transaction is open while the
    model works."""
    started = clock.monotonic()
    store.begin(embedder.model_id, embedder.dimension)
    total, done = store.coverage().left, 0
    yield EncodeProgress(0, total)
    while most_seconds is None or clock.monotonic() - started < most_seconds:
        waiting = store.next_unencoded(batch)
        if not waiting.chunks:
            break
        vectors = embedder.encode_passages([chunk.text for chunk in waiting.chunks])
        if not store.put(embedder.model_id, waiting.after, [chunk.chunk for chunk in waiting.chunks], vectors):
            # Another process encodes too, or was given another model: what is left is asked for anew.
            store.begin(embedder.model_id, embedder.dimension)
            continue
        done += len(waiting.chunks)
        yield EncodeProgress(done, max(total, done))
    coverage = store.coverage()
    seconds = round(clock.monotonic() - started, 3)
    yield EncodeReport(embedder.model_id, done, coverage.left, coverage.encoded + coverage.left, seconds)
