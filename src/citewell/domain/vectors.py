"""Vectors of chunks, and the chunks that still lack one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class UnencodedChunk:
    """A chunk as it is encoded: under its title and headings, so that it says what it is about."""

    chunk: int
    text: str


@dataclass(frozen=True, slots=True)
class UnencodedChunks:
    """The chunks that are next to be encoded, and the watermark they follow."""

    after: int
    chunks: tuple[UnencodedChunk, ...]
