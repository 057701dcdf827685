"""Lines of a PDF page become paragraphs, and words cut at line ends become whole. Pure.

A line was wrapped, and is joined with the next one, where the first word of the next would not have fitted in it any
more. "informa-" and "tion" are one word, "well-" and "known" keep their hyphen: the words of the document itself tell.
Code, list items, rows of tables and headings stay lines. What a page ends in stays there: pages are not joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

# Where a line ended in a hyphen pdfium leaves a mark instead of the hyphen.
HYPHEN_MARK = "\ufffe"
_CUT = re.compile(rf"(?P<chain>-?)(?P<part>[^\W\d_]+)[{HYPHEN_MARK}\u00ad-]$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ITEM = re.compile(r"\s*(?:[•▪‣◦●○■□–—*·o-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s)")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\d*\s*$")
_ADDRESS = re.compile(r"\s*(?:\S+@\S+|(?:https?://|www\.)\S+)\s*")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")
# First parts that make compounds, where nothing in the document tells.
_COMPOUNDING = frozenset("all cross full half high ill long low non open real self semi short so well".split())

_GAP = 1.3  # a wider one than the usual between two lines begins a paragraph
_WIDE_GAP = 1.9  # in sizes of the font, where there is no usual one
_SAME_SIZE = 1.12
_INDENT = 0.8
_LEAST_COMPOUND = 4
_NARROW = 12  # in sizes of the font: what is narrower is no column of prose


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is printed: its text, and in points where it starts, ends and stands (y grows upwards)."""

    text: str
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0
    is_fixed_pitch: bool = False

    @property
    def is_placed(self) -> bool:
        return self.size > 0 and self.right > self.left


def page_texts(pages: Sequence[Sequence[Line] | None]) -> list[str | None]:
    """The text of each page, its paragraphs joined; None where there is no page."""
    vocabulary = Counter(_words(line for page in pages if page for line in page))
    return [None if page is None else _page_text(page, vocabulary) for page in pages]


def _words(lines: Iterable[Line]) -> Iterator[str]:
    """The words of the document that are not cut at the end of a line, compounds also as a whole."""
    for line in lines:
        text = _CUT.sub("", line.text)
        for match in _WORD.finditer(text.lower()):
            yield match.group()
            if "-" in match.group():
                yield from match.group().split("-")


def _page_text(lines: Sequence[Line], vocabulary: Counter[str]) -> str:
    parts: list[str] = []
    lines = [replace(line, text=line.text.strip() if not line.is_fixed_pitch else line.text.rstrip()) for line in lines]
    blocks = [[line for line in block if line.text] for block in _blocks(lines)]
    for block in filter(None, blocks):
        if parts:
            parts.append("\n\n")
        right = _right_edge(block, lines)
        gap = _usual_gap(block)
        parts.append(block[0].text)
        for above, below in pairwise(block):
            if _is_wrapped(above, below, right, gap, block):
                _append_wrapped(parts, below.text, vocabulary)
            else:
                parts += [_separator(above, below, right, gap), below.text]
    return "".join(parts).replace(HYPHEN_MARK, "-")


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that stand one below the other in one size."""
    block: list[Line] = []
    for line in lines:
        if block and not _continues(block[-1], line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(above: Line, below: Line) -> bool:
    if not (above.is_placed and below.is_placed):
        return above.is_placed == below.is_placed
    gap = above.baseline - below.baseline
    larger, smaller = max(above.size, below.size), min(above.size, below.size)
    return larger <= _SAME_SIZE * smaller and 0 < gap <= _WIDE_GAP * larger


def _right_edge(block: Sequence[Line], lines: Sequence[Line]) -> float:
    """Where the lines of a block end at most: as far as any line of the page that starts where it starts."""
    left, size = min(line.left for line in block), block[0].size
    return max(line.right for line in (*block, *(one for one in lines if abs(one.left - left) <= size)))


def _usual_gap(block: Sequence[Line]) -> float:
    gaps = [above.baseline - below.baseline for above, below in pairwise(block)]
    return median(gaps) if gaps else 0.0


def _is_wrapped(above: Line, below: Line, right: float, gap: float, block: Sequence[Line]) -> bool:
    if above.is_fixed_pitch or below.is_fixed_pitch or _ITEM.match(below.text) or _LEADER.search(above.text):
        return False
    if (_is_row(above.text) and _is_row(below.text)) or _ADDRESS.fullmatch(below.text):
        return False
    if not above.is_placed:
        return _is_wrapped_by_length(above.text, below.text, block)
    if above.baseline - below.baseline > _GAP * gap:
        return False
    if below.left > above.left + _INDENT * below.size and _SENTENCE_END.search(above.text):
        return False
    if right - above.left < _NARROW * above.size and _SENTENCE_END.search(above.text):
        return False
    letter = (below.right - below.left) / max(1, len(below.text))
    first = below.text.split(None, 1)[0]
    return above.right + (len(first) + 1) * letter > right or _CUT.search(above.text) is not None


def _is_wrapped_by_length(above: str, below: str, block: Sequence[Line]) -> bool:
    """Without places: a line as long as the others, which goes on in the next."""
    longest = max(len(line.text) for line in block)
    return len(above) + len(below.split(None, 1)[0]) >= 0.9 * longest and not (
        _SENTENCE_END.search(above) and len(above) < 0.9 * longest
    )


def _is_row(text: str) -> bool:
    """A row of figures: at least half of it, and two of them."""
    cells = text.split()
    figures = sum(any(map(str.isdigit, cell)) for cell in cells)
    return figures > 1 and 2 * figures >= len(cells)


def _separator(above: Line, below: Line, right: float, gap: float) -> str:
    """A line end between items, rows and lines of code or verse; a blank line between paragraphs."""
    if _ITEM.match(below.text) and _ITEM.match(above.text):
        return "\n"
    if above.is_placed and above.baseline - below.baseline > _GAP * gap:
        return "\n\n"
    if above.is_fixed_pitch != below.is_fixed_pitch:
        return "\n\n"
    is_paragraph_end = _SENTENCE_END.search(above.text) and below.left > above.left + _INDENT * below.size
    is_heading = not _SENTENCE_END.search(above.text) and _fills(below, right) and below.text[:1].isupper()
    return "\n\n" if above.is_placed and (is_paragraph_end or is_heading) else "\n"


def _fills(line: Line, right: float) -> bool:
    return line.right - line.left > 0.8 * (right - line.left) and len(line.text.split()) > 4


def _append_wrapped(parts: list[str], below: str, vocabulary: Counter[str]) -> None:
    cut = _CUT.search(parts[-1])
    following = _FIRST_WORD.match(below)
    if cut is None:
        parts += [" ", below]
    elif following is None or cut["chain"] or _keeps_hyphen(cut["part"], following.group(), vocabulary):
        parts[-1] = parts[-1][:-1] + "-"
        parts.append(below)
    else:
        parts[-1] = parts[-1][:-1]
        parts.append(below)


def _keeps_hyphen(before: str, after: str, vocabulary: Counter[str]) -> bool:
    """Whether the hyphen at the end of a line belongs to the word."""
    if not after[0].islower() or (before.isupper() and len(before) > 1):
        return True
    before, after = before.lower(), after.lower()
    joined, compound = vocabulary[before + after], vocabulary[f"{before}-{after}"]
    if joined or compound:
        return compound > joined
    if before in _COMPOUNDING:
        return True
    are_words = bool(vocabulary[before] and vocabulary[after])
    return are_words and min(len(before), len(after)) >= _LEAST_COMPOUND
