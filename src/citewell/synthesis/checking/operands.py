"""Which quoted numbers a claim reckons with: each in its clause, with the words that say what it is of. Pure.

A clause ends at a comma, a semicolon, a line, or `and` before the next number. A number belongs to a word of the claim
where that word stands in its clause and in no other clause with such a number.

Example:
    claim:   The Ada and the Bell carry 70 tonnes together.
    passage: The Ada carries 40 tonnes, the Bell 30 tonnes and the Cora 20 tonnes.
    verdict: supported
    reason:  40 tonnes + 30 tonnes = 70 tonnes

Example:
    claim:   The Ada and the Bell carry 90 tonnes together.
    passage: The Ada carries 40 tonnes, the Bell 30 tonnes and the Cora 20 tonnes.
    verdict: contradicted
    reason:  40 tonnes + 30 tonnes is not 90 tonnes
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from citewell.synthesis.checking.stated_values import FACTORS
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.values import Date, Quantity, dates_in, quantities_in

_CLAUSE_END = re.compile(r"[;\n|]|,(?!\d)|[.!?](?=\s|$)|\s(?:and|plus|but|while|whereas|und|sowie|et)\s|\s[–—]\s")
_LONGEST = 15
_MOST = 60


@dataclass(frozen=True, slots=True)
class Operand:
    """A number of the quote: its amount in the smallest unit of its kind, how it is written, what its clause names."""

    amount: Fraction
    kind: str
    written: str
    stems: frozenset[str]
    start: int
    end: int


@lru_cache(maxsize=256)
def operands_in(text: str) -> tuple[Operand, ...]:
    """The numbers of a text that can be reckoned with, in order."""
    bounds = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    found: list[Operand] = []
    for one in quantities_in(text)[:_MOST]:
        if len(one.value) > _LONGEST:
            continue
        start = max(at for at in bounds if at <= one.start)
        end = min((at for at in bounds if at >= one.end), default=len(text))
        amount, kind = measured(one)
        stems = content_stems(text[start:end])
        found.append(Operand(amount, kind, written(text, one), stems, one.start, one.end))
    return tuple(found)


def measured(one: Quantity) -> tuple[Fraction, str]:
    """A number in the smallest unit of its kind, and that kind; what is counted is a kind too."""
    factor = FACTORS.get(one.unit)
    if factor is None:
        return Fraction(one.value), one.unit if one.measure else ""
    system = "months" if one.unit in ("month", "year", "decade", "century") else ""
    return Fraction(one.value) * Fraction(str(factor)), f"{one.measure}{system}"


def written(text: str, one: Quantity) -> str:
    """A number as it stands, with its unit where that is one."""
    rest = text[one.end : one.end + 12]
    unit = re.match(r"\s?(?:%|°?[^\W\d_]+)", rest) if one.measure else None
    return text[one.start : one.end] + (unit.group() if unit else "")


def bound_to(operands: Sequence[Operand], words: frozenset[str]) -> list[Operand]:
    """The numbers whose clause has one of these words that no other clause with such a number has."""
    shared = [one.stems & words for one in operands]
    return [
        one
        for at, one in enumerate(operands)
        if shared[at] - frozenset[str]().union(*(other for n, other in enumerate(shared) if n != at))
    ]


def joined_with(text: str, operands: Sequence[Operand]) -> bool:
    """Whether the numbers are one list: each follows `and`, `plus` or a comma at once."""
    return all(
        re.search(r"(?:,|\b(?:and|plus|und|sowie|et))\s*(?:the |a |an |another |[$€£¥])?$", text[: one.start])
        for one in operands[1:]
    )


@dataclass(frozen=True, slots=True)
class Stretch:
    """Two dates with what lies between them."""

    first: Date
    last: Date


_BETWEEN = re.compile(r"\s*(?:to|until|till|and|through|bis|und|à|et|[-–—])\s*(?:the )?$")
_BEFORE = re.compile(r"\b(?:from|between|since|von|zwischen|de|entre)\s+(?:the )?$|\(\s*$|[:,]\s*$|\s$", re.I)


def stretches_in(text: str) -> list[Stretch]:
    """`from 1859 until 1871`, `between 3 and 17 May 1871`, `1859–1871`."""
    dates = dates_in(text)[:_MOST]
    found: list[Stretch] = []
    for one, other in pairwise(dates):
        between = text[one.end : other.start]
        if len(between) <= _LONGEST and _BETWEEN.fullmatch(between) and _BEFORE.search(text[: one.start] or " "):
            found.append(Stretch(one, other))
    return found
