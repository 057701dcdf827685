"""The lexical lane on its own: one query in, evidence rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from citewell.domain.evidence import EvidenceRow, Signal
from citewell.domain.ports import LexicalIndex, TextSource
from citewell.domain.queries import Filters, LexicalQuery
from citewell.retrieval.fusion import best_chunks
from citewell.retrieval.rows import evidence_row, rarity, read_around, term_chunks


class SearchStore(LexicalIndex, TextSource, Protocol):
    """A store that can both rank and read."""


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Search by words over one store."""

    store: SearchStore

    def run(self, query: LexicalQuery, filters: Filters, limit: int, max_chars: int) -> tuple[EvidenceRow, ...]:
        """The best `limit` documents, each with the window that matches best."""
        candidates = best_chunks(self.store.rank(query, filters, limit))[:limit]
        weights = rarity(term_chunks(self.store, query), self.store.chunk_count())
        rows: list[EvidenceRow] = []
        for candidate in candidates:
            reading = read_around(self.store, candidate.document, candidate.chunk, query, max_chars)
            signal = Signal("bm25", round(candidate.score, 6), "words, rarer ones heavier, title twice")
            rows.append(
                evidence_row(
                    candidate.document,
                    candidate.chunk,
                    reading,
                    query,
                    weights,
                    max_chars,
                    score=round(candidate.score, 6),
                    signals=(signal,),
                )
            )
        return tuple(rows)
