"""Keeping the corpus in step with the disk: what is known of a file, and what came of reading it."""

from __future__ import annotations

from citewell.domain.library import FileStatus
from citewell.domain.prepared import PreparedDocument
from citewell.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the disk said of a file when it was read."""

    path: str
    size: int
    mtime_ns: int
    file_hash: str | None


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One file, read and ready to be written, or the reason why not."""

    facts: FileFacts
    status: FileStatus
    reason: str = ""
    documents: tuple[PreparedDocument, ...] = ()
    renamed_from: str | None = None
    keeps_document: bool = False  # the file is there but could not be opened: what it held stays


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as the corpus last saw it."""

    file_id: int
    path: str
    size: int
    mtime_ns: int
    file_hash: str | None
    status: FileStatus
    reason: str
    reader_version: int
    source_key: str | None


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection about to be synced; `scope` is the part of it the user named."""

    id: int
    name: str
    root: str
    scope: str
    excludes: tuple[str, ...]
