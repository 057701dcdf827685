"""PDF files: the text layer, page by page, each page a section with its number.

pdfium is not thread-safe, so one lock lets one PDF be read at a time in a process. It does not bound what a hostile
file makes pdfium unpack (a kilobyte of nested forms can take gigabytes): untrusted files belong in a process with a
memory limit (`readers/process_pool.py`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from ctypes import c_double, c_int
from dataclasses import dataclass
from math import hypot
from typing import Any

from citewell.domain.documents import ReadDocument, Section
from citewell.domain.errors import Unreadable
from citewell.readers.dates import pdf_date
from citewell.readers.pdf_layout import HYPHEN_MARK, Line, page_texts
from citewell.readers.pdf_title import pdf_title
from citewell.readers.references import url_links
from citewell.text.canonical import canonicalize

MAX_PAGES = 5_000

_PDFIUM = threading.Lock()
_PASSWORD_ERROR = 4
# Where a line ended in a hyphen pdfium leaves a mark instead of hyphen and line end.
_LINE_END_HYPHEN = re.compile("[\ufffe\x02](?:\r?\n)?")
_PAGE_BREAK = "\n\n"
_FIXED_PITCH = 1
_LOOK_AHEAD = 2_000


@dataclass(frozen=True, slots=True)
class _Contents:
    """What pdfium found: the lines of each page (None where it failed), the metadata, and how many pages there are."""

    pages: list[list[Line] | None]
    metadata: dict[str, str]
    page_count: int


def read_pdf(data: bytes) -> ReadDocument:
    """The PDF in these bytes; raises Unreadable when it is broken, locked or has no text layer."""
    contents = _contents(data)
    text, sections = _joined(page_texts(contents.pages))
    if not sections:
        raise _no_text(contents)
    about = {key: " ".join(canonicalize(value).split()) for key, value in contents.metadata.items()}
    title = pdf_title(about.get("Title"), next(filter(None, contents.pages), ()))
    return ReadDocument(
        text=text,
        title=title,
        sections=sections,
        links=url_links(text),
        author=about.get("Author") or None,
        created=pdf_date(about.get("CreationDate", "")),
        modified=pdf_date(about.get("ModDate", "")),
        meta_text="\n".join(filter(None, (title, about.get("Subject"), about.get("Keywords")))),
        warnings=tuple(_warnings(contents)),
    )


def _contents(data: bytes) -> _Contents:
    from pypdfium2 import PdfDocument, PdfiumError

    with _PDFIUM:
        try:
            document: Any = PdfDocument(data)  # type: ignore[no-untyped-call]
        except PdfiumError as error:
            raise _not_opened(data, error) from error
        with closing(document):
            page_count = len(document)
            pages = [_page_lines(document, number) for number in range(min(page_count, MAX_PAGES))]
            return _Contents(pages, document.get_metadata_dict(), page_count)


def _not_opened(data: bytes, error: Any) -> Unreadable:
    # pdfium may report the error of an earlier file, so a locked one must also look like it.
    if error.err_code == _PASSWORD_ERROR and b"/Encrypt" in data:
        return Unreadable("the PDF is encrypted; save an unlocked copy")
    return Unreadable("not a readable PDF: broken, cut off or something else")


def _page_lines(document: Any, number: int) -> list[Line] | None:
    """What stands within the bounds of the page; text outside of them is not seen by readers either."""
    from pypdfium2 import PdfiumError

    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            shown = _lines_of(text_page.get_text_bounded())
            return _placed(text_page, shown)
    except PdfiumError:
        return None


def _lines_of(text: str) -> list[str]:
    return _LINE_END_HYPHEN.sub(f"{HYPHEN_MARK}\n", text).replace("\r\n", "\n").split("\n")


def _placed(text_page: Any, shown: list[str]) -> list[Line]:
    """Lines with their places; those that pdfium tells apart otherwise without their bounds have none."""
    lines = [Line(canonicalize(line)) for line in shown]
    try:
        written = text_page.get_text_range()
    except RecursionError:  # pypdfium2 steps over characters that are no text one call deeper each
        return lines
    # pdfium counts in units of UTF-16: beyond them its places and ours would drift apart.
    if any(character > "\uffff" for character in written):
        return lines
    at = 0
    for number, line in enumerate(shown):
        content = line.removesuffix(HYPHEN_MARK).strip()
        start = written.find(content, at, at + _LOOK_AHEAD + len(content)) if content else -1
        if start >= 0:
            at = start + len(content)
            lines[number] = _place(text_page, lines[number], start, at - 1)
    return lines


def _place(text_page: Any, line: Line, first: int, last: int) -> Line:
    """The line with where its first character stands and where its last one ends."""
    from pypdfium2 import raw as pdfium

    raw: Any = pdfium

    start, end = (raw.FPDFText_GetCharIndexFromTextIndex(text_page, at) for at in (first, last))
    left, baseline, flags, matrix = c_double(), c_double(), c_int(), raw.FS_MATRIX()
    if start < 0 or end < 0 or not raw.FPDFText_GetCharOrigin(text_page, start, left, baseline):
        return line
    size = raw.FPDFText_GetFontSize(text_page, start)
    if raw.FPDFText_GetMatrix(text_page, start, matrix):
        size *= hypot(matrix.c, matrix.d)
    raw.FPDFText_GetFontInfo(text_page, start, None, 0, flags)
    _, _, right, _ = text_page.get_charbox(end)
    is_fixed = bool(flags.value & _FIXED_PITCH)
    return Line(line.text, left.value, right, baseline.value, size, is_fixed)


def _joined(pages: list[str | None]) -> tuple[str, tuple[Section, ...]]:
    parts: list[str] = []
    sections: list[Section] = []
    position = 0
    for number, page in enumerate(pages, start=1):
        if page is None or not page.strip():
            continue
        if parts:
            parts.append(_PAGE_BREAK)
            position += len(_PAGE_BREAK)
        sections.append(Section(role="raw_source", start=position, end=position + len(page), page=number))
        parts.append(page)
        position += len(page)
    return "".join(parts), tuple(sections)


def _no_text(contents: _Contents) -> Unreadable:
    if all(page is None for page in contents.pages):
        return Unreadable("not a readable PDF: none of its pages can be opened")
    return Unreadable("the PDF has no text layer (scanned?): save a copy with text")


def _warnings(contents: _Contents) -> Iterator[str]:
    failed = sum(page is None for page in contents.pages)
    if failed:
        yield f"pages that could not be opened: {failed}"
    if contents.page_count > len(contents.pages):
        yield f"only the first {len(contents.pages)} of {contents.page_count} pages were read"
    empty = sum(page is not None and not any(line.text.strip() for line in page) for page in contents.pages)
    if empty:
        yield f"pages without a text layer: {empty}"
