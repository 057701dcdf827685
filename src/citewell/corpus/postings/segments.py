"""One segment of the index: for every term, the chunks it occurs in and how heavily. Pure.

Terms are in order, and the postings of a term are in the order of the chunks. A posting has two weights: how often the
body of the chunk says the term, and how much its title, headings, tags and compounds do, counted in halves.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from citewell.domain.prepared import ChunkTerms
from citewell.domain.values import dataclass

Numbers: TypeAlias = npt.NDArray[np.uint32]
Keys: TypeAlias = npt.NDArray[np.uint64]
Weights: TypeAlias = npt.NDArray[np.uint8]

# In halves of a word of the body: a title counts twice, headings one and a half times, a whole compound half.
_TITLE, _HEADINGS, _TAGS, _COMPOUNDS = 4, 3, 2, 1

_MOST = 255
_CHUNK_BITS = np.uint64(32)
_CHUNK_MASK = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of all terms one after the other; `counts[i]` of them belong to `terms[i]`."""

    terms: Sequence[str]
    counts: Numbers
    chunks: Numbers
    body: Weights
    head: Weights


class _Vocabulary(dict[str, int]):
    """Numbers terms in the order they are first seen."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def chunk_length(terms: ChunkTerms) -> int:
    """How long a chunk is to the ranking: the words of its title, headings and body."""
    return sum(column.count(" ") + 1 for column in (terms.title, terms.headings, terms.body) if column)


def build_segment(chunks: Sequence[tuple[int, ChunkTerms]]) -> Segment:
    """The segment of some chunks, given with rising ids."""
    vocabulary = _Vocabulary()
    body, body_sizes = _numbered(vocabulary, (terms.body for _, terms in chunks))
    columns = [
        (_numbered(vocabulary, (getattr(terms, name) for _, terms in chunks)), weight)
        for name, weight in (("title", _TITLE), ("headings", _HEADINGS), ("tags", _TAGS), ("compounds", _COMPOUNDS))
    ]
    names = sorted(vocabulary)
    order = np.empty(len(names), np.uint64)
    numbers = np.fromiter(map(vocabulary.__getitem__, names), np.int64, len(names))
    order[numbers] = np.arange(len(names), dtype=np.uint64)

    body_keys, body_counts = _counted(_keys(order, body, body_sizes))
    head_keys = np.concatenate([_keys(order, found, sizes) for (found, sizes), _ in columns])
    head_weights = np.concatenate([np.full(len(found), weight, np.int64) for (found, _), weight in columns])
    sorting = np.argsort(head_keys)
    head_keys, starts = _firsts(head_keys[sorting])
    head_sums = np.add.reduceat(head_weights[sorting], starts) if len(starts) else starts

    keys, _ = _firsts(np.sort(np.concatenate((body_keys, head_keys)), kind="stable"))
    in_body, in_head = np.zeros(len(keys), np.uint8), np.zeros(len(keys), np.uint8)
    in_body[np.searchsorted(keys, body_keys)] = np.minimum(body_counts, _MOST)
    in_head[np.searchsorted(keys, head_keys)] = np.minimum(head_sums, _MOST)
    ids = np.fromiter((chunk_id for chunk_id, _ in chunks), np.uint32, len(chunks))
    return Segment(
        terms=names,
        counts=np.bincount((keys >> _CHUNK_BITS).astype(np.int64), minlength=len(names)).astype(np.uint32),
        chunks=ids[(keys & _CHUNK_MASK).astype(np.int64)],
        body=in_body,
        head=in_head,
    )


def _numbered(vocabulary: _Vocabulary, texts: Iterable[str]) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Every term of every text by its number, and how many each text has."""
    numbers, sizes = array("I"), array("q")
    number = vocabulary.__getitem__
    for text in texts:
        words = text.split()
        numbers.extend(map(number, words))
        sizes.append(len(words))
    return np.frombuffer(numbers, np.uint32), np.frombuffer(sizes, np.int64)


def _keys(order: npt.NDArray[np.uint64], numbers: Numbers, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Term and chunk in one number that sorts by both."""
    chunks = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    return (order[numbers] << _CHUNK_BITS) | chunks


def _firsts(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Each of these sorted keys once, and where it stands first."""
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return keys[starts], starts


def _counted(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Each key once, in order, with how often it occurs."""
    keys.sort()
    distinct, starts = _firsts(keys)
    return distinct, np.diff(starts, append=len(keys))
