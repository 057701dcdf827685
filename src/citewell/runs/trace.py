"""The folder of each trace: built aside, put in its place whole, locked while it is worked on, read with care.

    research-runs/<run_id>/   what is in it: `runs/document.py`

A trace is built aside under a name that starts with a dot and then renamed, so it is there whole or not at all. What a
killed process left aside is swept by the next one; only files that Citewell writes are ever unlinked. The hashes are a
seal against damage and tampering in part; they do not protect against someone who writes a whole new trace.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from citewell.domain.answers import Draft
from citewell.domain.errors import CitewellError, NotFound, Unavailable, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import RunResult
from citewell.domain.type_setup import learn_types
from citewell.runs.document import (
    ALL_FILES,
    FILES,
    MARKER,
    MAX_TRACE_BYTES,
    RUN_ID,
    TRACE_SCHEMA,
    TRACES,
    Manifest,
    Trace,
    TraceDocument,
    check_run_id,
    marker_of,
    trace_files,
)
from citewell.store.disk import disk_errors, is_at, locked, open_locked, sync_folder, write_file
from citewell.store.log import verify_chain

MAX_MARKER_BYTES = 64 * 1024
# Traces are read in many threads.
learn_types((RunEvent, TraceDocument, Manifest))

ASIDE = re.compile(rf"\.{RUN_ID.pattern}\.[0-9a-f]{{16}}\.(?:new|gone)")
_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})


def trace_folder(root: Path, run_id: str) -> Path:
    """Where the trace of a run is, or would be."""
    return root / TRACES / check_run_id(run_id)


# Writing


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


# Removing


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


# Reading


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
        raise _changed(f"the folder {folder.name} holds run {trace.run_id}")
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
            raise _changed(f"{name} is a symbolic link") from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _changed(f"{name} is not a regular file")
            files[name] = file.read(limit + 1)
        if len(files[name]) > limit:
            raise _changed(f"{name} is larger than any file of a trace")
        left -= len(files[name])
    return files


def trace_from_files(files: Mapping[str, bytes]) -> Trace:
    """A trace from the content of its files, refused unless every byte is what the run wrote."""
    manifest = read_manifest(files.get(MARKER))
    names = tuple(artifact.name for artifact in manifest.files)
    if set(names) - set(ALL_FILES) or set(FILES) - set(names) or len(set(names)) != len(names):
        raise _changed(f"{MARKER} does not list the files of a trace")
    for artifact in manifest.files:
        content = files.get(artifact.name)
        if content is None:
            raise _changed(f"{artifact.name} is missing")
        if len(content) != artifact.bytes:
            raise _changed(f"{artifact.name} has {len(content)} bytes instead of {artifact.bytes}")
        if hashlib.sha256(content).hexdigest() != artifact.sha256:
            raise _changed(f"{artifact.name} has another sha256 than {MARKER} says")
    events = tuple(_decode(line, RunEvent, "log.jsonl") for line in files["log.jsonl"].splitlines())
    if not events:
        raise _changed("log.jsonl is empty")
    verify_chain(events)
    if events[0].run_id != manifest.run_id or events[-1].digest != manifest.log_digest:
        raise _changed(f"log.jsonl does not end as {MARKER} says")
    if files[MARKER] != marker_of(manifest.run_id, events, files):
        raise _changed(f"{MARKER} does not follow from the other files")
    document: TraceDocument = _decode(files["run.json"], TraceDocument, "run.json")
    if (document.schema_version, document.run_id, document.events) != (TRACE_SCHEMA, manifest.run_id, events):
        raise _changed("run.json does not tell what log.jsonl does")
    return Trace(manifest.run_id, document, events, files)


def read_manifest(marker: bytes | None) -> Manifest:
    """What a marker says, if it is one of ours and of a form we know."""
    if marker is None:
        raise _changed(f"{MARKER} is missing, so the trace was never finished")
    schema = _decode(marker, dict[str, Any], MARKER).get("schema")
    if schema != TRACE_SCHEMA:
        if not isinstance(schema, str) or not re.fullmatch(r"research_trace\.v[1-9][0-9]{0,5}", schema):
            raise _changed(f"{MARKER} names no schema of Citewell")
        raise WorkFailed(
            f"The trace was written by a newer Citewell ({schema}; this one reads {TRACE_SCHEMA}).",
            fix="Upgrade Citewell to read it, or open its run.md.",
        )
    manifest: Manifest = _decode(marker, Manifest, MARKER)
    if not RUN_ID.fullmatch(manifest.run_id):
        raise _changed(f"{MARKER} names no run")
    return manifest


def _decode(content: bytes, form: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _changed(f"{name} cannot be read ({error})") from None


def _changed(what: str) -> WorkFailed:
    return WorkFailed(f"The trace cannot be trusted: {what}.", fix="Use an untouched copy of the run.")
