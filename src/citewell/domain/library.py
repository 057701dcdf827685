"""What commands about the corpus report: what was added, what is there, what was forgotten."""

from __future__ import annotations

from typing import Literal

from citewell.domain.values import dataclass

FileStatus = Literal["indexed", "updated", "unchanged", "renamed", "skipped", "failed", "deleted"]


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file's place in the coverage report."""

    path: str
    status: FileStatus
    reason: str
    at: str
    collection: str = ""
    source_key: str | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file or folder that a rule keeps out of the corpus."""

    collection: str
    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A document in which something like a key or a password stands; what it is, not what it says."""

    collection: str
    path: str
    source_key: str
    kind: str


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `add` did; every file of the tree is counted exactly once."""

    collections: tuple[str, ...]
    indexed: int
    updated: int
    renamed: int
    unchanged: int
    deleted: int
    skipped: int
    failed: int
    documents: int
    chunks: int
    bytes: int
    seconds: float
    problems: tuple[Problem, ...]
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorCoverage:
    """How much of the corpus the semantic lane sees: chunks with a vector, chunks without, and who made them."""

    model: str = ""
    encoded: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    documents: int
    chunks: int
    by_source_type: dict[str, int]
    files: tuple[FileRecord, ...]
    excluded: tuple[Exclusion, ...] = ()
    secrets: tuple[SecretFinding, ...] = ()
    vectors: VectorCoverage = VectorCoverage()


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A folder that was added; `watched` names it, or the parts of it, that `add --watch` follows at this moment."""

    name: str
    root: str
    documents: int
    files: int
    last_sync: str | None
    excludes: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionList:
    collections: tuple[CollectionInfo, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    documents: int
    chunks: int
    characters: int
    links: int
    resolved_links: int
    tags: int
    collections: int
    by_source_type: dict[str, int]
    by_language: dict[str, int]
    by_file_status: dict[str, int]
    database_bytes: int
    schema_version: int
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class RemoveReport:
    removed: tuple[str, ...]
    documents: int
    collections: tuple[str, ...]
    cited_by_runs: tuple[str, ...] = ()
    purged_runs: tuple[str, ...] = ()


CheckState = Literal["ok", "warning", "missing", "error"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `doctor`: what was looked at, what was found, and the fix."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class SettingView:
    name: str
    value: str
    source: Literal["default", "environment", "file", "flag"]
    # False: it can be set, and nothing uses it yet.
    used: bool = True


@dataclass(frozen=True, slots=True)
class DoctorReport:
    version: str
    data_dir: str
    checks: tuple[Check, ...]
    settings: tuple[SettingView, ...]


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far an `add` has come. What `committed` names is in the corpus, whatever happens next."""

    done: int
    total: int
    bytes: int
    committed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EncodeProgress:
    """How far encoding has come; so many vectors are stored, whatever happens next."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What `embed` did."""

    model: str
    encoded: int
    left: int
    chunks: int
    seconds: float
