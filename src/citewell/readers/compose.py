"""Canonical text put together from blocks, with a section over each run of blocks that belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from citewell.readers.markup import plain_heading, url_links
from citewell.text.canonical import canonicalize
from citewell.text.documents import Link, Role, Section

_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, row or heading of a document. Links count from the start of its text, which is canonical."""

    text: str
    role: Role = "raw_source"
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinedText:
    """Blocks as one text: blank lines between them, none at the edges."""

    text: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...]


def compose(blocks: Iterable[TextBlock]) -> JoinedText:
    """The text of these blocks; neighbours with the same role, headings and page are one section."""
    parts: list[str] = []
    sections: list[Section] = []
    links: list[Link] = []
    position = 0
    for block in blocks:
        whole = canonicalize(block.text)
        text = whole.strip()
        if not text:
            continue
        position += len(_BREAK) if parts else 0
        parts.append(text)
        shift = position - (len(whole) - len(whole.lstrip()))
        links += _moved(block.links, shift, position, position + len(text))
        _extend(sections, block, position, position + len(text))
        position += len(text)
    text = _BREAK.join(parts)
    return JoinedText(text, tuple(sections), _with_bare_urls(text, links))


def _extend(sections: list[Section], block: TextBlock, start: int, end: int) -> None:
    path = tuple(name for name in map(plain_heading, map(canonicalize, block.heading_path)) if name)
    opened = Section(block.role, start, end, heading=path[-1] if path else None, heading_path=path, page=block.page)
    if sections and replace(sections[-1], start=start, end=end) == opened:
        sections[-1] = replace(sections[-1], end=end)
    else:
        sections.append(opened)


def _moved(links: Iterable[Link], shift: int, start: int, end: int) -> list[Link]:
    moved = (replace(link, start=link.start + shift, end=link.end + shift) for link in links)
    return [link for link in moved if start <= link.start < link.end <= end]


def _with_bare_urls(text: str, links: list[Link]) -> tuple[Link, ...]:
    """Also the addresses written out in the text, but for those that are the label of a link."""
    labels = {(link.start, link.end) for link in links}
    bare = (link for link in url_links(text) if (link.start, link.end) not in labels)
    return tuple(sorted((*links, *bare), key=lambda link: (link.start, link.end)))
