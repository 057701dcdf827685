"""Windows: a long text in pieces a model can read, of whole sentences; the last of a piece begins the next if it fits.

A sentence longer than the room there is, is itself cut at tokens, half of it again in the next piece. Pure.

Example:
    sentences of 40, 50, 30 and 60 tokens, room for 100
    windows: 1–2, 2–3, 3–4
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from citewell.text.sentences import sentences

# Where a token or a window stands in a text.
Place = tuple[int, int]
_WORDS = re.compile(r"\w+")


def windows(text: str, tokens: Sequence[Place], room: int) -> list[Place]:
    """The spans of the windows of a text whose tokens stand at these places."""
    if not text.strip():
        return []
    if len(tokens) <= room:
        return [(0, len(text))]
    pieces = [piece for span in sentences(text) for piece in _pieces(span, tokens, room)]
    found: list[Place] = []
    first = 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and _count(tokens, pieces[first][0], pieces[last + 1][1]) <= room:
            last += 1
        if not found or pieces[last][1] > found[-1][1]:
            found.append((pieces[first][0], pieces[last][1]))
        if last + 1 >= len(pieces):
            break
        first = last if last > first else first + 1
    return found


def _count(tokens: Sequence[Place], start: int, end: int) -> int:
    return bisect_left(tokens, (end,)) - bisect_left(tokens, (start,))


def _pieces(span: Place, tokens: Sequence[Place], room: int) -> list[Place]:
    """A sentence, or overlapping pieces of one that has no room."""
    start, end = span
    if _count(tokens, start, end) <= room:
        return [span]
    low, high = bisect_left(tokens, (start,)), bisect_left(tokens, (end,))
    firsts = [*range(low, high - room, max(1, room // 2)), high - room]
    return [(tokens[at][0], tokens[at + room - 1][1]) for at in dict.fromkeys(firsts)]


def likeliest(wanted: str, text: str, spans: Sequence[Place], most: int) -> list[Place]:
    """Of many windows those that share most words with what is looked for, in their order."""
    words = set(_WORDS.findall(wanted.casefold()))
    shared = {span: len(words & set(_WORDS.findall(text[span[0] : span[1]].casefold()))) for span in spans}
    return sorted(sorted(spans, key=lambda span: -shared[span])[:most])
