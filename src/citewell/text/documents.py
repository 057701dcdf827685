"""Documents and their parts: sections, chunks, links and spans.

A span counts Unicode code points over the document's canonical text, so `text[start:end]` is the quote, exactly.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from citewell.text.canonical import folded_text

SourceType = Literal[
    "vault_note",
    "apple_note",
    "web",
    "pdf",
    "github",
    "youtube",
    "x",
    "transcript",
    "image",
    "bookmark",
    "feed",
    "office",
    "text",
]
SOURCE_TYPES: tuple[SourceType, ...] = get_args(SourceType)

Kind = Literal["item", "source"]

Role = Literal[
    "user_note",
    "raw_source",
    "source_summary",
    "item_summary",
    "chunk_summary",
    "transcript",
    "ocr",
    "attachment",
    "backlink_context",
    "exact_tag",
    "graph_related",
]
DERIVED_ROLES: frozenset[Role] = frozenset({"source_summary", "item_summary", "chunk_summary"})

LinkKind = Literal["wikilink", "embed", "url"]

# An item is what the user wrote or saved; a source stands on its own (requirements, "Words").
_ITEM_TYPES: frozenset[SourceType] = frozenset({"vault_note", "apple_note", "bookmark", "x", "feed", "text"})

# What stands before the colon of a source key, one per source type.
KEY_PREFIXES: dict[SourceType, str] = {
    "vault_note": "note",
    "apple_note": "apple",
    "web": "web",
    "pdf": "pdf",
    "github": "github",
    "youtube": "youtube",
    "x": "x",
    "transcript": "transcript",
    "image": "image",
    "bookmark": "bookmark",
    "feed": "feed",
    "office": "office",
    "text": "text",
}


def kind_of(source_type: SourceType) -> Kind:
    """Whether documents of this type are the user's own items or sources of their own."""
    return "item" if source_type in _ITEM_TYPES else "source"


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of one immutable canonical text."""

    chunk_id: str
    start: int
    end: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the canonical text with one role, under one heading."""

    role: Role
    start: int
    end: int
    heading: str | None = None
    heading_path: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A reference found in a document's text; `start` and `end` cover the whole link as written."""

    kind: LinkKind
    target: str
    start: int
    end: int
    alias: str | None = None
    heading: str | None = None
    block: str | None = None


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a reader makes of one file: canonical text and everything the file says about itself."""

    text: str
    title: str | None
    sections: tuple[Section, ...]
    heading: str | None = None  # the first heading of the highest level, where it is not the title
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    author: str | None = None
    url: str | None = None
    created: str | None = None
    modified: str | None = None
    meta_text: str = ""
    warnings: tuple[str, ...] = ()
    not_evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable span of a document. Its id is made of the text's hash and its offsets, so it is stable."""

    chunk_id: str
    ordinal: int
    start: int
    end: int
    role: Role
    heading_path: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document, without its text."""

    source_key: str
    kind: Kind
    source_type: SourceType
    collection: str
    title: str
    content_hash: str
    length: int
    note_path: str | None = None
    url: str | None = None
    author: str | None = None
    language: str | None = None
    user_tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created: str | None = None
    saved: str | None = None
    modified: str | None = None


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section as every payload shows it."""

    role: Role
    start: int
    end: int
    heading: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a document embeds or links to: a document with a key, or the reason why it is none."""

    path: str
    is_embedded: bool
    source_key: str | None = None
    reason: str = ""


ContentMode = Literal["evidence", "full", "summary"]


@dataclass(frozen=True, slots=True)
class SummaryView:
    """Derived text as `get` shows it: what it tells of is `start..end` of the document; it is no quote of it."""

    role: Role
    summary_kind: str
    text: str
    start: int
    end: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class DocumentView:
    """What `get` returns for one key: `text` is `start..end` of the document, or nothing where a summary is shown."""

    source_key: str
    kind: Kind
    source_type: SourceType
    collection: str
    title: str
    content_hash: str
    content_mode: ContentMode
    text: str
    start: int
    end: int
    length: int
    sections: tuple[SectionView, ...]
    note_path: str | None = None
    url: str | None = None
    author: str | None = None
    language: str | None = None
    user_tags: tuple[str, ...] = ()
    created: str | None = None
    saved: str | None = None
    modified: str | None = None
    is_current: bool = True
    links_out: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    # With `content_mode` summary: of the whole first, then what is stored of its chunks.
    summaries: tuple[SummaryView, ...] = ()


# Tags: how they are named and compared. `#Heat/Pump` and `heat/pump` are one tag; a tag contains its nested ones.


def fold_tag(tag: str) -> str:
    """The form under which a tag is compared."""
    return "/".join(part for part in folded_text(tag.strip().lstrip("#")).split("/") if part)


def distinct_tags(tags: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each tag once, as first written, with its folded form."""
    seen: dict[str, str] = {}
    for tag in tags:
        folded = fold_tag(tag)
        if folded:
            seen.setdefault(folded, tag.strip().lstrip("#"))
    return tuple((written, folded) for folded, written in seen.items())


# Source keys: the stable name of a document, `prefix:identifier`, readable and kept through renames.


_NOT_KEY = re.compile(r"[^\w./~+-]+")
_HYPHENS = re.compile(r"-{2,}")
_VERSION = re.compile(r"^(?P<key>.+)@(?P<hash>[0-9a-f]{64})$")
_MAX_IDENTIFIER = 160


def mint_key(source_type: SourceType, collection: str, path: str, part: str, is_taken: Callable[[str], bool]) -> str:
    """A new key for a document first seen at this path, or in this part of the file there."""
    identifier = slug(f"{PurePosixPath(collection) / PurePosixPath(path).with_suffix('')}/{part}")
    if len(identifier) > _MAX_IDENTIFIER:
        digest = hashlib.sha256(f"{path}#{part}".encode()).hexdigest()[:8]
        identifier = f"{identifier[: _MAX_IDENTIFIER - 9]}~{digest}"
    key = f"{KEY_PREFIXES[source_type]}:{identifier}"
    number = 2
    candidate = key
    while is_taken(candidate):
        candidate = f"{key}~{number}"
        number += 1
    return candidate


def slug(name: str) -> str:
    """A name as part of a key: letters and digits of any script, `-` for the rest, lower case."""
    joined = _HYPHENS.sub("-", _NOT_KEY.sub("-", unicodedata.normalize("NFC", name).lower()))
    parts = (part.strip("-.") for part in joined.split("/"))
    return "/".join(part for part in parts if part) or "unnamed"


def split_version(lookup: str) -> tuple[str, str | None]:
    """`KEY@CONTENT_HASH` names an earlier text of a document; a plain key names the current one."""
    match = _VERSION.match(lookup)
    return (match["key"], match["hash"]) if match else (lookup, None)
