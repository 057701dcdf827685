"""Other names that a text itself introduces: "Skelday Energy (SE)", "北京大学（北大）", "posts as @kelpwife". Pure.

A pair in brackets counts only where the short form is spelled from the long one, so "Agnes (Kirkhaven)" is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.corpus.names import MAX_NAME_CHARS, has_case
from citewell.text.folding import folded_text

_SHORT_FIRST = re.compile(r"(?<!\w)([^\W\d_][\w&-]{1,11})\s?[(（]([^\W\d_][^()（）\n]{3,80})[)）]")
_BRACKETED = re.compile(r"[(（]([^\W\d_][\w&-]{0,11})[)）]")
_WORDS = re.compile(r"[^\W_][\w'’-]*")
_BREAKS = re.compile(r"[.!?;:,\n\"“”\[\]|*()（）]")
_LITTLE = frozenset("of the and for de la le du des der die das und van von den y e da do dos del al".split())

INTRODUCED = re.compile(
    r"""\b(?:(?:better[ ]|also[ ]|formerly[ ])?known[ ]as|a\.?k\.?a\.?|alias(?:es)?|handle|nickname|nicknamed|formerly
      |goes[ ]by|answers[ ]to|(?:posts|commits|signs|writes|publishes|trades|trading)[ ](?:\w+[ ])?as|renamed|called)
      [:]?[ ]["'“‘*_`]{0,3}(@?[\w][\w.-]*)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A long name and the short one a text gives for it."""

    name: str
    short: str


def introduced_names(text: str) -> Iterator[str]:
    """Names a text introduces for its subject by a turn of phrase."""
    for match in INTRODUCED.finditer(text):
        yield match[1]


def abbreviations(text: str) -> Iterator[Pair]:
    """Every "Name (SHORT)" and "SHORT (Name)" of a text."""
    for match in _BRACKETED.finditer(text):
        before = text[max(0, match.start() - MAX_NAME_CHARS) : match.start()].rstrip(" ")
        name = _long_form(before, match[1])
        if name:
            yield Pair(name, match[1])
    for match in _SHORT_FIRST.finditer(text):
        if match[1].isupper() and _long_form(match[2], match[1]) == match[2]:
            yield Pair(match[2], match[1])


def _long_form(before: str, short: str) -> str | None:
    """The words at the end of `before` that the short form is made of."""
    clause = _BREAKS.split(before)[-1].strip()
    if not has_case(short):
        return _spelled_without_spaces(clause, short)
    words = list(_WORDS.finditer(clause))
    letters = [character for character in folded_text(short) if character.isalnum()]
    for first in range(len(words) - 1, -1, -1):
        name = clause[words[first].start() :]
        if words[first].group()[0].isupper() and _is_made_of(letters, [word.group() for word in words[first:]], short):
            return name
    return None


def _is_made_of(letters: list[str], words: list[str], short: str) -> bool:
    """An initialism of all the words that matter, or the beginning of the first of them (Sol, Solveig Haraldsen)."""
    if short.isupper() and len(letters) > 1:
        initials = [folded_text(word)[:1] for word in words]
        telling = [folded_text(word)[:1] for word in words if folded_text(word) not in _LITTLE]
        return len(words) > 1 and letters in (initials, telling)
    first = folded_text(words[0])
    return len(letters) > 2 and first.startswith("".join(letters)) and len(first) > len(letters)


def _spelled_without_spaces(clause: str, short: str) -> str | None:
    """The shortest ending of the clause that begins as the short form does and holds its characters in order."""
    at = clause.rfind(short[0])
    while at != -1:
        name = clause[at:]
        rest = iter(name)
        if len(name) > len(short) and all(character in rest for character in short):
            return name
        at = clause.rfind(short[0], 0, at)
    return None
