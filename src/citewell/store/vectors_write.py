"""Writing vectors to `corpus.db`: each function is one step inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from citewell.store.sqlite import fetch_one, fetch_rows
from citewell.store.vectors import BITS_A_BLOCK, VECTORS_A_BLOCK, read_vector_state

# Scanning vectors: which are nearest to a query. Pure.
#
# Up to ten thousand, every vector is compared in 8 bits. Beyond, the signs alone are compared first, one bit a
# number, and only the best of that scan are compared in 8 bits. Equal scores go by chunk id.


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


def start_model(connection: apsw.Connection, model: str, dimension: int) -> None:
    """Begin with this model; vectors that another one made are dropped."""
    state = read_vector_state(connection)
    if (state.model, state.dimension) == (model, dimension):
        return
    connection.execute("DELETE FROM vector_blocks")
    connection.execute("DELETE FROM vector_bits")
    connection.execute(
        "UPDATE vector_state SET change = change + 1, model = ?, dimension = ?, last_chunk = 0", (model, dimension)
    )


def put_vectors(
    connection: apsw.Connection, model: str, after: int, ids: Sequence[int], vectors: npt.NDArray[np.float32]
) -> bool:
    """Store the vectors of the chunks that follow the watermark; False where somebody else was here meanwhile."""
    state = read_vector_state(connection)
    if state.model != model or state.last_chunk != after:
        return False
    change = state.change + 1
    # A chunk may have gone while it was being encoded.
    sql = "SELECT id FROM chunks WHERE id BETWEEN ? AND ?"
    there = {int(row[0]) for row in fetch_rows(connection, sql, (ids[0], ids[-1]))}
    kept = [at for at, chunk in enumerate(ids) if chunk in there]
    small, scales = quantized(vectors[kept])
    _write(connection, change, state.dimension, [ids[at] for at in kept], _Rows(small, scales, signs(small)))
    connection.execute("UPDATE vector_state SET change = ?, last_chunk = ?", (change, ids[-1]))
    return True


def forget_vectors(connection: apsw.Connection, chunk_ids: Sequence[int]) -> None:
    """Wipe the vectors of these chunks: what was said there could be guessed from them."""
    state = read_vector_state(connection)
    ids = sorted({chunk for chunk in chunk_ids if chunk <= state.last_chunk})
    if not ids or not state.dimension:
        return
    size = (len(ids), state.dimension)
    nothing = _Rows(
        np.zeros(size, np.int8), np.zeros(len(ids), np.float32), np.zeros((size[0], size[1] // 8), np.uint8)
    )
    _write(connection, state.change + 1, state.dimension, ids, nothing)
    connection.execute("UPDATE vector_state SET change = change + 1")


@dataclass(frozen=True, slots=True)
class _Rows:
    vectors: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    bits: npt.NDArray[np.uint8]


def _write(connection: apsw.Connection, change: int, dimension: int, ids: Sequence[int], rows: _Rows) -> None:
    chunks = np.asarray(ids, np.int64)
    for number in np.unique(chunks // VECTORS_A_BLOCK):
        inside = chunks // VECTORS_A_BLOCK == number
        places = chunks[inside] % VECTORS_A_BLOCK
        row = fetch_one(connection, "SELECT vectors, scales FROM vector_blocks WHERE number = ?", (int(number),))
        vectors = np.zeros((VECTORS_A_BLOCK, dimension), np.int8)
        scales = np.zeros(VECTORS_A_BLOCK, np.float32)
        if row is not None:
            vectors[:] = np.frombuffer(row[0], np.int8).reshape(vectors.shape)
            scales[:] = np.frombuffer(row[1], np.float32)
        vectors[places], scales[places] = rows.vectors[inside], rows.scales[inside]
        connection.execute(
            "INSERT OR REPLACE INTO vector_blocks VALUES (?,?,?,?)",
            (int(number), change, vectors.tobytes(), scales.tobytes()),
        )
    for number in np.unique(chunks // BITS_A_BLOCK):
        inside = chunks // BITS_A_BLOCK == number
        row = fetch_one(connection, "SELECT bits FROM vector_bits WHERE number = ?", (int(number),))
        bits = np.zeros((BITS_A_BLOCK, dimension // 8), np.uint8)
        if row is not None:
            bits[:] = np.frombuffer(row[0], np.uint8).reshape(bits.shape)
        bits[chunks[inside] % BITS_A_BLOCK] = rows.bits[inside]
        connection.execute("INSERT OR REPLACE INTO vector_bits VALUES (?,?,?)", (int(number), change, bits.tobytes()))
