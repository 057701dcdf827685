"""Fusion: the results of several queries become one list of documents, each with its best chunk. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.ports import Candidate
from citewell.domain.queries import Variant


@dataclass(frozen=True, slots=True)
class Fused:
    """A document's best chunk; `base` is its share of the best score, `variants` are the queries that found it.

    `best` is the query that this chunk and share come from.
    """

    candidate: Candidate
    base: float
    variants: tuple[str, ...]
    best: str


def fuse(results: Sequence[tuple[Variant, Sequence[Candidate]]]) -> list[Fused]:
    """Each document once: its best share of a query's top score, weighted by the query."""
    fused: dict[str, Fused] = {}
    for variant, candidates in results:
        if not candidates:
            continue
        top = max(candidates[0].score, 1e-9)
        for candidate in candidates:
            key = candidate.document.source_key
            base = variant.weight * max(candidate.score, 0.0) / top
            fused[key] = _better(fused.get(key), Fused(candidate, base, (variant.kind,), variant.kind))
    return sorted(fused.values(), key=lambda row: (-row.base, row.candidate.document.source_key))


def _better(old: Fused | None, new: Fused) -> Fused:
    if old is None:
        return new
    best = new if new.base > old.base else old
    return Fused(best.candidate, best.base, tuple(dict.fromkeys((*old.variants, *new.variants))), best.best)
