"""Feeds: lists of subscriptions (OPML), and saved RSS or Atom files, of which each entry is a document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any

from citewell.errors import Unreadable
from citewell.readers.compose import TextBlock, compose
from citewell.readers.containers import local_name, xml_tree
from citewell.readers.importers.entries import ImportedDocument, address, distinct, line, moment, noting_left_out, prose
from citewell.readers.kinds import suffix_of, text_bytes
from citewell.readers.page_markdown import page_text, page_tree
from citewell.text.canonical import content_hash
from citewell.text.documents import ReadDocument
from citewell.text.urls import canonical_url

_FEED = re.compile(rb"<(?:\w{1,20}:)?(?:rss|feed|RDF)[\s>]")
_OPML = re.compile(rb"<opml[\s>]", re.IGNORECASE)
_MARKUP = re.compile(r"<[a-zA-Z/!]|&\w+;|&#")
_DAMAGED = "the feed is damaged: read as far as it goes"


class Opml:
    """A list of feeds; groups become nested tags."""

    name = "opml"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) in {".opml", ".xml"} and _OPML.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        root = xml_tree(text_bytes(data, path), "the list of feeds")
        return noting_left_out(_subscriptions(root), "feeds")


class Feed:
    """A saved RSS or Atom file."""

    name = "feed"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) in {".rss", ".atom", ".xml", ".rdf"} and _FEED.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        root, warnings = _feed_tree(text_bytes(data, path))
        source = next((_text(element) for element in root.iter() if local_name(element) == "title"), "")
        entries = (element for element in root.iter() if local_name(element) in {"item", "entry"})
        return noting_left_out((_entry(element, source, warnings) for element in entries), "entries")


def _subscriptions(root: Any) -> Iterator[ImportedDocument | None]:
    for outline in root.iter():
        feed = outline.get("xmlUrl") if local_name(outline) == "outline" else None
        if feed is not None:
            yield _subscription(outline, address(feed))


def _subscription(outline: Any, feed: str | None) -> ImportedDocument | None:
    if feed is None:
        return None
    title = line(outline.get("title")) or line(outline.get("text")) or feed
    page = address(outline.get("htmlUrl"))
    above = [line(group.get("title") or group.get("text")) for group in outline.iterancestors()]
    folder = "/".join(filter(None, (name.replace("/", "-") for name in reversed(above))))
    tags = distinct((folder, *map(line, (outline.get("category") or "").split(","))))
    addresses = "\n".join(distinct((page or "", feed)))
    composed = compose([TextBlock(title), TextBlock(prose(outline.get("description"))), TextBlock(addresses)])
    read = ReadDocument(
        text=composed.text,
        title=title,
        sections=composed.sections,
        links=composed.links,
        tags=tags,
        url=page or feed,
        created=_date(outline.get("created") or ""),
    )
    return ImportedDocument(read, "feed", part=canonical_url(feed) or feed, kind="item")


def _feed_tree(data: bytes) -> tuple[Any, tuple[str, ...]]:
    try:
        return xml_tree(data, "the feed"), ()
    except Unreadable:
        return xml_tree(data, "the feed", is_lenient=True), (_DAMAGED,)


def _entry(element: Any, source: str, warnings: tuple[str, ...]) -> ImportedDocument | None:
    fields = _EntryFields(element)
    title = _plain(fields.first("title"))
    content = max((_plain(fields.first(name)) for name in ("encoded", "content", "description", "summary")), key=len)
    url = fields.link()
    if not title and not content:
        return None
    composed = compose([TextBlock(title), TextBlock(content), TextBlock(url or "")])
    read = ReadDocument(
        text=composed.text,
        title=line(title) or line(content)[:80],
        sections=composed.sections,
        links=composed.links,
        tags=distinct(fields.categories()),
        author=line(fields.author()) or None,
        url=url,
        created=fields.date("pubDate", "published", "date") or fields.date("updated"),
        modified=fields.date("updated"),
        meta_text=source,
        warnings=warnings,
    )
    identifier = line(fields.first("guid")) or line(fields.first("id")) or (canonical_url(url) if url else None)
    return ImportedDocument(read, "feed", part=identifier or content_hash(composed.text)[:16])


class _EntryFields:
    """The children of an entry, by their names without namespaces, as RSS and Atom have them in common."""

    def __init__(self, entry: Any) -> None:
        self._children: dict[str, list[Any]] = {}
        for child in entry:
            self._children.setdefault(local_name(child), []).append(child)

    def first(self, name: str) -> str:
        return next((text for child in self._named(name) if (text := _text(child))), "")

    def link(self) -> str | None:
        """Where the entry is: the text of an RSS link, the address of an Atom one that is an alternate."""
        for child in self._named("link"):
            if child.get("rel", "alternate") == "alternate":
                found = address(child.get("href")) or address(_text(child))
                if found:
                    return found
        return address(self.first("guid")) or address(self.first("id"))

    def author(self) -> str:
        names = (_text(part) for author in self._named("author") for part in author if local_name(part) == "name")
        return next((name for name in names if name), "") or self.first("creator") or self.first("author")

    def categories(self) -> Iterator[str]:
        for child in self._named("category"):
            yield line(child.get("term")) or line(_text(child))

    def date(self, *names: str) -> str | None:
        return next((date for name in names if (date := _date(self.first(name)))), None)

    def _named(self, name: str) -> list[Any]:
        return self._children.get(name, [])


def _text(element: Any) -> str:
    """All text below an element; Atom may hold its content as elements of their own."""
    from lxml import etree

    parts: list[str] = [element.text or ""]
    for child in element:
        # The markup of the content is text again, for the reader of pages to take apart.
        parts.append(etree.tostring(child, encoding="unicode"))
    return prose("".join(parts))


def _plain(content: str) -> str:
    """The words of a piece of HTML; what has no markup stays as it is."""
    if not _MARKUP.search(content):
        return content
    try:
        return prose(page_text(page_tree(content), with_emphasis=False).text)
    except Unreadable:
        return ""


def _date(written: str) -> str | None:
    return moment(written) or _mail_date(written)


def _mail_date(written: str) -> str | None:
    parse: Callable[[str], Any] = parsedate_to_datetime
    try:
        return str(parse(written[:100]).isoformat())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
