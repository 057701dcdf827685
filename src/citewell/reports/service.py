"""Briefs become reports: started under an id that follows from the request, waited for, read, listed.

A run of a brief is a run like any other (`runs/service.py`, profile `report`): recorded, resumable, replayable. What
is its own is kept in `research_runs`, one row a run, from the moment it begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from citewell.errors import CitewellError, Conflict, NotFound, WorkFailed
from citewell.reports.brief import ReportRecord, ReportTask, StrategyStage
from citewell.reports.document import (
    ResearchSynthesisError,
    attempt_of,
    begun_document,
    brief_id,
    check_run_id,
    read_text,
    run_document,
    run_id_of,
    run_stem,
    stored_text,
    summary_of,
)
from citewell.reports.model import ResearchBrief, ResearchRun, ResearchRunList
from citewell.reports.strategies import ResearchConfig, register_strategy
from citewell.runs.events import RunEvent
from citewell.runs.execute import Perform
from citewell.runs.journal import Call, Failed
from citewell.runs.run import TERMINAL, RunRequest, RunResult, RunStatus
from citewell.runs.store import ResearchRow, ResearchTables
from citewell.search.query import Surface

CREATED_BY = "citewell"
_POLL_SECONDS = 0.2


class RunSource(Protocol):
    """What is asked of the runs (`runs/service.py`)."""

    def start(self, request: RunRequest, *, traced: bool = True, run_id: str | None = None) -> str: ...

    def resume(self, run_id: str, *, finish: bool = False) -> int: ...

    def wait(self, run_id: str, timeout: float | None = None) -> RunResult: ...

    def status(self, run_id: str) -> RunStatus: ...

    def started_at(self, run_id: str) -> str: ...

    def result(self, run: str) -> RunResult: ...


# What a run of a brief is to do, with the settings in force; refuses what a policy forbids where it is to begin.
MakeRequest = Callable[[ReportTask, "ResearchConfig", Surface], RunRequest]
Permit = Callable[[RunRequest], None]


@dataclass(frozen=True, slots=True)
class ResearchParts:
    """What the service stands on; `rows` opens the table when it is first needed."""

    runs: Callable[[], RunSource]
    rows: Callable[[], ResearchTables]
    request: MakeRequest
    permit: Permit
    now: Callable[[], str]


@dataclass(frozen=True, slots=True)
class StartedReport:
    """A run of a brief, and whether it was there before."""

    run_id: str
    brief_id: str
    is_stored: bool


class ResearchService:
    """Everything that can be done with briefs."""

    def __init__(self, parts: ResearchParts, config: ResearchConfig) -> None:
        self._parts = parts
        self.config = config

    def run(self, brief: ResearchBrief, *, run_id: str, created_by: str, surface: Surface = "python") -> ResearchRun:
        """The run of a brief under this id, executed unless it is there already, and waited for.

        Raises ResearchSynthesisError where no report came of it; the run it carries has everything that was gathered.
        """
        begun = self._begin(self._request(brief, created_by, surface), check_run_id(run_id))
        found = self.wait(begun)
        if found.status == "failed":
            raise ResearchSynthesisError(found)
        return found

    def run_id_for(self, brief: ResearchBrief, *, fresh: bool = False) -> str:
        """The id under which this brief runs: that of the run that is there, or of the next attempt."""
        request = self._request(brief, CREATED_BY, "python")
        return self._next_id(request, fresh=fresh)

    def start(
        self, brief: ResearchBrief, *, created_by: str = CREATED_BY, fresh: bool = False, surface: Surface = "python"
    ) -> StartedReport:
        """Begin the run of a brief, or find the one of an identical request; `fresh` makes another attempt."""
        request = self._request(brief, created_by, surface)
        while True:
            begun = self._begin(request, self._next_id(request, fresh=fresh))
            # Somebody else made the same fresh attempt at the same moment: ours is the one behind it.
            if not (fresh and begun.is_stored):
                return begun

    def wait(self, begun: StartedReport) -> ResearchRun:
        """The document of a run once it has ended."""
        if not self._is_recorded:
            return run_document(self._parts.runs().wait(begun.run_id), self._parts.now())
        try:
            self._parts.runs().wait(begun.run_id)
        except Conflict:
            self._wait_for_other(begun.run_id)
        return self.get(begun.run_id)

    def _wait_for_other(self, run_id: str) -> None:
        """Wait for a run that another process executes, for as long as it does."""
        while self._parts.runs().status(run_id) in ("running", "queued"):
            time.sleep(_POLL_SECONDS)

    def get(self, run_id: str) -> ResearchRun:
        """A run of a brief as it stands; NotFound where there is none."""
        row = self._parts.rows().get(run_id)
        if row is not None and row.status in TERMINAL:
            return read_text(row.document)
        status = self._parts.runs().status(run_id)
        if status in TERMINAL:
            result = self._parts.runs().result(run_id)
            if result.report is None:
                raise NotFound(f"Run {run_id} is no run of a brief.", fix=f"See 'citewell runs show {run_id}'.")
            return self.keep(result)
        if row is None:
            raise NotFound(f"Run {run_id} is no run of a brief.", fix=f"See 'citewell runs show {run_id}'.")
        return read_text(row.document).model_copy(update={"status": status})

    def list(
        self, limit: int = 20, *, project_id: str | None = None, status: RunStatus | None = None
    ) -> ResearchRunList:
        """The latest runs of briefs, newest first."""
        rows = self._parts.rows().latest(limit, project_id, status)
        return ResearchRunList(runs=tuple(summary_of(self._as_it_stands(row)) for row in rows))

    def of_brief(self, brief_id: str) -> ResearchRunList:
        """Every attempt at a brief, newest first."""
        rows = self._parts.rows().of_brief(brief_id)
        return ResearchRunList(runs=tuple(summary_of(self._as_it_stands(row)) for row in rows))

    def keep(self, result: RunResult) -> ResearchRun:
        """Store the document of a run that has ended."""
        found = run_document(result, self._parts.runs().started_at(result.run_id))
        self._parts.rows().put(_row(found))
        return found

    def delete(self, run_ids: tuple[str, ...]) -> None:
        """Forget the documents of runs that are forgotten."""
        self._parts.rows().delete(run_ids)

    @property
    def _is_recorded(self) -> bool:
        return self.config.retrieval != "replay"

    def _request(self, brief: ResearchBrief, created_by: str, surface: Surface) -> RunRequest:
        value, config = brief.as_value(), self.config
        task = ReportTask(
            brief_id(value),
            value,
            created_by,
            planner=config.planner,
            triage=config.triage,
            deduplicator=config.deduplicator,
            binder=config.binder,
            retrieval=config.retrieval if config.retrieval != "replay" else "live",
            synthesizer=config.synthesizer,
            verifier=config.verifier,
        )
        return self._parts.request(task, config, surface)

    def _next_id(self, request: RunRequest, *, fresh: bool) -> str:
        assert request.report is not None
        stem = run_stem(request)
        rows = self._parts.rows().of_brief(request.report.brief_id)
        attempts = [attempt_of(row.run_id) for row in rows if row.run_id.rpartition("-")[0] == stem]
        last = max(attempts, default=0)
        return run_id_of(stem, last + 1 if fresh or not attempts else last)

    def _begin(self, request: RunRequest, run_id: str) -> StartedReport:
        assert request.report is not None
        task, rows = request.report, self._parts.rows()
        if not self._is_recorded:
            self._parts.permit(request)
            return StartedReport(self._parts.runs().start(request, traced=False), task.brief_id, False)
        if rows.get(run_id) is not None and self._goes_on(run_id):
            return StartedReport(run_id, task.brief_id, True)
        self._parts.permit(request)
        record = ReportRecord(task.brief_id, task.brief, task.created_by)
        rows.put(_row(begun_document(run_id, record, "running", self._parts.now())))
        try:
            self._parts.runs().start(request, run_id=run_id)
        except Conflict:
            # The same request came from elsewhere at the same moment.
            return StartedReport(run_id, task.brief_id, True)
        except CitewellError:
            rows.delete((run_id,))
            raise
        return StartedReport(run_id, task.brief_id, False)

    def _goes_on(self, run_id: str) -> bool:
        """Whether there is such a run; one that nobody executes is gone on with."""
        try:
            if self._parts.runs().status(run_id) in ("interrupted", "queued"):
                self._parts.runs().resume(run_id)
        except NotFound:
            return False  # its log was put away
        except Conflict:
            pass  # somebody went on with it meanwhile
        return True

    def _as_it_stands(self, row: ResearchRow) -> ResearchRun:
        if row.status in TERMINAL:
            return read_text(row.document)
        try:
            return self.get(row.run_id)
        except NotFound:
            return read_text(row.document).model_copy(update={"status": "interrupted"})


def build_research_service(
    parts: ResearchParts,
    config: ResearchConfig | None = None,
    strategies: Mapping[StrategyStage, object] | None = None,
) -> ResearchService:
    """A service with these strategies; the defaults where none are chosen.

    An object in `strategies` is one's own, known by its attribute `name`, else by the name of its class.
    """
    return ResearchService(parts, with_own(config or ResearchConfig(), strategies or {}))


def with_own(config: ResearchConfig, strategies: Mapping[StrategyStage, object]) -> ResearchConfig:
    """The choice with strategies of one's own, registered by their names."""
    chosen = config.model_dump()
    for stage, strategy in strategies.items():
        chosen[stage] = str(getattr(strategy, "name", "") or type(strategy).__name__)
        register_strategy(stage, chosen[stage], strategy)
    return ResearchConfig(**chosen) if strategies else config


def _row(run: ResearchRun) -> ResearchRow:
    project = run.brief.scope.project_id
    return ResearchRow(run.run_id, run.brief_id, project, run.status, run.created_at, stored_text(run))


# Retrieval from a record: what a run found is found again, without corpus, provider or network.
#
# It answers the calls that find something by their keys. What the run never asked for is a miss, and a miss fails
# loudly: a report that is half recorded and half new would be neither. Models are asked as ever.


_FINDING = ("survey_topic", "retrieve", "read_given", "search_web", "read_page", "rank_pages", "keep_snippets")


class ReplayRetrievalSource:
    """What one run found, by what it asked."""

    def __init__(self, events: Sequence[RunEvent]) -> None:
        self.run_id = events[0].run_id
        self._seen = {
            str(event.body["answers"]): event.body["observation"]
            for event in events
            if event.kind == "observation_recorded" and event.body["kind"] == "io"
        }

    def find(self, call: Call) -> Any:
        """What the run saw when it asked for this; a miss is an error."""
        seen = self._seen.get(call.key)
        if seen is None:
            raise WorkFailed(
                f"Run {self.run_id} never asked for this {call.name}, so its record has no answer to it.",
                fix="Run the brief live, or with the strategies of the recorded run.",
            )
        if "failed" in seen:
            raise Failed(**seen["failed"])
        return msgspec.convert(seen["value"], call.form)

    def over(self, live: Perform) -> Perform:
        """Performs a run's calls: what finds something from the record, everything else live."""

        async def perform(call: Call, on_text: Callable[[str], None]) -> Any:
            if call.name in _FINDING:
                return self.find(call)
            if call.name == "keep_texts":
                return ()  # the recorded run keeps them
            return await live(call, on_text)

        return perform
