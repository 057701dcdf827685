"""A source opened at its passage: the lines around it, the passage marked, and where that is in the file."""

from __future__ import annotations

import re
from bisect import bisect_right

from citewell.domain.documents import DocumentView
from citewell.engine import Citewell
from citewell.surfaces.cli.chat_state import Source
from citewell.surfaces.cli.console import one_line, page_width, paragraph_lines, print_lines, print_text, style
from citewell.surfaces.cli.layout import Line, Piece, indented

AROUND = 6
_MARK, _BESIDE = "> ", "  "


def open_passage(opened: Citewell, source: Source, around: int = AROUND) -> None:
    """Print a document around a passage, as it was when it was cited."""
    lookup = f"{source.source_key}@{source.span.content_hash}"
    (document,) = opened.corpus.get(lookup, content_mode="full").documents
    starts = _line_starts(document.text)
    first, last = _line_at(starts, source.span.start), _line_at(starts, max(source.span.start, source.span.end - 1))
    print_text(style(one_line(document.title, 100), "bold"), "  ", style(_where(document, first), "dim"))
    page = next((one.page for one in document.sections if one.start <= source.span.start < one.end and one.page), None)
    if page is not None:
        print_text(style(f"p. {page}", "dim"))
    print_text()
    begin, end = max(0, first - around), min(len(starts), last + around + 1)
    if begin:
        print_text(style(f"… {_lines(begin)} before", "dim"))
    for number in range(begin, end):
        print_lines(_shown(document, starts, number, source))
    if end < len(starts):
        print_text(style(f"… {_lines(len(starts) - end)} after: /open {source.label} {around * 4}", "dim"))


def _lines(count: int) -> str:
    return f"{count} {'line' if count == 1 else 'lines'}"


def _shown(document: DocumentView, starts: list[int], number: int, source: Source) -> list[Line]:
    """One line of the text, wrapped; what of it belongs to the passage is marked and bold."""
    start = starts[number]
    end = starts[number + 1] if number + 1 < len(starts) else len(document.text)
    text = document.text[start:end].rstrip("\n")
    from_, to = (min(max(at - start, 0), len(text)) for at in (source.span.start, source.span.end))
    pieces = [Piece(text[:from_]), Piece(text[from_:to], "bold"), Piece(text[to:])]
    mark = _MARK if from_ < to else _BESIDE
    return indented(paragraph_lines(pieces, page_width() - len(mark)), mark, mark)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text.rstrip("\n")))]


def _line_at(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1


def _where(document: DocumentView, line: int) -> str:
    """The file and, where its text is the file itself, the line: as editors take it."""
    named = one_line(document.note_path or document.url or document.source_key, 200)
    is_file = bool(document.note_path) and named.lower().endswith((".md", ".markdown", ".txt"))
    return f"{named}:{line + 1}" if is_file else named
