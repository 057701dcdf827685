"""Searching by several lanes: words, meaning, or both; in shadow, both are asked and the words alone answer.

A semantic lane that does not work never stops a search by words: what went wrong is in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from citewell.domain.errors import CitewellError, Unavailable
from citewell.domain.evidence import Signal
from citewell.domain.lanes import SemanticReport, SemanticUse
from citewell.domain.ports import Candidate, Reranker
from citewell.domain.queries import Filters, LexicalQuery
from citewell.domain.values import dataclass
from citewell.retrieval.hybrid import DEPTH, LaneRow, compare, fuse_lanes, nearest_key, semantic_weight
from citewell.retrieval.lexical import Found, rank
from citewell.text.words import index_terms

if TYPE_CHECKING:
    from citewell.domain.corpus_port import CorpusReader
    from citewell.retrieval.semantic import SemanticLane

# Opens the lane when it is first needed; raises a CitewellError where that is not possible.
OpenLane = Callable[[], "SemanticLane"]


def no_lane() -> SemanticLane:
    """For those who search by words only."""
    raise Unavailable("The semantic lane is off.", fix="Set CITEWELL_EMBEDDINGS=on.")


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rows that count, and what the semantic lane did or would have done."""

    rows: list[LaneRow]
    report: SemanticReport | None = None
    reach: float = 0.0  # the best score that words alone gave
    nearest: str | None = None  # the document nearest in meaning, where that counts


def by_words(found: Sequence[Found]) -> list[LaneRow]:
    return [LaneRow(row.candidate, row.score, row.signals, ("lexical",)) for row in found]


def by_meaning(candidates: Sequence[Candidate]) -> list[LaneRow]:
    """Rows of the semantic lane alone."""
    return [
        LaneRow(
            candidate,
            round(candidate.score, 6),
            (Signal("semantic", round(candidate.score, 6), "meaning: similarity to the query"),),
            ("semantic",),
        )
        for candidate in candidates
    ]


def search_lanes(
    store: CorpusReader,
    open_lane: OpenLane,
    use: SemanticUse,
    text: str,
    query: LexicalQuery,
    filters: Filters,
    limit: int,
    reranker: Reranker | None = None,
) -> Ranked:
    """The best documents by words, or by words and meaning; the lane is asked as far as `use` says."""
    if use == "off":
        found = rank(store, query, filters, limit, text, reranker)
        return Ranked(by_words(found), reach=_reach(found))
    words = rank(store, query, filters, max(limit, DEPTH), text, reranker)
    plain = by_words(words[:limit])
    try:
        lane = open_lane()
        near = lane.rank(text, filters, max(limit, DEPTH))
    except CitewellError as error:
        return Ranked(plain, SemanticReport(use, problem=error.message), _reach(words))
    except Exception as error:  # noqa: BLE001 - whatever a model's libraries raise, words still find
        problem = f"The model failed: {type(error).__name__}: {error}"
        return Ranked(plain, SemanticReport(use, problem=problem), _reach(words))
    weight = semantic_weight(words, near)
    exact = exact_keys(store, query, [row.candidate for row in words] + list(near))
    fused = fuse_lanes(words, near, weight, exact)[:limit]
    report = compare(use, lane.model, weight, [row.key for row in plain], [row.key for row in fused])
    if use != "on":
        return Ranked(plain, report, _reach(words))
    return Ranked(fused, report, _reach(words), nearest_key(near))


def _reach(found: Sequence[Found]) -> float:
    return max((row.candidate.score for row in found), default=0.0)


def exact_keys(store: CorpusReader, query: LexicalQuery, candidates: Sequence[Candidate]) -> frozenset[str]:
    """The documents among these whose passage, title or tags have something that was asked for exactly."""
    if not query.phrases:
        return frozenset()
    forms = [f" {form} " for phrase in query.phrases for form in phrase.forms]
    texts = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in candidates])
    found: set[str] = set()
    for candidate, text in zip(candidates, texts, strict=True):
        document = candidate.document
        parts = (document.title, *document.aliases, *candidate.chunk.heading_path, " ".join(document.user_tags), text)
        spoken = "  ".join(" ".join(index_terms(part, document.language).split()) for part in parts)
        if any(form in f" {spoken} " for form in forms):
            found.add(document.source_key)
    return frozenset(found)
