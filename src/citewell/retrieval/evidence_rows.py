"""From ranked documents to evidence rows: each shows the window that matches best, and what belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.domain.evidence import EvidenceRow
from citewell.domain.queries import LexicalQuery
from citewell.retrieval.hybrid import LaneRow
from citewell.retrieval.row_context import with_context
from citewell.retrieval.rows import LOOK_THROUGH, evidence_row, rarity, read_many, shown_from, term_chunks

if TYPE_CHECKING:
    from citewell.domain.corpus_port import CorpusReader
    from citewell.retrieval.spelling import Respelled


def evidence_rows(
    store: CorpusReader,
    query: LexicalQuery,
    ranked: Sequence[LaneRow],
    max_chars: int,
    spelled: Respelled | None = None,
) -> tuple[EvidenceRow, ...]:
    """These documents, each with its window and why it is here; `spelled` says which words were read as others."""
    weights = rarity(term_chunks(store, query), store.chunk_count())
    found = [(row.candidate.document, row.candidate.chunk) for row in ranked]
    chunks = [(document, shown_from(store, document, chunk, query)) for document, chunk in found]
    readings = read_many(store, chunks, query, LOOK_THROUGH)
    shown = [
        evidence_row(
            *(*chunk, reading, query, weights, max_chars), score=row.score, signals=row.signals, lanes=row.lanes
        )
        for row, chunk, reading in zip(ranked, chunks, readings, strict=True)
    ]
    rows = with_context(store, shown)
    if spelled is None or not spelled.spellings:
        return rows
    return tuple(replace(row, signals=(*row.signals, *spelled.signals(row.matched_terms))) for row in rows)
