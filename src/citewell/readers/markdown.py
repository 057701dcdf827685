"""Markdown notes: the file is the canonical text; the lines of the front matter are its first section.

What Citewell itself wrote into a note is left out, and so is never indexed, quoted or linked from.
"""

from __future__ import annotations

from collections.abc import Iterable

from citewell.domain.documents import ReadDocument, Section
from citewell.readers.decode import decode
from citewell.readers.front_matter import FrontMatter, read_front_matter
from citewell.readers.headings import Heading, sections_under
from citewell.readers.markup import scan
from citewell.readers.references import property_links
from citewell.readers.written_sections import without_written
from citewell.text.canonical import canonicalize


def read_markdown(data: bytes) -> ReadDocument:
    """The note in these bytes, in whatever encoding."""
    decoded = decode(data)
    return markdown_document(decoded.text, warnings=decoded.warnings)


def markdown_document(text: str, *, warnings: tuple[str, ...] = ()) -> ReadDocument:
    """The note in this text."""
    text = without_written(canonicalize(text))
    front = read_front_matter(text)
    markup = scan(text, front.body_start)
    return ReadDocument(
        text=text,
        title=front.title,
        heading=_first_heading(markup.headings),
        sections=_properties(text, front)
        + sections_under(text, markup.headings, start=front.body_start, role="user_note"),
        links=property_links(text, front.body_start) + markup.links,
        tags=_distinct_tags([*front.tags, *markup.tags]),
        aliases=front.aliases,
        author=front.author,
        url=front.url,
        created=front.created,
        modified=front.modified,
        warnings=warnings + front.warnings,
        not_evidence=front.not_evidence,
    )


def _properties(text: str, front: FrontMatter) -> tuple[Section, ...]:
    """The lines between the two rules, as they were written: what they say can be found and quoted."""
    return (Section("user_note", front.start, front.end),) if text[front.start : front.end].strip() else ()


def _first_heading(headings: Iterable[Heading]) -> str | None:
    return next((heading.text for heading in headings if heading.level == 1), None)


def _distinct_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags differ by more than case; the first spelling stays."""
    first_spelling: dict[str, str] = {}
    for tag in tags:
        first_spelling.setdefault(tag.casefold(), tag)
    return tuple(first_spelling.values())
