"""Apple Notes, exported to a folder: each note a text, Markdown or HTML file, its folders become a tag.

A folder is taken for such an export by its name, because the files themselves say nothing about where they are from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument, distinct, export_text, line
from citewell.readers.kinds import read_file, suffix_of
from citewell.readers.markup import scan, sections_under, url_links
from citewell.readers.page_markdown import page_text, page_tree
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument

_EXPORTS = frozenset({"apple notes", "apple-notes", "apple_notes", "applenotes", "icloud notes", "icloud-notes"})
_SUFFIXES = frozenset({".txt", ".md", ".markdown", ".html", ".htm"})
_HTML = frozenset({".html", ".htm"})
_HASHTAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w-]{0,60})")


class AppleNotes:
    """A note of an export folder: `Apple Notes/Ideas/Kelp/Kelp.txt`, with its attachments beside it."""

    name = "apple_notes"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) in _SUFFIXES and _export_depth(path) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        read = _read_page(data, path) if suffix_of(path) in _HTML else read_file(data, path)
        name = PurePosixPath(path).stem
        tags = distinct((_folder(path), *read.tags, *_hashtags(read, path)))
        # The first line of a note is its title in the app, and the file is named after it.
        yield ImportedDocument(replace(read, title=read.title or line(name), tags=tags), "apple_note")


def _export_depth(path: str) -> int | None:
    """How many folders lead to the export, itself included."""
    folders = PurePosixPath(path).parent.parts
    return next((depth for depth, name in enumerate(folders, 1) if name.casefold() in _EXPORTS), None)


def _folder(path: str) -> str:
    """The folders of a note below the export, without the one that holds only the note and its attachments."""
    below = list(PurePosixPath(path).parent.parts[_export_depth(path) or 0 :])
    if below and below[-1].casefold() == PurePosixPath(path).stem.casefold():
        below.pop()
    return "/".join(line(name) for name in below)


def _hashtags(read: ReadDocument, path: str) -> list[str]:
    return [] if suffix_of(path) == ".md" else _HASHTAG.findall(read.text[:1_000_000])


def _read_page(data: bytes, path: str) -> ReadDocument:
    """A note saved as HTML: all of it, because a note has no menus and margins to leave out."""
    tree = page_tree(export_text(data, path))
    title = line(tree.findtext(".//title")) or None
    text = canonicalize(page_text(tree).text)
    if not text:
        raise Unreadable("no readable text in this note")
    sections = sections_under(text, scan(text).headings, start=0, role="user_note")
    return ReadDocument(text=text, title=title, sections=sections, links=url_links(text))
