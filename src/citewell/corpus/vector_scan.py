"""Scanning vectors: which are nearest to a query. Pure.

Up to ten thousand, every vector is compared in 8 bits. Beyond, the signs alone are compared first, one bit a
number, and only the best of that scan are compared in 8 bits. Equal scores go by chunk id.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 8_192


def quantized(vectors: Floats) -> tuple[Bytes, Floats]:
    """Vectors in 8 bits, and what one step of each is worth."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (largest / 127.0).astype(np.float32)
    steps = np.where(scales > 0, scales, 1.0)[:, None]
    return np.rint(vectors / steps).astype(np.int8), scales


def signs(vectors: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The sign of every number, one bit each."""
    return np.packbits(vectors > 0, axis=1)


def similarities(query: Floats, vectors: Bytes, scales: Floats) -> Floats:
    """The cosine of the query and each vector; converted a part at a time, so that memory stays small."""
    scores = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        scores[part] = vectors[part].astype(np.float32) @ query
    scores *= scales
    return scores


def best_rows(scores: Floats, allowed: Mask, depth: int) -> Numbers:
    """The rows with the highest scores among those allowed, best first."""
    rows = np.flatnonzero(allowed)
    if len(rows) > depth:
        kept = scores[rows]
        # Everything that ties with the last one stays, so that the choice does not depend on how numpy partitions.
        least = np.partition(kept, len(kept) - depth)[len(kept) - depth]
        rows = rows[kept >= least]
    order = np.lexsort((rows, -scores[rows]))
    return rows[order][:depth]


def nearest_signs(query: Floats, bits: npt.NDArray[np.uint64], allowed: Mask, depth: int) -> Numbers:
    """The rows whose signs differ least from the query's; `bits` has one row for each 64 numbers, a column a vector."""
    wanted = np.packbits(query > 0).view(np.uint64)
    distances = np.zeros(bits.shape[1], np.uint16)
    for word, column in zip(wanted, bits, strict=True):
        distances += np.bitwise_count(column ^ word)
    distances[~allowed] = np.iinfo(np.uint16).max
    counts = np.cumsum(np.bincount(distances, minlength=len(wanted) * 64 + 1)[: len(wanted) * 64 + 1])
    if not counts[-1]:
        return np.empty(0, np.int64)
    limit = int(np.searchsorted(counts, min(depth, int(counts[-1]))))
    rows = np.flatnonzero(distances <= limit)
    order = np.argsort(distances[rows], kind="stable")
    return rows[order][:depth]
