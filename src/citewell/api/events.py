"""A run's log as events of a stream. Pure: the same log gives the same events with the same ids, in any process.

An entry becomes no event, one or several; each has an id of its own, so that anyone who comes back with the last one he
saw gets what follows and nothing twice:

    entry 32 (run_finished)  ->  32000 answer, 32001 citation, 32002 citation, 32003 verification
    the end of a log whose last entry is 33  ->  33999 done
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from citewell.check.verdict import UNCHECKED, CheckedSentence, Citation, Contradiction, Gate, SentenceCheck
from citewell.flows.play import PROFILES
from citewell.runs.events import (
    DecisionMade,
    RunEvent,
    RunFinished,
    RunResumed,
    RunStarted,
    SentenceRetracted,
    SentenceShown,
    StageEntered,
    TraceFailed,
    TraceSaved,
    WarningRaised,
)
from citewell.runs.run import RunResult
from citewell.runs.timeline import STAGE_TITLES
from citewell.wire import ErrorDocument, to_document

# Events one entry may become; the last number of an entry is kept for the end.
PER_ENTRY = 1_000

Phase = Literal["planning", "searching", "reading", "evaluating", "iterating", "synthesizing", "finalizing"]
_PHASES: dict[str, Phase] = {
    "begin_trace": "planning",
    "plan": "planning",
    "retrieve": "searching",
    "search": "searching",
    "inspect_top": "reading",
    "read": "reading",
    "judge_coverage": "evaluating",
    "evaluate": "evaluating",
    "optional_expand_or_retry": "iterating",
    "prepare_synthesis": "synthesizing",
    "synthesize": "synthesizing",
    "verify": "finalizing",
    "persist_trace": "finalizing",
}
# Entries that say nothing to anyone who watches; some are large and are not looked into.
_SILENT = frozenset({"action_intended", "action_abandoned", "run_interrupted"})


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is: in which stage, how many sources it has considered and read, and what it just decided."""

    stage: str
    phase: Phase
    loop: int
    maxLoops: int  # noqa: N815  the name on the wire
    sourcesConsidered: int  # noqa: N815
    sourcesRead: int  # noqa: N815
    title: str
    detail: str
    elapsed: float


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer that is being written, with the keys of its sources; a later one replaces it."""

    n: int
    text: str
    verdict: str
    citations: tuple[str, ...]
    check: SentenceCheck = UNCHECKED


@dataclass(frozen=True, slots=True)
class Retraction:
    """A sentence that was shown and does not stand."""

    n: int
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """The answer as it was checked, and why the run stopped."""

    answer: str
    answer_status: str
    answer_warnings: tuple[str, ...]
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What the checks of the answer came to."""

    passed: bool
    gates: tuple[Gate, ...]
    sentences: tuple[CheckedSentence, ...]
    contradictions: tuple[Contradiction, ...]
    unsupported_rate: float


@dataclass(frozen=True, slots=True)
class Warned:
    code: str


@dataclass(frozen=True, slots=True)
class TraceTold:
    """Whether the run was saved on this machine, and where."""

    saved: bool
    path: str | None = None
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life; it has no id."""


# What each event of a run's stream holds.
RUN_EVENTS: dict[str, Any] = {
    "progress": Progress,
    "sentence": Sentence,
    "retraction": Retraction,
    "answer": AnswerGiven,
    "citation": Citation,
    "verification": Verified,
    "warning": Warned,
    "trace": TraceTold,
    "heartbeat": Heartbeat,
    "done": RunResult,
    "error": ErrorDocument,
}
_NAMES: dict[type, str] = {form: name for name, form in RUN_EVENTS.items()}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it is sent."""

    id: int | None
    name: str
    data: Any

    def encoded(self) -> bytes:
        """In the form of an event stream; JSON has no line breaks of its own."""
        number = f"id: {self.id}\n" if self.id is not None else ""
        return f"{number}event: {self.name}\ndata: ".encode() + msgspec.json.encode(self.data) + b"\n\n"


def event_of(value: Any, number: int | None = None) -> StreamEvent:
    return StreamEvent(number, _NAMES[type(value)], to_document(value))


class RunRendering:
    """Folds a log, entry by entry, into the events of its stream."""

    def __init__(self) -> None:
        self._stage = "begin_trace"
        self._loop = 1
        self._max_loops = 1
        self._considered: set[str] = set()
        self._read: set[str] = set()
        self._inspections: set[str] = set()
        self._began: datetime | None = None
        self.last = -1

    def feed(self, entry: RunEvent) -> list[StreamEvent]:
        """The events of the next entry."""
        self.last = entry.sequence
        try:
            values = list(self._values(entry))
        except (KeyError, msgspec.ValidationError):
            values = []  # an entry of another version that this one has no word for
        return [event_of(value, entry.sequence * PER_ENTRY + at) for at, value in enumerate(values)]

    def end(self, value: RunResult | ErrorDocument) -> StreamEvent:
        """The last event of the stream of this log, as far as it goes."""
        return event_of(value, self.last * PER_ENTRY + PER_ENTRY - 1)

    def _values(self, entry: RunEvent) -> Iterator[Any]:
        if entry.kind == "action_intended" and entry.body["action"] == "inspect":
            self._inspections.add(entry.body["digest"])
        if entry.kind in _SILENT:
            return
        if entry.kind == "observation_recorded":
            self._observed(entry.body)
            return
        match entry.event:
            case RunStarted(request=request):
                self._began = datetime.fromisoformat(entry.at)
                budget = PROFILES.get(request.profile)
                self._max_loops = budget.retrieval_passes if budget else 1
                if request.web is not None and request.web.providers:
                    self._max_loops = max(1, request.web.max_loops if request.web.loops else 1)
            case StageEntered(stage=stage):
                self._stage = stage
                if stage == "optional_expand_or_retry":
                    self._loop = min(self._loop + 1, self._max_loops)
                yield self._progress(entry, "")
            case RunResumed():
                yield self._progress(entry, "resumed")
            case DecisionMade() as decision:
                self._decided(decision)
                yield self._progress(entry, decision.sentence)
            case SentenceShown(index=index, text=text, verdict=verdict, sources=sources, check=check):
                yield Sentence(index + 1, text, verdict, sources, check)
            case SentenceRetracted(indexes=indexes, reason=reason):
                for index in indexes:
                    yield Retraction(index + 1, reason)
            case WarningRaised(code=code):
                yield Warned(code)
            case RunFinished(result=result):
                yield from _ending(result)
            case TraceSaved(path=path):
                yield TraceTold(True, path)
            case TraceFailed(code=code, message=message):
                yield TraceTold(False, None, code, message)

    def _observed(self, body: dict[str, Any]) -> None:
        if body.get("answers") in self._inspections:
            self._read.update(view["source_key"] for view in body["observation"].get("value", ()))

    def _decided(self, decision: DecisionMade) -> None:
        data = decision.data
        match decision.name:
            case "retrieved" | "reread":
                self._considered.update(data["keys"])
            case "web_round":
                self._loop, self._max_loops = max(1, data["loop"]), max(1, data["max_loops"])
            case "web_found":
                self._considered.update(data["urls"])
            case "page_read":
                self._read.add(data["source_key"])
            case "retried" | "expanded":
                self._considered.update(data["accepted"])

    def _progress(self, entry: RunEvent, detail: str) -> Progress:
        elapsed = (datetime.fromisoformat(entry.at) - self._began).total_seconds() if self._began else 0.0
        return Progress(
            stage=self._stage,
            phase=_PHASES.get(self._stage, "finalizing"),
            loop=self._loop,
            maxLoops=self._max_loops,
            sourcesConsidered=len(self._considered),
            sourcesRead=len(self._read),
            title=STAGE_TITLES.get(self._stage, self._stage),
            detail=detail,
            elapsed=round(elapsed, 3),
        )


def _ending(result: RunResult) -> Iterator[Any]:
    yield AnswerGiven(result.answer, result.answer_status, result.answer_warnings, result.stop_reason)
    yield from result.citations[: PER_ENTRY - 10]
    yield Verified(
        all(gate.passed for gate in result.gates),
        result.gates,
        result.sentences,
        result.contradictions,
        result.metrics.unsupported_rate,
    )
