"""The lexical lane: chunks ranked by the words of a query, the best of them looked at twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewell.domain.evidence import Signal
from citewell.domain.ports import Candidate, LexicalIndex, TextSource
from citewell.domain.queries import Filters, LexicalQuery
from citewell.retrieval.rows import rarity, term_chunks
from citewell.retrieval.second_look import CANDIDATES, Words, look_again
from citewell.text.words import index_terms


class SearchStore(LexicalIndex, TextSource, Protocol):
    """A store that can both rank and read."""


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate with the signals its score is the sum of."""

    candidate: Candidate
    score: float
    signals: tuple[Signal, ...]


def rank(
    store: SearchStore, query: LexicalQuery, filters: Filters, limit: int, weights: Mapping[str, float] | None = None
) -> list[Found]:
    """The best chunk of each of the best `limit` documents; `weights` of the terms are found out unless given."""
    ranked = store.rank(query, filters, max(limit, CANDIDATES))
    if weights is None:
        weights = rarity(term_chunks(store, query), store.chunk_count())
    looked = _look(store, query, ranked[:CANDIDATES], weights)
    found = [_found(candidate, looked[at] if at < len(looked) else ()) for at, candidate in enumerate(ranked)]
    # Whoever was not looked at stays behind those who were.
    head = sorted(found[: len(looked)], key=lambda row: (-row.score, row.candidate.document.source_key))
    return (head + found[len(looked) :])[:limit]


def _found(candidate: Candidate, more: Sequence[Signal]) -> Found:
    base = Signal("bm25", round(candidate.score, 6), "words of the query, rarer ones heavier, title twice")
    signals = (base, *(signal for signal in more if signal.value))
    return Found(candidate, round(sum(signal.value for signal in signals), 6), signals)


def _look(
    store: SearchStore, query: LexicalQuery, candidates: Sequence[Candidate], weights: Mapping[str, float]
) -> list[tuple[Signal, ...]]:
    if len(candidates) < 2 or not query.terms:
        return [() for _ in candidates]
    asked = [(term.forms, weights.get(term.text, 0.0)) for term in query.terms]
    texts = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in candidates])
    words = [_words(candidate, text) for candidate, text in zip(candidates, texts, strict=True)]
    looked = look_again([candidate.score for candidate in candidates], words, asked, store.commonness())
    return [
        (
            Signal("nearness", round(look.nearness, 6), "words of the query stand close together"),
            Signal("kinship", round(look.kinship, 6), "about the same as the best rows"),
        )
        for look in looked
    ]


def _words(candidate: Candidate, text: str) -> Words:
    document = candidate.document
    return Words(index_terms(document.title, document.language).split(), index_terms(text, document.language).split())
