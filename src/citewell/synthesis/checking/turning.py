"""Words that turn or limit a statement: may, almost, refused to, if, nobody believes that. Pure.

A sentence proves a claim only where both have the same such words in the scope of what they share. One the sentence has
and the claim lacks is dropped; one the claim has and the sentence lacks is added. Neither is a contradiction by itself:
what is left is not proven. `only` may be dropped, and `all` may become some.

Example:
    claim:   Guests may leave the car in the yard.
    passage: Guests may leave the car in the yard overnight.
    verdict: supported

Example:
    claim:   Guests must leave the car in the yard.
    passage: Guests may leave the car in the yard overnight.
    verdict: unsupported
    reason:  the quote has 'may' where this has 'must'

Example:
    claim:   The museum opened on Monday.
    passage: The museum will open on Monday.
    verdict: unsupported
    reason:  the quote limits this by 'will'

Example:
    claim:   The ferry reached the island.
    passage: The ferry almost reached the island.
    verdict: unsupported
    reason:  the quote limits this by 'almost'
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, substitution
from citewell.text.folding import folded_text

# Classes of which one stands for another without saying the same: must for may.
_STRENGTHS = ("must", "should", "may", "will")
# What a claim may leave out and still be proven.
_DROPPABLE = frozenset(("only", "all", "first", "because", "before", "after"))
# What a claim may add to what is proven without it.
_ADDABLE = frozenset(("may", "some", "guess", "told", "past", "imagined"))
# What limits a statement also from behind it, up to the end of the sentence.
_TRAILING = frozenset(("if",))
# `…, he lied.`: so many words behind it.
_TAG = 2
_STOP = re.compile(r"[;:.!?]|\bbut\b|\bhowever\b|\baber\b|\bmais\b")


@dataclass(frozen=True, slots=True)
class Turning:
    """One such word in a sentence: its class, and its place by character."""

    kind: str
    word: str
    start: int
    end: int


@lru_cache(maxsize=1)
def _lexicon() -> tuple[dict[str, str], re.Pattern[str]]:
    text = files("citewell.synthesis.lexicon").joinpath("turning_words.toml").read_text("utf-8")
    kinds: dict[str, str] = {}
    for kind, listed in tomllib.loads(text).items():
        for word in "".join(str(listed).splitlines()).split("|"):
            kinds.setdefault(folded_text(word.strip()), kind)
    ordered = sorted(kinds, key=lambda word: (-len(word), word))
    return kinds, re.compile(rf"(?<![\w'’-])(?:{'|'.join(map(re.escape, ordered))})(?![\w'’-])")


@lru_cache(maxsize=1024)
def turnings_in(text: str) -> tuple[Turning, ...]:
    """The words of a text that turn or limit it, in order."""
    kinds, pattern = _lexicon()
    folded = folded_text(text)
    if len(folded) != len(text):  # a letter that folds into two would shift the places
        folded = text.casefold() if len(text.casefold()) == len(text) else text.lower()
    return tuple(
        Turning(kinds[match.group()], match.group(), match.start(), match.end())
        for match in pattern.finditer(folded)
        if match.group() in kinds and not _is_month(text, match) and not folded[: match.start()].endswith("not ")
    )


def _is_month(text: str, match: re.Match[str]) -> bool:
    """`May` beside a number, or in capitals within a sentence."""
    beside = text[max(0, match.start() - 3) : match.start()] + text[match.end() : match.end() + 3]
    return (
        match.group() == "may" and text[match.start()] == "M" and (match.start() > 0 or any(map(str.isdigit, beside)))
    )


def turned(alignment: ClaimAlignment) -> str:
    """In words, what turns or limits one side and not the other; empty where both agree."""
    said = turnings_in(alignment.claim.text)
    here = {one.kind for one in said}
    told = _in_scope(alignment)
    there = {one.kind for one in told}
    everywhere = {one.kind for one in turnings_in(alignment.matched.evidence.text)}
    for one in told:
        if one.kind in here or one.kind in _DROPPABLE:
            continue
        other = _of(said, _STRENGTHS) if one.kind in _STRENGTHS else None
        if other is not None and other.kind not in there:
            return substitution(one.word, other.word)
        return f"the quote limits this by '{one.word}'"
    for one in said:
        if one.kind in everywhere or one.kind in _ADDABLE:
            continue
        other = _of(told, _STRENGTHS) if one.kind in _STRENGTHS else None
        if other is not None:
            return substitution(other.word, one.word)
        return f"'{one.word}' is not in the quote"
    return ""


def _of(found: Iterable[Turning], kinds: tuple[str, ...]) -> Turning | None:
    return next((one for one in found if one.kind in kinds), None)


def _in_scope(alignment: ClaimAlignment) -> list[Turning]:
    """The turning words of the sentence that bear on what it shares with the claim."""
    on = [place for place, same in zip(alignment.words.counterpart, alignment.words.is_same, strict=True) if same]
    places = [alignment.sentence.tokens[place] for place in on if place is not None]
    content = [token for token in places if token.is_content or token.folded[0].isdigit()]
    if not content:
        return []
    text, base = alignment.sentence.text, alignment.sentence.start
    first, last = min(one.start for one in content) - base, max(one.end for one in content) - base
    # What stands before the shared part governs it, back to the last stop.
    opening = max((match.end() for match in _STOP.finditer(text, 0, max(first, 0))), default=0)
    closing = next((match.start() for match in _STOP.finditer(text, last)), len(text))
    return [
        one
        for one in turnings_in(text)
        if opening <= one.start < last
        or (one.kind in _TRAILING and last <= one.start < closing)
        or (one.kind == "told" and last <= one.start and len(text[one.end :].split()) <= _TAG)
    ]
