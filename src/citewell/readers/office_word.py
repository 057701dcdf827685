"""Word documents: paragraphs under their headings, tables as Markdown, notes and comments at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from citewell.domain.documents import Link
from citewell.readers.blocks import Block
from citewell.readers.office import RELATION_ID, OfficeText, Package
from citewell.readers.references import is_web_address
from citewell.readers.tables import markdown_rows
from citewell.readers.xml_tree import local_name
from citewell.text.canonical import canonicalize

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE = re.compile(r"heading\s?([1-9])", re.IGNORECASE)
_TITLE_STYLE = re.compile(r"title", re.IGNORECASE)
_WRITTEN = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "sym": ""}
# Text that the reader of the document does not see, or sees elsewhere.
_UNSEEN = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr"})
_MAX_LEVEL = 6
_NOTES = (("/footnotes", "Footnotes"), ("/endnotes", "Endnotes"), ("/comments", "Comments"))


def word_text(package: Package, root: Any) -> OfficeText:
    """Everything a Word document says."""
    levels = _heading_levels(package)
    addresses = package.relations(package.main)
    body = root.find(f"{_W}body")
    blocks = list(_body_blocks(body, levels, addresses)) if body is not None else []
    for ending, name in _NOTES:
        blocks += _note_blocks(package, ending, name)
    return OfficeText(tuple(blocks))


def _heading_levels(package: Package) -> dict[str, int]:
    """Which styles are headings, by their id: the names are the same in every language, the ids are not."""
    name = package.related(package.main, "/styles")
    root = package.part(name) if name else None
    levels: dict[str, int] = {}
    for style in () if root is None else root.iter(f"{_W}style"):
        named = style.find(f"{_W}name")
        written = "" if named is None else named.get(f"{_W}val") or ""
        if heading := _HEADING_STYLE.fullmatch(written):
            levels[style.get(f"{_W}styleId") or ""] = min(int(heading[1]), _MAX_LEVEL)
        elif _TITLE_STYLE.fullmatch(written):
            levels[style.get(f"{_W}styleId") or ""] = 1
    return levels


def _body_blocks(body: Any, levels: dict[str, int], addresses: dict[str, str]) -> Iterator[Block]:
    path: list[tuple[int, str]] = []
    for element in _top_elements(body):
        headings = tuple(text for _, text in path)
        if element.tag == f"{_W}tbl":
            yield Block(markdown_rows(_rows(element)), heading_path=headings)
            continue
        text, links = _paragraph(element, addresses)
        level = _level(element, levels)
        if not level or not text.strip():
            yield Block(text, heading_path=headings, links=links)
            continue
        title = " ".join(text.split())
        path = [*(above for above in path if above[0] < level), (level, title)]
        yield Block(f"{'#' * level} {title}", heading_path=tuple(text for _, text in path))


def _top_elements(body: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, also those within content controls and tracked insertions."""
    stack = [iter(body)]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
        elif element.tag in {f"{_W}p", f"{_W}tbl"}:
            yield element
        elif local_name(element) not in _UNSEEN and local_name(element) != "sectPr":
            stack.append(iter(element))


def _level(paragraph: Any, levels: dict[str, int]) -> int:
    """The level of a heading, or 0."""
    properties = paragraph.find(f"{_W}pPr")
    if properties is None:
        return 0
    outline = properties.find(f"{_W}outlineLvl")
    if outline is not None and (outline.get(f"{_W}val") or "").isdecimal():
        level = int(outline.get(f"{_W}val")[:3])
        return min(level + 1, _MAX_LEVEL) if level < 9 else 0
    style = properties.find(f"{_W}pStyle")
    return 0 if style is None else levels.get(style.get(f"{_W}val") or "", 0)


def _paragraph(paragraph: Any, addresses: dict[str, str]) -> tuple[str, tuple[Link, ...]]:
    """The words of a paragraph and the links in them."""
    parts: list[str] = []
    links: list[Link] = []
    length = 0
    for element, is_end in _walk(paragraph):
        name = local_name(element)
        if name == "hyperlink":
            target = addresses.get(element.get(RELATION_ID) or "", "")
            if is_end:
                links += _closed(links, length)
            elif is_web_address(target):
                links.append(Link("url", canonicalize(target), length, -1))
        elif not is_end and (written := _written(element, name)):
            parts.append(written)
            length += len(written)
    return "".join(parts), tuple(link for link in links if link.start < link.end)


def _closed(links: list[Link], end: int) -> list[Link]:
    """Take the link that is still open off the list, and give it its end."""
    if not links or links[-1].end != -1:
        return []
    opened = links.pop()
    return [Link("url", opened.target, opened.start, end)]


def _written(element: Any, name: str) -> str:
    if name == "t":
        return canonicalize(element.text or "")
    if name == "p":  # a text box within a paragraph
        return "\n"
    return _WRITTEN.get(name, "")


def _walk(paragraph: Any) -> Iterator[tuple[Any, bool]]:
    """Each element below, when it opens and when it closes, without what is not seen."""
    stack = [(paragraph, iter(paragraph))]
    while stack:
        parent, children = stack[-1]
        element = next(children, None)
        if element is None:
            stack.pop()
            if stack:
                yield parent, True
        elif local_name(element) not in _UNSEEN:
            yield element, False
            stack.append((element, iter(element)))


def _rows(table: Any) -> list[list[str]]:
    """The cells of a table; one within another becomes part of the cell it stands in."""
    return [[_cell_text(cell) for cell in _direct(row, "tc")] for row in _direct(table, "tr")]


def _cell_text(cell: Any) -> str:
    return " ".join(
        " ".join(map(" ".join, _rows(element))) if element.tag == f"{_W}tbl" else _paragraph(element, {})[0]
        for element in _top_elements(cell)
    )


def _direct(parent: Any, name: str) -> list[Any]:
    """Children of this name, also those within a content control."""
    found: list[Any] = []
    for child in parent:
        if child.tag == f"{_W}{name}":
            found.append(child)
        elif local_name(child) == "sdt":
            found += child.iterfind(f"{_W}sdtContent/{_W}{name}")
    return found


def _note_blocks(package: Package, ending: str, heading: str) -> list[Block]:
    name = package.related(package.main, ending)
    root = package.part(name) if name else None
    if root is None or name is None:
        return []
    addresses = package.relations(name)
    blocks = [
        Block(text, heading_path=(heading,), links=links)
        for paragraph in _top_elements(root)
        if paragraph.tag == f"{_W}p"
        for text, links in [_paragraph(paragraph, addresses)]
        if text.strip()
    ]
    return [Block(f"# {heading}", heading_path=(heading,)), *blocks] if blocks else []
