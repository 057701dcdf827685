"""Documents ready to be written: what was read, with everything a store keeps beside it."""

from __future__ import annotations

from citewell.domain.documents import Chunk, Kind, Link, ReadDocument, SourceType
from citewell.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """What one chunk is found by, column by column."""

    title: str
    headings: str
    body: str
    tags: str
    compounds: str


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    chunk: Chunk
    content_hash: str
    terms: ChunkTerms


@dataclass(frozen=True, slots=True)
class PreparedLink:
    link: Link
    name: str


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be written."""

    read: ReadDocument
    part: str
    saved: str | None
    source_type: SourceType
    kind: Kind
    title: str
    content_hash: str
    language: str | None
    canonical_url: str | None
    aliases: tuple[str, ...]
    tags: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, bool], ...]
    links: tuple[PreparedLink, ...]
    chunks: tuple[PreparedChunk, ...]
