"""The trace of a run: a folder of files that tells the whole run, and that shows when a byte of it was changed.

    research-runs/<run_id>/   run.md  run.json  planner-input.md  synthesis-input.md  log.jsonl
                              planner-output.json or .txt, where a model planned: its reply as it came
                              .complete   the marker, written last: the hash and size of every other file

A trace is built aside under a name that starts with a dot and then renamed, so it is there whole or not at all. Whoever
works on a folder holds a lock on it: readers share it, writing and deleting exclude. The hashes are a seal against
damage and tampering in part; they do not protect against someone who writes a whole new trace. Nothing is redacted
here: what reaches a log was redacted before it was recorded.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from citewell.domain.answers import Draft
from citewell.domain.errors import CitewellError, NotFound, Unavailable, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import RunResult
from citewell.domain.type_setup import learn_types
from citewell.recording.folders import (
    ALL_FILES,
    FILES,
    MARKER,
    PLANNER_OUTPUTS,
    RUN_ID,
    TRACES,
    aside_of,
    check_run_id,
    discard,
    disk_errors,
    foreign_names,
    is_at,
    locked,
    sweep,
    sync_folder,
    take_away,
)
from citewell.recording.log import verify_chain
from citewell.recording.trace_contents import MAX_TRACE_BYTES, marker_of, synthesis_input_of, trace_files
from citewell.recording.trace_document import TRACE_SCHEMA, Manifest, Trace, TraceDocument, read_document

MAX_MARKER_BYTES = 64 * 1024
# Traces are read in many threads.
learn_types((RunEvent, TraceDocument, Manifest))

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
        _make_traces_folder(place.parent)
        sweep(place.parent)
        with _new_folder(place) as (aside, folder):
            for name in (*(name for name in files if name != MARKER), MARKER):
                _write_file(folder, name, files[name])
            os.fsync(folder)
            _give_name(aside, place, events)
        sync_folder(place.parent)
    return place


def _make_traces_folder(traces: Path) -> None:
    with suppress(FileExistsError):
        traces.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        traces.mkdir(mode=0o700)
        sync_folder(traces.parent)
    if not stat.S_ISDIR(traces.lstat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{TRACES} is not a folder of its own")


@contextmanager
def _new_folder(place: Path) -> Iterator[tuple[Path, int]]:
    """A new locked folder beside `place`; what still has that name at the end is removed."""
    with ExitStack() as stack:
        aside, folder = _make_locked(place, stack)
        try:
            yield aside, folder
        finally:
            if is_at(aside, folder):
                discard(aside, folder)


def _make_locked(place: Path, stack: ExitStack) -> tuple[Path, int]:
    while True:
        aside = aside_of(place, "new")
        aside.mkdir(mode=0o700)
        # Before it is locked, a sweep may take it for one that was left behind.
        try:
            return aside, stack.enter_context(locked(aside, fcntl.LOCK_EX))
        except FileNotFoundError:
            continue
        except BaseException:
            aside.rmdir()
            raise


def _write_file(folder: int, name: str, content: bytes) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


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
    if len(there) < len(events):
        _replace(aside, place)


def _replace(aside: Path, place: Path) -> None:
    """Put a longer trace of the same run in place; a crash in between is mended from the log in `runs.db`."""
    with locked(place, fcntl.LOCK_EX) as folder:
        if foreign := foreign_names(folder):
            raise WorkFailed(
                f"{TRACES}/{place.name} holds files that are not part of the trace: {', '.join(foreign)}.",
                fix="Move them away.",
            )
        take_away(place, folder)
        os.rename(aside, place)


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
        with suppress(FileNotFoundError):
            files[name] = _read_file(folder, name, MAX_MARKER_BYTES if name == MARKER else left)
            left -= len(files[name])
    return files


def _read_file(folder: int, name: str, limit: int) -> bytes:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _changed(f"{name} is a symbolic link") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _changed(f"{name} is not a regular file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise _changed(f"{name} is larger than any file of a trace")
    return content


def trace_from_files(files: Mapping[str, bytes]) -> Trace:
    """A trace from the content of its files, refused unless every byte is what the run wrote."""
    manifest = read_manifest(files.get(MARKER))
    _compare_files(manifest, files)
    events = _read_log(files["log.jsonl"])
    if events[0].run_id != manifest.run_id or events[-1].digest != manifest.log_digest:
        raise _changed(f"log.jsonl does not end as {MARKER} says")
    if files[MARKER] != marker_of(manifest.run_id, events, files):
        raise _changed(f"{MARKER} does not follow from the other files")
    document = _document(files["run.json"])
    if (document.schema_version, document.run_id, document.events) != (TRACE_SCHEMA, manifest.run_id, events):
        raise _changed("run.json does not tell what log.jsonl does")
    return Trace(
        run_id=manifest.run_id,
        document=document,
        events=events,
        planner_output=next((_text(files[name], name) for name in PLANNER_OUTPUTS if name in files), None),
        markdown=_text(files["run.md"], "run.md"),
        planner_input=_text(files["planner-input.md"], "planner-input.md"),
        synthesis_input=synthesis_input_of(_text(files["synthesis-input.md"], "synthesis-input.md")),
        log_digest=manifest.log_digest,
        files=files,
    )


def read_manifest(marker: bytes | None) -> Manifest:
    """What a marker says, if it is one of ours and of a form we know."""
    if marker is None:
        raise _changed(f"{MARKER} is missing, so the trace was never finished")
    schema = _decode(marker, dict[str, Any], MARKER).get("schema")
    if schema != TRACE_SCHEMA:
        raise _unknown_schema(schema)
    manifest: Manifest = _decode(marker, Manifest, MARKER)
    if not RUN_ID.fullmatch(manifest.run_id):
        raise _changed(f"{MARKER} names no run")
    return manifest


def _unknown_schema(schema: object) -> WorkFailed:
    known = re.fullmatch(r"research_trace\.v([1-9][0-9]{0,5})", schema) if isinstance(schema, str) else None
    if known is None:
        return _changed(f"{MARKER} names no schema of Citewell")
    return WorkFailed(
        f"The trace was written by a newer Citewell ({schema}; this one reads {TRACE_SCHEMA}).",
        fix="Upgrade Citewell to read it, or open its run.md.",
    )


def _compare_files(manifest: Manifest, files: Mapping[str, bytes]) -> None:
    names = tuple(artifact.name for artifact in manifest.files)
    if set(names) - {*FILES, *PLANNER_OUTPUTS} or set(FILES) - set(names) or len(set(names)) != len(names):
        raise _changed(f"{MARKER} does not list the files of a trace")
    for artifact in manifest.files:
        content = files.get(artifact.name)
        if content is None:
            raise _changed(f"{artifact.name} is missing")
        if len(content) != artifact.bytes:
            raise _changed(f"{artifact.name} has {len(content)} bytes instead of {artifact.bytes}")
        if hashlib.sha256(content).hexdigest() != artifact.sha256:
            raise _changed(f"{artifact.name} has another sha256 than {MARKER} says")


def _read_log(content: bytes) -> tuple[RunEvent, ...]:
    events = tuple(_decode(line, RunEvent, "log.jsonl") for line in content.splitlines())
    if not events:
        raise _changed("log.jsonl is empty")
    verify_chain(events)
    return events


def _document(content: bytes) -> TraceDocument:
    try:
        return read_document(_decode(content, dict[str, Any], "run.json"))
    except msgspec.ValidationError as error:
        raise _changed(f"run.json cannot be read ({error})") from None


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _changed(f"{name} is not UTF-8") from None


def _decode(content: bytes, form: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _changed(f"{name} cannot be read ({error})") from None


def _changed(what: str) -> WorkFailed:
    return WorkFailed(f"The trace cannot be trusted: {what}.", fix="Use an untouched copy of the run.")
