"""The desk where runs are started, resumed, watched, replayed, compared and put away.

It joins the driver, the log in `runs.db` and the trace files; what happens inside a run is the machine's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from citewell import __version__
from citewell.domain.errors import BadInput, CitewellError, StoreFull, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.ports import Clock
from citewell.domain.run_reports import (
    CitedSource,
    ControlReport,
    ExportReport,
    PruneSummary,
    ReplayReport,
    RunDiff,
    RunList,
    RunView,
)
from citewell.domain.runs import TERMINAL, RunRequest, RunResult, RunSummary
from citewell.recording.archive import export_run, import_run
from citewell.recording.log import Entry, MemoryLog, chained, verify_chain
from citewell.recording.owners import this_process
from citewell.recording.retention import delete_trace, prune_traces
from citewell.recording.store import RunStore, StoredLog
from citewell.recording.trace import read_trace, write_trace
from citewell.runner.actions import CancelRequested, digest
from citewell.runner.diff import diff_runs
from citewell.runner.driver import Driver, Perform
from citewell.runner.playback import closing_entries, fold, replay, replay_tolerant

TRACES = "research-runs"
_FOLLOW_SECONDS = 0.2

SourceState = Callable[[str, str], CitedSource]


class RunDesk:
    """Everything that can be done with runs."""

    def __init__(
        self,
        store: Callable[[], RunStore],
        perform: Callable[[str | None], Perform],
        clock: Clock,
        data_dir: Path,
        redact: Callable[[str], str] = str,
        new_id: Callable[[str], str] | None = None,
    ) -> None:
        self._store = store
        self._perform = perform
        self._clock = clock
        self._data_dir = data_dir
        self._redact = redact
        self._new_id = new_id or _fresh_id

    async def start(self, request: RunRequest, *, traced: bool = True) -> AsyncIterator[RunEvent | RunResult]:
        """Execute a new run; the last thing that comes is its result."""
        now = self._clock.now()
        run_id = self._new_id(now)
        if not traced:
            driver = Driver(MemoryLog(run_id), self._perform(None), self._clock, self._redact)
            async for event in driver.start(request, __version__):
                yield event
            return
        summary = RunSummary(
            *(run_id, "running", None, request.profile, request.surface, request.question, now, now, __version__)
        )
        owner = this_process()
        store = self._store()
        log = FailsafeLog(store.log(run_id), lambda: store.create(summary, owner))
        driver = Driver(log, self._perform(run_id), self._clock, self._redact)
        async for event in self._execute(log, owner, driver.start(request, __version__)):
            yield event

    async def resume(self, run_id: str, *, finish: bool = False) -> AsyncIterator[RunEvent | RunResult]:
        """Go on with an interrupted run, without repeating what is on record."""
        store = self._store()
        if store.summary(run_id).status in TERMINAL:
            raise BadInput(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
        position = fold(store.checked_events(run_id))
        if position.tool_version != __version__:
            raise BadInput(
                f"Run {run_id} was begun by Citewell {position.tool_version}; this is {__version__}.",
                fix="Ask the question again with this version.",
            )
        owner = this_process()
        store.acquire(run_id, owner)
        log = FailsafeLog(store.log(run_id))
        if finish:
            store.request(run_id, "finish", self._clock.now())
        driver = Driver(log, self._perform(run_id), self._clock, self._redact)
        async for event in self._execute(log, owner, driver.resume(position)):
            yield event

    async def _execute(
        self, log: FailsafeLog, owner: str, events: AsyncIterator[RunEvent | RunResult]
    ) -> AsyncIterator[RunEvent | RunResult]:
        result: RunResult | None = None
        try:
            async for event in events:
                if isinstance(event, RunResult):
                    result = self._put_away(log, event)
                    yield result
                else:
                    yield event
        finally:
            self._release(log, owner, result)

    def _put_away(self, log: FailsafeLog, result: RunResult) -> RunResult:
        """Write the trace; a run whose trace cannot be written says so and keeps its answer."""
        position = fold(log.events())
        state = position.step.state
        try:
            log.check()
            text = state.prepared.text if state.prepared else ""
            path = write_trace(self._data_dir, result, log.events(), text, state.plan, draft=state.draft)
        except (CitewellError, OSError):
            warnings = (*result.warnings, "trace_failed")
            return replace(result, stop_reason="trace_failed", warnings=warnings, trace_path=None)
        return replace(result, trace_path=str(path.relative_to(self._data_dir)))

    def _release(self, log: FailsafeLog, owner: str, result: RunResult | None) -> None:
        now = self._clock.now()
        try:
            if result is None:
                log.append([Entry("run_interrupted", {})], now)
                self._store().release(log.run_id, owner, "interrupted", None, now)
            elif not log.failed:
                self._store().release(log.run_id, owner, result.status, result.stop_reason, now)
                cited = [(citation.source_key, citation.span.content_hash) for citation in result.citations]
                self._store().put_citations(log.run_id, cited)
        except CitewellError:
            return  # the disk is full: the run is shown as interrupted and can be resumed once there is room

    async def follow(self, run_id: str) -> AsyncIterator[RunEvent]:
        """The events of a run that any process executes, as they come, until it ends."""
        seen = -1
        while True:
            status = self._store().summary(run_id).status
            for event in self._store().events(run_id, after=seen):
                seen = event.sequence
                yield event
            if status != "running":
                return
            await asyncio.sleep(_FOLLOW_SECONDS)

    def latest(self, limit: int) -> RunList:
        return RunList(tuple(self._store().latest(limit)))

    def show(self, run_id: str, source_state: SourceState, *, with_events: bool = False) -> RunView:
        """One run: its result where it has one, and what became of the sources it cites."""
        events = self._store().checked_events(run_id)
        result = self._result(events)
        citations = result.citations if result else ()
        unique = dict.fromkeys((citation.source_key, citation.span.content_hash) for citation in citations)
        sources = tuple(source_state(key, content_hash) for key, content_hash in unique)
        return RunView(self._store().summary(run_id), result, sources, tuple(events) if with_events else ())

    def _result(self, events: Sequence[RunEvent]) -> RunResult | None:
        finished = any(event.kind == "run_finished" for event in events)
        return replay(events) if finished else None

    def control(self, run_id: str, control: str) -> ControlReport:
        """Ask a running run to stop or to finish; one that nobody executes is closed at once."""
        store = self._store()
        status = store.summary(run_id).status
        if status in TERMINAL:
            raise BadInput(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
        if status == "running":
            store.request(run_id, control, self._clock.now())
            return ControlReport(run_id, "cancel" if control == "cancel" else "finish", status, "asked")
        owner = this_process()
        store.acquire(run_id, owner)
        position = fold(store.checked_events(run_id))
        store.append(run_id, closing_entries(run_id, position, CancelRequested()), self._clock.now())
        store.release(run_id, owner, "cancelled", "cancelled", self._clock.now())
        return ControlReport(run_id, "cancel", "cancelled", "nobody was executing it: closed")

    def replay(self, run: str, *, tolerant: bool = False) -> ReplayReport:
        """Play a run back from its record, in `runs.db` or in an exported file."""
        events = self._events(run)
        recorded = next((event for event in reversed(events) if event.kind == "run_finished"), None)
        if recorded is None:
            raise BadInput(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
        wanted = str(recorded.body["result_digest"])
        if tolerant:
            result, notes = replay_tolerant(events)
            made = digest(result)
            return ReplayReport(result.run_id, made == wanted, made, "tolerant", notes)
        result = replay(events)
        return ReplayReport(result.run_id, digest(result) == wanted, digest(result), "exact")

    def _events(self, run: str) -> list[RunEvent]:
        """The checked log of a run, by id or by the path of an exported one."""
        if Path(run).exists():
            events = list(import_run(Path(run)).events)
            verify_chain(events)
            return events
        events = self._store().checked_events(run)
        folder = self._data_dir / TRACES / run
        if folder.exists() and read_trace(folder).log_digest not in {event.digest for event in events}:
            raise WorkFailed(
                f"The trace of run {run} does not belong to its log.", fix="Use an untouched copy of the run."
            )
        return events

    def result(self, run: str) -> RunResult:
        """The result of a finished run."""
        result = self._result(self._events(run))
        if result is None:
            raise BadInput(f"Run {run} has not ended.", fix=f"Finish it with 'citewell runs resume {run}'.")
        return result

    async def diff(self, a: str, b: str | None, *, ask_models: bool = False) -> RunDiff:
        """Two runs compared, or a run with what today's harness makes of its question.

        Models cost: they are asked again only where that is wanted.
        """
        before = self.result(a)
        if b is not None:
            return diff_runs(before, self.result(b))
        request = fold(self._events(a)).request
        use = request.models
        asked = [model for model in (use.planner, use.writer if use.writes else "", use.reviewer) if model]
        if asked and not ask_models:
            raise BadInput(
                f"Run {a} asked {', '.join(dict.fromkeys(asked))}; to compare it with today would ask again.",
                fix="Add --ask-models, or compare it with another run, or use 'citewell runs replay --tolerant'.",
            )
        async for event in self.start(request, traced=False):
            if isinstance(event, RunResult):
                return diff_runs(before, replace(event, run_id="today"))
        raise WorkFailed("The question could not be run again.")

    def export(self, run_id: str, target: Path) -> ExportReport:
        """A finished run as one file that can be replayed elsewhere."""
        result = self.result(run_id)
        if result.stop_reason == "verification_failed":
            raise BadInput(f"Run {run_id} failed verification: it is not exported.", fix="Ask the question again.")
        export_run(self._data_dir / TRACES / run_id, target)
        data = target.read_bytes()
        return ExportReport(run_id, str(target), len(data), hashlib.sha256(data).hexdigest())

    def forget(self, run_ids: Sequence[str]) -> None:
        """Delete runs with their logs and traces, because what they quote is to be forgotten."""
        for run_id in run_ids:
            delete_trace(self._data_dir, run_id)
        self._store().delete(run_ids)

    def prune(self, *, keep: int, max_age_days: int, keep_all: bool) -> PruneSummary:
        """Put away old runs: the latest stay, the rest go by age; a run that is being executed is never touched."""
        store = self._store()
        report = prune_traces(
            self._data_dir,
            keep,
            max_age_days,
            keep_all,
            self._clock.now(),
            lambda run_id: _is_active(store, run_id),
        )
        store.delete(report.removed)
        return PruneSummary(
            kept=report.kept,
            removed=report.removed,
            skipped_active=(*report.skipped_active, *report.skipped_in_use),
            not_ours=report.not_ours,
            failed=report.failed,
            freed_bytes=report.freed_bytes,
        )


def _is_active(store: RunStore, run_id: str) -> bool:
    try:
        return store.summary(run_id).status in ("queued", "running")
    except CitewellError:
        return False


def _fresh_id(now: str) -> str:
    stamp = now[:19].replace("-", "").replace(":", "")
    return f"{stamp}-{secrets.token_hex(4)}"


class FailsafeLog:
    """A stored log that goes on in memory when the disk is full, so that the person still gets the answer."""

    def __init__(self, log: StoredLog, create: Callable[[], None] | None = None) -> None:
        self.run_id = log.run_id
        self.failed = False
        self._log = log
        self._create = create
        self._events: list[RunEvent] = []

    def append(self, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        if not self.failed:
            try:
                if self._create is not None:
                    self._create()
                    self._create = None
                added = self._log.append(entries, at)
                self._events += added
                return added
            except StoreFull:
                self.failed = True
        if not self._events and self._create is None:
            self._events = self._log.events()
        added = chained(self.run_id, self._events[-1] if self._events else None, entries, at)
        self._events += added
        return added

    def events(self) -> list[RunEvent]:
        return list(self._events) if self.failed else self._log.events()

    def controls(self) -> list[str]:
        return [] if self.failed or self._create is not None else self._log.controls()

    def check(self) -> None:
        """Refuse to write a trace of a record that is not on disk."""
        if self.failed:
            raise StoreFull("The record could not be written.")
