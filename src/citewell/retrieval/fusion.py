"""Fusion: the results of several queries become one list of documents, each with its best chunk. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.domain.ports import Candidate
from citewell.domain.queries import Variant, VariantKind

# Some of the question's own words, without the rest; or with other spellings, which the question itself was searched
# with too.
_SAYING_LESS: frozenset[VariantKind] = frozenset({"content", "anchors", "spelling"})
# Searched as a phrase: words that stand together score more than words do, so these say nothing of how far words reach.
AS_PHRASE: frozenset[VariantKind] = frozenset({"title", "phrase"})


@dataclass(frozen=True, slots=True)
class Fused:
    """A document's best chunk; `base` is its share of the best score, `variants` are the queries that found it.

    `best` is the query that this chunk and share come from.
    """

    candidate: Candidate
    base: float
    variants: tuple[str, ...]
    best: str


@dataclass(frozen=True, slots=True)
class Results:
    """What one query found, best first; `reach` is the best score its words alone gave.

    Scores by words compare between queries of one index: a query of one word reaches less than one of six, so what it
    finds counts for less. Without this the best row of every query would be as good as the best row of the question.
    """

    variant: Variant
    candidates: Sequence[Candidate]
    reach: float = 1.0


def fuse(results: Sequence[Results]) -> list[Fused]:
    """Each document once: its best share of a query's top score, weighted by the query and by how far that reaches.

    A query that only says less than the question does finds what the question missed, and puts it last.
    """
    asked = [found for found in results if found.variant.kind not in _SAYING_LESS] or list(results)
    fused = {row.candidate.document.source_key: row for row in _fused(asked, results)}
    least = min((row.base for row in fused.values()), default=1.0)
    for row in _fused([found for found in results if found not in asked], results):
        key = row.candidate.document.source_key
        known = fused.get(key)
        more = replace(row, base=min(row.base, least)) if known is None else replace(row, base=0.0)
        fused[key] = _better(known, more)
    return sorted(fused.values(), key=lambda row: (-row.base, row.candidate.document.source_key))


def _fused(chosen: Sequence[Results], results: Sequence[Results]) -> list[Fused]:
    fused: dict[str, Fused] = {}
    answered = [found for found in results if found.candidates]
    by_words = [found for found in answered if found.variant.kind not in AS_PHRASE] or answered
    farthest = max((found.reach for found in by_words), default=0.0)
    for found in chosen:
        if not found.candidates:
            continue
        variant = found.variant
        top = max(found.candidates[0].score, 1e-9)
        weight = variant.weight * (min(1.0, found.reach / farthest) if farthest > 0 else 1.0)
        for candidate in found.candidates:
            key = candidate.document.source_key
            base = weight * max(candidate.score, 0.0) / top
            fused[key] = _better(fused.get(key), Fused(candidate, base, (variant.kind,), variant.kind))
    return list(fused.values())


def _better(old: Fused | None, new: Fused) -> Fused:
    if old is None:
        return new
    best = new if new.base > old.base else old
    return Fused(best.candidate, best.base, tuple(dict.fromkeys((*old.variants, *new.variants))), best.best)
