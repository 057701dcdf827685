"""Where in a document a quotation stands: the path of its headings, its page, the time at which it was said. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from citewell.domain.documents import Span
from citewell.domain.evidence import EvidenceRow
from citewell.surfaces.cli.console import one_line
from citewell.surfaces.cli.quotes import shown_text

if TYPE_CHECKING:
    # A search from a cold shell must not wait for what only answers need.
    from citewell.domain.answers import Citation

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_LONGEST = 80


def place_of(citation: Citation, rows: Iterable[EvidenceRow]) -> str:
    """`Rules › Setup`, `p. 17`, `at 12:04`: where to look in the document."""
    named = [context.text for context in citation.context if context.kind == "heading"]
    row = row_of(citation.source_key, citation.span, rows)
    at = citation.highlight.start if citation.highlight else citation.span.start
    page = f"p. {citation.page}" if citation.page is not None else ""
    if row is None:
        return " · ".join(part for part in (_path(named, citation.title), page) if part)
    time = next((one.heading for one in row.sections if one.role == "transcript" and one.start <= at < one.end), None)
    if time:
        return f"at {one_line(time, 20)}"
    headings = _headings(row, min(at, citation.span.start))
    return " · ".join(part for part in (_path(headings or named, citation.title), page) if part)


def place_of_row(row: EvidenceRow) -> str:
    """The pages of a row's window, or the time at which it was said."""
    times = [section.heading for section in row.sections if section.role == "transcript" and section.heading]
    pages = [section.page for section in row.sections if section.page]
    if pages:
        return f"p. {pages[0]}" + (f"–{pages[-1]}" if pages[-1] != pages[0] else "")
    return f"at {one_line(times[0], 20)}" if times else ""


def row_of(source_key: str, span: Span, rows: Iterable[EvidenceRow]) -> EvidenceRow | None:
    """The row of evidence a quotation was taken from."""
    same = [row for row in rows if (row.source_key, row.span.content_hash) == (source_key, span.content_hash)]
    return next((row for row in same if row.span.start <= span.start < row.span.end), same[0] if same else None)


def _headings(row: EvidenceRow, at: int) -> list[str]:
    """The headings above an offset, from the outermost: as far as the window shows them, else its section's own."""
    section = next((one for one in row.sections if one.start <= at < one.end and one.heading), None)
    path: list[tuple[int, str]] = []
    for match in _HEADING.finditer(row.text):
        if row.span.start + match.start() > at:
            break
        path = [entry for entry in path if entry[0] < len(match[1])]
        path.append((len(match[1]), match[2]))
    names = [name for _, name in path]
    if section is not None and section.heading and not any(section.heading in name for name in names[-1:]):
        return [section.heading]
    return names if section is not None else []


def _path(headings: Iterable[str], title: str) -> str:
    shown = [one_line(shown_text(heading), _LONGEST) for heading in headings]
    if shown and shown[0].casefold() == title.strip().casefold():
        shown = shown[1:]
    return " › ".join(shown)
