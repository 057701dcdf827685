"""Names in a text: people, places, organisations, products, as far as spelling shows them. Pure.

A word is a name where it is capitalised inside a sentence. The first word of a sentence is capitalised anyway; it is
taken for a name only where the evidence spells it so elsewhere and never in lower case. Scripts without capitals have
no names here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word

_WORD = re.compile(r"[^\W\d_][\w'’&-]*")
_NO_NAMES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mr mrs ms dr""".split()
)
_STARTS = re.compile(r"(?:^|[.!?:;…|]\s+[\"'“‘(*]?|\n\W*|^[\"'“‘(*]+)$")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a text spells its words: in lower case, and with a capital inside a sentence."""

    lower: frozenset[str]
    upper: frozenset[str]

    @classmethod
    def of(cls, text: str, titles: str = "") -> Spelling:
        lower: set[str] = set()
        upper = {_folded(match.group()) for match in _WORD.finditer(titles)}
        for match in _WORD.finditer(text):
            if match.group()[0].islower():
                lower.add(_folded(match.group()))
            elif not _is_first(text, match.start()):
                upper.add(_folded(match.group()))
        return cls(frozenset(lower), frozenset(upper))


def names_in(text: str, spelling: Spelling) -> list[str]:
    """The folded words of a text that name something, in order."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        folded = _folded(match.group())
        if not match.group()[0].isupper() or is_stop_word(folded) or folded in _NO_NAMES or len(folded) < 2:
            continue
        if _is_first(text, match.start()) and (folded in spelling.lower or folded not in spelling.upper):
            continue
        found.append(folded)
    return found


def _is_first(text: str, at: int) -> bool:
    return _STARTS.search(text[max(0, at - 4) : at]) is not None if at >= 4 else not text[:at].strip("\"'“‘(* ")


def _folded(word: str) -> str:
    return folded_text(word).removesuffix("'s")
