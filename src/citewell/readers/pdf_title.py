"""The title of a PDF: what its metadata says where that is one, else what its first page shows largest. Pure.

Programs leave their own marks there: "t.dvi", "Microsoft Word - report.doc", "untitled", the name of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from statistics import median

from citewell.readers.pdf_layout import HYPHEN_MARK, Line

_FILE_ENDS = """dvi docx? pptx? xlsx? tex pdf indd qxd qxp ps eps graffle pages key odt odp ods rtf txt html? md fm wpd
    pub ai""".split()
_JUNK = re.compile(
    rf"microsoft (?:word|powerpoint|excel|publisher)\b.*|powerpoint presentation|untitled\b.*|(?:no|new) title"
    rf"|document ?\d*|slide \d+|title|print|layout \d+|.*\.(?:{'|'.join(_FILE_ENDS)})",
    re.IGNORECASE,
)
_NOT_A_TITLE = re.compile(
    r"(?:page|seite|draft|final|confidential|version|arxiv)\b.{0,40}|https?://\S*|www\.\S*|\S+@\S+"
    r"|[\W\d_]*(?:january|february|march|april|may|june|july|august|september|october|november|december)?[\W\d_]*",
    re.IGNORECASE,
)
_MEMO = re.compile(r"(?:to|from|date|cc|via)\s*:.*", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:subject|re|betreff|objet|asunto)\s*:\s*(\S.*)", re.IGNORECASE)
_LARGER = 1.15  # than the usual line of the page
_NEARLY = 0.85  # of the largest: the first such line is the title, and all of its own size below it
_SAME = 0.05
_LOWEST = 0.3  # of the page, from its foot
_MOST_LINES, _MOST_CHARS = 4, 200
_COVER_WORDS = 60  # with fewer words a page is a cover, and most of it may be the title


def is_junk(title: str) -> bool:
    """Whether the title in the metadata is what a program left there, not what the document is called."""
    words = title.split()
    if not any(map(str.isalpha, title)) or _JUNK.fullmatch(title.strip()):
        return True
    return len(words) == 1 and any(character.isdigit() or character in "_\\/" for character in title)


def pdf_title(stated: str | None, first_page: Sequence[Line]) -> str | None:
    """What the document is called; None where nothing tells."""
    if stated and not is_junk(stated):
        return stated
    lines = [line for line in first_page if line.text.strip()]
    return _largest(lines) or next(_sensible(lines), None)


def _largest(lines: Sequence[Line]) -> str | None:
    """The largest lines near the top of the page, where they are larger than the rest."""
    placed = [line for line in lines if line.is_placed and _has_words(line)]
    if len(placed) < 2:
        return None
    lowest = _LOWEST * max(line.baseline for line in placed)
    near_top = [line for line in placed if line.baseline >= lowest]
    largest = max(line.size for line in near_top)
    sizes = [line.size for line in lines if line.is_placed for _ in line.text.split()]
    if largest < _LARGER * (median(sizes) if len(sizes) > _COVER_WORDS else min(sizes)):
        return None
    first = next(number for number, line in enumerate(near_top) if line.size >= _NEARLY * largest)
    size = near_top[first].size
    run = list(takewhile(lambda line: abs(line.size - size) <= _SAME * size, near_top[first:]))
    title = " ".join(line.text for line in run[:_MOST_LINES])
    return _line(title) if len(title.split()) > 1 else None


def _sensible(lines: Sequence[Line]) -> Iterator[str]:
    """Lines that could be a title: words, not a date, an address or the number of a page."""
    for number, line in enumerate(lines[:12]):
        text = line.text.strip()
        subject = _SUBJECT.fullmatch(text)
        if subject is not None or _MEMO.fullmatch(text):
            yield from filter(None, [subject and _line(subject[1])])
            continue
        goes_on = number + 1 < len(lines) and lines[number + 1].text[:1].islower()
        if len(text.split()) > 1 and _has_words(line) and not goes_on and not text.endswith((".", ":", ",", ";")):
            shown = _line(text)
            if shown:
                yield shown


def _has_words(line: Line) -> bool:
    text = line.text.strip()
    letters = sum(map(str.isalpha, text))
    return letters > 2 and 2 * letters > len(text) and not _NOT_A_TITLE.fullmatch(text)


def _line(text: str) -> str | None:
    shown = " ".join(text.replace(HYPHEN_MARK, "-").split())
    return shown if shown and len(shown) <= _MOST_CHARS else None
