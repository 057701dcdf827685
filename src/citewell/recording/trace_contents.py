"""What the files of a trace say: the same run gives the same bytes. Pure.

Nothing is redacted here: what reaches a log was masked before it was recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from citewell.domain.answers import Draft
from citewell.domain.errors import WorkFailed
from citewell.domain.events import ActionIntended, ObservationRecorded, RunEvent, RunStarted
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import RunRequest, RunResult
from citewell.recording.folders import ALL_FILES, MARKER, check_run_id
from citewell.recording.log import canonical_json, touched, verify_chain
from citewell.recording.markdown import escape, fence
from citewell.recording.rendering import rejected_answer, render_markdown
from citewell.recording.trace_document import (
    TRACE_SCHEMA,
    Artifact,
    ChatContinuity,
    Manifest,
    PreparedSummary,
    Synthesis,
    TraceDocument,
    TraceMetrics,
    Versions,
)

# The call of a model, in records of this version and of earlier ones.
_ASKING = ("ask", "Ask")
MAX_TRACE_BYTES = 200 * 1024 * 1024
_SYNTHESIS_HEAD = "# Synthesis input\n\n"


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
    files["run.json"] = _readable_json(
        _document(request, result, events, synthesis_input, plan, draft, _artifacts(files))
    )
    files[MARKER] = marker_of(result.run_id, events, files)
    if (size := sum(map(len, files.values()))) > MAX_TRACE_BYTES:
        raise WorkFailed(f"The trace of run {result.run_id} would have {size} bytes, more than any reader accepts.")
    return files


def marker_of(run_id: str, events: Sequence[RunEvent], files: Mapping[str, bytes]) -> bytes:
    """The marker that follows from the other files."""
    manifest = Manifest(run_id, TRACE_SCHEMA, events[0].at, events[-1].at, events[-1].digest, _artifacts(files))
    return canonical_json(manifest) + b"\n"


def synthesis_input_of(text: str) -> str:
    """The evidence inside the last fenced block of `synthesis-input.md`."""
    body = text.removeprefix(_SYNTHESIS_HEAD)
    *_, last = body.rpartition("\n### user\n\n") if "\n### user\n\n" in body else ("", "", body)
    opening, _, rest = last.partition("\n")
    return rest.removesuffix(f"\n{opening.removesuffix('text')}\n")


def _document(
    request: RunRequest,
    result: RunResult,
    events: Sequence[RunEvent],
    synthesis_input: str,
    plan: QueryPlan | None,
    draft: Draft | None,
    artifacts: tuple[Artifact, ...],
) -> TraceDocument:
    size = sum(artifact.bytes for artifact in artifacts)
    return TraceDocument(
        schema_version=TRACE_SCHEMA,
        run_id=result.run_id,
        surface=request.surface,
        profile=result.profile,
        status=result.status,
        question=result.question,
        chat_continuity=_continuity(request, result, plan),
        started_at=events[0].at,
        completed_at=events[-1].at,
        stop_reason=result.stop_reason,
        failure=result.failure,
        warnings=result.warnings,
        prepared_synthesis=PreparedSummary(len(synthesis_input), result.flow.in_prompt, result.truncation),
        synthesis=_synthesis(result, rejected_answer(result, events, draft)),
        flow=result.flow,
        metrics=TraceMetrics(**msgspec.to_builtins(result.metrics), artifact_bytes=size),
        versions=Versions(result.tool, result.tool_version, result.prompt_version, result.provider, result.model),
        artifacts=artifacts,
        pack=result.pack,
        events=tuple(events),
    )


def _continuity(request: RunRequest, result: RunResult, plan: QueryPlan | None) -> ChatContinuity:
    """What a question took from the conversation it belongs to."""
    pinned = tuple(dict.fromkeys((*request.conversation.pinned, *(plan.source_keys if plan else ()))))
    found = {row.source_key for row in result.pack.evidence} if result.pack else set()
    return ChatContinuity(
        original_question=request.original_question or request.question,
        retrieval_question=(plan.retrieval_question if plan else "") or request.question,
        prior_question_ids=tuple(prior.id for prior in request.conversation.history),
        pinned_evidence_keys=pinned,
        merged_prior_evidence=tuple(key for key in pinned if key in found),
    )


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


def _synthesis(result: RunResult, refused: str | None) -> Synthesis:
    return Synthesis(
        answer=result.answer if refused is None else "",
        status=result.answer_status,
        warnings=result.answer_warnings,
        is_rejected=refused is not None,
        rejected_answer=refused,
        citations=result.citations,
        sentences=result.sentences,
        contradictions=result.contradictions,
        gates=result.gates,
    )


def _planner_input(request: RunRequest, plan: QueryPlan | None, calls: Sequence[ActionIntended]) -> str:
    given = {
        "question": request.question,
        "conversation": request.conversation,
        "filters": request.filters,
        "limits": request.limits,
        "topic": request.topic,
    }
    planner = f"Planner: {escape(plan.planner)}" if plan else "Nothing was planned."
    options = fence(_readable_json(given).decode("utf-8").rstrip("\n"), "json")
    asked = "".join(_asked_of_a_model(call, "Asked of") for call in calls if _purpose(call) == "plan")
    return f"# Planner input\n\n{planner}\n\n> {escape(request.question)}\n\n{options}{asked}"


def _planner_output(calls: Sequence[ActionIntended], events: Sequence[RunEvent]) -> dict[str, bytes]:
    """The planning model's last reply exactly as it came, also a malformed one; nothing where no model replied."""
    asked = {call.digest for call in calls if _purpose(call) == "plan"}
    replies = [reply for reply in _replies(events, asked) if reply]
    if not replies:
        return {}
    content = replies[-1].encode("utf-8", "backslashreplace")
    try:
        msgspec.json.decode(content)
    except msgspec.DecodeError:
        return {"planner-output.txt": content}
    return {"planner-output.json": content}


def _replies(events: Sequence[RunEvent], asked: set[str]) -> Iterator[str]:
    for event in events:
        if event.kind != "observation_recorded" or event.body.get("answers") not in asked:
            continue
        seen = event.event
        assert isinstance(seen, ObservationRecorded)
        value = (seen.observation or {}).get("value", {})
        yield str(value.get("reply", value).get("text", ""))


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
