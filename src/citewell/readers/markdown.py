"""Markdown notes: the file is the canonical text; the lines of the front matter are its first section.

What Citewell itself wrote into a note is left out, and so is never indexed, quoted or linked from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from citewell.readers.dates import iso_date
from citewell.readers.decode import decode
from citewell.readers.markup import Heading, is_web_address, property_links, scan, sections_under
from citewell.readers.written_sections import without_written
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Section

# Notes that are a machine's answer, by their front matter. They are kept and found, but never evidence.
#
# A convention, not a proof: an answer pasted into a note without a word about its origin is not recognised.


_MACHINE_KEYS = ("generator", "generated_by", "model")
_ORIGIN_KEYS = ("source", "author")
_AI_NAME = re.compile(
    r"(?<![\w.])(?:chatgpt|gpt(?:-[\w.-]+)?|claude|gemini|copilot|perplexity|citewell|ai)(?!\w)", re.IGNORECASE
)
_UNMISTAKABLE = re.compile(r"(?<![\w.])(?:chatgpt|gpt-[\w.-]+|citewell)(?!\w)", re.IGNORECASE)
# `author: Claude Shannon` is a person: an AI's name that people and things bear too must stand alone or among these.
_BESIDE_AI_NAME = re.compile(
    r"answer|anthropic|assistant|by|chat|code|conversation|export|flash|from|generated|google|haiku|microsoft|mini"
    r"|openai|opus|plus|pro|response|search|session|sonnet|turbo|ultra|via|with|v?\d[\w.]*",
    re.IGNORECASE,
)
_AI_HOST = re.compile(
    r"chatgpt\.com|chat\.openai\.com|claude\.ai|gemini\.google\.com|copilot\.microsoft\.com|(?:www\.)?perplexity\.ai"
)
_LONGEST = 200


def saved_answer(fields: Mapping[str, Sequence[str]]) -> str | None:
    """Why this note is a saved AI answer, or None. Keys are lower case with underscores."""
    if any(value.lower() in {"true", "yes"} for value in fields.get("ai_generated", ())):
        return _reason("ai_generated", "true")
    for key in (*_MACHINE_KEYS, *_ORIGIN_KEYS):
        for value in fields.get(key, ()):
            if _names_ai(value[:_LONGEST], is_machine=key in _MACHINE_KEYS):
                return _reason(key, value)
    return None


def _reason(key: str, value: str) -> str:
    return f"saved AI answer (front matter {key}: {value[:60]}): never used as evidence"


def _names_ai(value: str, *, is_machine: bool) -> bool:
    if is_web_address(value):
        return _AI_HOST.fullmatch(_host(value)) is not None
    if is_machine or _UNMISTAKABLE.search(value):
        return _AI_NAME.search(value) is not None
    words = re.findall(r"[\w.-]+", value)
    beside = [word for word in words if not _AI_NAME.fullmatch(word)]
    return len(beside) < len(words) and all(_BESIDE_AI_NAME.fullmatch(word) for word in beside)


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


# Front matter: what a Markdown file says about itself between two `---` lines.
#
# Untrusted input: at most 64 KB, no aliases (they expand without bound), no deep nesting (PyYAML's C composer overflows
# the stack on it, hence events), no types (every value stays the string that was written, so a date or a version number
# means the same everywhere). What YAML refuses is read line by line, with a warning.


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
class _Properties:
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


def _parse(block: str) -> _Properties | None:
    """The fields of a YAML mapping; None when the block is something else than a mapping."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _collect(yaml.parse(block, Loader=loader))
    except yaml.YAMLError as error:
        raise _NotUnderstood(str(getattr(error, "problem", None) or "not YAML")) from error


def _collect(events: Iterable[object]) -> _Properties | None:
    """Every scalar value below the top-level key it belongs to. One frame per open container: what comes next in it."""
    import yaml

    fields, frames, key, has_root = _Properties(), list[str](), "", False
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


def _salvaged(block: str) -> _Properties:
    """The plain `key: value` lines of a block that is not YAML, such as `title: Notes: part two`."""
    fields = _Properties()
    for line in _SIMPLE_LINE.finditer(block):
        fields.add(line[1], line[2].strip().strip("\"'"))
    return fields


def _values(fields: _Properties, place: FrontMatter, *, warnings: tuple[str, ...] = ()) -> FrontMatter:
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


def _first_date(fields: _Properties, keys: tuple[str, ...]) -> str | None:
    return next(filter(None, map(iso_date, fields.all(keys))), None)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))


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
        title=front.title or _title_heading(text, front.body_start, markup.headings),
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


# What a template fills in.
_PLACEHOLDER = re.compile(r"\{\{|<%")


def _title_heading(text: str, body_start: int, headings: Sequence[Heading]) -> str | None:
    """The heading that is a note's title: the only one of the first level, or one that the text opens with."""
    first = [heading for heading in headings if heading.level == 1 and not _PLACEHOLDER.search(heading.text)]
    if first and (len(first) == 1 or not text[body_start : first[0].start].strip()):
        return first[0].text
    return None


def _distinct_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags differ by more than case; the first spelling stays."""
    first_spelling: dict[str, str] = {}
    for tag in tags:
        first_spelling.setdefault(tag.casefold(), tag)
    return tuple(first_spelling.values())
