"""Front matter: what a Markdown file says about itself between two `---` lines.

Untrusted input: at most 64 KB, no aliases (they expand without bound), no deep nesting (PyYAML's C composer overflows
the stack on it, hence events), no types (every value stays the string that was written, so a date or a version number
means the same everywhere). What YAML refuses is read line by line, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from citewell.readers.ai_answers import saved_answer
from citewell.readers.dates import iso_date
from citewell.readers.references import is_web_address

MAX_CHARS = 64 * 1024
NOT_UNDERSTOOD = "front matter not understood"

_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_SIMPLE_LINE = re.compile(r"^([A-Za-z][\w -]{0,40}):[ \t]+(\S[^\n]*)$", re.MULTILINE)
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_MAX_DEPTH = 16

_TAG_KEYS = ("tags", "tag", "keywords")
_ALIAS_KEYS = ("aliases", "alias")
_AUTHOR_KEYS = ("author", "authors")
_URL_KEYS = ("url", "source", "source_url", "link")
_CREATED_KEYS = ("created", "date", "created_at", "date_created")
_MODIFIED_KEYS = ("modified", "updated", "date_modified", "updated_at", "modified_at", "last_modified")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a front matter block says, as far as it was understood; where its lines stand and where the body starts."""

    body_start: int = 0
    start: int = 0
    end: int = 0
    title: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    author: str | None = None
    url: str | None = None
    created: str | None = None
    modified: str | None = None
    not_evidence: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Fields:
    """Keys in one spelling (lower case, underscores) with the strings under each, and which of them are lists."""

    values: dict[str, list[str]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)

    def add(self, key: str, value: str, *, is_item: bool = False) -> None:
        key = re.sub(r"[\s-]+", "_", key.strip().lower())
        value = " ".join(value.split())
        if value not in _NOTHING:
            self.values.setdefault(key, []).append(value)
        if is_item:
            self.lists.add(key)

    def all(self, keys: Iterable[str]) -> list[str]:
        return [value for key in keys for value in self.values.get(key, [])]

    def items(self, keys: Iterable[str], separator: str) -> list[str]:
        """The items of a list, or of a string that separates them."""
        found: list[str] = []
        for key in keys:
            for value in self.values.get(key, []):
                found += [value] if key in self.lists else re.split(separator, value.strip("[]"))
        return found


def read_front_matter(text: str) -> FrontMatter:
    """The front matter of a canonical text; an empty one when the text does not start with a block of its own."""
    opened = _OPEN.match(text)
    closed = None if opened is None else _CLOSE.search(text, opened.end() - 1)
    if opened is None or closed is None:
        return FrontMatter()
    if closed.start() > MAX_CHARS:
        return FrontMatter(warnings=(f"{NOT_UNDERSTOOD}: longer than {MAX_CHARS // 1024} KB",))
    block = text[opened.end() : closed.start()]
    place = FrontMatter(closed.end(), opened.end(), max(opened.end(), closed.start()))
    try:
        fields = _parse(block)
    except _NotUnderstood as problem:
        return _values(_salvaged(block), place, warnings=(f"{NOT_UNDERSTOOD}: {problem}",))
    if fields is None:
        # Prose between two rules is not front matter: its words are the note's own.
        return FrontMatter() if block.strip() else FrontMatter(body_start=closed.end())
    return _values(fields, place)


class _NotUnderstood(Exception):
    """YAML that is malformed, or that we do not follow."""


def _parse(block: str) -> _Fields | None:
    """The fields of a YAML mapping; None when the block is something else than a mapping."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _collect(yaml.parse(block, Loader=loader))
    except yaml.YAMLError as error:
        raise _NotUnderstood(str(getattr(error, "problem", None) or "not YAML")) from error


def _collect(events: Iterable[object]) -> _Fields | None:
    """Every scalar value below the top-level key it belongs to. One frame per open container: what comes next in it."""
    import yaml

    fields, frames, key, has_root = _Fields(), list[str](), "", False
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            if not frames:
                return None
            if frames[-1] == "key":
                key = event.value if len(frames) == 1 else key
            else:
                fields.add(key, event.value, is_item="item" in frames)
            _turn(frames)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if not frames and isinstance(event, yaml.SequenceStartEvent):
                return None
            _open(frames, "key" if isinstance(event, yaml.MappingStartEvent) else "item")
            has_root = True
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            frames.pop()
            _turn(frames)
        elif isinstance(event, yaml.AliasEvent):
            raise _NotUnderstood("aliases are not followed")
    return fields if has_root else None


def _open(frames: list[str], frame: str) -> None:
    if frames and frames[-1] == "key":
        raise _NotUnderstood("a key that is not a word")
    if len(frames) >= _MAX_DEPTH:
        raise _NotUnderstood("nested too deeply")
    frames.append(frame)


def _turn(frames: list[str]) -> None:
    """In a mapping, a key is followed by its value and a value by the next key."""
    if frames and frames[-1] != "item":
        frames[-1] = "value" if frames[-1] == "key" else "key"


def _salvaged(block: str) -> _Fields:
    """The plain `key: value` lines of a block that is not YAML, such as `title: Notes: part two`."""
    fields = _Fields()
    for line in _SIMPLE_LINE.finditer(block):
        fields.add(line[1], line[2].strip().strip("\"'"))
    return fields


def _values(fields: _Fields, place: FrontMatter, *, warnings: tuple[str, ...] = ()) -> FrontMatter:
    return replace(
        place,
        title=next(iter(fields.all(["title"])), None),
        aliases=_unique(alias.strip().strip("\"'") for alias in fields.items(_ALIAS_KEYS, ",")),
        tags=_unique(tag.strip().strip("\"'").lstrip("#").strip("/") for tag in fields.items(_TAG_KEYS, r"[,\s]+")),
        author=", ".join(author.strip("[]") for author in fields.all(_AUTHOR_KEYS)) or None,
        url=next((value for value in fields.all(_URL_KEYS) if is_web_address(value)), None),
        created=_first_date(fields, _CREATED_KEYS),
        modified=_first_date(fields, _MODIFIED_KEYS),
        not_evidence=saved_answer(fields.values),
        warnings=warnings,
    )


def _first_date(fields: _Fields, keys: tuple[str, ...]) -> str | None:
    return next(filter(None, map(iso_date, fields.all(keys))), None)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
