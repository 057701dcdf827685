"""A run as a whole: the flow of its profile over its journal, executed, resumed or replayed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.domain.answers import Draft
from citewell.domain.events import RunEvent
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import Failure, RunProfile, RunResult
from citewell.flows.display import Display
from citewell.flows.found import Found
from citewell.flows.local import local
from citewell.flows.note import note
from citewell.flows.profiles import PROFILES
from citewell.flows.report import report
from citewell.flows.result import flow_of, result_of
from citewell.flows.web import web
from citewell.runs.execute import Driver
from citewell.runs.journal import Run, Tolerant
from citewell.runs.records import read_start

Flow = Callable[[Run, Found], Coroutine[Any, Any, None]]
FLOWS: Mapping[RunProfile, Flow] = {"local": local, "chat": web, "deep": web, "note": note, "report": report}


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

    def display(self, driver: Driver) -> Display:
        """What a person sees of the answer while it is written."""
        return Display(self.run, self.found, driver.wake, driver.in_thread)

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
    tolerant: Tolerant | None = None,
    flows: Mapping[RunProfile, Flow] = FLOWS,
) -> Play:
    """A run from its record: played back as far as it goes, every entry checked on the way; or today's code over it."""
    started = read_start(events[0])
    request = started.request
    recorded = () if tolerant is not None else events
    run, found = Run(events[0].run_id, request, PROFILES[request.profile], recorded, monotonic, tolerant), Found()
    run.start(flows[request.profile](run, found))
    return Play(run, found, started.tool_version)
