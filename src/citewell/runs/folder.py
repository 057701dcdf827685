"""What lies on the disk beside the databases: the folder of each trace, and saved conversations.

    research-runs/<run_id>/   what is in it: `runs/trace.py`
    chat-transcripts/         saved conversations, one file each, readable by nobody else and never indexed

A trace is built aside under a name that starts with a dot and then renamed, so it is there whole or not at all. What a
killed process left aside is swept by the next one; only files that Citewell writes are ever unlinked. Readers share a
lock, writing and deleting exclude; links are never followed. Where the file system has no locks, none is held.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from citewell.check.verdict import Draft
from citewell.errors import BadInput, CitewellError, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.runs.events import RunEvent
from citewell.runs.reports import ChatTranscript, PruneSummary, TranscriptList
from citewell.runs.run import RunResult
from citewell.runs.trace import (
    ALL_FILES,
    MARKER,
    MAX_TRACE_BYTES,
    RUN_ID,
    Trace,
    changed,
    check_run_id,
    read_manifest,
    trace_files,
    trace_from_files,
)
from citewell.search.query import QueryPlan

TRACES = "research-runs"
TRANSCRIPTS = "chat-transcripts"
MAX_MARKER_BYTES = 64 * 1024
MAX_TRANSCRIPT_BYTES = 4_000_000
ASIDE = re.compile(rf"\.{RUN_ID.pattern}\.[0-9a-f]{{16}}\.(?:new|gone)")
_TRANSCRIPT = re.compile(r"[A-Za-z0-9_-]{1,100}\.json")
_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_DAY_SECONDS = 86_400


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise StoreFull(
                f"{what} could not be written: {reason}. Nothing of it was left behind.",
                fix="Free some disk space; the run itself is on record.",
            ) from error
        raise Unavailable(
            f"{what} cannot be written: {reason}.", fix="Check the folder and its permissions."
        ) from error


def write_file(path: str | Path, content: bytes, folder: int | None = None) -> None:
    """A new file that only its owner can read, synced; `folder` is an open one it is put into."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_locked(path: Path, how: int) -> int:
    """An open folder that has this name and is locked until it is closed."""
    while True:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(folder, how)
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                    raise
            # While we waited it may have been renamed: then what we hold is not what the caller means.
            if is_at(path, folder):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)


@contextmanager
def locked(path: Path, how: int) -> Iterator[int]:
    """An open folder that has this name and is locked until the end."""
    folder = open_locked(path, how)
    try:
        yield folder
    finally:
        os.close(folder)


def is_at(path: Path, folder: int) -> bool:
    """Whether an open folder still has this name."""
    try:
        there, here = path.lstat(), os.fstat(folder)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def trace_folder(root: Path, run_id: str) -> Path:
    """Where the trace of a run is, or would be."""
    return root / TRACES / check_run_id(run_id)


# Writing a trace


def write_trace(
    root: Path,
    result: RunResult,
    events: Sequence[RunEvent],
    synthesis_input: str,
    plan: QueryPlan | None,
    draft: Draft | None = None,
) -> Path:
    """Write the trace of a run and return its folder; `draft` is what a failed verification rejected.

    A run that already has this trace keeps it; one that was resumed since gets the longer one in its place.
    """
    return put_trace(root, result.run_id, trace_files(result, events, synthesis_input, plan, draft), events)


def put_trace(root: Path, run_id: str, files: Mapping[str, bytes], events: Sequence[RunEvent]) -> Path:
    """Put the files of a trace in their place, whole or not at all."""
    place = trace_folder(root, run_id)
    with disk_errors(f"The trace of run {run_id}"):
        with suppress(FileExistsError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.parent.mkdir(mode=0o700)
            sync_folder(root)
        if not stat.S_ISDIR(place.parent.lstat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, f"{TRACES} is not a folder of its own")
        sweep(place.parent)
        with _new_folder(place) as (aside, folder):
            for name in (*(name for name in files if name != MARKER), MARKER):
                write_file(name, files[name], folder)
            os.fsync(folder)
            _give_name(aside, place, events)
        sync_folder(place.parent)
    return place


@contextmanager
def _new_folder(place: Path) -> Iterator[tuple[Path, int]]:
    """A new locked folder beside `place`; what still has that name at the end is removed."""
    while True:
        aside = _aside(place, "new")
        aside.mkdir(mode=0o700)
        try:
            folder = open_locked(aside, fcntl.LOCK_EX)
            break
        except FileNotFoundError:
            continue  # before it was locked, a sweep took it for one that was left behind
        except BaseException:
            aside.rmdir()
            raise
    try:
        yield aside, folder
    finally:
        try:
            if is_at(aside, folder):
                _discard(aside, folder)
        finally:
            os.close(folder)


def _give_name(aside: Path, place: Path, events: Sequence[RunEvent]) -> None:
    """Put a finished folder in its place, unless the same trace is there already."""
    try:
        os.rename(aside, place)
        return
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
    try:
        there = read_trace(place).events
    except CitewellError as error:
        raise WorkFailed(
            f"{TRACES}/{place.name} is there already and is not a trace that this run wrote: {error.message}",
            fix=f"Move {TRACES}/{place.name} away.",
        ) from error
    if there != tuple(events[: len(there)]):
        raise WorkFailed(f"Run {place.name} has another trace already.", fix=f"Move {TRACES}/{place.name} away.")
    if len(there) == len(events):
        return
    # A longer trace of the same run: a crash in between is mended from the log in the store.
    with locked(place, fcntl.LOCK_EX) as folder:
        if foreign := foreign_names(folder):
            raise WorkFailed(
                f"{TRACES}/{place.name} holds files that are not part of the trace: {', '.join(foreign)}.",
                fix="Move them away.",
            )
        take_away(place, folder)
        os.rename(aside, place)


# Removing a trace


def take_away(place: Path, folder: int) -> None:
    """Remove a trace that the caller has locked: first its name, so that nobody sees it half gone."""
    gone = _aside(place, "gone")
    os.rename(place, gone)
    if not _discard(gone, folder):
        os.rename(gone, place)  # somebody put files of their own into it: those stay


def foreign_names(folder: int) -> list[str]:
    """What lies in the folder of a trace and is not part of it."""
    return sorted(set(os.listdir(folder)) - {MARKER, *ALL_FILES})


def _discard(path: Path, folder: int) -> bool:
    """Remove the files we write, the marker first, and the folder if it is empty then; nothing else."""
    for name in (MARKER, *ALL_FILES):
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(name, dir_fd=folder)
    try:
        path.rmdir()
    except OSError:
        return False
    return True


def sweep(traces: Path) -> None:
    """Remove what writers and removers that were killed left aside; one that still works holds its lock."""
    with os.scandir(traces) as scan:
        left = [entry.name for entry in scan if ASIDE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    for name in left:
        with suppress(OSError), locked(traces / name, fcntl.LOCK_EX | fcntl.LOCK_NB) as folder:
            _discard(traces / name, folder)


def _aside(place: Path, why: str) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}.{why}")


# Reading a trace


def read_trace(folder: Path) -> Trace:
    """A trace, refused if it is not complete or if anything in it was changed."""
    try:
        with locked(folder, fcntl.LOCK_SH) as descriptor:
            files = read_files(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"There is no trace {folder.name}.", fix="See 'citewell runs list'.") from None
    except OSError as error:
        raise Unavailable(
            f"The trace {folder.name} cannot be read: {error.strerror}.", fix="Check the folder and its permissions."
        ) from error
    trace = trace_from_files(files)
    if RUN_ID.fullmatch(folder.name) and folder.name != trace.run_id:
        raise changed(f"the folder {folder.name} holds run {trace.run_id}")
    return trace


def read_files(folder: int, names: Sequence[str] = (MARKER, *ALL_FILES)) -> dict[str, bytes]:
    """The files of a trace that are there, as regular files of its own and not too large."""
    files: dict[str, bytes] = {}
    left = MAX_TRACE_BYTES
    for name in names:
        limit = MAX_MARKER_BYTES if name == MARKER else left
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise changed(f"{name} is a symbolic link") from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise changed(f"{name} is not a regular file")
            files[name] = file.read(limit + 1)
        if len(files[name]) > limit:
            raise changed(f"{name} is larger than any file of a trace")
        left -= len(files[name])
    return files


def prune_traces(
    root: Path, keep: int, max_age_days: int, keep_all: bool, now: str, is_active: Callable[[str], bool]
) -> PruneSummary:
    """Remove the traces that are neither among the latest `keep` nor younger than `max_age_days`; nothing else ever.

    Only a folder with our marker, whose files are exactly those we wrote, is removed; a run that is being executed is
    left alone, and so is a trace that somebody reads. Age is what the marker says, not what the file system does; a
    clock that jumped can make further traces seem old, but never the latest `keep`.
    """
    if keep < 0 or max_age_days < 0:
        raise BadInput("Traces to keep and their age in days cannot be negative.", fix="Use 0 or more.")
    moment = _moment(now)
    if moment is None:
        raise BadInput(f"{now!r} is not a moment.", fix="Use ISO 8601 in UTC.")
    traces = root / TRACES
    if traces.is_symlink() or not traces.is_dir():
        return PruneSummary(0, (), (), not_ours=(TRACES,) if os.path.lexists(traces) else ())
    # Every completed trace, the latest first: when it was made, its run, its size.
    found: list[tuple[datetime, str, int]] = []
    removed, active, in_use, not_ours, failed = list[str](), list[str](), list[str](), list[str](), list[str]()
    freed = gone = 0
    for name in sorted(os.listdir(traces)):
        trace = _completed(traces / name) if RUN_ID.fullmatch(name) else None
        if trace is not None:
            found.append(trace)
        elif not ASIDE.fullmatch(name) and os.path.lexists(traces / name):
            not_ours.append(name)
    found.sort(reverse=True)
    completed = len(found)
    for created, run_id, size in [] if keep_all else found[keep:]:
        if (moment - created).total_seconds() <= max_age_days * _DAY_SECONDS:
            continue
        if is_active(run_id):
            active.append(run_id)
            continue
        try:
            with locked(traces / run_id, fcntl.LOCK_EX | fcntl.LOCK_NB) as folder:
                if foreign_names(folder) or trace_from_files(read_files(folder)).run_id != run_id:
                    not_ours.append(run_id)
                    completed -= 1
                    continue
                take_away(traces / run_id, folder)
        except BlockingIOError:
            in_use.append(run_id)
        except CitewellError:
            not_ours.append(run_id)  # changed since it was written: somebody made it theirs
            completed -= 1
        except FileNotFoundError:
            gone += 1  # another process was first
        except OSError:
            failed.append(run_id)
        else:
            removed.append(run_id)
            freed += size
    sweep(traces)
    return PruneSummary(
        kept=completed - len(removed) - gone,
        removed=tuple(removed),
        skipped_active=(*active, *in_use),
        not_ours=tuple(sorted(not_ours)),
        failed=tuple(failed),
        freed_bytes=freed,
    )


def delete_trace(root: Path, run_id: str) -> bool:
    """Remove the trace of one run because it is to be forgotten, changed or not; whether there was one."""
    place = trace_folder(root, run_id)
    if place.parent.is_symlink() or not place.parent.is_dir():
        return False
    with disk_errors(f"The trace of run {run_id}"):
        sweep(place.parent)  # a write that was killed may have left some of it aside
        try:
            with locked(place, fcntl.LOCK_EX) as folder:
                take_away(place, folder)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _completed(path: Path) -> tuple[datetime, str, int] | None:
    """A completed trace by its marker; what cannot be told is not ours."""
    try:
        with locked(path, fcntl.LOCK_SH) as folder:
            manifest = read_manifest(read_files(folder, (MARKER,)).get(MARKER))
    except (CitewellError, OSError):
        return None
    created = _moment(manifest.created_at)
    if created is None or manifest.run_id != path.name:
        return None
    return created, manifest.run_id, sum(artifact.bytes for artifact in manifest.files)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Saved conversations


def save_transcript(root: Path, transcript: ChatTranscript) -> ChatTranscript:
    """Write a conversation, or write it anew."""
    folder = root / TRANSCRIPTS
    place = folder / f"{transcript.conversation_id}.json"
    if not _TRANSCRIPT.fullmatch(place.name):
        raise BadInput("The id of the conversation is none.", fix="Use letters, digits, '-' and '_'.")
    with disk_errors("The transcript"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = folder / f".{secrets.token_hex(8)}.new"
        try:
            write_file(aside, msgspec.json.format(msgspec.json.encode(transcript), indent=1))
            os.replace(aside, place)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(folder)
    return transcript


def read_transcript(root: Path, conversation_id: str) -> ChatTranscript:
    """A saved conversation by its id."""
    name = f"{conversation_id}.json"
    if not _TRANSCRIPT.fullmatch(name):
        raise NotFound(f"There is no conversation {conversation_id[:100]!r}.")
    return _read_transcript(root / TRANSCRIPTS / name)


def list_transcripts(root: Path, limit: int) -> TranscriptList:
    """The conversations saved last."""
    folder = root / TRANSCRIPTS
    if not folder.is_dir():
        return TranscriptList(())
    named = [path for path in folder.iterdir() if _TRANSCRIPT.fullmatch(path.name) and not path.is_symlink()]
    newest = sorted(named, key=lambda path: (-path.stat().st_mtime_ns, path.name))[:limit]
    found, unreadable = list[ChatTranscript](), list[str]()
    for path in newest:
        try:
            found.append(_read_transcript(path))
        except CitewellError:
            unreadable.append(path.name)
    return TranscriptList(tuple(found), tuple(unreadable))


def _read_transcript(path: Path) -> ChatTranscript:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_TRANSCRIPT_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"There is no conversation {path.stem}.") from None
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.") from None
    try:
        return msgspec.json.decode(content[:MAX_TRANSCRIPT_BYTES], type=ChatTranscript)
    except (msgspec.DecodeError, RecursionError):
        raise BadInput(f"{path.name} is no transcript this version reads.") from None
