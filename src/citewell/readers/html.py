"""Saved web pages: the main content as Markdown, and what the page says about itself.

What a page states (author, date, address) is the page's own claim. The text is an extraction, so offsets refer to it
and not to the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from citewell.domain.documents import Link, ReadDocument
from citewell.domain.errors import Unreadable
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.headings import sections_under
from citewell.readers.markup import scan
from citewell.readers.page_tree import is_heavy, page_tree, visible_text
from citewell.readers.references import is_web_address
from citewell.text.canonical import canonicalize

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w-]+)", re.IGNORECASE)
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)(\S+)", re.IGNORECASE)
_SINGLE_FILE = re.compile(r"<!--\s*Page saved with SingleFile\s+url:\s*(\S+)", re.IGNORECASE)
_HEAD_CHARS = 4_096
# Marks around the text of an anchor while the tree becomes text. Printable, because trafilatura drops what is not.
_ANCHOR_MARKS = (("⟬", "⟭"), ("⦗", "⦘"), ("⸨", "⸩"), ("⦑", "⦒"))
# Without it htmldate compares with today, and a page would read differently tomorrow.
_DATE_RULES = {"original_date": True, "extensive_search": False, "max_date": "2100-01-01"}


@dataclass(frozen=True, slots=True)
class _Content:
    """The main text of a page and the links in it."""

    text: str
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Anchors:
    """The links of a tree, in order, and the marks that stand around their text."""

    opening: str
    closing: str
    targets: list[str] = field(default_factory=list)


def read_html(data: bytes) -> ReadDocument:
    """The page in these bytes; raises Unreadable when it holds no text."""
    decoded = decode(data, declared=_declared_charset(data))
    tree = page_tree(decoded.text)
    is_light = not is_heavy(tree)
    about = _about(tree, is_light=is_light)
    url = _address(decoded.text, about.url)
    content = (_main_content(tree, url) if is_light else None) or _whole_page(tree)
    return ReadDocument(
        text=content.text,
        title=_line(about.title),
        sections=sections_under(content.text, scan(content.text).headings, start=0, role="raw_source"),
        links=content.links,
        author=_line(about.author),
        url=url,
        created=iso_date(about.date or ""),
        meta_text="\n".join(filter(None, map(_line, (about.title, about.description, about.sitename)))),
        warnings=decoded.warnings + content.warnings,
    )


def _declared_charset(data: bytes) -> str | None:
    head = data[:_HEAD_CHARS]
    declared = _CHARSET.search(head) or _XML_ENCODING.match(head)
    return None if declared is None else declared[1].decode("ascii", "replace")


def _about(tree: Any, *, is_light: bool) -> Any:
    from trafilatura import extract_metadata
    from trafilatura.settings import Document

    if not is_light:
        return Document(title=tree.findtext(".//title"))
    return extract_metadata(tree, date_config=dict(_DATE_RULES))


def _line(value: object) -> str | None:
    return (" ".join(canonicalize(value).split()) or None) if isinstance(value, str) else None


def _address(markup: str, stated: str | None) -> str | None:
    """Where the page is from: the browser's word over the page's own when they name different hosts."""
    stated = stated if stated and is_web_address(stated) else None
    head = markup[:_HEAD_CHARS]
    comment = _SAVED_FROM.search(head) or _SINGLE_FILE.search(head)
    saved = comment[1] if comment is not None and is_web_address(comment[1]) else None
    if saved and stated and _host(saved) == _host(stated):
        return stated
    return saved or stated


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _main_content(tree: Any, url: str | None) -> _Content | None:
    from trafilatura import bare_extraction
    from trafilatura.xml import xmltotxt

    found: Any = bare_extraction(tree, url=url, output_format="markdown", include_comments=False, include_links=True)
    if found is None:
        return None
    anchors = _mark_anchors(found.body)
    text = canonicalize(unicodedata.normalize("NFC", xmltotxt(found.body, True))).strip()
    content = _without_marks(text, anchors)
    return content if content.text.strip() else None


def _whole_page(tree: Any) -> _Content:
    """All visible text, where there is no telling what is main."""
    text = canonicalize(visible_text(tree))
    if not text:
        raise Unreadable("no readable text in this page")
    return _Content(text, warnings=("main content not told apart: read with menus and margins",))


def _mark_anchors(body: Any) -> _Anchors:
    """Replace the links of an extracted tree by their text between marks."""
    from lxml import etree

    written = "".join(body.itertext())
    marks = next((marks for marks in _ANCHOR_MARKS if not any(mark in written for mark in marks)), None)
    anchors = _Anchors(*(marks or ("", "")))
    for anchor in body.iter("ref"):
        target = anchor.get("target") or ""
        if marks and is_web_address(target) and "".join(anchor.itertext()).strip():
            anchors.targets.append(target)
            _surround(anchor, *marks)
    etree.strip_tags(body, "ref")
    return anchors


def _surround(element: Any, opening: str, closing: str) -> None:
    element.text = opening + (element.text or "")
    if len(element):
        element[-1].tail = (element[-1].tail or "") + closing
    else:
        element.text += closing


def _without_marks(text: str, anchors: _Anchors) -> _Content:
    """The text without its marks, and a link where each pair of them stood."""
    if not anchors.targets:
        return _Content(text)
    marked = re.compile(f"{anchors.opening}([^{anchors.opening}{anchors.closing}]*){anchors.closing}")
    pieces = marked.split(text)
    plain = "".join(pieces).replace(anchors.opening, "").replace(anchors.closing, "")
    # Where the serializer dropped or repeated an anchor there is no telling which link is which.
    if len(pieces) != 1 + 2 * len(anchors.targets) or len(plain) != sum(map(len, pieces)):
        return _Content(plain)
    return _Content(plain, tuple(_anchor_links(pieces, anchors.targets)))


def _anchor_links(pieces: list[str], targets: list[str]) -> Iterator[Link]:
    """Links over every second piece, as `split` left them."""
    position = 0
    for before, label, target in zip(pieces[0::2], pieces[1::2], targets, strict=False):
        start = position + len(before)
        position = start + len(label)
        if label.strip():
            yield Link("url", target, start, position)
