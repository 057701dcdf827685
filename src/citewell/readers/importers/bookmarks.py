"""Bookmarks as every browser exports them (Netscape HTML): folders become nested tags, the note is the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import unescape

from citewell.readers.compose import TextBlock, compose
from citewell.readers.importers.entries import (
    ImportedDocument,
    address,
    distinct,
    export_text,
    line,
    moment,
    noting_left_out,
    prose,
)
from citewell.text.documents import ReadDocument
from citewell.text.urls import canonical_url

_SIGNATURE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1", re.IGNORECASE)
# A quote that never closes runs to the end of the file, so that no stretch is read twice.
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>dl|dt|dd|h3|a)(?=[\s>])(?P<attributes>(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|))*+)>?",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"([A-Za-z_]{1,40})=\"([^\"]*+)\"")
_MARKUP = re.compile(r"<[^<>]{0,500}>")
# Folders every browser has: where a bookmark is shown, not what it is about.
_PLACES = ("PERSONAL_TOOLBAR_FOLDER", "UNFILED_BOOKMARKS_FOLDER")
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class _Bookmark:
    url: str
    title: str
    tags: tuple[str, ...]
    saved: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag of the file and the text up to the next one."""

    name: str
    is_closing: bool
    attributes: dict[str, str]
    text: str


class Bookmarks:
    """`bookmarks.html`."""

    name = "bookmarks"

    def matches(self, path: str, head: bytes) -> bool:
        return path.lower().endswith((".html", ".htm")) and _SIGNATURE.match(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        return noting_left_out(_entries(export_text(data, path)), "bookmarks")


def _entries(text: str) -> Iterator[ImportedDocument | None]:
    """One entry an address: a page kept in two folders is one bookmark with the tags of both."""
    found: dict[str, _Bookmark] = {}
    left_out = 0
    for bookmark in _bookmarks(text):
        known = found.get(bookmark.url)
        if not address(bookmark.url):
            left_out += 1
        elif known is None:
            found[bookmark.url] = bookmark
        else:
            tags, note = distinct((*known.tags, *bookmark.tags)), known.note or bookmark.note
            found[bookmark.url] = replace(known, tags=tags, note=note)
    yield from [None] * left_out
    yield from map(_document, found.values())


def _bookmarks(text: str) -> Iterator[_Bookmark]:
    folders: list[str] = []
    named = ""
    last: _Bookmark | None = None
    for tag in _tags(text):
        if tag.name == "dd" and last is not None:
            last = replace(last, note=prose(tag.text))
        if tag.name in {"a", "h3", "dl"} and last is not None and not (tag.name == "a" and tag.is_closing):
            yield last
            last = None
        if tag.name == "h3" and not tag.is_closing:
            named = "" if any(place in tag.attributes for place in _PLACES) else line(tag.text).replace("/", "-")
        elif tag.name == "dl" and not tag.is_closing:
            folders.append(named)
            named = ""
        elif tag.name == "dl" and folders:
            folders.pop()
        elif tag.name == "a" and not tag.is_closing:
            last = _bookmark(tag, "/".join(filter(None, folders[:_MAX_DEPTH])))
    if last is not None:
        yield last


def _bookmark(tag: _Tag, folder: str) -> _Bookmark:
    return _Bookmark(
        url=prose(tag.attributes.get("HREF")),
        title=line(tag.text),
        tags=distinct((folder, *map(line, tag.attributes.get("TAGS", "").split(",")))),
        saved=moment(tag.attributes.get("ADD_DATE")),
    )


def _tags(text: str) -> Iterator[_Tag]:
    found = _TAG.search(text)
    while found is not None:
        following = _TAG.search(text, found.end())
        shown = text[found.end() : following.start() if following else len(text)]
        attributes = {name.upper(): unescape(value) for name, value in _ATTRIBUTE.findall(found["attributes"])}
        yield _Tag(found["name"].lower(), bool(found["close"]), attributes, unescape(_MARKUP.sub("", shown)))
        found = following


def _document(bookmark: _Bookmark) -> ImportedDocument:
    composed = compose([TextBlock(bookmark.title), TextBlock(bookmark.url), TextBlock(bookmark.note, "user_note")])
    read = ReadDocument(
        text=composed.text,
        title=bookmark.title or bookmark.url,
        sections=composed.sections,
        links=composed.links,
        tags=bookmark.tags,
        url=bookmark.url,
    )
    part = canonical_url(bookmark.url) or bookmark.url
    return ImportedDocument(read, "bookmark", part=part, kind="item", saved=bookmark.saved)
