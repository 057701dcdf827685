"""Making a backup while others go on writing: each database is copied in one state of it, each trace whole.

Everything is put together in a hidden folder beside the target, which then gets its name in one step: a backup is there
whole or not at all. What a killed one left behind is swept by the next to the same target. The file is readable by its
owner alone; it holds the texts of the corpus as they are, and only the settings are without their secrets.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from citewell.clock import Clock
from citewell.errors import BadInput, CitewellError, NotFound, StoreFull, StoreUnusable, Unavailable
from citewell.runs.folder import TRACES, locked, read_trace, sync_folder
from citewell.runs.store import APPLICATION_ID as RUNS_ID
from citewell.runs.trace import ALL_FILES, MARKER, MAX_TRACE_BYTES, RUN_ID
from citewell.settings import FILE_NAME, SETTINGS_BY_NAME, checked_value, setting_fields, shown_value
from citewell.store.corpus import APPLICATION_ID as CORPUS_ID
from citewell.store.port import Problem
from citewell.store.sqlite import Schema, copy_database, count_rows, file_version, load_schema
from citewell.version import __version__

# What belongs in a backup: the databases, the traces, the transcripts and the settings of a data folder.
#
#     corpus.db  runs.db  web.db  citewell.toml  research-runs/<run_id>/<file>  chat-transcripts/<name>…  manifest.json
#
# A name that is none of these is neither written nor accepted, so that no archive reaches outside the data folder.


MANIFEST = "manifest.json"
TRANSCRIPTS = "chat-transcripts"
SETTINGS = FILE_NAME
_MOST_SETTINGS_BYTES = 1_000_000
_SEGMENT = re.compile(r"[^/\\\x00-\x1f:]{1,200}")
_PASSWORD = re.compile(r"://[^/\s@]+:[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class StoredDatabase:
    """A database of the data folder: its file, its schema, and the table whose rows a person counts."""

    name: str
    package: str
    application_id: int
    table: str

    @property
    def file(self) -> str:
        return f"{self.name}.db"

    def schema(self) -> Schema:
        return load_schema(self.name, self.application_id, self.package)


CORPUS = StoredDatabase("corpus", "citewell.store.migrations", CORPUS_ID, "documents")
RUNS = StoredDatabase("runs", "citewell.runs.sqlite_scripts", RUNS_ID, "runs")
PAGES = StoredDatabase("web", "citewell.store.migrations", CORPUS_ID, "documents")
# Runs first: what a run cites is kept in the stores before the run is told so, and so it is in the later copies.
DATABASES = (RUNS, PAGES, CORPUS)


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name."""
    folder, _, rest = name.partition("/")
    if not rest:
        return name in {SETTINGS, *(database.file for database in DATABASES)}
    if folder == TRACES:
        run_id, _, file = rest.partition("/")
        return RUN_ID.fullmatch(run_id) is not None and file in (*ALL_FILES, MARKER)
    return folder == TRANSCRIPTS and all(_is_plain(segment) for segment in rest.split("/"))


def most_bytes(name: str) -> int | None:
    """How large a file of this name may be; a database is as large as it is."""
    if name == SETTINGS:
        return _MOST_SETTINGS_BYTES
    return None if name in {database.file for database in DATABASES} else MAX_TRACE_BYTES


def _is_plain(segment: str) -> bool:
    return _SEGMENT.fullmatch(segment) is not None and not segment.startswith(".") and segment == segment.rstrip(". ")


def holds_something(folder: Path) -> bool:
    """Whether a data folder has a corpus, runs, traces or transcripts that a restore would replace."""
    names = (TRACES, TRANSCRIPTS, *(database.file for database in DATABASES))
    return any(os.path.lexists(folder / name) for name in names)


def completed_traces(data: Path) -> list[Path]:
    """The folders of traces that were written whole; what is being written has another name."""
    folder = data / TRACES
    if not folder.is_dir():
        return []
    return sorted(place for place in folder.iterdir() if RUN_ID.fullmatch(place.name) and (place / MARKER).exists())


def transcript_files(data: Path) -> Iterator[tuple[str, Path]]:
    """The transcripts of chats, each with its name in a backup; links and hidden files are no part of it."""
    top = data / TRANSCRIPTS
    for folder, folders, files in os.walk(top):
        folders.sort()
        for file in sorted(files):
            path = Path(folder, file)
            name = f"{TRANSCRIPTS}/{path.relative_to(top).as_posix()}"
            if is_member(name) and not path.is_symlink() and path.is_file():
                yield name, path


def without_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """The settings of a `citewell.toml` that are no secret, and the names of those that are.

    It is written anew, because a secret may also stand in a comment.
    """
    stored = tomllib.loads(text)
    secret = {entry.name for entry in setting_fields() if entry.metadata["secret"]}
    values = [str(stored[name]) for name in secret & stored.keys() if stored[name]]
    left_out = {name for name, value in stored.items() if name in secret or _tells(str(value), values)}
    kept = {name: value for name, value in stored.items() if name not in left_out}
    return as_toml(kept), tuple(sorted(left_out))


def _tells(value: str, secrets: list[str]) -> bool:
    return _PASSWORD.search(value) is not None or any(secret in value for secret in secrets)


def as_toml(values: Mapping[str, Any]) -> str:
    """Settings as a `citewell.toml` has them."""
    lines = (f"{name} = {_toml_value(value)}\n" for name, value in values.items())
    return "".join(lines)


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            # What JSON writes of a text is TOML too, but for one control character.
            return msgspec.json.encode(str(value)).decode("utf-8").replace("\x7f", "\\u007F")


# Where backups and restores are put together: a hidden folder beside the target, on the same disk.


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SPARE_BYTES = 10_000_000


@contextmanager
def workshop(
    target: Path, kind: Literal["backup", "restore"], rescue: Callable[[Path], None] = lambda _: None
) -> Iterator[Path]:
    """A folder of our own beside the target, gone at the end; one that a killed process left behind is removed first.

    Before a folder is removed, `rescue` takes out of it what must not be lost; where that fails, it stays.
    """
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.{kind}")
    for stale in [entry for entry in target.parent.iterdir() if left.fullmatch(entry.name)]:
        with suppress(OSError), locked(stale, fcntl.LOCK_EX | fcntl.LOCK_NB):
            rescue(stale)
            shutil.rmtree(stale)
    place = target.with_name(f".{target.name}.{secrets.token_hex(8)}.{kind}")
    os.mkdir(place, 0o700)
    try:
        with locked(place, fcntl.LOCK_EX):
            yield place
    finally:
        rescue(place)
        shutil.rmtree(place, ignore_errors=True)


def check_room(folder: Path, needed: int, what: str) -> None:
    """Refuse before anything is written where it might not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        megabytes = (needed + _SPARE_BYTES) // 1_000_000
        raise StoreFull(
            f"{what} may need {megabytes:,} MB in {folder}, and {free // 1_000_000:,} MB are free.",
            fix="Free some disk space, or choose a place on another disk.",
        )


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise StoreFull(
                f"{what} could not be written: {reason}. Nothing was changed.",
                fix="Free some disk space, or choose a place on another disk, and run the same command again.",
            ) from error
        raise Unavailable(
            f"{what} cannot be written: {reason}.", fix="Check the folder and its permissions."
        ) from error


# Backups as values: what an archive says of itself, and what making or restoring one reports.


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


_EPOCH = (1980, 1, 1, 0, 0, 0)
_MADE_ON_UNIX = 3
_COMPRESSION = 3
_BLOCK = 1 << 20
# Puts runs that are kept elsewhere into a file of runs, new or not, and tells which could not be read.
Gather = Callable[[Path], tuple[Problem, ...]]


@dataclass(slots=True)
class _ArchiveContent:
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


def _write_archive(data: Path, folder: Path, unfinished: Path, at: str, gather: Gather | None) -> _ArchiveContent:
    content = _ArchiveContent()
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


def _gathered(source: Path, folder: Path, gather: Gather, content: _ArchiveContent) -> Path:
    """A file with the runs of the data folder, if there are any, and those that are kept elsewhere."""
    place = folder / "gathered.db"
    if source.exists():
        copy_database(source, place, RUNS.schema())
    content.left_out += gather(place)
    return place


def _add_database(
    archive: zipfile.ZipFile, content: _ArchiveContent, source: Path, folder: Path, database: StoredDatabase
) -> None:
    copy = folder / database.file
    if not source.exists():
        return
    content.schemas[database.name] = copy_database(source, copy, database.schema())
    content.counts[database.name] = count_rows(copy, database.table)
    _add(archive, content, database.file, copy)
    copy.unlink()


def _add_traces(archive: zipfile.ZipFile, content: _ArchiveContent, data: Path) -> None:
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


def _add_settings(archive: zipfile.ZipFile, content: _ArchiveContent, data: Path) -> None:
    path = data / SETTINGS
    if path.is_file():
        text, content.secrets = without_secrets(path.read_text("utf-8"))
        _add_bytes(archive, content, SETTINGS, text.encode("utf-8"))
        content.settings = True


def _add(archive: zipfile.ZipFile, content: _ArchiveContent, name: str, path: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(_info(name), "w", force_zip64=True) as member:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            member.write(block)
    content.members.append(BackupMember(name, size, digest.hexdigest()))


def _add_bytes(archive: zipfile.ZipFile, content: _ArchiveContent, name: str, data: bytes) -> None:
    archive.writestr(_info(name), data)
    content.members.append(BackupMember(name, len(data), hashlib.sha256(data).hexdigest()))


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = _MADE_ON_UNIX
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _manifest(content: _ArchiveContent, at: str) -> BackupManifest:
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


# Reading a backup without trusting a byte of it: what it may hold, how large it may grow, and what it must hash to.
#
# An archive comes from anywhere. Its members have names from a fixed list, their sizes are declared in the manifest and
# no byte beyond is unpacked, and each must have the hash it is declared with. That makes it whole, not true: the hashes
# do not say who wrote it.


MAX_MANIFEST_BYTES = 64_000_000
MAX_DIRECTORY_BYTES = 128_000_000
# What is packed tighter than this, and is large, is made to fill a disk: text and indexes pack to a third or a tenth.
MAX_RATIO = 200
_ANY_RATIO_BYTES = 1_000_000_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError)


class Backup:
    """An archive whose manifest has been checked against its list of members."""

    def __init__(self, archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
        self._archive = archive
        self.manifest = manifest

    def unpack(self, member: BackupMember, target: BinaryIO) -> None:
        """Write one member out; refused as soon as it is longer, shorter or another than it was declared."""
        digest, left = hashlib.sha256(), member.bytes
        with damage_refused(), self._archive.open(member.name) as source:
            while block := source.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise refused(f"{member.name} is longer than it says")
                digest.update(block)
                target.write(block)
        if left or digest.hexdigest() != member.sha256:
            raise refused(f"{member.name} is damaged")


@contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """A backup, open for reading, its manifest checked and known to this version."""
    with _open_regular(path) as file:
        _check_directory(file)
        with damage_refused():
            archive = zipfile.ZipFile(file)
            manifest = _read_manifest(archive)
        _check_manifest(manifest)
        _check_members(archive, manifest)
        _check_growth(manifest, os.fstat(file.fileno()).st_size)
        yield Backup(archive, manifest)


@contextmanager
def damage_refused() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise refused(f"it is damaged ({error})") from None


def refused(why: str) -> BadInput:
    return BadInput(f"This is no backup that can be restored: {why}.", fix="Use a file that 'citewell backup' wrote.")


def _open_regular(path: Path) -> BinaryIO:
    try:
        # Without waiting, because opening a pipe would otherwise wait for a writer.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.", fix="Check the path.") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.", fix="Check its permissions.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refused("it is not a regular file")
    return file


def _check_directory(file: BinaryIO) -> None:
    """Refuse a long list of members before anything reads it: a list of millions would fill the memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LOCATOR_BYTES - _END64_BYTES))
    tail = file.read()
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or not end.startswith(b"PK\x05\x06") or end[-2:] != b"\0\0":
        raise refused("it is not a zip file as Citewell writes it")
    length = int.from_bytes(end[12:16], "little")
    if tail[-_END_BYTES - _LOCATOR_BYTES : -_END_BYTES].startswith(b"PK\x06\x07"):
        end64 = tail[: -_END_BYTES - _LOCATOR_BYTES]
        length = int.from_bytes(end64[40:48], "little") if end64.startswith(b"PK\x06\x06") else size
    if length > MAX_DIRECTORY_BYTES:
        raise refused("it lists more files than a backup has")
    file.seek(0)


def _read_manifest(archive: zipfile.ZipFile) -> BackupManifest:
    try:
        info = archive.getinfo(MANIFEST)
    except KeyError:
        raise refused("it has no manifest") from None
    if info.file_size > MAX_MANIFEST_BYTES:
        raise refused("its manifest is too large")
    with archive.open(info) as source:
        content = source.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise refused("its manifest is too large")
    try:
        return msgspec.json.decode(content, type=BackupManifest)
    except msgspec.MsgspecError as error:
        raise refused(f"its manifest cannot be read ({error})") from None


def _check_manifest(manifest: BackupManifest) -> None:
    if manifest.format != BACKUP_FORMAT:
        raise StoreUnusable(
            f"This backup has the format {manifest.format[:40]!r}; this Citewell knows {BACKUP_FORMAT}.",
            fix="Upgrade Citewell, then restore it.",
        )
    for database in DATABASES:
        known, stored = database.schema().version, manifest.schemas.get(database.name, 0)
        if stored > known:
            raise StoreUnusable(
                f"This backup was made by a newer Citewell ({manifest.version[:40]}: its {database.name} have schema"
                f" {stored}, this one knows {known}).",
                fix="Upgrade Citewell, then restore it.",
            )


def _check_members(archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
    """What the archive lists and what the manifest declares are the same, and nothing else than a backup holds."""
    listed: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.filename in listed:
            raise refused(f"it holds {info.filename[:80]!r} twice")
        listed[info.filename] = info
    declared = {member.name: member for member in manifest.members}
    if len(declared) != len(manifest.members) or listed.keys() != {*declared, MANIFEST}:
        raise refused("its manifest and its files differ")
    for name, member in declared.items():
        info = listed[name]
        if not is_member(name) or info.is_dir() or not stat.S_ISREG(info.external_attr >> 16):
            raise refused(f"{name[:80]!r} is no file of a backup")
        if info.file_size != member.bytes or info.flag_bits & _ENCRYPTED or info.compress_type not in _PACKINGS:
            raise refused(f"{name[:80]} is not as its manifest says")
        most = most_bytes(name)
        if most is not None and member.bytes > most:
            raise refused(f"{name[:80]} has {member.bytes:,} bytes, and at most {most:,} are taken")
    if not declared.keys() & {CORPUS.file, RUNS.file}:
        raise refused("it holds no corpus and no runs")


def _check_growth(manifest: BackupManifest, size: int) -> None:
    unpacked = sum(member.bytes for member in manifest.members)
    if unpacked > _ANY_RATIO_BYTES and unpacked > MAX_RATIO * size:
        raise refused(f"{size:,} bytes would become {unpacked:,}, as of an archive that is made to fill a disk")


# Which settings of a backup need a person's word: those that send data elsewhere, or permit more than is permitted.
#
# A backup may come from somebody else. A setting is put in place without a word only where it is known to do no harm,
# or permits less than before: a setting that this file does not know is asked about. What nobody accepts stays as it
# is.


# Sizes, times and counts, and what is done on this machine alone.
HARMLESS = frozenset(
    "planner_seconds max_output_tokens embeddings encode_minutes summaries max_file_mb trace_keep trace_max_age_days"
    " trace_keep_all max_evidence_chars max_chars_per_doc exact_tag_reserved_chars topic_brief_min_remaining_chars"
    " topic_brief_summary_max_chars chat_research_max_loops chat_research_max_sources_read"
    " chat_research_max_search_queries chat_research_timeout_seconds deep_research_max_loops"
    " deep_research_max_sources_read deep_research_max_search_queries deep_research_timeout_seconds"
    " research_source_fetch_timeout_seconds research_source_max_bytes research_max_bytes research_max_citations_chat"
    " research_max_citations_deep log_level max_runs max_waiting_runs max_syntheses max_body_bytes"
    " heartbeat_seconds".split()
)
# Where these have their default, nobody is asked and nothing is sent. An address is none of them: without the one that
# is set here, another would be used.
_OFF_BY_DEFAULT = frozenset(
    "model planner_model review_model research_model embeddings_model reranker judge reader search fetch_allow"
    " model_api_key brave_api_key tavily_api_key github_token".split()
)
_POLICIES = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class SettledSettings:
    """What is put in place, and what is not, with the reason."""

    values: dict[str, Any]
    left_out: tuple[Problem, ...]


def settled(text: str, here: str, accept: AcceptSettings) -> SettledSettings:
    """The settings of a backup, over those that are here; a person is asked where that is needed."""
    try:
        offered = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise refused(f"its settings are not valid TOML ({error})") from None
    left_out = [Problem(name[:80], "this version does not know it") for name in offered if name not in SETTINGS_BY_NAME]
    values: dict[str, Any] = {}
    for name in offered.keys() & SETTINGS_BY_NAME.keys():
        try:
            values[name] = checked_value(name, offered[name])
        except BadInput as error:
            left_out.append(Problem(name, error.message))
    present = _read(here)
    changes = tuple(_changes(present, values))
    if changes and not accept(changes):
        for change in changes:
            values.pop(change.name, None)
            if change.name in present:
                values[change.name] = present[change.name]
            left_out.append(Problem(change.name, f"{change.value or 'nothing'} was not accepted"))
    return SettledSettings({name: values[name] for name in SETTINGS_BY_NAME if name in values}, tuple(left_out))


def _read(text: str) -> dict[str, Any]:
    """The settings that are here, as far as they are valid."""
    found: dict[str, Any] = {}
    try:
        stored = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return found
    for name in stored.keys() & SETTINGS_BY_NAME.keys():
        try:
            found[name] = checked_value(name, stored[name])
        except BadInput:
            continue
    return found


def _changes(here: Mapping[str, Any], offered: Mapping[str, Any]) -> list[SettingChange]:
    changes: list[SettingChange] = []
    for name, entry in SETTINGS_BY_NAME.items():
        before, after = here.get(name, entry.default), offered.get(name, entry.default)
        if before != after and name not in HARMLESS and not _permits_less(name, before, after):
            changes.append(SettingChange(name, shown_value(name, before), shown_value(name, after)))
    return changes


def _permits_less(name: str, before: Any, after: Any) -> bool:
    """Whether a change sends no more and permits no more than before."""
    if name in _OFF_BY_DEFAULT:
        return bool(after == SETTINGS_BY_NAME[name].default)
    if name.startswith("policy_"):
        return _POLICIES.index(after) < _POLICIES.index(before)
    if isinstance(after, bool):
        return not after
    match name:
        case "web_deny":
            return _listed(before) <= _listed(after)
        case "web_allow":
            return bool(_listed(after)) and (not _listed(before) or _listed(after) <= _listed(before))
        case "max_cost_usd" | "max_tokens":
            return bool(after > 0 and (before == 0 or after < before))
        case _:
            return False


def _listed(text: str) -> set[str]:
    return {one.strip().lower() for one in text.split(",") if one.strip()}


# Restoring a backup: unpacked and checked aside, then put in the place of the data folder in one step.
#
# What was there before is never deleted: the whole folder is kept beside it under a name with the time. Where the
# system can exchange two folders (Linux), a restore that is killed leaves either the old state or the new one;
# elsewhere there is a moment between two renames in which the folder has only its other name.


_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def restore_backup(
    archive: Path, data: Path, clock: Clock, *, force: bool = False, accept: AcceptSettings = lambda changes: False
) -> RestoreReport:
    """Put what an archive holds in the place of a data folder.

    Settings that send data elsewhere or permit more are put in place only where they are accepted.
    """
    started, at = clock.monotonic(), clock.now()
    place = data.resolve()
    if not force and holds_something(place):
        raise BadInput(
            f"{data} already holds a corpus or runs.",
            fix="Choose another folder with --data-dir, or use --force: what is there is kept aside.",
        )
    with disk_errors(f"The data folder {place.name}"), open_backup(archive) as backup:
        place.parent.mkdir(parents=True, exist_ok=True)
        check_room(place.parent, sum(member.bytes for member in backup.manifest.members), "Restoring")
        with workshop(place, "restore", lambda folder: _rescue(folder, place, at)) as folder:
            made = folder / "data"
            _unpack(backup, made)
            counts = _check_databases(made)
            settings, settings_left_out = _settle_settings(place, made, force, accept)
            aside = _swap_folder(made, place, at)
    manifest = backup.manifest
    names = [member.name for member in manifest.members]
    return RestoreReport(
        data_dir=str(data),
        created_at=manifest.created_at,
        version=manifest.version,
        documents=counts.get(CORPUS.name, 0),
        runs=counts.get(RUNS.name, 0),
        traces=sum(name.startswith(f"{TRACES}/") and name.endswith(f"/{MARKER}") for name in names),
        transcripts=sum(name.startswith(f"{TRANSCRIPTS}/") for name in names),
        settings=settings,
        secrets_left_out=manifest.secrets_left_out,
        kept_aside=str(aside) if aside else None,
        seconds=round(clock.monotonic() - started, 3),
        settings_left_out=settings_left_out,
    )


def _mark(made: Path) -> str:
    """The name of a file that tells a folder being restored from the one it is exchanged with."""
    return f".restoring-{made.parent.name.split('.')[-2]}"


def _rescue(folder: Path, place: Path, at: str) -> None:
    """What stopped right after the exchange left the old folder in the workshop: it gets a name of its own."""
    old = folder / "data"
    if old.is_dir() and any(old.iterdir()) and not (old / _mark(old)).exists():
        os.rename(old, _free_name(place, at))


def _swap_folder(made: Path, place: Path, at: str) -> Path | None:
    """Give the folder its name; the one that had it before is kept beside, and where that is."""
    mark, aside = _mark(made), None
    if not place.exists() or not any(place.iterdir()):
        os.rename(made, place)
    else:
        aside = _free_name(place, at)
        if _exchange(made, place):
            os.rename(made, aside)
        else:
            _rename_whole(place, aside)
            os.rename(made, place)
    (place / mark).unlink()
    sync_folder(place.parent)
    return aside


def _unpack(backup: Backup, made: Path) -> None:
    os.mkdir(made, 0o700)
    (made / _mark(made)).touch()
    folders = {made}
    for member in backup.manifest.members:
        path = made / member.name
        for folder in [parent for parent in reversed(path.parents) if parent.is_relative_to(made)]:
            folder.mkdir(exist_ok=True, mode=0o700)
            folders.add(folder)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            backup.unpack(member, file)
            file.flush()
            os.fsync(file.fileno())
    for folder in folders:
        sync_folder(folder)


def _check_databases(made: Path) -> dict[str, int]:
    """What each database holds; one that is damaged, newer or of a foreign schema is refused, whatever is declared."""
    counts: dict[str, int] = {}
    for database in DATABASES:
        path = made / database.file
        if path.exists():
            file_version(path, database.schema())
            counts[database.name] = count_rows(path, database.table)
    return counts


def _settle_settings(
    place: Path, made: Path, force: bool, accept: AcceptSettings
) -> tuple[Literal["restored", "kept", "none"], tuple[Problem, ...]]:
    """Settings that are there already stay, unless everything is to be replaced: they may hold a key."""
    here, restored = place / SETTINGS, made / SETTINGS
    if here.is_file() and (not force or not restored.exists()):
        shutil.copyfile(here, restored)
        os.chmod(restored, 0o600)
        return "kept", ()
    if not restored.exists():
        return "none", ()
    text, own = restored.read_bytes(), here.read_bytes() if here.is_file() else b""
    found = settled(text.decode("utf-8", "replace"), own.decode("utf-8", "replace"), accept)
    with restored.open("w", encoding="utf-8") as file:
        file.write(as_toml(found.values))
        file.flush()
        os.fsync(file.fileno())
    return "restored", found.left_out


def _free_name(place: Path, at: str) -> Path:
    stamp = re.sub(r"[^0-9TZ]", "", at.partition(".")[0])
    name, number = f"{place.name}.before-restore-{stamp}", 2
    free = place.with_name(name)
    while os.path.lexists(free):
        free, number = place.with_name(f"{name}-{number}"), number + 1
    return free


def _rename_whole(place: Path, aside: Path) -> None:
    try:
        os.rename(place, aside)
    except OSError as error:
        raise Unavailable(
            f"{place} cannot be renamed: {error.strerror}.",
            fix="It may be a disk of its own: restore into a folder inside it with --data-dir.",
        ) from error


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; False where the system or the file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
