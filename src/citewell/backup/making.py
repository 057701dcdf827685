"""Making a backup while others go on writing: each database is copied in one state of it, each trace whole.

Everything is put together in a hidden folder beside the target, which then gets its name in one step: a backup is there
whole or not at all. What a killed one left behind is swept by the next to the same target. The file is readable by its
owner alone; it holds the texts of the corpus as they are, and only the settings are without their secrets.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from citewell.backup.contents import (
    CORPUS,
    DATABASES,
    MANIFEST,
    RUNS,
    SETTINGS,
    StoredDatabase,
    completed_traces,
    transcript_files,
    without_secrets,
)
from citewell.backup.workshop import check_room, disk_errors, workshop
from citewell.database.sqlite import copy_database, count_rows
from citewell.domain.backups import BACKUP_FORMAT, BackupManifest, BackupMember, BackupReport
from citewell.domain.errors import BadInput, CitewellError, NotFound
from citewell.domain.library import Problem
from citewell.domain.ports import Clock
from citewell.runs.document import TRACES
from citewell.runs.trace import read_trace
from citewell.store.disk import sync_folder
from citewell.version import __version__

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MADE_ON_UNIX = 3
_COMPRESSION = 3
_BLOCK = 1 << 20
# Puts runs that are kept elsewhere into a file of runs, new or not, and tells which could not be read.
Gather = Callable[[Path], tuple[Problem, ...]]


@dataclass(slots=True)
class _Content:
    """What has been put into the archive so far."""

    members: list[BackupMember] = field(default_factory=list)
    schemas: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    left_out: list[Problem] = field(default_factory=list)
    secrets: tuple[str, ...] = ()
    traces: int = 0
    transcripts: int = 0
    settings: bool = False


def make_backup(
    data: Path, target: Path, clock: Clock, *, force: bool = False, gather: Gather | None = None
) -> BackupReport:
    """Write everything a data folder holds to one file, with the runs that are kept elsewhere, if any."""
    started, at = clock.monotonic(), clock.now()
    target = _checked_target(data, target, force, has_more=gather is not None)
    with disk_errors(f"The backup {target.name}"), workshop(target, "backup") as folder:
        check_room(target.parent, _most_bytes(data), "A backup")
        unfinished = folder / "archive"
        content = _write_archive(data, folder, unfinished, at, gather)
        _put_in_place(unfinished, target, force)
        size = target.stat().st_size
    return BackupReport(
        path=str(target),
        bytes=size,
        created_at=at,
        documents=content.counts.get(CORPUS.name, 0),
        runs=content.counts.get(RUNS.name, 0),
        traces=content.traces,
        transcripts=content.transcripts,
        settings=content.settings,
        secrets_left_out=content.secrets,
        left_out=tuple(content.left_out),
        seconds=round(clock.monotonic() - started, 3),
    )


def _checked_target(data: Path, target: Path, force: bool, *, has_more: bool) -> Path:
    if not has_more and not any((data / database.file).exists() for database in DATABASES):
        raise NotFound(f"There is nothing to back up in {data}.", fix="Add a folder first: citewell add PATH")
    place = Path(os.path.abspath(target.expanduser()))
    if place.is_dir():
        raise BadInput(f"{target} is a folder.", fix=f"Name a file, for example: {target / 'citewell-backup.zip'}")
    if not place.parent.is_dir():
        raise NotFound(f"There is no folder {place.parent}.", fix="Make it first, or choose another one.")
    if os.path.lexists(place):
        if not force:
            raise BadInput(f"{target} is there already.", fix="Choose another name, or replace it with --force.")
        if not stat.S_ISREG(place.lstat().st_mode):
            raise BadInput(f"{target} is no regular file, so it is not replaced.", fix="Choose another name.")
    return place


def _most_bytes(data: Path) -> int:
    """What a backup may take on the disk: the archive, and one database copied beside it."""
    databases = [(data / database.file).stat().st_size for database in DATABASES if (data / database.file).exists()]
    others = [path for place in completed_traces(data) for path in place.iterdir()]
    others += [path for _, path in transcript_files(data)]
    return sum(databases) + max(databases, default=0) + sum(path.lstat().st_size for path in others)


def _write_archive(data: Path, folder: Path, unfinished: Path, at: str, gather: Gather | None) -> _Content:
    content = _Content()
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as archive:
            for database in DATABASES:
                source = data / database.file
                if database is RUNS and gather is not None:
                    source = _gathered(source, folder, gather, content)
                _add_database(archive, content, source, folder, database)
            _add_traces(archive, content, data)
            for name, path in transcript_files(data):
                _add(archive, content, name, path)
                content.transcripts += 1
            _add_settings(archive, content, data)
            archive.writestr(_info(MANIFEST), msgspec.json.format(msgspec.json.encode(_manifest(content, at))))
        file.flush()
        os.fsync(file.fileno())
    return content


def _gathered(source: Path, folder: Path, gather: Gather, content: _Content) -> Path:
    """A file with the runs of the data folder, if there are any, and those that are kept elsewhere."""
    place = folder / "gathered.db"
    if source.exists():
        copy_database(source, place, RUNS.schema())
    content.left_out += gather(place)
    return place


def _add_database(
    archive: zipfile.ZipFile, content: _Content, source: Path, folder: Path, database: StoredDatabase
) -> None:
    copy = folder / database.file
    if not source.exists():
        return
    content.schemas[database.name] = copy_database(source, copy, database.schema())
    content.counts[database.name] = count_rows(copy, database.table)
    _add(archive, content, database.file, copy)
    copy.unlink()


def _add_traces(archive: zipfile.ZipFile, content: _Content, data: Path) -> None:
    for place in completed_traces(data):
        try:
            trace = read_trace(place)
        except CitewellError as error:
            if not isinstance(error, NotFound):  # pruned meanwhile
                content.left_out.append(Problem(f"{TRACES}/{place.name}", error.message))
            continue
        for name, bytes_ in sorted(trace.files.items()):
            _add_bytes(archive, content, f"{TRACES}/{place.name}/{name}", bytes_)
        content.traces += 1


def _add_settings(archive: zipfile.ZipFile, content: _Content, data: Path) -> None:
    path = data / SETTINGS
    if path.is_file():
        text, content.secrets = without_secrets(path.read_text("utf-8"))
        _add_bytes(archive, content, SETTINGS, text.encode("utf-8"))
        content.settings = True


def _add(archive: zipfile.ZipFile, content: _Content, name: str, path: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(_info(name), "w", force_zip64=True) as member:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            member.write(block)
    content.members.append(BackupMember(name, size, digest.hexdigest()))


def _add_bytes(archive: zipfile.ZipFile, content: _Content, name: str, data: bytes) -> None:
    archive.writestr(_info(name), data)
    content.members.append(BackupMember(name, len(data), hashlib.sha256(data).hexdigest()))


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = _MADE_ON_UNIX
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _manifest(content: _Content, at: str) -> BackupManifest:
    return BackupManifest(
        format=BACKUP_FORMAT,
        version=__version__,
        created_at=at,
        schemas=content.schemas,
        documents=content.counts.get(CORPUS.name, 0),
        runs=content.counts.get(RUNS.name, 0),
        secrets_left_out=content.secrets,
        members=tuple(content.members),
    )


def _put_in_place(unfinished: Path, target: Path, force: bool) -> None:
    """Give the archive its name; one that appeared meanwhile is not replaced unless that was asked for."""
    if force:
        os.replace(unfinished, target)
    else:
        try:
            os.link(unfinished, target)
        except FileExistsError:
            raise BadInput(f"{target} is there already.", fix="Choose another name, or use --force.") from None
        except OSError:
            # No hard links on this file system (exFAT, some network shares): the name is not taken exclusively.
            os.rename(unfinished, target)
    sync_folder(target.parent)
