"""A fetched page becomes text: which reader, by what the host says it is and what its bytes are.

A host may lie about the type: bytes that are a PDF are read as one whatever they are called, and bytes that are no text
are refused. JSON is read as it stands, so that a quote of it is what the host sent.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from citewell.errors import Unreadable
from citewell.readers.decode import decode
from citewell.readers.kinds import read_plain, text_bytes
from citewell.readers.process_pool import MEMORY_BYTES, Allowance
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Section, SourceType

READ_SECONDS = 8.0
PAGE_MEMORY_BYTES, PDF_MEMORY_BYTES = 900_000_000, 300_000_000
_NO_TEXT = frozenset({"script", "style", "svg", "math"})
_MOST_EVERYTHING = 400_000
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")


@dataclass(frozen=True, slots=True)
class PageBytes:
    """What was fetched of a page; it may take so many seconds to read."""

    data: bytes
    content_type: str
    url: str
    charset: str | None = None
    seconds: float = READ_SECONDS


@dataclass(frozen=True, slots=True)
class PageDocument:
    """The document in a page, or why there is none; `is_empty` tells a page without words from one that broke."""

    read: ReadDocument | None
    source_type: SourceType = "web"
    reason: str = ""
    is_empty: bool = False
    # All that stands in its markup, seen or not: what is hidden from readers may be meant for programs.
    everything: str = ""


def read_page(page: PageBytes) -> PageDocument:
    """Read a page, whatever it holds; nothing it holds makes this fail."""
    try:
        return _read(page)
    except MemoryError:
        return PageDocument(None, reason="needs more memory than a reader may take")
    except Unreadable as error:
        is_empty = "no readable text" in error.message or "empty" in error.message
        return PageDocument(None, reason=error.message, is_empty=is_empty)
    except Exception as error:  # noqa: BLE001  one hostile page must not end a run; the reason is recorded
        return PageDocument(None, reason=f"the reader failed: {type(error).__name__}"[:300])


def shortened(read: ReadDocument, most: int) -> ReadDocument:
    """The beginning of a document, to the end of a line: at most so many characters."""
    if len(read.text) <= most:
        return read
    end = read.text.rfind("\n", 0, most) + 1 or most
    sections = tuple(replace(one, end=min(one.end, end)) for one in read.sections if one.start < end)
    links = tuple(link for link in read.links if link.end <= end)
    return replace(read, text=read.text[:end], sections=sections, links=links)


def load_readers() -> None:
    """Import what reading a page needs: that takes longer than most pages."""
    from citewell.readers.html import read_html

    with suppress(Unreadable):
        read_html(b"<p>ready</p>")


def page_allowance(page: PageBytes, held: int | None) -> Allowance:
    """What reading a page may take; a PDF is held to what its process has already, and some."""
    if held is not None and _is_pdf(page):
        return Allowance(page.seconds, min(MEMORY_BYTES, held + PDF_MEMORY_BYTES))
    return Allowance(page.seconds, MEMORY_BYTES if held is None else min(MEMORY_BYTES, held + PAGE_MEMORY_BYTES))


def _is_pdf(page: PageBytes) -> bool:
    return page.data[:1024].lstrip().startswith(b"%PDF-")


def _read(page: PageBytes) -> PageDocument:
    if _is_pdf(page) or page.content_type == "application/pdf":
        from citewell.readers.pdf import read_pdf

        return _checked(replace(read_pdf(page.data), url=page.url), "pdf")
    if page.content_type == "text/html" or _looks_like_html(page.data):
        from citewell.readers.html import read_html

        data = text_bytes(page.data, "page.html")
        read = read_html(data, page.charset, main_only=True)
        return replace(_checked(replace(read, url=page.url), "web"), everything=_everything(data, page.charset))
    return _checked(replace(_plain(page), url=page.url), "web")


def _everything(data: bytes, charset: str | None) -> str:
    from lxml import etree

    from citewell.readers.page_markdown import is_heavy, page_tree

    tree = page_tree(decode(data, declared=charset).text, with_hidden=True)
    if is_heavy(tree):
        return ""
    texts: list[str] = []
    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        if element.tag in _NO_TEXT:
            walk.skip_subtree()
        elif isinstance(element.tag, str):
            texts += filter(None, (element.text, element.tail))
    return canonicalize("\n".join(texts))[:_MOST_EVERYTHING]


def _plain(page: PageBytes) -> ReadDocument:
    if page.content_type == "text/csv":
        from citewell.readers.tables import read_table

        return read_table(text_bytes(page.data, "page.csv"))
    if page.content_type == "text/markdown":
        from citewell.readers.markdown import read_markdown

        return _as_source(read_markdown(text_bytes(page.data, "page.md")))
    return _as_source(read_plain(text_bytes(page.data, "page.txt")))


def _as_source(read: ReadDocument) -> ReadDocument:
    """Somebody else's text: no part of it is the user's own."""
    sections = tuple(replace(one, role="raw_source") for one in read.sections)
    return replace(read, sections=sections, tags=(), aliases=())


def _looks_like_html(data: bytes) -> bool:
    return data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML_STARTS)


def _checked(read: ReadDocument, source_type: SourceType) -> PageDocument:
    if not read.text.strip():
        return PageDocument(None, reason="no readable text in this page", is_empty=True)
    if not read.sections:
        read = replace(read, sections=(Section(role="raw_source", start=0, end=len(read.text)),))
    return PageDocument(read, source_type)
