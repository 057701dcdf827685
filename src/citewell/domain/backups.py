"""Backups as values: what an archive says of itself, and what making or restoring one reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from citewell.domain.library import Problem

BACKUP_FORMAT = "citewell-backup.v1"


@dataclass(frozen=True, slots=True)
class BackupMember:
    """One file of an archive: its size and hash are checked before anything is put in place."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What an archive holds. `schemas` are the versions of its databases."""

    format: str
    version: str
    created_at: str
    schemas: dict[str, int]
    documents: int
    runs: int
    secrets_left_out: tuple[str, ...]
    members: tuple[BackupMember, ...]


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What `backup` wrote. `left_out` names damaged traces, which are not part of it."""

    path: str
    bytes: int
    created_at: str
    documents: int
    runs: int
    traces: int
    transcripts: int
    settings: bool
    secrets_left_out: tuple[str, ...]
    left_out: tuple[Problem, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that a backup would change so that data may go elsewhere, or more be permitted; secrets are masked."""

    name: str
    here: str
    value: str


# Says whether these settings are put in place.
AcceptSettings = Callable[[Sequence[SettingChange]], bool]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What `restore` put in place, and where what was there before is kept.

    `settings_left_out` names settings of the backup that were not accepted, or that this version does not know.
    """

    data_dir: str
    created_at: str
    version: str
    documents: int
    runs: int
    traces: int
    transcripts: int
    settings: Literal["restored", "kept", "none"]
    secrets_left_out: tuple[str, ...]
    kept_aside: str | None
    seconds: float
    settings_left_out: tuple[Problem, ...] = ()
