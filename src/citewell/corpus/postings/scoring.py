"""Ranking by BM25 over weighted fields: every chunk that has a term of the query, exactly. Pure.

Terms are taken rarest first. Once the terms that are left could not lift a new chunk among the best, they are only
looked up for the chunks already found: the result is the same, most of a frequent term's postings are never weighed.
A small query is scored without numpy, because importing that takes longer; both ways give the same bits.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

K1 = 1.2
B = 0.75
HALF = 0.5
_SPARSE = 20  # below one in so many, sorting the lists is faster than looking at every chunk


@dataclass(frozen=True, slots=True)
class TermPostings:
    """One term of a query: the chunks that have it in rising order, with the bytes of their weights."""

    repeats: int  # how often the query says it; the second time says less than the first
    chunks: bytes
    body: bytes
    head: bytes

    @property
    def count(self) -> int:
        return len(self.body)


def idf(total: int, count: int) -> float:
    """How much a term says; never negative, so that a common term does not punish."""
    return math.log(1.0 + (total - count + 0.5) / (count + 0.5))


def score_simply(
    terms: Sequence[TermPostings], lengths: memoryview, average: float, total: int, depth: int
) -> list[tuple[int, float]]:
    """The best chunks with their scores, without numpy."""
    scores: dict[int, float] = {}
    for term in rarest_first(terms):
        weight = math.sqrt(term.repeats) * idf(total, term.count) * (K1 + 1.0)
        chunks = array("I", term.chunks)
        for chunk, body, head in zip(chunks, term.body, term.head, strict=True):
            frequency = body + head * HALF
            norm = K1 * (1.0 - B + B * (lengths[chunk] / average))
            scores[chunk] = scores.get(chunk, 0.0) + weight * (frequency / (frequency + norm))
    return heapq.nsmallest(depth, scores.items(), key=lambda entry: (-entry[1], entry[0]))


def rarest_first(terms: Sequence[TermPostings]) -> list[TermPostings]:
    """Ties keep the order of the query."""
    return sorted((term for term in terms if term.count), key=lambda term: term.count)


def norms(lengths: npt.NDArray[np.uint16], average: float) -> npt.NDArray[np.float64]:
    """What the length of each chunk does to its scores."""
    return K1 * (1.0 - B + B * (lengths / average))


def score_many(
    terms: Sequence[TermPostings],
    lengths_norm: npt.NDArray[np.float64],
    total: int,
    allowed: npt.NDArray[np.bool_] | None,
    depth: int,
) -> list[tuple[int, float]]:
    """The same as `score_simply`, for any number of postings."""
    import numpy as np

    ordered = rarest_first(terms)
    weights = [math.sqrt(term.repeats) * idf(total, term.count) * (K1 + 1.0) for term in ordered]
    dense = np.zeros(len(lengths_norm))
    opened: list[npt.NDArray[np.uint32]] = []
    threshold = 0.0
    for number, (term, weight) in enumerate(zip(ordered, weights, strict=True)):
        # A chunk without any term so far can gain at most this.
        if threshold > sum(weights[number:]) * (1.0 + 1e-9):
            break
        chunks = np.frombuffer(term.chunks, np.uint32)
        at = np.arange(len(chunks)) if allowed is None else np.flatnonzero(allowed[chunks])
        chunks = chunks[at]
        dense[chunks] += _gain(term, at, chunks, weight, lengths_norm)
        opened.append(chunks)
        if len(chunks) >= depth:
            # The scores only grow: what the best of these have by now is what a newcomer has to beat.
            threshold = max(threshold, float(np.partition(dense[chunks], -depth)[-depth]))
    found = _distinct(opened, dense)
    scores = dense[found]
    for term, weight in list(zip(ordered, weights, strict=True))[len(opened) :]:
        chunks = np.frombuffer(term.chunks, np.uint32)
        places = np.searchsorted(chunks, found)
        places[places == len(chunks)] = 0
        has = chunks[places] == found
        scores[has] += _gain(term, places[has], found[has], weight, lengths_norm)
    if len(found) > depth:
        keep = scores >= np.partition(scores, -depth)[-depth]
        found, scores = found[keep], scores[keep]
    order = np.lexsort((found, -scores))[:depth]
    return [(int(found[at]), float(scores[at])) for at in order]


def _distinct(opened: Sequence[npt.NDArray[np.uint32]], dense: npt.NDArray[np.float64]) -> npt.NDArray[np.uint32]:
    """The chunks of all these lists, each once, in rising order."""
    import numpy as np

    if len(opened) < 2:
        return opened[0] if opened else np.empty(0, np.uint32)
    if sum(map(len, opened)) * _SPARSE < len(dense):
        return np.unique(np.concatenate(opened))
    return np.flatnonzero(dense).astype(np.uint32)


def _gain(
    term: TermPostings,
    at: npt.NDArray[Any],
    chunks: npt.NDArray[np.uint32],
    weight: float,
    lengths_norm: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    import numpy as np

    frequency = np.frombuffer(term.body, np.uint8)[at] + np.frombuffer(term.head, np.uint8)[at] * HALF
    gain: npt.NDArray[np.float64] = weight * (frequency / (frequency + lengths_norm[chunks]))
    return gain
