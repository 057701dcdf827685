"""A small real embedding model: words that mean the same are one direction. It needs no weights."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_SAME = {"automobile": "car", "cars": "car", "noisy": "loud", "physician": "doctor"}
DIMENSION = 64


class WordEmbedder:
    """Every word has a direction of its own, but synonyms share one."""

    dimension = DIMENSION
    unrelated = 0.2
    related = 0.3
    tells_answers = True

    def __init__(self, model_id: str = "words-64", stop_after: int | None = None) -> None:
        self.model_id = model_id
        self.encoded: list[str] = []
        self._left = stop_after

    def encode_passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self._left is not None:
            self._left -= len(texts)
            if self._left < 0:
                raise KeyboardInterrupt
        self.encoded += texts
        return np.array([vector(text) for text in texts], np.float32).reshape(-1, DIMENSION)

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        return vector(text).reshape(1, -1)


def vector(text: str) -> npt.NDArray[np.float32]:
    total = np.zeros(DIMENSION)
    for word in re.findall(r"\w+", text.lower()):
        total += np.random.default_rng(zlib.crc32(_SAME.get(word, word).encode())).standard_normal(DIMENSION)
    return (total / (np.linalg.norm(total) or 1.0)).astype(np.float32)
