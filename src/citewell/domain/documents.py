"""Documents and their parts: sections, chunks, links and spans.

A span counts Unicode code points over the document's canonical text, so `text[start:end]` is the quote, exactly.
"""

from __future__ import annotations

from typing import Literal, get_args

from citewell.domain.values import dataclass

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
