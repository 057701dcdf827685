"""Saved web pages: all but their navigation as Markdown, and what the page says about itself.

What a page states (author, date, address) is the page's own claim. The text is an extraction, so offsets refer to it
and not to the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from citewell.errors import Unreadable
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.markup import is_web_address, scan, sections_under, url_links
from citewell.readers.page_markdown import BLOCKS, UNSEEN_TAGS, is_heavy, page_text, page_tree
from citewell.text.canonical import canonicalize
from citewell.text.documents import Link, ReadDocument

# Which parts of a page are its content: navigation is told by its tag, its role or its name, the rest is kept.
#
# Whoever looks for the main content of a page by its looks (trafilatura) also loses lists, code and asides. So its word
# counts for whole regions only: it tells in which of them the content stands, and the text is made from our own tree.


# How much of the visible words outside of navigation may be left out: beyond the first it is said, beyond the second
# nothing is left out.
SAID_SHARE, MOST_SHARE = 0.1, 0.25

_NAVIGATION_TAGS = frozenset({"nav", "footer"})
_NAVIGATION_ROLES = frozenset("navigation banner contentinfo search menu menubar toolbar tablist alertdialog".split())
_CONTENT_ROLES = frozenset({"main", "article"})
# Words in class names and ids of what stands around the content of a page.
_AROUND = frozenset(
    """nav navbar navigation menu sidebar breadcrumb breadcrumbs footer cookie cookies consent banner share sharing
    social related comments promo advert advertisement ads newsletter subscribe pagination pager toolbar popup modal
    masthead toc skiplink""".split()
)
_NAME_PART = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"\w+")
_RUN = 4  # words in a row by which a block is recognised in what was extracted
_LINKED_SHARE = 0.6
_REGION_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page with what is left out of it, and the share of the visible words that is lost so."""

    root: Any
    left_out: frozenset[Any]
    lost: float
    is_whole: bool


def content_region(tree: Any, extracted: str | None) -> Region:
    """Where the content of a page stands, given what was extracted from it by its looks (None: nothing was)."""
    body = tree.find("body")
    root = tree if body is None else body
    navigation = frozenset(_navigation(root))
    whole = _words(root, navigation)
    if not whole:
        return Region(root, frozenset(), 0.0, is_whole=True)
    if extracted is None:
        return Region(root, navigation, 0.0, is_whole=True)
    census = _census(root, extracted)
    around = navigation | frozenset(_around(root, navigation, census))
    visible = _words(root, around)
    region = _main_element(root, visible, around)
    left_out = around | frozenset(_link_lists(region, around, census))
    kept = _words(region, left_out).total()
    # Names of elements are a hint only: where most of a page would go by them, they are not believed.
    if kept < (1 - MOST_SHARE) * visible.total() or 2 * visible.total() < whole.total():
        return Region(root, navigation, 0.0, is_whole=True)
    return Region(region, left_out, 1 - kept / whole.total(), is_whole=False)


def words_of(text: str) -> Counter[str]:
    """The words of a text and how often each occurs."""
    return Counter(_WORD.findall(text.lower()))


def _words(root: Any, left_out: frozenset[Any]) -> Counter[str]:
    return words_of(page_text(root, left_out=left_out).text)


@dataclass(frozen=True, slots=True)
class _Census:
    """Of every element: how many words stand in it, how many of them in links, and whether any of it was extracted."""

    words: Counter[Any]
    linked: Counter[Any]
    kept: set[Any]


def _census(root: Any, extracted: str) -> _Census:
    """One pass over the tree, linear in its size."""
    from lxml import etree

    runs = set(_runs(_WORD.findall(extracted.lower())))
    census = _Census(Counter(), Counter(), set())
    line: list[str] = []
    anchors = 0

    def read(element: Any, text: str | None) -> None:
        found = _WORD.findall(text.lower()) if text and element is not None else ()
        line.extend(found)
        census.words[element] += len(found)
        census.linked[element] += len(found) if anchors else 0

    def end_line(element: Any) -> None:
        if any(run in runs for run in _runs(line)):
            while element is not None and element not in census.kept:
                census.kept.add(element)
                element = element.getparent()
        line.clear()

    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if element.tag in BLOCKS:
            end_line(element.getparent() if event == "start" else element)
        anchors += (element.tag == "a") * (1 if event == "start" else -1)
        if event == "start":
            read(element, element.text)
        elif element is not root:
            parent = element.getparent()
            census.words[parent] += census.words[element]
            census.linked[parent] += census.linked[element]
            read(parent, element.tail)
    return census


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))


def _navigation(root: Any) -> Iterator[Any]:
    """Elements the page itself declares as navigation, header or footer of the page."""
    from lxml import etree

    content = 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if not isinstance(element.tag, str):
            continue
        is_content = element.tag in {"main", "article"} or element.get("role", "").lower() in _CONTENT_ROLES
        if event == "end":
            content -= is_content
            continue
        content += is_content
        if element is not root and not is_content and _is_navigation(element, inside=content > 0):
            walk.skip_subtree()
            yield element


def _is_navigation(element: Any, *, inside: bool) -> bool:
    if element.get("role", "").lower() in _NAVIGATION_ROLES:
        return True
    if element.tag == "header":
        return not inside and _holds_no_content(element)
    return element.tag == "nav" or (element.tag in _NAVIGATION_TAGS and not inside)


def _holds_no_content(header: Any) -> bool:
    return next(header.iter("main", "article"), None) is None


def _around(root: Any, navigation: frozenset[Any], census: _Census) -> Iterator[Any]:
    """Elements named as something around the content, of which nothing was extracted."""
    for element in _elements(root, navigation):
        is_named = element.tag == "aside" or not _AROUND.isdisjoint(_name_parts(element))
        if is_named and element.tag not in {"body", "main", "article"} and element not in census.kept:
            yield element


def _name_parts(element: Any) -> Iterator[str]:
    named = f"{element.get('class', '')} {element.get('id', '')}"[:500]
    return (part.lower() for part in _NAME_PART.split(named) if part)


def _link_lists(root: Any, left_out: frozenset[Any], census: _Census) -> Iterator[Any]:
    """Lists that are links for the most part, of which nothing was extracted."""
    for element in _elements(root, left_out):
        is_list = element.tag in {"ul", "ol"} and element.getparent().tag != "li"
        words = census.words[element]
        is_linked = words > 2 * _RUN and census.linked[element] >= _LINKED_SHARE * words
        if is_list and is_linked and element not in census.kept:
            yield element


def _main_element(root: Any, visible: Counter[str], left_out: frozenset[Any]) -> Any:
    """The element marked as main, or the only article, where it holds nearly all of the visible words."""
    for tag in ("main", "article"):
        found = [element for element in root.iter(tag) if element not in left_out]
        if len(found) == 1 and _words(found[0], left_out).total() >= _REGION_SHARE * visible.total():
            return found[0]
    return root


def _elements(root: Any, left_out: frozenset[Any]) -> Iterator[Any]:
    """Block elements from the outside in; nothing below one that is left out."""
    from lxml import etree

    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        if not isinstance(element.tag, str) or element in left_out or element.tag in UNSEEN_TAGS:
            walk.skip_subtree()
        elif element is not root and element.tag in BLOCKS:
            yield element


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
class _PageContent:
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


def _content(tree: Any, extracted: str | None, url: str | None) -> _PageContent:
    region = content_region(tree, extracted)
    page = page_text(region.root, url, region.left_out)
    if not page.text.strip():
        raise Unreadable("no readable text in this page")
    return _PageContent(page.text, page.links, tuple(_warnings(region)))


def _warnings(region: Region) -> Iterator[str]:
    if region.is_whole:
        yield WHOLE_PAGE
    elif region.lost > SAID_SHARE:
        yield f"{region.lost:.0%} of the visible words are not indexed"


def _article(tree: Any, url: str | None, title: str) -> _PageContent | None:
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
    return _PageContent(text, url_links(text)) if len(text.split()) >= _LEAST_WORDS else None


def _extracted(tree: Any, url: str | None) -> str | None:
    """What trafilatura takes for the main content; it changes the tree it is given."""
    from trafilatura import bare_extraction

    found: Any = bare_extraction(deepcopy(tree), url=url, include_comments=False, include_formatting=False)
    return (found.text or None) if found is not None else None
