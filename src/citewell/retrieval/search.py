"""Searching by words: one query in, evidence rows out."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.domain.evidence import EvidenceRow
from citewell.domain.queries import Filters, LexicalQuery
from citewell.retrieval.lexical import SearchStore, rank
from citewell.retrieval.rows import evidence_row, rarity, read_many, term_chunks


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Search by words over one store."""

    store: SearchStore

    def run(self, query: LexicalQuery, filters: Filters, limit: int, max_chars: int) -> tuple[EvidenceRow, ...]:
        """The best `limit` documents, each with the window that matches best."""
        weights = rarity(term_chunks(self.store, query), self.store.chunk_count())
        found = rank(self.store, query, filters, limit, weights)
        chunks = [(row.candidate.document, row.candidate.chunk) for row in found]
        readings = read_many(self.store, chunks, query, max_chars)
        return tuple(
            evidence_row(*chunk, reading, query, weights, max_chars, score=row.score, signals=row.signals)
            for row, chunk, reading in zip(found, chunks, readings, strict=True)
        )
