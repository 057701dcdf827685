"""Headings of a Markdown text and the sections they open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from citewell.domain.documents import Role, Section
from citewell.domain.values import dataclass

# A heading is repeated in the path of every chunk below it, so a hostile one must not be megabytes long.
HEADING_CHARS = 200
_RAW_CHARS = 300

_MARKUP = re.compile(r"[#^%<!\[*~=`_\\]")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$")
_COMMENT = re.compile(r"%%.*?%%|<!--.*?-->")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*{1,3}|~~|==|`+)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading line: its level, its plain text and where it starts."""

    level: int
    text: str
    start: int


def plain_heading(raw: str) -> str:
    """The words of a heading without its markup."""
    text = raw[:_RAW_CHARS]
    if _MARKUP.search(text):
        text = _without_markup(text, is_whole=len(raw) == len(text))
    text = " ".join(text.split())
    return text if len(text) <= HEADING_CHARS else text[: HEADING_CHARS - 1] + "…"


def _without_markup(text: str, *, is_whole: bool) -> str:
    if is_whole:
        text = _BLOCK_ID.sub("", _CLOSING_HASHES.sub("", text))
    text = _LINK.sub(r"\1", _WIKILINK.sub(r"\1", _COMMENT.sub("", text)))
    text = _UNDERSCORES.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    return _ESCAPE.sub(r"\1", text)


def sections_under(text: str, headings: Iterable[Heading], *, start: int, role: Role) -> tuple[Section, ...]:
    """Sections from `start` to the end of the text, one per heading; those of white space only are left out."""
    return tuple(
        section for section in _tiles(text, headings, start, role) if text[section.start : section.end].strip()
    )


def _tiles(text: str, headings: Iterable[Heading], start: int, role: Role) -> Iterator[Section]:
    enclosing: list[Heading] = []
    opened = start
    for heading in headings:
        yield _section(role, opened, heading.start, enclosing)
        while enclosing and enclosing[-1].level >= heading.level:
            enclosing.pop()
        enclosing.append(heading)
        opened = heading.start
    yield _section(role, opened, len(text), enclosing)


def _section(role: Role, start: int, end: int, enclosing: list[Heading]) -> Section:
    path = tuple(heading.text for heading in enclosing)
    return Section(role=role, start=start, end=end, heading=path[-1] if path else None, heading_path=path)
