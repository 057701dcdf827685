"""How vectors lie in `corpus.db`; reading and writing share this. No numpy: `status` needs it too."""

from __future__ import annotations

import apsw

from citewell.database.sqlite import fetch_one
from citewell.domain.values import dataclass

VECTORS_A_BLOCK = 64
BITS_A_BLOCK = 1_024


@dataclass(frozen=True, slots=True)
class VectorState:
    """What the vectors say of themselves."""

    change: int
    model: str
    dimension: int
    last_chunk: int


def read_vector_state(connection: apsw.Connection) -> VectorState:
    row = fetch_one(connection, "SELECT change, model, dimension, last_chunk FROM vector_state")
    return VectorState(*row) if row else VectorState(0, "", 0, 0)
