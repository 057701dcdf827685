"""Entries of untrusted exports: fields of whatever type they turn out to be, and entries that are no documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from citewell.errors import Unreadable
from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.kinds import text_bytes
from citewell.readers.markup import is_web_address
from citewell.text.canonical import canonicalize
from citewell.text.documents import Kind, ReadDocument, SourceType

# What an importer makes of a file: one document or many.


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """One document of a file. `part` names it within the file and stays the same when the file is exported again."""

    read: ReadDocument
    source_type: SourceType
    part: str = ""
    kind: Kind | None = None
    saved: str | None = None


class Importer(Protocol):
    """One kind of file. `matches` looks at the path below the root and the first bytes; `documents` may be large."""

    name: str

    def matches(self, path: str, head: bytes) -> bool: ...

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]: ...


LONGEST_LINE = 1_000
_LONGEST_URL = 8_000
_MAX_TAGS = 100
_EPOCH = re.compile(r"\d{9,16}")
_SPACES = re.compile(r"\s*+")
# Seconds, milliseconds and microseconds since 1970 differ so much that their size tells them apart.
_MILLISECONDS = 10**11
_MICROSECONDS = 10**14


def noting_left_out(entries: Iterable[ImportedDocument | None], what: str) -> Iterator[ImportedDocument]:
    """The documents among the entries. How many were none is a warning on the last; none at all is Unreadable."""
    waiting: ImportedDocument | None = None
    left_out = 0
    for entry in entries:
        if entry is None:
            left_out += 1
        else:
            if waiting is not None:
                yield waiting
            waiting = entry
    if waiting is None:
        raise Unreadable(f"no {what} in this file" + (f": {left_out} entries without text" if left_out else ""))
    if left_out:
        warning = f"entries left out, without text or damaged: {left_out}"
        waiting = replace(waiting, read=replace(waiting.read, warnings=(*waiting.read.warnings, warning)))
    yield waiting


def export_text(data: bytes, path: str) -> str:
    """The text of an export in whatever encoding; raises Unreadable for binary data."""
    return decode(text_bytes(data, path)).text


def json_values(text: str, start: int = 0) -> Iterator[object]:
    """The JSON values that stand in a text one after another; Unreadable where one is damaged or nested too deep."""
    decoder = json.JSONDecoder()
    position = _after_spaces(text, start)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except RecursionError as error:
            raise Unreadable("the JSON is nested too deeply") from error
        except ValueError as error:
            number = error.lineno if isinstance(error, json.JSONDecodeError) else text.count("\n", 0, position) + 1
            raise Unreadable(f"damaged JSON near line {number}: broken or cut off") from error
        yield value
        position = _after_spaces(text, end)


def json_entries(text: str, start: int = 0) -> Iterator[object]:
    """The entries of the lists in a text, also of lists of lists as pages of an export are."""
    for value in json_values(text, start):
        for entry in value if isinstance(value, list) else [value]:
            yield from entry if isinstance(entry, list) else [entry]


def _after_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return position if match is None else match.end()


def fields_of(value: object) -> Mapping[str, object]:
    """An object's fields; none for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[object]:
    """A list's values; none for anything else."""
    return value if isinstance(value, list) else ()


def prose(value: object) -> str:
    """A text as it is stored, without white space at its edges; empty for what is no text."""
    return canonicalize(value).strip() if isinstance(value, str) else ""


def line(value: object) -> str:
    """A text or whole number on one line of sensible length."""
    if isinstance(value, int) and not isinstance(value, bool):
        # Beyond this many digits Python refuses to write a number out.
        return str(value) if value.bit_length() < 512 else ""
    return " ".join(prose(value).split())[:LONGEST_LINE]


def address(value: object) -> str | None:
    """A web address, or None."""
    written = prose(value)
    return written if len(written) <= _LONGEST_URL and is_web_address(written) else None


def tags_of(value: object) -> tuple[str, ...]:
    """Tags as a list or separated by commas, each once."""
    listed = value.split(",") if isinstance(value, str) else list_of(value)
    return distinct(line(tag).lstrip("#") for tag in listed[:_MAX_TAGS])


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Values that say something, each once, in order."""
    return tuple(dict.fromkeys(value for value in values if value))


def moment(value: object) -> str | None:
    """A date or time as ISO 8601: written out, or counted from 1970 in seconds or finer."""
    written = line(value)
    return _since_1970(int(written)) if _EPOCH.fullmatch(written) else iso_date(written)


def _since_1970(count: int) -> str | None:
    seconds = count // 1_000_000 if count >= _MICROSECONDS else count // 1_000 if count >= _MILLISECONDS else count
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None
