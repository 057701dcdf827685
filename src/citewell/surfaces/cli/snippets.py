"""The part of a row's window that a person sees in a list: where most of the words that matched stand together. Pure.

window:  … six hundred characters about weather … The lamp was lit by Josiah Pell in 1859. …
matched: lamp, pell
shown:   … The **lamp** was lit by Josiah **Pell** in 1859. …
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.domain.values import dataclass
from citewell.surfaces.cli.console import safe
from citewell.surfaces.cli.layout import Piece
from citewell.surfaces.cli.quotes import shown_text
from citewell.text.folding import fold

_DENSE = "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]"
_BEGINS = re.compile(r"(?<=[.!?…:])\s+")
_FRONT_MATTER = re.compile(r"(?:---\n)?(?:[\w -]+:.*\n|[ \t]*- .*\n)+---\n")
# Of a longer word so many letters at the end may differ: harvest, harvests, harvested.
_ENDING, _LEAST_STEM = 2, 4
_BEFORE = 80  # characters before the first match in which a sentence may begin


@dataclass(frozen=True, slots=True)
class _Match:
    term: str
    start: int
    end: int


def snippet(text: str, terms: Sequence[str], most: int) -> list[Piece]:
    """At most so many characters of a text around the words that matched, which are bold."""
    shown = _flat(text)
    matches = _matches(shown, terms)
    if opening := _FRONT_MATTER.match(text):
        body = _flat(text[opening.end() :])
        found = _matches(body, terms)
        if {match.term for match in found} == {match.term for match in matches}:
            shown, matches = body, found
    start = _start(shown, matches, most) if len(shown) > most else 0
    end = len(shown) if len(shown) - start <= most else _word_end(shown, start + most)
    pieces = [Piece("… ")] if start else []
    at = start
    for match in matches:
        if match.start < at or match.end > end:
            continue
        pieces += [Piece(shown[at : match.start]), Piece(shown[match.start : match.end], "bold")]
        at = match.end
    pieces.append(Piece(shown[at:end] + (" …" if end < len(shown) else "")))
    return [piece for piece in pieces if piece.text]


def _flat(text: str) -> str:
    """Text in one line, as it reads: without the addresses of links."""
    return " ".join(safe(shown_text(text)).split())


def _matches(text: str, terms: Sequence[str]) -> list[_Match]:
    folded = fold(text)
    found: list[_Match] = []
    for term in dict.fromkeys(fold(term).text for term in terms):
        if not term.strip():
            continue
        kept = term if len(term) - _ENDING < _LEAST_STEM else term[:-_ENDING]
        is_dense = not term.isascii() and re.search(_DENSE, term) is not None
        pattern = re.escape(term) if is_dense else rf"(?<!\w){re.escape(kept)}\w*"
        found += [_Match(term, *folded.source_span(*one.span())) for one in re.finditer(pattern, folded.text)]
    return sorted(found, key=lambda match: match.start)


def _start(text: str, matches: Sequence[_Match], most: int) -> int:
    """Where to begin, so that as many different words as can be are in sight; at a sentence, if one begins near."""
    room = most - _BEFORE
    best, found = 0, -1
    for match in matches:
        seen = len({other.term for other in matches if match.start <= other.start < match.start + room})
        if seen > found:
            best, found = match.start, seen
    if best < _BEFORE:
        return 0
    begins = [one.end() for one in _BEGINS.finditer(text, best - _BEFORE, best)]
    if begins:
        return begins[0]
    return text.find(" ", best - _BEFORE // 2, best) + 1 or best


def _word_end(text: str, at: int) -> int:
    cut = text.rfind(" ", at - 40, at)
    return cut if cut > 0 else at
