"""What the files of a trace say, and reading them with care: the same run gives the same bytes. Pure.

    run.md  run.json (`research_trace.v1`)  planner-input.md  synthesis-input.md  log.jsonl
    planner-output.json or .txt, where a model planned: its reply as it came
    .complete   the marker: the hash and size of every other file

Nothing is redacted here: what reaches a log was masked before it was recorded. The hashes are a seal against damage and
tampering in part; they do not protect against someone who writes a whole new trace. Where the files lie:
`runs/folder.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from citewell.check.verdict import AnswerStatus, Citation, Draft
from citewell.errors import BadInput, WorkFailed
from citewell.runs.events import RunEvent, RunStarted, canonical_json, touched, verify_chain
from citewell.runs.run import RunRequest, RunResult, RunStatus, StopReason
from citewell.runs.timeline import rejected_answer, render_markdown
from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan, RunProfile, Surface
from citewell.text.untrusted import escape, fence
from citewell.wire import learn_types

TRACE_SCHEMA = "research_trace.v1"
MAX_TRACE_BYTES = 200 * 1024 * 1024
MARKER = ".complete"
# Every trace has these; where a model planned, its reply is there too.
FILES = ("log.jsonl", "planner-input.md", "run.json", "run.md", "synthesis-input.md")
PLANNER_OUTPUTS = ("planner-output.json", "planner-output.txt")
ALL_FILES = tuple(sorted((*FILES, *PLANNER_OUTPUTS)))
# A run of a brief has an id that follows from the request; every other one has an id of its own.
RUN_ID = re.compile(r"(?:[0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})")
# The call of a model, in records of this version and of earlier ones.
_ASKING = ("ask", "Ask")


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
class Trace:
    """A trace that was read whole and found untouched: what is read of `run.json`, and every file as it is."""

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
    files: dict[str, bytes] = field(default_factory=dict, repr=False)


# Traces are read in many threads.
learn_types((RunEvent, Trace, Manifest))


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
    calls = [
        (str(event.body["digest"]), (event.body.get("body") or {}).get("request", {}))
        for event in events
        if event.kind == "action_intended" and event.body.get("action") in _ASKING
    ]
    files = {
        "run.md": render_markdown(result, events, draft=draft).encode("utf-8"),
        "planner-input.md": _planner_input(request, plan, [asked for _, asked in calls]).encode("utf-8"),
        "synthesis-input.md": _synthesis_input([asked for _, asked in calls], synthesis_input),
        "log.jsonl": b"".join(canonical_json(event) + b"\n" for event in events),
    }
    # The planning model's last reply exactly as it came, also a malformed one; nothing where no model replied.
    planned = {digest for digest, asked in calls if asked.get("purpose") == "plan"}
    last = ""
    for event in events:
        if event.kind == "observation_recorded" and event.body.get("answers") in planned:
            value = (event.body.get("observation") or {}).get("value", {})
            last = str(value.get("reply", value).get("text", "")) or last
    if last:
        content, form = last.encode("utf-8", "backslashreplace"), "json"
        try:
            msgspec.json.decode(content)
        except msgspec.DecodeError:
            form = "txt"
        files[f"planner-output.{form}"] = content
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


def _planner_input(request: RunRequest, plan: QueryPlan | None, calls: Sequence[Mapping[str, Any]]) -> str:
    given = {name: getattr(request, name) for name in ("question", "conversation", "filters", "limits", "topic")}
    planner = f"Planner: {escape(plan.planner)}" if plan else "Nothing was planned."
    options = fence(msgspec.json.format(canonical_json(given), indent=2).decode("utf-8"), "json")
    asked = "".join(_asked_of_a_model(call, "Asked of") for call in calls if call.get("purpose") == "plan")
    return f"# Planner input\n\n{planner}\n\n> {escape(request.question)}\n\n{options}{asked}"


def _synthesis_input(calls: Sequence[Mapping[str, Any]], evidence: str) -> bytes:
    """Exactly what the writing model received, message by message; without one, the evidence quoted from."""
    asked = [_asked_of_a_model(call, "Sent to") for call in calls if call.get("purpose") in ("write", "repair")]
    told = "".join(one.removeprefix("\n") for one in asked) or fence(evidence)
    return f"# Synthesis input\n\n{told}".encode("utf-8", "backslashreplace")


def _asked_of_a_model(request: Mapping[str, Any], heading: str) -> str:
    """What a model was asked, message by message, as it was sent."""
    messages = "".join(
        f"\n### {escape(message['role'])}\n\n{fence(message['content'])}" for message in request["messages"]
    )
    return f"\n## {heading} {escape(request['model'])}\n{messages}"


def _artifacts(files: Mapping[str, bytes]) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(name, len(files[name]), hashlib.sha256(files[name]).hexdigest()) for name in ALL_FILES if name in files
    )


def trace_from_files(files: Mapping[str, bytes]) -> Trace:
    """A trace from the content of its files, refused unless every byte is what the run wrote."""
    manifest = read_manifest(files.get(MARKER))
    names = tuple(artifact.name for artifact in manifest.files)
    if set(names) - set(ALL_FILES) or set(FILES) - set(names) or len(set(names)) != len(names):
        raise changed(f"{MARKER} does not list the files of a trace")
    for artifact in manifest.files:
        content = files.get(artifact.name)
        if content is None:
            raise changed(f"{artifact.name} is missing")
        if len(content) != artifact.bytes:
            raise changed(f"{artifact.name} has {len(content)} bytes instead of {artifact.bytes}")
        if hashlib.sha256(content).hexdigest() != artifact.sha256:
            raise changed(f"{artifact.name} has another sha256 than {MARKER} says")
    events = tuple(_decode(line, RunEvent, "log.jsonl") for line in files["log.jsonl"].splitlines())
    if not events:
        raise changed("log.jsonl is empty")
    verify_chain(events)
    if events[0].run_id != manifest.run_id or events[-1].digest != manifest.log_digest:
        raise changed(f"log.jsonl does not end as {MARKER} says")
    if files[MARKER] != marker_of(manifest.run_id, events, files):
        raise changed(f"{MARKER} does not follow from the other files")
    trace: Trace = _decode(files["run.json"], Trace, "run.json")
    if (trace.schema_version, trace.run_id, trace.events) != (TRACE_SCHEMA, manifest.run_id, events):
        raise changed("run.json does not tell what log.jsonl does")
    return replace(trace, files=dict(files))


def read_manifest(marker: bytes | None) -> Manifest:
    """What a marker says, if it is one of ours and of a form we know."""
    if marker is None:
        raise changed(f"{MARKER} is missing, so the trace was never finished")
    schema = _decode(marker, dict[str, Any], MARKER).get("schema")
    if schema != TRACE_SCHEMA:
        if not isinstance(schema, str) or not re.fullmatch(r"research_trace\.v[1-9][0-9]{0,5}", schema):
            raise changed(f"{MARKER} names no schema of Citewell")
        raise WorkFailed(
            f"The trace was written by a newer Citewell ({schema}; this one reads {TRACE_SCHEMA}).",
            fix="Upgrade Citewell to read it, or open its run.md.",
        )
    manifest: Manifest = _decode(marker, Manifest, MARKER)
    if not RUN_ID.fullmatch(manifest.run_id):
        raise changed(f"{MARKER} names no run")
    return manifest


def _decode(content: bytes, form: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.DecodeError, RecursionError) as error:
        raise changed(f"{name} cannot be read ({error})") from None


def changed(what: str) -> WorkFailed:
    return WorkFailed(f"The trace cannot be trusted: {what}.", fix="Use an untouched copy of the run.")
