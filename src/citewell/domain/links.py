"""Links and names as the corpus stores them: what a document links to, and what documents are called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenLink:
    """A link as a document writes it, with the document it means where that is in the corpus."""

    kind: str
    target: str
    alias: str | None
    start: int
    end: int
    target_key: str | None = None
    target_title: str | None = None
    target_path: str | None = None


@dataclass(frozen=True, slots=True)
class GraphLink:
    """How often one document links to another."""

    source: str
    target: str
    kind: str
    links: int


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name some document answers to, and that document's title."""

    name: str
    title: str
    is_alias: bool
