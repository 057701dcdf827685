"""Exact slices: where words that a model copied stand in the evidence. Pure.

White space, markup and the shape of quotation marks and dashes aside, every character counts: `1.8` is not `18`, and
"is not" is not "is". What is found is a slice of the stored text; what is not found binds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.evidence import PreparedSource, Quote

_MARKUP = frozenset("*_`~#>|[]\\")
_SAME = str.maketrans("“”„«»‘’‚′″‐‑‒–—−\u00a0", '"""""\'\'\'\'"------ ')
# Addresses of links, tags and the language of a fence may be left out by whoever copies.
_LEFT_OUT = re.compile(r"(?<=\])\([^()\s]{1,500}\)|</?[A-Za-z][^<>\n]{0,300}>|(?:```|~~~)[\w+-]*")
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.{3}\]?)\s*")
_EDGES = " \t\n.,;:!?\"'()"
# Fewer letters than this are said in too many places to tell which was meant: only the passage of the mark counts.
_LEAST_LETTERS = 8
MAX_WORDS_CHARS = 2_000


def find_copied(words: str, source: PreparedSource, start: int = 0, end: int | None = None) -> list[Quote]:
    """The slices of a source's window, between two offsets, that copied words are; nothing where a part is missing."""
    end = len(source.text) if end is None else end
    found: list[Quote] = []
    for part in _ELLIPSIS.split(words[:MAX_WORDS_CHARS]):
        wanted = "".join(character for character, _ in _characters(part.strip(_EDGES)))
        if not any(map(str.isalnum, wanted)):
            continue
        place = _find(wanted, source.text, start, end)
        if place is None:
            return []
        base = source.span.start
        found.append(
            Quote(
                source.source_key,
                source.span.content_hash,
                base + place[0],
                base + place[1],
                source.text[place[0] : place[1]],
            )
        )
    return found


def find_anywhere(words: str, sources: Sequence[PreparedSource], near: PreparedSource | None = None) -> list[Quote]:
    """The slices in the source that is meant, else in any other; a few letters bind only where they are meant."""
    if near is not None and (found := find_copied(words, near)):
        return found
    if sum(map(str.isalnum, words)) < _LEAST_LETTERS:
        return []
    return next((found for one in sources if one is not near and (found := find_copied(words, one))), [])


def _find(wanted: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    for skips in (False, True):
        letters, places = _folded(text, skips)
        at = letters.find(wanted, bisect_left(places, start))
        while at != -1 and places[at] < end:
            low, high = places[at], places[at + len(wanted) - 1] + 1
            if high <= end and _is_whole(text, low, high):
                return low, _closed(text, low, high, end)
            at = letters.find(wanted, at + 1)
    return None


_CLOSES = {")": "(", "]": "[", "}": "{", "`": "`", '"': '"', "'": "'", "”": "“", "»": "«"}


def _closed(text: str, low: int, high: int, end: int) -> int:
    """Where a slice ends with the signs that close what it opens: `x[1]`, not `x[1`."""
    while high < end and (opening := _CLOSES.get(text[high])):
        inside = text[low:high]
        is_open = (
            inside.count(opening) % 2 if opening == text[high] else inside.count(opening) > inside.count(text[high])
        )
        if not is_open:
            break
        high += 1
    return high


def _is_whole(text: str, low: int, high: int) -> bool:
    """Whether a slice begins and ends where words do."""
    begins = not (low and text[low - 1].isalnum() and text[low].isalnum())
    return begins and not (high < len(text) and text[high - 1].isalnum() and text[high].isalnum())


@lru_cache(maxsize=256)
def _folded(text: str, skips: bool) -> tuple[str, list[int]]:
    """What of a text counts, and where each character stands; with `skips` without what may be left out."""
    left_out = bytearray(len(text))
    for match in _LEFT_OUT.finditer(text) if skips else ():
        left_out[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    kept = [(character, at) for character, at in _characters(text) if not left_out[at]]
    return "".join(character for character, _ in kept), [at for _, at in kept]


def _characters(text: str) -> Iterator[tuple[str, int]]:
    for at, character in enumerate(text.translate(_SAME)):
        if character not in _MARKUP and not character.isspace():
            for one in character.casefold():
                yield one, at
