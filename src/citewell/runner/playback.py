"""Playing a log back: the same machine, fed with what was recorded instead of the world. Pure.

Everything a log holds beside observations follows from them (`entries_after`), so folding a log checks it entry by
entry: the first one that today's code would not have written is a mismatch. What the log still lacks at its end is
what a resumed run puts on record first. Observations of actions that ran at the same time stand in the log in the order
in which they were seen; each says by digest which action it answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from citewell.domain.errors import Conflict, WorkFailed
from citewell.domain.events import (
    ActionAbandoned,
    ActionIntended,
    DecisionMade,
    Entry,
    ObservationRecorded,
    RunEvent,
    RunFinished,
    RunStarted,
    StageEntered,
    WarningRaised,
)
from citewell.domain.runs import Control, RunRequest, RunResult
from citewell.recording.log import LOG_SCHEMA, READABLE_SCHEMAS, canonical_json
from citewell.runner.actions import (
    CONTROL_OBSERVATIONS,
    Action,
    ActionFailed,
    Observation,
    action_digest,
    decode_observation,
    digest,
    encode_observation,
    kind_of,
    stage_of,
)
from citewell.runner.compute import compute
from citewell.runner.machine import Machine, Step
from citewell.runner.result import result_of
from citewell.runner.state import RunState
from citewell.version import __version__

# Raised when a log made by the version before can no longer be gone on with.
RESUME_FORMAT = 3
# Entries that say when a run was executed and what was shown of it, not what it did.
_ASIDE = (
    *("run_interrupted", "run_resumed", "sentence_shown", "sentence_retracted", "display_updated"),
    *("trace_saved", "trace_failed"),
)


def opening_entry(request: RunRequest, tool_version: str = __version__) -> Entry:
    """The first entry of every log: all a run depends on beside the corpus."""
    return Entry.of(RunStarted(LOG_SCHEMA, tool_version, request, RESUME_FORMAT))


def observation_entry(action: Action, observation: Observation, elapsed: float) -> Entry:
    """What was seen: in full where it came from outside, as a digest where it can be computed again."""
    answers, at = action_digest(action), round(elapsed, 6)
    if kind_of(action) == "compute" and not isinstance(observation, ActionFailed):
        return Entry.of(ObservationRecorded("compute", at, answers, digest=digest(observation)))
    return Entry.of(ObservationRecorded("io", at, answers, observation=encode_observation(observation)))


def control_entry(observation: Observation, elapsed: float) -> Entry:
    return Entry.of(ObservationRecorded("control", round(elapsed, 6), observation=encode_observation(observation)))


def entries_after(
    run_id: str, before: RunState | None, taken: Step, answered: Action | None, tool_version: str
) -> list[Entry]:
    """Everything that goes on record because of a step: decisions, warnings, stages, what begins, what is let go of."""
    state = taken.state
    entries = [Entry.of(DecisionMade(decision)) for decision in taken.decisions]
    known = before.warnings if before else ()
    entries += [Entry.of(WarningRaised(code)) for code in dict.fromkeys(state.warnings) if code not in known]
    if before is None or state.stage != before.stage:
        entries.append(Entry.of(StageEntered(state.stage)))
    running = before.open if before else ()
    for action in running:
        if action is not answered and not _is_in(action, state.open):
            entries.append(Entry.of(ActionAbandoned(type(action).__name__, stage_of(action), action_digest(action))))
    entries += [_intent(action) for action in state.open if not _is_in(action, running)]
    if state.is_over:
        entries.append(finish_entry(result_of(run_id, state, tool_version)))
    return entries


def _is_in(action: Action, actions: Sequence[Action]) -> bool:
    return any(action is other for other in actions)


def _intent(action: Action) -> Entry:
    kind = kind_of(action)
    body = msgspec.to_builtins(action) if kind == "io" else None
    return Entry.of(ActionIntended(type(action).__name__, kind, stage_of(action), action_digest(action), body))


def finish_entry(result: RunResult) -> Entry:
    """The end of a run, with its whole result."""
    return Entry.of(RunFinished(result.status, result.stop_reason, digest(result), result))


@dataclass(frozen=True, slots=True)
class Position:
    """Where a log leaves off."""

    request: RunRequest
    tool_version: str
    step: Step
    unrecorded: tuple[Entry, ...]

    @property
    def is_over(self) -> bool:
        return self.step.state.is_over


class Playback:
    """Folds the events of one log, one by one."""

    def __init__(self, run_id: str, first: RunEvent, machine: Machine | None = None) -> None:
        self.run_id = run_id
        started = read_start(first)
        self.request = started.request
        self.tool_version = started.tool_version
        self._machine = machine or Machine()
        self.step = self._machine.begin(self.request)
        self.expected = deque(entries_after(run_id, None, self.step, None, self.tool_version))

    def feed(self, event: RunEvent) -> None:
        """Take the next entry of the log, which must be the one that follows."""
        if event.kind in _ASIDE:
            return
        if event.kind == "observation_recorded" and not self.expected:
            self._observe(event)
            return
        wanted = self.expected.popleft() if self.expected else None
        if wanted is None or wanted.kind != event.kind or canonical_json(wanted.body) != canonical_json(event.body):
            raise mismatch(self.run_id, event, wanted)

    def _observe(self, event: RunEvent) -> None:
        seen = event.event
        assert isinstance(seen, ObservationRecorded)
        before = self.step.state
        action = None if seen.kind == "control" else self._answered(event, seen)
        observation = self._observation(event, seen, action)
        self.step = self._machine.step(before, observation, seen.elapsed, action)
        self.expected = deque(entries_after(self.run_id, before, self.step, action, self.tool_version))

    def _answered(self, event: RunEvent, seen: ObservationRecorded) -> Action:
        for action in self.step.state.open:
            if action_digest(action) == seen.answers:
                return action
        raise mismatch(self.run_id, event, None)

    def _observation(self, event: RunEvent, seen: ObservationRecorded, action: Action | None) -> Observation:
        if seen.observation is not None:
            return decode_observation(seen.observation)
        if action is None:
            raise mismatch(self.run_id, event, None)
        observation = compute(action)
        if digest(observation) != seen.digest:
            raise mismatch(self.run_id, event, None)
        return observation

    def position(self) -> Position:
        return Position(self.request, self.tool_version, self.step, tuple(self.expected))


def read_start(first: RunEvent) -> RunStarted:
    """What a log begins with; refused where its form is none that this version reads."""
    form = first.body.get("schema")
    if first.kind != "run_started" or form not in READABLE_SCHEMAS:
        raise Conflict(
            f"The record of run {first.run_id} has the form {form!r}, which this version cannot read.",
            fix="Use the version of Citewell that recorded it, or read its run.md.",
        )
    started = first.event
    assert isinstance(started, RunStarted)
    return started


def mismatch(run_id: str, event: RunEvent, wanted: Entry | None) -> WorkFailed:
    """The record and today's code disagree."""
    instead = f"; this version would have recorded {wanted.kind}" if wanted else ""
    return WorkFailed(
        f"Replaying run {run_id} differs from its record at entry {event.sequence} ({event.kind}){instead}.",
        fix=f"See what changed with 'citewell runs diff {run_id}', or replay with --tolerant.",
    )


def fold(events: Sequence[RunEvent], machine: Machine | None = None) -> Position:
    """Where a log leaves off, with every entry checked on the way."""
    playback = Playback(events[0].run_id, events[0], machine)
    for event in events[1:]:
        playback.feed(event)
    return playback.position()


def check_resumable(events: Sequence[RunEvent]) -> None:
    """Refuse to go on with a run whose log says that this version cannot."""
    started = read_start(events[0])
    if started.tool_version != __version__ and started.resume_format != RESUME_FORMAT:
        raise Conflict(
            f"Run {events[0].run_id} was begun by Citewell {started.tool_version}, "
            f"whose unfinished runs {__version__} cannot go on with.",
            fix="Ask the question again; what the run gathered stays on record.",
        )


def unanswered(events: Sequence[RunEvent], controls: Sequence[Control]) -> list[Control]:
    """What was asked of a run and never got on its record."""
    seen = {event.body["observation"]["type"] for event in events if event.body.get("kind") == "control"}
    return [control for control in dict.fromkeys(controls) if CONTROL_OBSERVATIONS[control].__name__ not in seen]


def closing_entries(
    run_id: str, position: Position, control: Observation, machine: Machine | None = None
) -> tuple[list[Entry], RunState]:
    """What ends a run that nobody executes any more, and the state it ends in."""
    state = position.step.state
    taken = (machine or Machine()).step(state, control, state.elapsed, None)
    entries = entries_after(run_id, state, taken, None, position.tool_version)
    return [*position.unrecorded, control_entry(control, state.elapsed), *entries], taken.state


def replay(events: Sequence[RunEvent], machine: Machine | None = None) -> RunResult:
    """The result of a finished run, made again from its recorded observations alone."""
    versions = _versions(events)
    if other := sorted(versions - {__version__}):
        raise Conflict(
            f"The run was recorded by Citewell {', '.join(other)}; this is {__version__}, so an exact replay would "
            "compare two programs.",
            fix="Replay with --tolerant to run today's code on the recorded observations.",
        )
    position = fold(events, machine)
    if not position.is_over or position.unrecorded:
        raise Conflict(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
    return result_of(events[0].run_id, position.step.state, position.tool_version)


def _versions(events: Sequence[RunEvent]) -> set[str]:
    """Every version that had a hand in a run."""
    resumed = {str(event.body.get("tool_version") or "") for event in events if event.kind == "run_resumed"}
    return {read_start(events[0]).tool_version, *resumed} - {""}


def replay_tolerant(events: Sequence[RunEvent], machine: Machine | None = None) -> tuple[RunResult, tuple[str, ...]]:
    """Today's code on the recorded observations: the result it comes to, and where it went another way."""
    run_id = events[0].run_id
    machine = machine or Machine()
    playback = Playback(run_id, events[0], machine)
    recorded = _Recorded(run_id, events)
    taken = playback.step
    while not taken.state.is_over:
        action, observation = recorded.next_for(taken.state)
        taken = machine.step(taken.state, observation, recorded.elapsed(taken.state), action)
    return result_of(run_id, taken.state, playback.tool_version), tuple(recorded.notes)


class _Recorded:
    """What a run saw, handed out again to whichever action of today's code asks for that kind of thing."""

    def __init__(self, run_id: str, events: Sequence[RunEvent]) -> None:
        self.notes: list[str] = []
        self._run_id = run_id
        self._by_action: dict[str, deque[RunEvent]] = {}
        asked: dict[str, str] = {}
        observed: list[RunEvent] = []
        self._controls: deque[RunEvent] = deque()
        for event in events:
            if event.kind == "action_intended":
                asked[event.body["digest"]] = event.body["action"]
            elif event.kind == "observation_recorded" and event.body["kind"] == "control":
                self._controls.append(event)
            elif event.kind == "observation_recorded":
                observed.append(event)
                if event.body["kind"] == "io":
                    self._by_action.setdefault(asked.get(event.body["answers"], ""), deque()).append(event)
        self._times = iter([float(event.body["elapsed"]) for event in observed])

    def elapsed(self, state: RunState) -> float:
        return next(self._times, state.elapsed)

    def next_for(self, state: RunState) -> tuple[Action | None, Observation]:
        """The recorded observation that is next in line for what is under way; then what a person or the clock said."""
        for action in state.open:
            if kind_of(action) == "compute":
                return action, compute(action)
        for action, waiting in self._candidates(state):
            event = waiting.popleft()
            if event.body["answers"] != action_digest(action):
                name = type(action).__name__
                self.notes.append(f"entry {event.sequence}: today's {name} differs from the recorded one")
            return action, decode_observation(event.body["observation"])
        if self._controls:
            return None, decode_observation(self._controls.popleft().body["observation"])
        names = ", ".join(type(action).__name__ for action in state.open)
        raise WorkFailed(
            f"Today's code asks for {names or 'nothing'}, which run {self._run_id} never recorded.",
            fix="Ask the question again with 'citewell research'.",
        )

    def _candidates(self, state: RunState) -> Iterator[tuple[Action, deque[Any]]]:
        """The exact answers first, then whatever is of the same kind."""
        pairs = [(action, self._by_action.get(type(action).__name__)) for action in state.open]
        for action, waiting in pairs:
            if waiting and waiting[0].body["answers"] == action_digest(action):
                yield action, waiting
        yield from ((action, waiting) for action, waiting in pairs if waiting)
