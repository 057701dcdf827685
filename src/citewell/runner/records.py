"""Runs as they are on record: listed, shown, replayed, exported, put away. Nothing is executed here.

The result of a finished run is part of its record and is read, never made again: only `replay` plays a record back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from citewell.domain.errors import BadInput, CitewellError, Conflict, NotFound, WorkFailed
from citewell.domain.events import DecisionMade, RunEvent
from citewell.domain.ports import Clock
from citewell.domain.run_reports import (
    CitedSource,
    EgressLedger,
    ExportReport,
    PruneSummary,
    ReplayReport,
    RunList,
    RunView,
)
from citewell.domain.run_store import ANY_RUN, RunChoice, RunStore
from citewell.domain.runs import TERMINAL, PriorQuestion, RunProfile, RunResult, RunSummary
from citewell.flows.play import (
    FLOWS,
    Flow,
    begin,
    check_resumable,
    egress_of,
    read_start,
    replay,
    replay_tolerant,
)
from citewell.recording.archive import export_run, import_run, packed_run, unpacked_run
from citewell.recording.folders import TRACES
from citewell.recording.log import verify_chain
from citewell.recording.results import finished_event, stored_result
from citewell.recording.retention import delete_trace, prune_traces
from citewell.recording.trace import put_trace, read_trace, write_trace
from citewell.runs.journal import digest

SourceState = Callable[[str, str], CitedSource]
# How far back a conversation is looked for among the runs of chats.
_CHATS_LOOKED_AT = 200


class RunRecords:
    """What can be done with runs that are on record."""

    def __init__(
        self,
        store: Callable[[], RunStore],
        clock: Clock,
        data_dir: Path,
        flows: Mapping[RunProfile, Flow] = FLOWS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._data_dir = data_dir
        self._flows = flows
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
        page = self._store().latest(limit, choice)
        return RunList(page.runs, page.unreadable, page.next)

    def asked_in(self, conversation_id: str) -> tuple[PriorQuestion, ...]:
        """The questions of a conversation as its latest run tells them, that run's own last; known by their runs."""
        store = self._store()
        for summary in store.latest(_CHATS_LOOKED_AT, RunChoice(surface="web_chat")).runs:
            first = store.events(summary.run_id, limit=1)
            if not first or first[0].body.get("request", {}).get("conversation_id") != conversation_id:
                continue
            request = read_start(first[0]).request
            return (*request.conversation.history, PriorQuestion(summary.run_id, request.question))
        return ()

    def events(self, run: str) -> list[RunEvent]:
        """The checked log of a run, by id or by the path of an exported one."""
        return self._events(run)

    def decisions(self, run_id: str) -> list[DecisionMade]:
        """What a run decided, in order."""
        events = (event.event for event in self._events(run_id) if event.kind == "decision_made")
        return [one for one in events if isinstance(one, DecisionMade)]

    def show(self, run_id: str, source_state: SourceState, *, with_events: bool = False) -> RunView:
        """One run: its result where it has one, and what became of the sources it cites."""
        events = self._events(run_id)
        result = stored_result(events, self._data_dir)
        citations = result.citations if result else ()
        unique = dict.fromkeys((citation.source_key, citation.span.content_hash) for citation in citations)
        sources = tuple(source_state(key, content_hash) for key, content_hash in unique)
        return RunView(self._summary(run_id), result, sources, tuple(events) if with_events else ())

    def result(self, run: str) -> RunResult:
        """The stored result of a finished run, by id or by the path of an exported one."""
        result = stored_result(self._events(run), self._data_dir)
        if result is None:
            raise Conflict(f"Run {run} has not ended.", fix=f"Finish it with 'citewell runs resume {run}'.")
        return result

    def replay(self, run: str, *, tolerant: bool = False) -> ReplayReport:
        """Play a run back from its record, in the store or in an exported file."""
        events = self._events(run)
        finished = finished_event(events)
        if finished is None:
            raise Conflict(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
        wanted = str(finished.body["result_digest"])
        if tolerant:
            result, notes = replay_tolerant(events, self._flows)
            return ReplayReport(result.run_id, digest(result) == wanted, digest(result), "tolerant", notes)
        result = replay(events, self._flows)
        return ReplayReport(result.run_id, digest(result) == wanted, digest(result), "exact")

    def _summary(self, run_id: str) -> RunSummary:
        return self._store().summary(run_id)

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

    def export(self, run_id: str, target: Path) -> ExportReport:
        """A finished run as one file that can be replayed elsewhere."""
        self._traced(run_id)
        export_run(self._data_dir / TRACES / run_id, target)
        data = target.read_bytes()
        return ExportReport(run_id, str(target), len(data), hashlib.sha256(data).hexdigest())

    def archive(self, run_id: str) -> bytes:
        """A finished run as the bytes of such a file."""
        if self._traced(run_id).trace_path is None:
            raise Conflict(f"Run {run_id} has no trace to pack.", fix="Ask the question again, with a trace.")
        return packed_run(self._data_dir / TRACES / run_id)

    def _traced(self, run_id: str) -> RunResult:
        """The result of a run that may leave this machine; a trace that another machine wrote is made again here."""
        result, events = self.shareable(run_id), self._events(run_id)
        saved = next((number for number, event in enumerate(events) if event.kind == "trace_saved"), None)
        if result.trace_path is not None or saved is None:
            return result
        check_resumable(events)
        path = write_trace(self._data_dir, result, events[:saved], *begin(events, flows=self._flows).written)
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
        events = trace.events
        started, finished = read_start(events[0]), finished_event(events)
        if finished is None:
            raise BadInput("The exported run has not ended.", fix="Finish it where it was begun, and export it again.")
        result = stored_result(events, self._data_dir)
        assert result is not None
        request = started.request
        summary = RunSummary(
            *(trace.run_id, result.status, result.stop_reason, request.profile, request.surface),
            *(request.question, events[0].at, events[-1].at, started.tool_version),
        )
        self._store().put_record(summary, events)
        put_trace(self._data_dir, trace.run_id, trace.files, events)
        return self._store().summary(trace.run_id)

    def egress(self, run_id: str) -> EgressLedger:
        """What a run sent, and to whom, from its log."""
        return egress_of(self._events(run_id))

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
        report = prune_traces(
            self._data_dir,
            keep,
            max_age_days,
            keep_all,
            self._clock.now(),
            lambda run_id: run_id == self._ended_last or _is_active(store, run_id),
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
    """Whether a run is still executed or may be gone on with; one that cannot be looked at is left alone."""
    try:
        return store.summary(run_id).status not in TERMINAL
    except NotFound:
        return False
    except CitewellError:
        return True
