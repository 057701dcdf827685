"""Searching by words: one query in, evidence rows out."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.domain.evidence import EvidenceRow
from citewell.domain.queries import Filters, LexicalQuery
from citewell.retrieval.lexical import SearchStore, rank
from citewell.retrieval.rows import evidence_row, rarity, read_around, term_chunks


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Search by words over one store."""

    store: SearchStore

    def run(self, query: LexicalQuery, filters: Filters, limit: int, max_chars: int) -> tuple[EvidenceRow, ...]:
        """The best `limit` documents, each with the window that matches best."""
        weights = rarity(term_chunks(self.store, query), self.store.chunk_count())
        rows: list[EvidenceRow] = []
        for found in rank(self.store, query, filters, limit, weights):
            document, chunk = found.candidate.document, found.candidate.chunk
            reading = read_around(self.store, document, chunk, query, max_chars)
            rows.append(
                evidence_row(
                    document, chunk, reading, query, weights, max_chars, score=found.score, signals=found.signals
                )
            )
        return tuple(rows)
