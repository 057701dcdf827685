"""The one event vocabulary: whatever happens in a run is one of these types, and every rendering is made from them.

An event is recorded as `kind` and a JSON `body`. The chain of digests covers the body as it was written, so `RunEvent`
keeps that body; `RunEvent.event` is the same as a typed value. Records of earlier versions are read into today's types
there and nowhere else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from citewell.check.verdict import UNCHECKED, SentenceCheck
from citewell.errors import WorkFailed
from citewell.runs.run import RunRequest, RunResult, RunStatus, Stage, StopReason

LOG_SCHEMA = "run_log.v2"
READABLE_SCHEMAS = ("run_log.v1", LOG_SCHEMA)


@dataclass(frozen=True, slots=True)
class RunStarted:
    """All a run depends on beside the corpus. Versions with the same `resume_format` may try to go on with it."""

    schema: str
    tool_version: str
    request: RunRequest
    resume_format: int = 1


@dataclass(frozen=True, slots=True)
class StageEntered:
    """A stage begins, so many seconds after the run did."""

    stage: Stage
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True)
class ActionIntended:
    """An action is about to begin; `body` says what it asks of the outside, where it reaches there."""

    action: str
    kind: Literal["io", "compute"]
    stage: Stage
    digest: str
    body: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ActionAbandoned:
    """An action nobody waits for any longer: whatever it would have said is not part of the run."""

    action: str
    stage: Stage
    digest: str


@dataclass(frozen=True, slots=True)
class ObservationRecorded:
    """What was seen: in full where it came from outside or a person, as a digest where it can be computed again."""

    kind: Literal["io", "compute", "control"]
    elapsed: float
    answers: str | None = None
    digest: str | None = None
    observation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """What a run decided: a name, what it was decided from, and a sentence for people (none in records before 0.2)."""

    name: str
    data: dict[str, Any]
    text: str = ""

    @property
    def sentence(self) -> str:
        """What was decided, in words; of a record that has none, its name and what it holds."""
        told = ", ".join(f"{name}: {value}" for name, value in sorted(self.data.items()))
        return self.text or f"decided {self.name} {told}".rstrip()


@dataclass(frozen=True, slots=True)
class WarningRaised:
    code: str


@dataclass(frozen=True, slots=True)
class SentenceShown:
    """A sentence of an answer that is being written, bound to its passages; a later one of its index replaces it."""

    index: int
    text: str
    verdict: str
    sources: tuple[str, ...] = ()
    check: SentenceCheck = UNCHECKED


@dataclass(frozen=True, slots=True)
class SentenceRetracted:
    """Sentences that were shown and do not stand."""

    indexes: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    pass


@dataclass(frozen=True, slots=True)
class RunResumed:
    tool_version: str = ""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The end of a run with its whole result; `result_digest` is what an exact replay must come to."""

    status: RunStatus
    stop_reason: StopReason
    result_digest: str
    result: RunResult


@dataclass(frozen=True, slots=True)
class TraceSaved:
    path: str


@dataclass(frozen=True, slots=True)
class TraceFailed:
    """The trace could not be written; the answer stands."""

    code: str
    message: str


Event = (
    RunStarted
    | StageEntered
    | ActionIntended
    | ActionAbandoned
    | ObservationRecorded
    | DecisionMade
    | WarningRaised
    | SentenceShown
    | SentenceRetracted
    | RunInterrupted
    | RunResumed
    | RunFinished
    | TraceSaved
    | TraceFailed
)
EventKind = Literal[
    "run_started",
    "stage_entered",
    "action_intended",
    "action_abandoned",
    "observation_recorded",
    "decision_made",
    "warning_raised",
    "sentence_shown",
    "sentence_retracted",
    "run_interrupted",
    "run_resumed",
    "run_finished",
    "trace_saved",
    "trace_failed",
    # Written by 0.1.0; read as `sentence_shown` and `sentence_retracted`.
    "display_updated",
]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)
EVENT_TYPES: dict[str, type[Any]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", entry.__name__).lower(): entry for entry in get_args(Event)
}
_KINDS: dict[type[Any], EventKind] = {form: kind for kind in EVENT_KINDS if (form := EVENT_TYPES.get(kind))}


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One entry of a run's log. `digest` chains it to the entry before, so that a changed byte shows."""

    run_id: str
    sequence: int
    at: str
    kind: EventKind
    body: dict[str, Any]
    digest: str

    @property
    def event(self) -> Event:
        """What happened, as a typed value; of an earlier version as what it is called today."""
        kind: str = self.kind
        body = self.body
        if kind == "decision_made":
            data = body.get("data")
            kept = data if isinstance(data, dict) else {}
            return DecisionMade(str(body.get("name", "")), kept, str(body.get("text") or ""))
        if kind == "display_updated":
            kind, said = ("sentence_retracted", "retracted") if "retracted" in body else ("sentence_shown", "shown")
            body = body[said]
        event: Event = msgspec.convert(body, EVENT_TYPES[kind])
        return event


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to be put on record."""

    kind: EventKind
    body: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> Entry:
        body: dict[str, Any] = msgspec.to_builtins(event)
        if isinstance(event, (ActionIntended, ObservationRecorded)):
            body = {name: value for name, value in body.items() if value is not None}
        return cls(_KINDS[type(event)], body)


# The chain of a log shows any changed, missing or reordered entry. It does not protect against someone who rewrites the
# whole log: it is a seal against damage and tampering in part, not a signature.


def canonical_json(value: object) -> bytes:
    """The one JSON form that digests are made of."""
    return msgspec.json.encode(value, order="deterministic")


def entry_digest(previous: str, run_id: str, sequence: int, at: str, kind: str, body: dict[str, Any]) -> str:
    """The digest of an entry, which covers the digest of the one before."""
    entry = {"run_id": run_id, "sequence": sequence, "at": at, "kind": kind, "body": body}
    return hashlib.sha256(previous.encode() + b"\n" + canonical_json(entry)).hexdigest()


def chained(run_id: str, previous: RunEvent | None, entries: Sequence[Entry], at: str) -> list[RunEvent]:
    """Entries as events that continue a chain."""
    events: list[RunEvent] = []
    last, sequence = (previous.digest, previous.sequence + 1) if previous else ("", 0)
    for entry in entries:
        # Through JSON and back, so that what is in memory is what will be read again.
        body = msgspec.json.decode(canonical_json(entry.body))
        last = entry_digest(last, run_id, sequence, at, entry.kind, body)
        events.append(RunEvent(run_id, sequence, at, entry.kind, body, last))
        sequence += 1
    return events


def touched(run_id: str, where: str) -> WorkFailed:
    """The refusal of a record that is not as it was written."""
    return WorkFailed(
        f"The record of run {run_id} was changed {where}: it cannot be trusted.",
        fix="Use an untouched copy of the run.",
    )


def verify_chain(events: Sequence[RunEvent]) -> None:
    """Refuse a log in which anything was changed, removed or reordered."""
    previous = ""
    for number, event in enumerate(events):
        wanted = entry_digest(previous, event.run_id, event.sequence, event.at, event.kind, event.body)
        if event.sequence != number or event.digest != wanted or event.run_id != events[0].run_id:
            raise touched(events[0].run_id, f"at entry {number}")
        previous = event.digest


def finished_event(events: Sequence[RunEvent]) -> RunEvent | None:
    """The entry a run ended with."""
    return next((event for event in reversed(events) if event.kind == "run_finished"), None)
