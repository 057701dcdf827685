"""Runs as they are on record: listed, shown, replayed, exported, put away. Nothing is executed here.

The result of a finished run is part of its record and is read, never made again: only `replay` plays a record back.
Records of every version are read; those of another `RESUME_FORMAT` are neither played back nor gone on with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from citewell.answer.evidence import Truncation
from citewell.check.verdict import Draft
from citewell.clock import Clock
from citewell.errors import BadInput, CitewellError, Conflict, NotFound, WorkFailed
from citewell.runs.events import DecisionMade, Entry, RunEvent, RunFinished, RunStarted
from citewell.runs.execute import Driver, Shows
from citewell.runs.journal import Run, Tolerant, digest
from citewell.runs.log import LOG_SCHEMA, READABLE_SCHEMAS, finished_event
from citewell.runs.prune import delete_trace, prune_traces
from citewell.runs.run import TERMINAL, RunMetrics, RunRequest, RunResult, RunSummary
from citewell.runs.store import ANY_RUN, RunChoice, RunStore
from citewell.runs.summaries import CitedSource, ExportReport, PruneSummary, ReplayReport, RunList, RunView
from citewell.runs.trace import TRACES, put_trace, read_trace, write_trace
from citewell.runs.transfer import export_run, import_run, packed_run, unpacked_run
from citewell.search.conversation import PriorQuestion
from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan
from citewell.version import __version__

# Raised when a record of the version before can no longer be gone on with.
RESUME_FORMAT = 5
SourceState = Callable[[str, str], CitedSource]
# How far back a conversation is looked for among the runs of chats.
_CHATS_LOOKED_AT = 200


class Playback(Protocol):
    """A run under its flow, as far as its record goes (`flows/play.py`)."""

    run: Run

    @property
    def result(self) -> RunResult: ...

    @property
    def written(self) -> tuple[str, QueryPlan | None, Draft | None]: ...

    def check(self) -> None: ...

    def display(self, driver: Driver) -> Shows: ...


class Begin(Protocol):
    """Begins a run from its record, or today's code on the outcomes of a record."""

    def __call__(
        self,
        events: Sequence[RunEvent],
        monotonic: Callable[[], float] | None = None,
        tolerant: Tolerant | None = None,
    ) -> Playback: ...


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
    if tolerant:
        recorded = Tolerant(run_id, events)
        play = begin(events, tolerant=recorded)
        recorded.play(play.run)
        play.check()
        return play.result, tuple(recorded.notes)
    # Every version that had a hand in it.
    resumed = {str(event.body.get("tool_version") or "") for event in events if event.kind == "run_resumed"}
    if other := sorted({started.tool_version, *resumed} - {"", __version__}):
        raise Conflict(
            f"The run was recorded by Citewell {', '.join(other)}; this is {__version__}, so an exact replay would "
            "compare two programs.",
            fix="Replay with --tolerant to run today's code on the recorded observations.",
        )
    play = begin(events)
    if not play.run.is_over:
        raise Conflict(f"Run {run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
    play.check()
    return play.result, ()


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
        return read_trace(folder).document.pack
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


class RunRecords:
    """What can be done with runs that are on record."""

    def __init__(self, store: Callable[[], RunStore], clock: Clock, data_dir: Path, begin: Begin) -> None:
        self._store = store
        self._clock = clock
        self._data_dir = data_dir
        self._flow = begin
        # The run that ended here last: however old a clock makes it seem, the pruning that follows leaves it.
        self._ended_last: str | None = None

    def find(self, run: str) -> str:
        """The id of a run, by its id, by how it begins, or as `last`."""
        if run == "last":
            found = self._store().matching("", 1)
            if not found:
                raise NotFound("No run is recorded yet.", fix="Ask a question with 'citewell research'.")
            return found[0]
        found = self._store().matching(run, 3) if run else []
        if run in found or len(found) == 1:
            return run if run in found else found[0]
        if len(found) > 1:
            raise BadInput(f"Several runs begin with {run}: {', '.join(found)}.", fix="Write more of the id.")
        raise NotFound(f"There is no run {run}.", fix="See 'citewell runs list'.")

    def latest(self, limit: int, choice: RunChoice = ANY_RUN) -> RunList:
        """The latest runs that a choice leaves, newest first."""
        return self._store().latest(limit, choice)

    def asked_in(self, conversation_id: str) -> tuple[PriorQuestion, ...]:
        """The questions of a conversation as its latest run tells them, that run's own last; known by their runs."""
        store = self._store()
        for summary in store.latest(_CHATS_LOOKED_AT, RunChoice(surface="web_chat")).runs:
            first = store.events(summary.run_id, limit=1)
            if first and first[0].body.get("request", {}).get("conversation_id") == conversation_id:
                request = read_start(first[0]).request
                return (*request.conversation.history, PriorQuestion(summary.run_id, request.question))
        return ()

    def events(self, run: str) -> list[RunEvent]:
        """The checked log of a run, by id or by the path of an exported one."""
        if Path(run).exists():
            return list(import_run(Path(run)).events)
        events = self._store().checked_events(run)
        folder = self._data_dir / TRACES / run
        if folder.exists() and read_trace(folder).events[-1].digest not in {event.digest for event in events}:
            raise WorkFailed(
                f"The trace of run {run} does not belong to its log.", fix="Use an untouched copy of the run."
            )
        return events

    def decisions(self, run_id: str) -> list[DecisionMade]:
        """What a run decided, in order."""
        events = (event.event for event in self.events(run_id) if event.kind == "decision_made")
        return [one for one in events if isinstance(one, DecisionMade)]

    def summary(self, run_id: str) -> RunSummary:
        """A run as a list shows it."""
        return self._store().summary(run_id)

    def show(self, run_id: str, source_state: SourceState, *, with_events: bool = False) -> RunView:
        """One run: its result where it has one, and what became of the sources it cites."""
        events = self.events(run_id)
        result = stored_result(events, self._data_dir)
        citations = result.citations if result else ()
        unique = dict.fromkeys((citation.source_key, citation.span.content_hash) for citation in citations)
        sources = tuple(source_state(key, content_hash) for key, content_hash in unique)
        return RunView(self.summary(run_id), result, sources, tuple(events) if with_events else ())

    def result(self, run: str) -> RunResult:
        """The stored result of a finished run, by id or by the path of an exported one."""
        result = stored_result(self.events(run), self._data_dir)
        if result is None:
            raise Conflict(f"Run {run} has not ended.", fix=f"Finish it with 'citewell runs resume {run}'.")
        return result

    def replay(self, run: str, *, tolerant: bool = False) -> ReplayReport:
        """Playback a run back from its record, in the store or in an exported file."""
        events = self.events(run)
        finished = finished_event(events)
        if finished is None:
            raise Conflict(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
        result, notes = replay(events, self._flow, tolerant=tolerant)
        made, wanted = digest(result), str(finished.body["result_digest"])
        return ReplayReport(result.run_id, made == wanted, made, "tolerant" if tolerant else "exact", notes)

    def export(self, run_id: str, target: Path) -> ExportReport:
        """A finished run as one file that can be replayed elsewhere."""
        self._traced(run_id)
        data = export_run(self._data_dir / TRACES / run_id, target)
        return ExportReport(run_id, str(target), len(data), hashlib.sha256(data).hexdigest())

    def archive(self, run_id: str) -> bytes:
        """A finished run as the bytes of such a file."""
        if self._traced(run_id).trace_path is None:
            raise Conflict(f"Run {run_id} has no trace to pack.", fix="Ask the question again, with a trace.")
        return packed_run(self._data_dir / TRACES / run_id)

    def _traced(self, run_id: str) -> RunResult:
        """The result of a run that may leave this machine; a trace that another machine wrote is made again here."""
        result, events = self.shareable(run_id), self.events(run_id)
        saved = next((number for number, event in enumerate(events) if event.kind == "trace_saved"), None)
        if result.trace_path is not None or saved is None:
            return result
        check_resumable(events)
        path = write_trace(self._data_dir, result, events[:saved], *self._flow(events).written)
        return replace(result, trace_path=str(path.relative_to(self._data_dir)))

    def shareable(self, run_id: str) -> RunResult:
        """The result of a run that may leave this machine: one that ended, and not by failing its own checks."""
        result = self.result(run_id)
        if result.stop_reason == "verification_failed":
            raise Conflict(f"Run {run_id} failed verification: it is not exported.", fix="Ask the question again.")
        return result

    def import_archive(self, content: bytes) -> RunSummary:
        """A run that was exported elsewhere goes on record here, whole and checked; nothing of it is executed."""
        trace = unpacked_run(content)
        result = stored_result(trace.events, self._data_dir)
        if result is None:
            raise BadInput("The exported run has not ended.", fix="Finish it where it was begun, and export it again.")
        self._store().put_record(summary_of(trace.events, result), trace.events)
        put_trace(self._data_dir, trace.run_id, trace.files, trace.events)
        return self._store().summary(trace.run_id)

    def forget(self, run_ids: Sequence[str]) -> None:
        """Delete runs with their logs and traces, because what they quote is to be forgotten."""
        for run_id in run_ids:
            delete_trace(self._data_dir, run_id)
        self._store().delete(run_ids)

    def prune(self, *, keep: int, max_age_days: int, keep_all: bool) -> PruneSummary:
        """Put away old runs: the latest stay, the rest go by age.

        A run that has not ended is never touched, nor is the one that has just ended here.
        """
        store = self._store()

        def is_active(run_id: str) -> bool:
            """Whether it is still executed or may be gone on with; one that cannot be looked at is left alone."""
            try:
                return run_id == self._ended_last or store.summary(run_id).status not in TERMINAL
            except NotFound:
                return False
            except CitewellError:
                return True

        report = prune_traces(self._data_dir, keep, max_age_days, keep_all, self._clock.now(), is_active)
        store.delete(report.removed)
        return report
