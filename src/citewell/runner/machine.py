"""The kernel: `step(state, observation) -> Step`. Pure: no I/O, no clock, no awaiting.

It does what holds for every profile (control observations, time, steps, failures) and leaves the order of things to
the profile's playbook.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from citewell.domain.runs import Failure, RunProfile, RunRequest, Stage, StopReason
from citewell.runner.actions import (
    Action,
    ActionFailed,
    CancelRequested,
    DeadlinePassed,
    FinishRequested,
    Observation,
    stage_of,
)
from citewell.runner.playbooks import local
from citewell.runner.playbooks.plays import Decision, Play
from citewell.runner.profiles import MAX_STEPS, PROFILES
from citewell.runner.state import RunState

PLAYBOOKS: dict[RunProfile, Any] = {"local": local, "deep": local}


@dataclass(frozen=True, slots=True)
class Step:
    """The state after an observation, what to do next, and what was decided on the way."""

    state: RunState
    actions: tuple[Action, ...] = ()
    decisions: tuple[Decision, ...] = field(default=())


def begin(request: RunRequest) -> Step:
    """The first step of a run."""
    budget = PROFILES[request.profile]
    if request.deadline_seconds is not None:
        budget = replace(budget, seconds=request.deadline_seconds)
    if request.max_citations is not None:
        budget = replace(budget, citations=request.max_citations)
    state = RunState(request=request, budget=budget)
    return _taken(state, PLAYBOOKS[request.profile].opening(state))


def step(state: RunState, observation: Observation, elapsed: float, pending: Action | None) -> Step:
    """What follows from an observation. `pending` is the action it answers, or that still runs during a control."""
    if state.is_over:
        return Step(state)
    state = _timed(state, elapsed, pending)
    match observation:
        case CancelRequested():
            return _stopped(state, "cancelled", "cancelled on request")
        case FinishRequested():
            return _hurried(state, None, pending, "asked to finish with what is there")
        case DeadlinePassed():
            return _late(replace(state, deadlines=state.deadlines + 1), pending)
        case ActionFailed(code=code, message=message) if pending is not None:
            failure = Failure(stage_of(pending), code, message)
            return _taken(state, PLAYBOOKS[state.request.profile].failed(state, pending, failure))
    state = replace(state, steps=state.steps + 1)
    if state.steps > MAX_STEPS:
        return _stopped(state, "max_steps_reached", f"more than {MAX_STEPS} steps")
    return _taken(state, PLAYBOOKS[state.request.profile].observed(state, observation, pending))


def _timed(state: RunState, elapsed: float, pending: Action | None) -> RunState:
    if pending is None or elapsed <= state.elapsed:
        return replace(state, elapsed=max(state.elapsed, elapsed))
    stage: Stage = stage_of(pending)
    spent = round(state.stage_seconds.get(stage, 0.0) + elapsed - state.elapsed, 6)
    return replace(state, elapsed=elapsed, stage_seconds={**state.stage_seconds, stage: spent})


def _taken(state: RunState, play: Play) -> Step:
    """A playbook's answer as a step: stages follow from the actions chosen."""
    after = play.state
    if play.actions:
        after = replace(after, stage=stage_of(play.actions[0]))
    return Step(after, play.actions, play.decisions)


def _stopped(state: RunState, reason: StopReason, why: str) -> Step:
    return Step(replace(state, stop_reason=reason), (), (Decision("stopped", {"stop_reason": reason, "why": why}),))


def _late(state: RunState, pending: Action | None) -> Step:
    """Three deadlines: gathering ends, a model stops writing, everything stops."""
    if state.deadlines == 1 and pending is not None and stage_of(pending) in _ANSWERING:
        return Step(state, (pending,))
    if state.deadlines == 1:
        return _hurried(state, "timeout_exceeded", pending, "the time for gathering is over")
    if state.deadlines == 2:
        decision = Decision("writing_ended", {"why": "the time for writing is over"})
        play = PLAYBOOKS[state.request.profile].writing_over(state, pending)
        return _taken(play.state, play.after(decision))
    return _stopped(state, "timeout_exceeded", "the time for the answer is over too")


_ANSWERING: tuple[Stage, ...] = ("prepare_synthesis", "synthesize", "verify", "persist_trace")


def _hurried(state: RunState, reason: StopReason | None, pending: Action | None, why: str) -> Step:
    """Gathering ends: what is pending is let go of, and the answer is made from what is there."""
    if state.finish_requested:
        return Step(state, (pending,) if pending is not None else ())
    hurried = replace(
        state,
        finish_requested=True,
        finishing=reason,
        warnings=(*state.warnings, "incomplete"),
    )
    play = PLAYBOOKS[state.request.profile].hurried(hurried, pending)
    decision = Decision("gathering_ended", {"why": why})
    return _taken(hurried, play.after(decision))
