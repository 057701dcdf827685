"""A run as a whole: the flow of its profile over its journal, executed, resumed or replayed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.domain.answers import Draft
from citewell.domain.errors import Conflict, WorkFailed
from citewell.domain.events import Entry, RunEvent, RunFinished, RunStarted
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import Control, Failure, RunProfile, RunRequest, RunResult
from citewell.flows.found import Found
from citewell.flows.local import local
from citewell.flows.note import note
from citewell.flows.profiles import PROFILES
from citewell.flows.report import report
from citewell.flows.result import flow_of, result_of
from citewell.flows.web import web
from citewell.recording.log import LOG_SCHEMA, READABLE_SCHEMAS
from citewell.runs.journal import Run, Tolerant, digest
from citewell.version import __version__

Flow = Callable[[Run, Found], Coroutine[Any, Any, None]]
FLOWS: Mapping[RunProfile, Flow] = {"local": local, "chat": web, "deep": web, "note": note, "report": report}
# Raised when a record of the version before can no longer be gone on with.
RESUME_FORMAT = 4


def opening_entry(request: RunRequest, tool_version: str = __version__) -> Entry:
    """The first entry of every record: all a run depends on beside the corpus."""
    return Entry.of(RunStarted(LOG_SCHEMA, tool_version, request, RESUME_FORMAT))


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


@dataclass(slots=True)
class Play:
    """A run and what it has found, as far as its record goes."""

    run: Run
    found: Found
    tool_version: str

    @property
    def result(self) -> RunResult:
        return result_of(self.run, self.found, self.tool_version)

    @property
    def written(self) -> tuple[str, QueryPlan | None, Draft | None]:
        """What a trace tells beside the record: the evidence as it was written from, the plan, the draft."""
        found = self.found
        return found.prepared.text if found.prepared else "", found.plan, found.draft

    def finish_entry(self) -> Entry:
        """The end of a run, with its whole result."""
        result = self.result
        return Entry.of(RunFinished(result.status, result.stop_reason, digest(result), result))

    def check(self) -> None:
        """Nothing is cited that was not shown, nothing shown that was not found: a run that breaks this has failed."""
        run = self.run
        flow = flow_of(run, self.found)
        if flow.holds or run.stop_reason == "verification_failed":
            return
        message = f"cited or shown without having been found: {', '.join(flow.strays)}"
        run.failure = Failure("verify", "evidence_flow", message)
        run.stop_reason = "verification_failed"


def begin(
    events: Sequence[RunEvent],
    monotonic: Callable[[], float] | None = None,
    flows: Mapping[RunProfile, Flow] = FLOWS,
) -> Play:
    """A run from its record: played back as far as it goes, every entry checked on the way."""
    started = read_start(events[0])
    request = started.request
    run, found = Run(events[0].run_id, request, PROFILES[request.profile], events, monotonic), Found()
    run.start(flows[request.profile](run, found))
    return Play(run, found, started.tool_version)


def check_resumable(events: Sequence[RunEvent]) -> None:
    """Refuse to go on with a run that another kind of program recorded."""
    started = read_start(events[0])
    if started.resume_format != RESUME_FORMAT:
        raise Conflict(
            f"Run {events[0].run_id} was begun by an earlier Citewell ({started.tool_version}), whose unfinished runs "
            f"{__version__} cannot go on with.",
            fix="Ask the question again; what the run gathered stays on record.",
        )


def replay(events: Sequence[RunEvent], flows: Mapping[RunProfile, Flow] = FLOWS) -> RunResult:
    """The result of a finished run, made again from its record alone."""
    _check_replayable(events)
    if other := sorted(_versions(events) - {__version__}):
        raise Conflict(
            f"The run was recorded by Citewell {', '.join(other)}; this is {__version__}, so an exact replay would "
            "compare two programs.",
            fix="Replay with --tolerant to run today's code on the recorded observations.",
        )
    play = begin(events, flows=flows)
    if not play.run.is_over:
        raise Conflict(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
    play.check()
    return play.result


def replay_tolerant(
    events: Sequence[RunEvent], flows: Mapping[RunProfile, Flow] = FLOWS
) -> tuple[RunResult, tuple[str, ...]]:
    """Today's code on recorded outcomes: the result it comes to, and where it went another way."""
    _check_replayable(events)
    started, recorded = read_start(events[0]), Tolerant(events[0].run_id, events)
    request = started.request
    run, found = Run(events[0].run_id, request, PROFILES[request.profile], tolerant=recorded), Found()
    run.start(flows[request.profile](run, found))
    recorded.play(run)
    play = Play(run, found, started.tool_version)
    play.check()
    return play.result, tuple(recorded.notes)


def _check_replayable(events: Sequence[RunEvent]) -> None:
    started = read_start(events[0])
    if started.resume_format != RESUME_FORMAT:
        raise Conflict(
            f"Run {events[0].run_id} was recorded by an earlier Citewell ({started.tool_version}), which recorded runs "
            "in another form: it can be shown, exported and compared, not played back.",
            fix=f"Ask again and compare: citewell runs diff {events[0].run_id}",
        )


def _versions(events: Sequence[RunEvent]) -> set[str]:
    """Every version that had a hand in a run."""
    resumed = {str(event.body.get("tool_version") or "") for event in events if event.kind == "run_resumed"}
    return {read_start(events[0]).tool_version, *resumed} - {""}


def unanswered(events: Sequence[RunEvent], controls: Sequence[Control]) -> list[Control]:
    """What was asked of a run and never got on its record."""
    seen = {event.body["observation"]["control"] for event in events if event.body.get("kind") == "control"}
    return [control for control in dict.fromkeys(controls) if control not in seen]
