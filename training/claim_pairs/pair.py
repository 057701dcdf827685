"""A pair: a claim, the passage it is checked against, and whether that supports it.

Pair("number", "The pump weighs 12 kg.", "The pump weighs 21 kg.", "refuted")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Literal

Label = Literal["supported", "refuted", "unsupported"]
LABELS: tuple[Label, ...] = ("supported", "refuted", "unsupported")
MAX_WORDS = 72
_WORD = re.compile(r"[^\W_]+(?:[.,'’][^\W_]+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Pair:
    kind: str
    claim: str
    passage: str
    label: Label

    def __post_init__(self) -> None:
        if not self.claim or not self.passage:
            raise ValueError(f"a pair of kind {self.kind} lacks its claim or its passage")


Maker = Callable[[Random], Iterator[Pair]]


def words_of(text: str) -> list[str]:
    """Words in small letters, and signs."""
    return [word.lower() for word in _WORD.findall(text)]


def is_short(pair: Pair) -> bool:
    return len(words_of(pair.claim)) + len(words_of(pair.passage)) <= MAX_WORDS


def kept_couples(pair: Pair) -> float:
    """The share of the claim's neighbouring words that are neighbours in its passage."""
    couples = list(pairwise(words_of(pair.claim)))
    found = set(pairwise(words_of(pair.passage)))
    return sum(couple in found for couple in couples) / max(1, len(couples))


def overlap(pair: Pair) -> float:
    """The share of the claim's words that its passage has."""
    claim, passage = words_of(pair.claim), set(words_of(pair.passage))
    return sum(word in passage for word in claim) / max(1, len(claim))
