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
from typing import TYPE_CHECKING, Protocol

from citewell.domain.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

K1 = 1.2
B = 0.75
HALF = 0.5
_SLACK = 1.0 + 1e-9  # more than rounding can do to a sum


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


class Weighed(Protocol):
    """A term of a query whose postings can be weighed, all of them or some."""

    @property
    def postings(self) -> TermPostings: ...

    def factors(self) -> npt.NDArray[np.float64]:
        """What each of its chunks makes of it, before the term's own weight: 0 to 1."""
        ...

    def factors_at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The same, for the postings at these places."""
        ...


def score_many(
    terms: Sequence[Weighed],
    dense: npt.NDArray[np.float64],
    total: int,
    allowed: npt.NDArray[np.bool_] | None,
    depth: int,
) -> list[tuple[int, float]]:
    """The same as `score_simply`, for any number of postings.

    `dense` has a zero for every chunk, and has it again afterwards.
    """
    import numpy as np

    ordered = sorted((term for term in terms if term.postings.count), key=lambda term: term.postings.count)
    weights = [math.sqrt(term.postings.repeats) * idf(total, term.postings.count) * (K1 + 1.0) for term in ordered]
    opened: list[npt.NDArray[np.uint32]] = []
    threshold = 0.0
    try:
        for number, term in enumerate(ordered):
            # A chunk without any term so far can gain at most this.
            if threshold > sum(weights[number:]) * _SLACK:
                break
            chunks = np.frombuffer(term.postings.chunks, np.uint32)
            gain = weights[number] * term.factors()
            if allowed is not None:
                at = np.flatnonzero(allowed[chunks])
                chunks, gain = chunks[at], gain[at]
            opened.append(chunks)
            dense[chunks] += gain
            # The scores only grow: what the best of these have by now is what a newcomer has to beat.
            if len(chunks) >= depth and sum(weights[: number + 1]) > sum(weights[number + 1 :]):
                threshold = max(threshold, float(np.partition(dense[chunks], -depth)[-depth]))
        late = list(zip(ordered, weights, strict=True))[len(opened) :]
        if late:
            # What the leaders come to with all terms is a higher bar than what they have by now.
            leaders = _hopeful(opened, dense, threshold)
            _, complete = _completed(leaders, dense[leaders], late, 0.0)
            threshold = max(threshold, float(np.partition(complete, -depth)[-depth]))
        found = _hopeful(opened, dense, threshold - sum(weights[len(opened) :]) * _SLACK)
        found, scores = _completed(found, dense[found], late, threshold)
    finally:
        for chunks in opened:
            dense[chunks] = 0.0
    if len(found) > depth:
        keep = scores >= np.partition(scores, -depth)[-depth]
        found, scores = found[keep], scores[keep]
    order = np.lexsort((found, -scores))[:depth]
    return [(int(found[at]), float(scores[at])) for at in order]


def _completed(
    found: npt.NDArray[np.uint32],
    scores: npt.NDArray[np.float64],
    late: Sequence[tuple[Weighed, float]],
    threshold: float,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """The chunks that still can reach the threshold, with the terms that were not opened too, each looked up."""
    import numpy as np

    for number, (term, weight) in enumerate(late):
        rest = sum(later for _, later in late[number:])
        hopeful = scores >= threshold / _SLACK - rest * _SLACK
        found, scores = found[hopeful], scores[hopeful]
        chunks = np.frombuffer(term.postings.chunks, np.uint32)
        places = np.searchsorted(chunks, found)
        places[places == len(chunks)] = 0
        has = chunks[places] == found
        scores[has] += weight * term.factors_at(places[has])
    return found, scores


def _hopeful(
    opened: Sequence[npt.NDArray[np.uint32]], dense: npt.NDArray[np.float64], least: float
) -> npt.NDArray[np.uint32]:
    """The chunks of all these lists that have at least so much by now, each once, in rising order."""
    import numpy as np

    hopeful = [chunks[dense[chunks] >= least / _SLACK] for chunks in opened]
    if len(hopeful) < 2:
        return hopeful[0] if hopeful else np.empty(0, np.uint32)
    # The lists are in order already: a stable sort merges them.
    merged = np.sort(np.concatenate(hopeful), kind="stable")
    is_new = np.ones(len(merged), bool)
    is_new[1:] = merged[1:] != merged[:-1]
    return merged[is_new]


def factor_of(
    term: TermPostings, lengths_norm: npt.NDArray[np.float64], places: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.float64]:
    """What each chunk makes of a term, before the term's own weight: 0 to 1."""
    import numpy as np

    chunks, body = np.frombuffer(term.chunks, np.uint32), np.frombuffer(term.body, np.uint8)
    head = np.frombuffer(term.head, np.uint8)
    if places is not None:
        chunks, body, head = chunks[places], body[places], head[places]
    frequency = body + head * HALF
    factor: npt.NDArray[np.float64] = frequency / (frequency + lengths_norm[chunks])
    return factor
