"""Playing a log back: the same machine, fed with what was recorded instead of the world. Pure.

Everything a log holds beside observations follows from them (`entries_after`), so folding a log checks it entry by
entry: the first one that today's code would not have written is a mismatch. What the log still lacks at its end is
what a resumed run puts on record first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from citewell import __version__
from citewell.domain.errors import BadInput, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.runs import RunRequest, RunResult, Stage
from citewell.recording.log import LOG_SCHEMA, Entry, canonical_json
from citewell.runner.actions import (
    Action,
    Observation,
    action_digest,
    decode_observation,
    digest,
    encode_observation,
    kind_of,
    stage_of,
)
from citewell.runner.compute import compute
from citewell.runner.machine import Step, begin, step
from citewell.runner.result import result_of

# Entries that say when a run was executed, not what it did.
_ASIDE = ("run_interrupted", "run_resumed", "warning_raised", "display_updated")


def opening_entry(request: RunRequest, tool_version: str = __version__) -> Entry:
    """The first entry of every log: all a run depends on beside the corpus."""
    body = {"schema": LOG_SCHEMA, "tool_version": tool_version, "request": msgspec.to_builtins(request)}
    return Entry("run_started", body)


def observation_entry(action: Action, observation: Observation, elapsed: float) -> Entry:
    """What was seen: in full where it came from outside, as a digest where it can be computed again."""
    body: dict[str, Any] = {"answers": action_digest(action), "elapsed": round(elapsed, 6)}
    if kind_of(action) == "compute" and type(observation).__name__ != "ActionFailed":
        return Entry("observation_recorded", {**body, "kind": "compute", "digest": digest(observation)})
    return Entry("observation_recorded", {**body, "kind": "io", "observation": encode_observation(observation)})


def control_entry(observation: Observation, elapsed: float) -> Entry:
    body = {"kind": "control", "elapsed": round(elapsed, 6), "observation": encode_observation(observation)}
    return Entry("observation_recorded", body)


def entries_after(
    run_id: str, taken: Step, stage_before: Stage, running: Action | None, tool_version: str
) -> list[Entry]:
    """Everything that goes on record because of a step: decisions, stages, intents, the end."""
    entries = [Entry("decision_made", {"name": made.name, "data": made.data}) for made in taken.decisions]
    if taken.state.stage != stage_before:
        entries.append(Entry("stage_entered", {"stage": taken.state.stage}))
    entries += [_intent(action) for action in taken.actions if action is not running]
    if taken.state.is_over:
        entries.append(finish_entry(result_of(run_id, taken.state, tool_version)))
    return entries


def _intent(action: Action) -> Entry:
    body: dict[str, Any] = {
        "action": type(action).__name__,
        "kind": kind_of(action),
        "stage": stage_of(action),
        "digest": action_digest(action),
    }
    if kind_of(action) == "io":
        body["body"] = msgspec.to_builtins(action)
    return Entry("action_intended", body)


def finish_entry(result: RunResult) -> Entry:
    """The end of a run: its whole result but for the pack, which the log holds already."""
    document = msgspec.to_builtins(result)
    body = {
        "status": result.status,
        "stop_reason": result.stop_reason,
        "result_digest": digest(document),
        "result": {name: value for name, value in document.items() if name != "pack"},
    }
    return Entry("run_finished", body)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a log leaves off."""

    request: RunRequest
    tool_version: str
    step: Step
    running: Action | None
    unrecorded: tuple[Entry, ...]

    @property
    def is_over(self) -> bool:
        return self.step.state.is_over


class Playback:
    """Folds the events of one log, one by one."""

    def __init__(self, run_id: str, first: RunEvent) -> None:
        if first.kind != "run_started" or first.body.get("schema") != LOG_SCHEMA:
            form = first.body.get("schema")
            raise BadInput(
                f"The record of run {run_id} has the form {form!r}, which this version cannot read.",
                fix="Use the version of Citewell that recorded it, or read its run.md.",
            )
        self.run_id = run_id
        self.request = msgspec.convert(first.body["request"], RunRequest)
        self.tool_version = str(first.body["tool_version"])
        self.step = begin(self.request)
        self.running: Action | None = None
        self.expected = self._entries("begin_trace", None)

    def _entries(self, stage_before: Stage, running: Action | None) -> list[Entry]:
        return entries_after(self.run_id, self.step, stage_before, running, self.tool_version)

    def feed(self, event: RunEvent) -> None:
        """Take the next entry of the log, which must be the one that follows."""
        if event.kind in _ASIDE:
            return
        if event.kind == "observation_recorded" and not self.expected:
            self._observe(event)
            return
        wanted = self.expected.pop(0) if self.expected else None
        if wanted is None or wanted.kind != event.kind or canonical_json(wanted.body) != canonical_json(event.body):
            raise mismatch(self.run_id, event, wanted)

    def _observe(self, event: RunEvent) -> None:
        action = self.step.actions[0] if self.step.actions else None
        before, elapsed = self.step.state.stage, float(event.body["elapsed"])
        if event.body["kind"] == "control":
            observation = decode_observation(event.body["observation"])
            self.step = step(self.step.state, observation, elapsed, action)
            self.expected = self._entries(before, action)
            return
        if action is None or event.body["answers"] != action_digest(action):
            raise mismatch(self.run_id, event, None)
        observation = self._answer(action, event)
        self.step = step(self.step.state, observation, elapsed, action)
        self.expected = self._entries(before, None)

    def _answer(self, action: Action, event: RunEvent) -> Observation:
        if event.body["kind"] == "io":
            return decode_observation(event.body["observation"])
        observation = compute(action)
        if digest(observation) != event.body["digest"]:
            raise mismatch(self.run_id, event, None)
        return observation

    def position(self) -> Position:
        running = self.step.actions[0] if self.step.actions and not self.expected else None
        return Position(self.request, self.tool_version, self.step, running, tuple(self.expected))


def mismatch(run_id: str, event: RunEvent, wanted: Entry | None) -> WorkFailed:
    """The record and today's code disagree."""
    instead = f"; this version would have recorded {wanted.kind}" if wanted else ""
    return WorkFailed(
        f"Replaying run {run_id} differs from its record at entry {event.sequence} ({event.kind}){instead}.",
        fix=f"See what changed with 'citewell runs diff {run_id}', or replay with --tolerant.",
    )


def fold(events: Sequence[RunEvent]) -> Position:
    """Where a log leaves off, with every entry checked on the way."""
    playback = Playback(events[0].run_id, events[0])
    for event in events[1:]:
        playback.feed(event)
    return playback.position()


def closing_entries(run_id: str, position: Position, control: Observation) -> list[Entry]:
    """What ends a run that nobody executes any more."""
    state = position.step.state
    taken = step(state, control, state.elapsed, position.running)
    entries = entries_after(run_id, taken, state.stage, position.running, position.tool_version)
    return [*position.unrecorded, control_entry(control, state.elapsed), *entries]


def replay(events: Sequence[RunEvent]) -> RunResult:
    """The result of a finished run, made again from its recorded observations alone."""
    position = fold(events)
    if position.tool_version != __version__:
        raise BadInput(
            f"The run was recorded by Citewell {position.tool_version}; this is {__version__}.",
            fix="Replay with --tolerant to run today's code on the recorded observations.",
        )
    if not position.is_over or position.unrecorded:
        raise BadInput(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
    return result_of(events[0].run_id, position.step.state, position.tool_version)


def replay_tolerant(events: Sequence[RunEvent]) -> tuple[RunResult, tuple[str, ...]]:
    """Today's code on the recorded observations: the result it comes to, and where it went another way."""
    run_id = events[0].run_id
    playback = Playback(run_id, events[0])
    recorded, times, notes = _recorded_observations(events), _recorded_times(events), list[str]()
    taken = playback.step
    while not taken.state.is_over:
        action = taken.actions[0]
        observation = compute(action) if kind_of(action) == "compute" else _stand_in(run_id, action, recorded, notes)
        elapsed = times.pop(0) if times else taken.state.elapsed
        taken = step(taken.state, observation, elapsed, action)
    return result_of(run_id, taken.state, playback.tool_version), tuple(notes)


def _stand_in(run_id: str, action: Action, recorded: dict[str, list[RunEvent]], notes: list[str]) -> Observation:
    """The recorded observation of this kind that is next in line, whether or not it answers this very action."""
    name = type(action).__name__
    waiting = recorded.get(name, [])
    if not waiting:
        raise WorkFailed(
            f"Today's code asks for {name}, which run {run_id} never recorded.",
            fix="Ask the question again with 'citewell research'.",
        )
    event = waiting.pop(0)
    if event.body["answers"] != action_digest(action):
        notes.append(f"entry {event.sequence}: today's {name} differs from the recorded one")
    return decode_observation(event.body["observation"])


def _recorded_times(events: Sequence[RunEvent]) -> list[float]:
    observed = [event for event in events if event.kind == "observation_recorded" and event.body["kind"] != "control"]
    return [float(event.body["elapsed"]) for event in observed]


def _recorded_observations(events: Sequence[RunEvent]) -> dict[str, list[RunEvent]]:
    """What was seen of the outside, by the kind of action that asked for it."""
    found: dict[str, list[RunEvent]] = {}
    asked: dict[str, str] = {}
    for event in events:
        if event.kind == "action_intended":
            asked[event.body["digest"]] = event.body["action"]
        elif event.kind == "observation_recorded" and event.body["kind"] == "io":
            found.setdefault(asked.get(event.body["answers"], ""), []).append(event)
    return found
