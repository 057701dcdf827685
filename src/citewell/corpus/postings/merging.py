"""Several segments become one, without the chunks that are gone. Pure; a bounded part of them is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from citewell.corpus.postings.segments import Numbers, Segment, Weights
from citewell.domain.values import dataclass

_PART_POSTINGS = 2_000_000
_PART_TERMS = 60_000  # fits the 16 bits that numpy sorts fastest

Postings = tuple[Numbers, Weights, Weights]
Live = Callable[[Numbers], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to be merged: its terms are in memory, its postings are read in stretches."""

    terms: Sequence[str]
    counts: Numbers
    read: Callable[[int, int], Postings]


def merge(sources: Sequence[Source], is_live: Live) -> Iterator[Segment]:
    """The merged segment, in parts that follow each other in the order of the terms.

    The sources are given in the order of their chunks, of which no two share any.
    """
    names = sorted(set().union(*(source.terms for source in sources)))
    place = {name: number for number, name in enumerate(names)}
    places = [np.fromiter(map(place.__getitem__, source.terms), np.int64, len(source.terms)) for source in sources]
    totals = np.zeros(len(names), np.int64)
    for source, where in zip(sources, places, strict=True):
        totals[where] += source.counts
    del place
    starts = [np.concatenate(([0], np.cumsum(source.counts, dtype=np.int64))) for source in sources]
    for low, high in _parts(totals):
        pieces: list[tuple[npt.NDArray[np.uint16], Postings]] = []
        for source, where, start in zip(sources, places, starts, strict=True):
            first, last = (int(at) for at in np.searchsorted(where, (low, high)))
            if first == last:
                continue
            owners = np.repeat((where[first:last] - low).astype(np.uint16), source.counts[first:last])
            pieces.append((owners, source.read(int(start[first]), int(start[last]))))
        yield _sorted(names[low:high], pieces, is_live)


def _parts(totals: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Stretches of terms with a bounded number of postings."""
    ends = np.cumsum(totals)
    low = 0
    while low < len(totals):
        before = int(ends[low - 1]) if low else 0
        high = int(np.searchsorted(ends, before + _PART_POSTINGS, side="right"))
        high = min(max(high, low + 1), low + _PART_TERMS, len(totals))
        yield low, high
        low = high


def _sorted(names: Sequence[str], pieces: Sequence[tuple[npt.NDArray[np.uint16], Postings]], is_live: Live) -> Segment:
    owners = np.concatenate([owner for owner, _ in pieces])
    chunks, body, head = (np.concatenate([postings[n] for _, postings in pieces]) for n in range(3))
    order = np.argsort(owners, kind="stable")
    order = order[is_live(chunks[order])]
    owners = owners[order]
    counts = np.bincount(owners, minlength=len(names)).astype(np.uint32)
    kept = counts > 0
    terms = names if kept.all() else [name for name, keep in zip(names, kept, strict=True) if keep]
    return Segment(terms, counts[kept], chunks[order], body[order], head[order])
