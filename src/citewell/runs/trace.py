"""The folder of each trace: built aside, put in its place whole, locked while it is worked on, read with care.

    research-runs/<run_id>/   what is in it: `runs/trace.py`

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from citewell.check.verdict import AnswerStatus, Citation, Draft
from citewell.errors import BadInput, CitewellError, NotFound, Unavailable, WorkFailed
from citewell.runs.events import ActionIntended, RunEvent, RunStarted
from citewell.runs.log import canonical_json, touched, verify_chain
from citewell.runs.run import RunRequest, RunResult, RunStatus, StopReason
from citewell.runs.timeline import rejected_answer, render_markdown
from citewell.runs.transcripts import disk_errors, is_at, locked, open_locked, sync_folder, write_file
from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan, RunProfile, Surface
from citewell.text.untrusted import escape, fence
from citewell.wire import learn_types

# The files of a trace and what they say: the same run gives the same bytes. Pure.
#
#     run.md  run.json (`research_trace.v1`)  planner-input.md  synthesis-input.md  log.jsonl
#     planner-output.json or .txt, where a model planned: its reply as it came
#     .complete   the marker: the hash and size of every other file
#
# Nothing is redacted here: what reaches a log was masked before it was recorded.


TRACE_SCHEMA = "research_trace.v1"
MAX_TRACE_BYTES = 200 * 1024 * 1024
TRACES = "research-runs"
MARKER = ".complete"
# Every trace has these; where a model planned, its reply is there too.
FILES = ("log.jsonl", "planner-input.md", "run.json", "run.md", "synthesis-input.md")
PLANNER_OUTPUTS = ("planner-output.json", "planner-output.txt")
ALL_FILES = tuple(sorted((*FILES, *PLANNER_OUTPUTS)))
# A run of a brief has an id that follows from the request; every other one has an id of its own.
RUN_ID = re.compile(r"(?:[0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})")
# The call of a model, in records of this version and of earlier ones.
_ASKING = ("ask", "Ask")
_SYNTHESIS_HEAD = "# Synthesis input\n\n"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a trace, as it was written."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the marker says. It follows from the other files, so it is compared byte by byte."""

    run_id: str
    schema: str
    created_at: str
    finished_at: str
    log_digest: str
    files: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The answer and its checks. A rejected answer stands in `rejected_answer` only, never in `answer`."""

    answer: str
    status: AnswerStatus
    is_rejected: bool
    rejected_answer: str | None
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class TraceDocument:
    """What is read of `run.json`, of this version or an earlier one."""

    schema_version: str
    run_id: str
    surface: Surface
    profile: RunProfile
    status: RunStatus
    question: str
    stop_reason: StopReason
    synthesis: Synthesis
    pack: ResearchPack | None
    events: tuple[RunEvent, ...]
    chat_continuity: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that was read whole and found untouched."""

    run_id: str
    document: TraceDocument
    events: tuple[RunEvent, ...]
    files: Mapping[str, bytes] = field(repr=False)


def check_run_id(run_id: str) -> str:
    """The id, if it is one: nothing else ever becomes part of a path."""
    if not RUN_ID.fullmatch(run_id):
        raise BadInput(f"{run_id!r} is not the id of a run.", fix="See 'citewell runs list'.")
    return run_id


def trace_files(
    result: RunResult,
    events: Sequence[RunEvent],
    synthesis_input: str,
    plan: QueryPlan | None,
    draft: Draft | None = None,
) -> dict[str, bytes]:
    """Every file of a trace with its content; `draft` is what a failed verification rejected."""
    request = _request(result.run_id, events)
    asked = [event.event for event in events if event.kind == "action_intended" and event.body.get("action") in _ASKING]
    calls = [call for call in asked if isinstance(call, ActionIntended)]
    files = {
        "run.md": render_markdown(result, events, draft=draft).encode("utf-8"),
        "planner-input.md": _planner_input(request, plan, calls).encode("utf-8"),
        "synthesis-input.md": _synthesis_input(calls, synthesis_input).encode("utf-8", "backslashreplace"),
        "log.jsonl": b"".join(canonical_json(event) + b"\n" for event in events),
        **_planner_output(calls, events),
    }
    artifacts = _artifacts(files)
    pinned = tuple(dict.fromkeys((*request.conversation.pinned, *(plan.source_keys if plan else ()))))
    found = {row.source_key for row in result.pack.evidence} if result.pack else set()
    refused = rejected_answer(result, events, draft)
    document = {
        "schema_version": TRACE_SCHEMA,
        "run_id": result.run_id,
        "surface": request.surface,
        "profile": result.profile,
        "status": result.status,
        "question": result.question,
        # What the question took from the conversation it belongs to.
        "chat_continuity": {
            "original_question": request.original_question or request.question,
            "retrieval_question": (plan.retrieval_question if plan else "") or request.question,
            "prior_question_ids": [prior.id for prior in request.conversation.history],
            "pinned_evidence_keys": pinned,
            "merged_prior_evidence": [key for key in pinned if key in found],
        },
        "started_at": events[0].at,
        "completed_at": events[-1].at,
        "stop_reason": result.stop_reason,
        "failure": result.failure,
        "warnings": result.warnings,
        # What the answer was made from; the text itself is in `synthesis-input.md`.
        "prepared_synthesis": {
            "chars": len(synthesis_input),
            "source_keys": result.flow.in_prompt,
            "truncation": result.truncation,
        },
        "synthesis": {
            "answer": result.answer if refused is None else "",
            "status": result.answer_status,
            "warnings": result.answer_warnings,
            "is_rejected": refused is not None,
            "rejected_answer": refused,
            **{name: getattr(result, name) for name in ("citations", "sentences", "contradictions", "gates")},
        },
        "flow": result.flow,
        "metrics": {**msgspec.to_builtins(result.metrics), "artifact_bytes": sum(one.bytes for one in artifacts)},
        "versions": {
            name: getattr(result, name) for name in ("tool", "tool_version", "prompt_version", "provider", "model")
        },
        "artifacts": artifacts,
        "pack": result.pack,
        "events": events,
    }
    # Its own names in this order, what is in them in the order of every digest.
    ordered = {name: msgspec.Raw(canonical_json(value)) for name, value in document.items()}
    files["run.json"] = msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n"
    files[MARKER] = marker_of(result.run_id, events, files)
    if (size := sum(map(len, files.values()))) > MAX_TRACE_BYTES:
        raise WorkFailed(f"The trace of run {result.run_id} would have {size} bytes, more than any reader accepts.")
    return files


def marker_of(run_id: str, events: Sequence[RunEvent], files: Mapping[str, bytes]) -> bytes:
    """The marker that follows from the other files."""
    manifest = Manifest(run_id, TRACE_SCHEMA, events[0].at, events[-1].at, events[-1].digest, _artifacts(files))
    return canonical_json(manifest) + b"\n"


def _request(run_id: str, events: Sequence[RunEvent]) -> RunRequest:
    """What was asked, from the first entry of a log that belongs to this run and is whole."""
    check_run_id(run_id)
    if not events or events[0].kind != "run_started" or events[0].run_id != run_id:
        raise WorkFailed(f"The record of run {run_id} does not begin with the start of this run.")
    verify_chain(events)
    try:
        started = events[0].event
    except (msgspec.ValidationError, KeyError):
        raise touched(run_id, "at its beginning") from None
    assert isinstance(started, RunStarted)
    return started.request


def _planner_input(request: RunRequest, plan: QueryPlan | None, calls: Sequence[ActionIntended]) -> str:
    given = {name: getattr(request, name) for name in ("question", "conversation", "filters", "limits", "topic")}
    planner = f"Planner: {escape(plan.planner)}" if plan else "Nothing was planned."
    options = fence(_readable_json(given).decode("utf-8").rstrip("\n"), "json")
    asked = "".join(_asked_of_a_model(call, "Asked of") for call in calls if _purpose(call) == "plan")
    return f"# Planner input\n\n{planner}\n\n> {escape(request.question)}\n\n{options}{asked}"


def _planner_output(calls: Sequence[ActionIntended], events: Sequence[RunEvent]) -> dict[str, bytes]:
    """The planning model's last reply exactly as it came, also a malformed one; nothing where no model replied."""
    asked = {call.digest for call in calls if _purpose(call) == "plan"}
    last = ""
    for event in events:
        if event.kind == "observation_recorded" and event.body.get("answers") in asked:
            value = (event.body.get("observation") or {}).get("value", {})
            last = str(value.get("reply", value).get("text", "")) or last
    if not last:
        return {}
    content = last.encode("utf-8", "backslashreplace")
    try:
        msgspec.json.decode(content)
    except msgspec.DecodeError:
        return {"planner-output.txt": content}
    return {"planner-output.json": content}


def _synthesis_input(calls: Sequence[ActionIntended], evidence: str) -> str:
    """Exactly what the writing model received, message by message; without one, the evidence quoted from."""
    written = [call for call in calls if _purpose(call) in ("write", "repair")]
    if not written:
        return _SYNTHESIS_HEAD + fence(evidence)
    return _SYNTHESIS_HEAD + "".join(_asked_of_a_model(call, "Sent to").removeprefix("\n") for call in written)


def _purpose(call: ActionIntended) -> str:
    return str((call.body or {}).get("request", {}).get("purpose", ""))


def _asked_of_a_model(call: ActionIntended, heading: str) -> str:
    """What a model was asked, message by message, as it was sent."""
    request: dict[str, Any] = (call.body or {})["request"]
    messages = "".join(
        f"\n### {escape(message['role'])}\n\n{fence(message['content'])}" for message in request["messages"]
    )
    return f"\n## {heading} {escape(request['model'])}\n{messages}"


def _readable_json(value: object) -> bytes:
    return msgspec.json.format(canonical_json(value), indent=2) + b"\n"


def _artifacts(files: Mapping[str, bytes]) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(name, len(files[name]), hashlib.sha256(files[name]).hexdigest()) for name in ALL_FILES if name in files
    )


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
