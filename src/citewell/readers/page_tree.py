"""Untrusted HTML becomes a tree of what a reader of the page would see.

Guards against pages built to exhaust the parser (attributes, nesting, size). Removes what the page itself marks as
hidden; text hidden by a style sheet, by its colour or behind other elements is not recognised.
"""

from __future__ import annotations

import re
from typing import Any

from citewell.domain.errors import Unreadable

MAX_CHARS = 20_000_000
# The parser compares each attribute of a tag with all before it: 300,000 of them take five minutes.
MAX_ATTRIBUTES = 1_000
MAX_ELEMENTS = 1_000_000
# libxml2's own limit of nested elements, from where on it would silently drop the rest of the page.
MAX_DEPTH = 2_048

# Beyond these trafilatura takes ten seconds or more.
HEAVY_ELEMENTS = 60_000
HEAVY_DEPTH = 256

_TAG = re.compile(
    r"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))"
    r"|(?P<name>[a-zA-Z][^\s/>]*+)(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|))*+>?)"
)
_ATTRIBUTE = re.compile(r"[^\s=>/]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?")
_RAW_END = {name: re.compile(rf"</{name}", re.IGNORECASE) for name in ("script", "style")}

# Characters no XML tree may hold. The parser lets them in, and whoever then moves text about in the tree fails.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

# What is never read as text: programs, forms, and what stands in for pictures and players that are not shown.
UNSEEN_TAGS = frozenset(
    """script style noscript template iframe object svg select textarea audio video canvas datalist head
    title""".split()
)
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def page_tree(markup: str, *, with_hidden: bool = False) -> Any:
    """The parsed page without what it hides; raises Unreadable for pages made to exhaust their reader."""
    from lxml import etree, html

    if len(markup) > MAX_CHARS:
        raise Unreadable(f"the page is larger than {MAX_CHARS // 1_000_000} MB")
    _check_tags(markup)
    parser = html.HTMLParser(  # type: ignore[no-untyped-call]
        encoding="utf-8",
        huge_tree=True,
        collect_ids=False,
        default_doctype=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        tree = html.document_fromstring(markup.encode("utf-8"), parser=parser)  # type: ignore[no-untyped-call]
    except etree.ParserError as error:
        raise Unreadable("no readable text in this page") from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise Unreadable(f"the page nests more than {MAX_DEPTH} elements")
    _remove_controls(tree)
    if not with_hidden:
        _remove_hidden(tree)
    return tree


def is_heavy(tree: Any) -> bool:
    """Whether heuristics over this tree would take long: their time grows with the square of its size and depth."""
    from lxml import etree

    elements = depth = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        elements += event == "start"
        if elements > HEAVY_ELEMENTS or depth > HEAVY_DEPTH:
            return True
    return False


def _check_tags(markup: str) -> None:
    """Refuse absurdly many tags, or attributes on one, before the parser sees them."""
    position = 0
    if markup.count("<") > 2 * MAX_ELEMENTS:
        raise Unreadable(f"the page has more than {MAX_ELEMENTS} elements")
    while (tag := _TAG.search(markup, position)) is not None:
        position = tag.end()
        name = tag["name"]
        if name is None:
            continue
        # An attribute and the space before it take two characters at least.
        if tag.end() - tag.start() > 2 * MAX_ATTRIBUTES and _count_attributes(tag[0]) > MAX_ATTRIBUTES:
            raise Unreadable(f"a tag of the page has more than {MAX_ATTRIBUTES} attributes")
        raw_end = _RAW_END.get(name.lower())
        if raw_end is not None:
            closing = raw_end.search(markup, position)
            position = len(markup) if closing is None else closing.start()


def _count_attributes(tag: str) -> int:
    return sum(1 for _ in _ATTRIBUTE.finditer(tag))


def _remove_hidden(tree: Any) -> None:
    """Drop hidden elements but keep the text after them. The body stays: pages hide it until their script runs."""
    for element in [element for element in tree.iter() if _is_hidden(element)]:
        _drop(element)


def _remove_controls(tree: Any) -> None:
    for element in tree.iter():
        if element.text and _NOT_XML.search(element.text):
            element.text = _NOT_XML.sub("", element.text)
        if element.tail and _NOT_XML.search(element.tail):
            element.tail = _NOT_XML.sub("", element.tail)


def _is_hidden(element: Any) -> bool:
    if not isinstance(element.tag, str) or element.tag in {"html", "body", "head"}:
        return False
    hidden = element.get("hidden")
    return (
        (hidden is not None and hidden.lower() != "until-found")
        or (element.get("aria-hidden", "").lower() == "true" and not _holds_the_page(element))
        or element.tag == "template"
        or (element.tag == "dialog" and element.get("open") is None)
        or _HIDDEN_STYLE.search(element.get("style", "")) is not None
    )


def _holds_the_page(element: Any) -> bool:
    """An open dialog marks the page behind it as `aria-hidden`, which hides nothing from sight."""
    return next(element.iter("main", "article", "h1"), None) is not None


def _drop(element: Any) -> None:
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail or ""
    before = element.getprevious()
    if before is None:
        parent.text = (parent.text or "") + tail
    else:
        before.tail = (before.tail or "") + tail
    parent.remove(element)
