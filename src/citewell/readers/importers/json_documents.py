"""Documents as JSON: one object a line (JSONL, as BEIR has it) or a list of objects, each with its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from citewell.readers.compose import TextBlock, compose
from citewell.readers.importers.entries import (
    ImportedDocument,
    address,
    export_text,
    fields_of,
    json_entries,
    line,
    list_of,
    moment,
    noting_left_out,
    prose,
    tags_of,
)
from citewell.readers.kinds import suffix_of
from citewell.text.documents import ReadDocument

_TEXT_KEYS = ("text", "content", "body")
_ID_KEYS = ("id", "_id", "doc_id", "docid", "uuid")
_URL_KEYS = ("url", "link", "source_url", "source")
_TAG_KEYS = ("tags", "keywords", "categories")
_CREATED_KEYS = ("date", "created", "created_at", "published", "published_at", "timestamp")
_MODIFIED_KEYS = ("modified", "updated", "updated_at")
_AUTHOR_KEYS = ("author", "authors", "creator", "by")
_HAS_TEXT = re.compile(rb"\"(?:text|content|body)\"\s*:\s*\"")
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")


class JsonLines:
    """`corpus.jsonl`. A damaged line costs that line only."""

    name = "json_lines"

    def matches(self, path: str, head: bytes) -> bool:
        is_lines = suffix_of(path) in {".jsonl", ".ndjson"} and _OBJECT.match(head) is not None
        return is_lines and _HAS_TEXT.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        lines = _lines(export_text(data, path))
        return noting_left_out((_document(_object(written), number) for number, written in lines), "documents")


class JsonList:
    """`documents.json`: a list of the same objects."""

    name = "json_list"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) == ".json" and _LIST.match(head) is not None and _HAS_TEXT.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        entries = enumerate(json_entries(export_text(data, path)), 1)
        return noting_left_out((_document(fields_of(entry), number) for number, entry in entries), "documents")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers; never all of them at once."""
    number, start = 1, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if text[start:end].strip():
            yield number, text[start:end]
        number, start = number + 1, end + 1


def _object(written: str) -> Mapping[str, object]:
    try:
        return fields_of(json.loads(written))
    except (ValueError, RecursionError):
        return {}


def _document(entry: Mapping[str, object], number: int) -> ImportedDocument | None:
    about = {**fields_of(entry.get("metadata")), **entry}
    title = line(entry.get("title"))
    body = next((text for key in _TEXT_KEYS if (text := prose(entry.get(key)))), "") or title
    if not body:
        return None
    composed = compose([TextBlock(body)])
    read = ReadDocument(
        text=composed.text,
        title=title or None,
        sections=composed.sections,
        links=composed.links,
        tags=next((tags for key in _TAG_KEYS if (tags := tags_of(about.get(key)))), ()),
        author=_author(about),
        url=next((url for key in _URL_KEYS if (url := address(about.get(key)))), None),
        created=_moment(about, _CREATED_KEYS),
        modified=_moment(about, _MODIFIED_KEYS),
    )
    identifier = next((found for key in _ID_KEYS if (found := line(entry.get(key)))), f"line {number}")
    return ImportedDocument(read, "text", part=identifier)


def _author(about: Mapping[str, object]) -> str | None:
    for key in _AUTHOR_KEYS:
        names = [about.get(key), *list_of(about.get(key))]
        found = [name for value in names if (name := line(value) or line(fields_of(value).get("name")))]
        if found:
            return ", ".join(found[:20])
    return None


def _moment(about: Mapping[str, object], keys: tuple[str, ...]) -> str | None:
    return next((date for key in keys if (date := moment(about.get(key)))), None)
