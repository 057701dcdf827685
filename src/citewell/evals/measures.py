"""Ranking measures, as the public benchmarks define them. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain: Σ grade / log2(rank + 1), against the best possible order."""
    gain = sum(grades.get(doc_id, 0) / math.log2(rank + 2) for rank, doc_id in enumerate(ranking[:depth]))
    best = sorted(grades.values(), reverse=True)[:depth]
    ideal = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))
    return gain / ideal if ideal else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of relevant documents among the first `depth`."""
    return len(set(ranking[:depth]) & grades.keys()) / len(grades) if grades else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """One over the rank of the first relevant document."""
    return next((1 / (rank + 1) for rank, doc_id in enumerate(ranking[:depth]) if doc_id in grades), 0.0)


def auroc(yes: Sequence[float], no: Sequence[float]) -> float:
    """How often something of the first kind ranks above something of the second; ties count half."""
    if not yes or not no:
        return 0.5
    ranked = sorted([(value, 1) for value in yes] + [(value, 0) for value in no])
    won, below, at = 0.0, 0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ours = sum(kind for _, kind in ranked[at:end])
        theirs = end - at - ours
        won += ours * (below + theirs / 2)
        below += theirs
        at = end
    return won / (len(yes) * len(no))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else 0.0
