"""Writing vectors to `corpus.db`: each function is one step inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np
import numpy.typing as npt

from citewell.corpus.store.vectors_layout import BITS_A_BLOCK, VECTORS_A_BLOCK, read_vector_state
from citewell.corpus.vector_scan import quantized, signs
from citewell.database.sqlite import fetch_one, fetch_rows
from citewell.domain.values import dataclass


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
