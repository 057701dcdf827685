"""How common the stems of English are, where a few texts cannot tell: `english_stems.txt`, read once.

Example:
    claim:   A keeper used the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: supported

Example:
    claim:   A keeper pawned the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: partial
    reason:  not in the quote: pawned
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class EnglishStems:
    """For each common stem the binary logarithm of how many passages one must read to meet it; all others are rarer."""

    common: dict[str, int]
    # Those of them that are capitalised inside of sentences too: they name something wherever they stand.
    names: frozenset[str]
    rarest: int

    def rarity(self, stem: str) -> float:
        """From about 0.2 for a stem of every page to 1."""
        return self.common.get(stem, self.rarest) / self.rarest

    def is_word(self, stem: str) -> bool:
        """Whether English has this as a word that is written small."""
        return stem in self.common and stem not in self.names


@cache
def english_stems() -> EnglishStems:
    common: dict[str, int] = {}
    names: set[str] = set()
    for line in files("citewell.text").joinpath("english_stems.txt").read_text("utf-8").splitlines():
        group, _, stems = line.partition(": ")
        if group == "names":
            names.update(stems.split())
        elif group.isdecimal():
            common |= dict.fromkeys(stems.split(), int(group))
    return EnglishStems(common, frozenset(names), max(common.values()) + 1)
