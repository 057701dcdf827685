"""What a record says: how it begins and ends, its result, how it is played back, and how two results differ.

The result of a finished run is part of its record and is read, never made again: only `replay` plays a record back.
Records of every version are read; those of another `RESUME_FORMAT` are neither played back nor gone on with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from citewell.answer.evidence import Truncation
from citewell.errors import CitewellError, Conflict, WorkFailed
from citewell.runs.events import LOG_SCHEMA, READABLE_SCHEMAS, Entry, RunEvent, RunFinished, RunStarted, finished_event
from citewell.runs.folder import TRACES, read_trace
from citewell.runs.journal import digest
from citewell.runs.reports import AnswerChange, Change, CitationChange, CostChange, EvidenceChange, RunDiff
from citewell.runs.run import RunMetrics, RunRequest, RunResult, RunSummary
from citewell.search.pack import ResearchPack
from citewell.version import __version__

# Raised when a record of the version before can no longer be gone on with.
RESUME_FORMAT = 6
# Begins a run from its record, or today's code on the outcomes of a record (`flows/play.py`).
Begin = Callable[..., Any]
# Parts of a plan that say how it was made, not what it is.
_INCIDENTAL = ("planner_model", "planner_error")


def opening_entry(request: RunRequest, tool_version: str = __version__) -> Entry:
    """The first entry of every record: all a run depends on beside the corpus."""
    return Entry.of(RunStarted(LOG_SCHEMA, tool_version, request, RESUME_FORMAT))


def finish_entry(result: RunResult) -> Entry:
    """The end of a run, with its whole result."""
    return Entry.of(RunFinished(result.status, result.stop_reason, digest(result), result))


def read_start(first: RunEvent) -> RunStarted:
    """The first entry of a record, of whichever version."""
    form = first.body.get("schema") if first.kind == "run_started" else None
    if form not in READABLE_SCHEMAS:
        raise WorkFailed(
            f"The record of run {first.run_id} has the form {form!r}, which this version cannot read.",
            fix="Use the version of Citewell that recorded it, or read its run.md.",
        )
    started = first.event
    assert isinstance(started, RunStarted)
    return started


def check_resumable(events: Sequence[RunEvent]) -> None:
    """Refuse to go on with a run that another kind of program recorded."""
    started = read_start(events[0])
    if started.resume_format != RESUME_FORMAT:
        raise Conflict(
            f"Run {events[0].run_id} was begun by an earlier Citewell ({started.tool_version}), whose unfinished runs "
            f"{__version__} cannot go on with.",
            fix="Ask the question again; what the run gathered stays on record.",
        )


def replay(events: Sequence[RunEvent], begin: Begin, *, tolerant: bool = False) -> tuple[RunResult, tuple[str, ...]]:
    """The result of a finished run made again from its record alone, and where today's code went another way."""
    started, run_id = read_start(events[0]), events[0].run_id
    if started.resume_format != RESUME_FORMAT:
        raise Conflict(
            f"Run {run_id} was recorded by an earlier Citewell ({started.tool_version}), which recorded runs "
            "in another form: it can be shown, exported and compared, not played back.",
            fix=f"Ask again and compare: citewell runs diff {run_id}",
        )
    # Every version that had a hand in it.
    resumed = {str(event.body.get("tool_version") or "") for event in events if event.kind == "run_resumed"}
    if not tolerant and (other := sorted({started.tool_version, *resumed} - {"", __version__})):
        raise Conflict(
            f"The run was recorded by Citewell {', '.join(other)}; this is {__version__}, so an exact replay would "
            "compare two programs.",
            fix="Replay with --tolerant to run today's code on the recorded observations.",
        )
    play = begin(events, tolerant=tolerant)
    if not play.run.is_over:
        raise Conflict(f"Run {run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
    play.check()
    return play.result, tuple(play.run.notes)


def stored_result(events: Sequence[RunEvent], data_dir: Path) -> RunResult | None:
    """What a finished run came to, with what became of its trace; None while it has not ended."""
    finished = finished_event(events)
    if finished is None:
        return None
    document: dict[str, Any] = dict(finished.body["result"])
    run_id = events[0].run_id
    folder = data_dir / TRACES / run_id
    if "pack" not in document:
        document["pack"] = msgspec.to_builtins(_pack_of(events, folder))
    try:
        result = msgspec.convert(document, RunResult)
    except msgspec.ValidationError as error:
        raise WorkFailed(
            f"The result of run {run_id} cannot be read by this version: {error}.",
            fix="Use the version of Citewell that recorded it, or read its run.md.",
        ) from error
    if any(event.kind == "trace_failed" for event in events):
        warnings = tuple(dict.fromkeys((*result.warnings, "trace_failed")))
        return replace(result, stop_reason="trace_failed", warnings=warnings)
    return replace(result, trace_path=f"{TRACES}/{run_id}") if folder.exists() else result


def _pack_of(events: Sequence[RunEvent], folder: Path) -> ResearchPack | None:
    """The evidence of a run of 0.1.0, which left it out of the end of the log: of its trace, or what it retrieved."""
    try:
        return read_trace(folder).pack
    except CitewellError:
        pass
    for event in reversed(events):
        observation = event.body.get("observation") if event.kind == "observation_recorded" else None
        if isinstance(observation, dict) and observation.get("type") == "Retrieved":
            return msgspec.convert(observation["value"]["pack"], ResearchPack)
    return None


def summary_of(events: Sequence[RunEvent], result: RunResult | None) -> RunSummary:
    """A run as a list shows it, from its log."""
    started = read_start(events[0])
    request = started.request
    return RunSummary(
        run_id=events[0].run_id,
        status=result.status if result else "running",
        stop_reason=result.stop_reason if result else None,
        profile=request.profile,
        surface=request.surface,
        question=request.question,
        created_at=events[0].at,
        updated_at=events[-1].at,
        tool_version=started.tool_version,
    )


def cancelled_result(run_id: str, started: RunStarted) -> RunResult:
    """The end of a run whose record this version cannot play back: closed as it is."""
    request = started.request
    return RunResult(
        run_id=run_id,
        status="cancelled",
        question=request.question,
        profile=request.profile,
        answer_status="error",
        answer_warnings=("incomplete",),
        answer="",
        truncation=Truncation(request.max_evidence_chars, 0),
        citations=(),
        sentences=(),
        contradictions=(),
        stop_reason="cancelled",
        warnings=("incomplete",),
        provider="citewell",
        model="extractive",
        tool="extractive",
        tool_version=started.tool_version,
        prompt_version="extractive.v1",
        metrics=RunMetrics(),
    )


def diff_runs(before: RunResult, after: RunResult) -> RunDiff:
    """What changed from one run to another."""
    keys, cited = [], []
    for result in (before, after):
        # A document that shows several windows counts where its first one stands.
        keys.append(list(dict.fromkeys(row.source_key for row in result.pack.evidence)) if result.pack else [])
        cited.append({(citation.source_key, citation.quote) for citation in result.citations})
    kept = [[key for key in mine if key in other] for mine, other in (keys, keys[::-1])]
    evidence = EvidenceChange(
        added=tuple(key for key in keys[1] if key not in keys[0]),
        removed=tuple(key for key in keys[0] if key not in keys[1]),
        reordered=tuple(old for old, new in zip(*kept, strict=True) if old != new),
    )
    citations = CitationChange(
        added=tuple(sorted(f"{key}: {quote}" for key, quote in cited[1] - cited[0])),
        removed=tuple(sorted(f"{key}: {quote}" for key, quote in cited[0] - cited[1])),
    )
    plan = {}
    if before.pack is not None and after.pack is not None:
        old, new = (msgspec.to_builtins(pack.query_plan) for pack in (before.pack, after.pack))
        plan = {
            name: Change(old[name], new[name]) for name in old if name not in _INCIDENTAL and old[name] != new.get(name)
        }
    same_answer = before.answer == after.answer
    changed = (evidence.added, evidence.removed, evidence.reordered, plan, citations.added, citations.removed)
    return RunDiff(
        a=before.run_id,
        b=after.run_id,
        same=same_answer and not any(changed),
        answer=AnswerChange(same_answer, before.answer, after.answer),
        evidence=evidence,
        citations=citations,
        plan=plan,
        cost=CostChange(before.metrics.cost_usd, after.metrics.cost_usd),
        stop_reason=Change(before.stop_reason, after.stop_reason),
    )
