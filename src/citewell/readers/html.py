"""Saved web pages: all but their navigation as Markdown, and what the page says about itself.

What a page states (author, date, address) is the page's own claim. The text is an extraction, so offsets refer to it
and not to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from citewell.domain.documents import Link, ReadDocument
from citewell.domain.errors import Unreadable
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.headings import sections_under
from citewell.readers.markup import scan
from citewell.readers.page_markdown import page_text
from citewell.readers.page_regions import SAID_SHARE, Region, content_region
from citewell.readers.page_tree import is_heavy, page_tree
from citewell.readers.references import is_web_address, url_links
from citewell.text.canonical import canonicalize

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w-]+)", re.IGNORECASE)
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)(\S+)", re.IGNORECASE)
_SINGLE_FILE = re.compile(r"<!--\s*Page saved with SingleFile\s+url:\s*(\S+)", re.IGNORECASE)
_HEAD_CHARS = 4_096
# Fewer words are no article: then the whole page is looked at.
_LEAST_WORDS = 12
WHOLE_PAGE = "main content could not be told apart: whole page kept"
# Without it htmldate compares with today, and a page would read differently tomorrow.
_DATE_RULES = {"original_date": True, "extensive_search": False, "max_date": "2100-01-01"}


@dataclass(frozen=True, slots=True)
class _Content:
    """The text of a page that is kept, the links in it, and what is to be said about it."""

    text: str
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()


def read_html(data: bytes, charset: str | None = None, *, main_only: bool = False) -> ReadDocument:
    """The page in these bytes, in the encoding its host tells or else it says; raises Unreadable without any text.

    `main_only` keeps the article alone: for pages that were fetched, not saved by somebody.
    """
    decoded = decode(data, declared=charset or _declared_charset(data))
    tree = page_tree(decoded.text)
    is_light = not is_heavy(tree)
    about = _about(tree, is_light=is_light)
    url = _address(decoded.text, about.url)
    article = _article(tree, url, _line(about.title) or "") if main_only and is_light else None
    content = article or _content(tree, _extracted(tree, url) if is_light else None, url)
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


def _content(tree: Any, extracted: str | None, url: str | None) -> _Content:
    region = content_region(tree, extracted)
    page = page_text(region.root, url, region.left_out)
    if not page.text.strip():
        raise Unreadable("no readable text in this page")
    return _Content(page.text, page.links, tuple(_warnings(region)))


def _warnings(region: Region) -> Iterator[str]:
    if region.is_whole:
        yield WHOLE_PAGE
    elif region.lost > SAID_SHARE:
        yield f"{region.lost:.0%} of the visible words are not indexed"


def _article(tree: Any, url: str | None, title: str) -> _Content | None:
    """The article of a page alone, as trafilatura writes it; nothing where it finds hardly anything.

    For pages nobody chose to save, what stands around the article is noise: teasers, comments, other articles.
    """
    from trafilatura import extract

    found: Any = extract(
        deepcopy(tree), url=url, output_format="markdown", include_comments=False, favor_precision=True
    )
    text = canonicalize(found or "")
    first, _, rest = text.partition("\n")
    if first.lstrip("# ").strip() and first.lstrip("# ").strip() in title:
        text = rest.lstrip("\n")  # the title is kept by itself
    return _Content(text, url_links(text)) if len(text.split()) >= _LEAST_WORDS else None


def _extracted(tree: Any, url: str | None) -> str | None:
    """What trafilatura takes for the main content; it changes the tree it is given."""
    from trafilatura import bare_extraction

    found: Any = bare_extraction(deepcopy(tree), url=url, include_comments=False, include_formatting=False)
    return (found.text or None) if found is not None else None
