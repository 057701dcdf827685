"""The kernel: `step(state, observation) -> Step`. Pure: no I/O, no clock, no awaiting.

It does what holds for every profile (control observations, time, steps, failures) and leaves the order of things to
the profile's playbook. `state.open` names every action that is under way after a step: a playbook returns the whole
set, so several may run at once, and whatever it leaves out is let go of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from citewell.domain.decisions import Decision, GatheringEnded, RunStopped, StageEnded, WritingEnded
from citewell.domain.runs import Failure, RunProfile, RunRequest, Stage, StageGroup, StopReason
from citewell.runner.actions import (
    STAGE_TIMEOUT,
    Action,
    ActionFailed,
    CancelRequested,
    DeadlinePassed,
    FinishRequested,
    Observation,
    group_of,
    stage_of,
)
from citewell.runner.playbooks import local, note, report, web
from citewell.runner.playbooks.transitions import Transition
from citewell.runner.profiles import FINISH_GRACE_SECONDS, PROFILES
from citewell.runner.result import flow_of
from citewell.runner.state import Deadlines, Phase, RunState


class Playbook(Protocol):
    """Which actions follow which observation, for one kind of run."""

    def opening(self, state: RunState) -> Transition: ...

    def observed(self, state: RunState, observation: Observation, action: Action) -> Transition:
        """What follows from what was seen; `action` is the one it answers, and is no longer open."""
        ...

    def end_gathering(self, state: RunState) -> Transition:
        """Go to the answer with what is there."""
        ...

    def end_writing(self, state: RunState) -> Transition:
        """A model that still writes is let go of."""
        ...

    def failed(self, state: RunState, action: Action, failure: Failure) -> Transition:
        """What a failed action means; it is no longer open."""
        ...


PLAYBOOKS: Mapping[RunProfile, Playbook] = {"local": local, "chat": web, "deep": web, "note": note, "report": report}


@dataclass(frozen=True, slots=True)
class Step:
    """The state after an observation, and what was decided on the way."""

    state: RunState
    decisions: tuple[Decision, ...] = field(default=())


class Machine:
    """The kernel over a set of playbooks."""

    def __init__(self, playbooks: Mapping[RunProfile, Playbook] = PLAYBOOKS) -> None:
        self._playbooks = playbooks

    def begin(self, request: RunRequest) -> Step:
        """The first step of a run."""
        budget = PROFILES[request.profile]
        if request.deadline_seconds is not None:
            budget = replace(budget, seconds=request.deadline_seconds)
        if request.max_citations is not None:
            budget = replace(budget, citations=request.max_citations)
        state = RunState(request=request, budget=budget, deadlines=Deadlines.within(budget.seconds))
        return _taken(self._playbook(state).opening(state))

    def step(self, state: RunState, observation: Observation, elapsed: float, answered: Action | None) -> Step:
        """What follows from an observation; `answered` is the action it answers, None for a control."""
        if state.is_over:
            return Step(state)
        state = _timed(state, elapsed)
        match observation:
            case CancelRequested():
                return _stopped(state, "cancelled", "cancelled on request")
            case FinishRequested():
                return self._finish_now(state)
            case DeadlinePassed():
                return self._late(state, observation)
        assert answered is not None
        state = replace(state, open=tuple(action for action in state.open if action is not answered))
        if isinstance(observation, ActionFailed):
            failure = Failure(stage_of(answered), observation.code, observation.message)
            return _taken(self._playbook(state).failed(state, answered, failure))
        state = replace(state, steps=state.steps + 1)
        if state.steps > state.budget.steps:
            return _stopped(state, "max_steps_reached", f"more than {state.budget.steps} steps")
        return _taken(self._playbook(state).observed(state, observation, answered))

    def _playbook(self, state: RunState) -> Playbook:
        return self._playbooks[state.request.profile]

    def _finish_now(self, state: RunState) -> Step:
        """A person wants the answer now: no model is waited for, and a search that runs gets a moment to end."""
        if state.is_hurried:
            return Step(state)
        soon = min(state.elapsed + FINISH_GRACE_SECONDS, state.deadlines.gathering)
        hurried = replace(
            _incomplete(state),
            is_hurried=True,
            finish_requested=True,
            deadlines=replace(state.deadlines, gathering=soon),
        )
        taken = self._playbook(state).end_gathering(hurried)
        return _taken(taken.after(GatheringEnded("asked to finish with what is there")))

    def _late(self, state: RunState, passed: DeadlinePassed) -> Step:
        """Three deadlines of the run (gathering ends, a model stops writing, everything stops), and one a stage."""
        match passed.scope:
            case "gathering":
                return self._gathering_over(_over(state, "gathering"))
            case "writing":
                taken = self._playbook(state).end_writing(_over(state, "writing"))
                return _taken(taken.after(WritingEnded("the time for writing is over")))
            case "everything":
                return _stopped(state, "timeout_exceeded", "the time for the answer is over too")
            case group:
                return self._stage_over(state, group)

    def _gathering_over(self, state: RunState) -> Step:
        if state.open and all(stage_of(action) in _ANSWERING for action in state.open):
            return Step(state)
        reason: StopReason | None = state.finishing if state.is_hurried else "timeout_exceeded"
        late = replace(_incomplete(state), finish_requested=True, finishing=reason)
        taken = self._playbook(state).end_gathering(late)
        return _taken(taken.after(GatheringEnded("the time for gathering is over")))

    def _stage_over(self, state: RunState, group: StageGroup) -> Step:
        """A group of stages took its time: each action still under way in it fails, one after the other."""
        limit = getattr(state.budget.stages, group)
        state = replace(state, stages_over=(*state.stages_over, group))
        step = Step(state, (StageEnded(group, limit),))
        while not step.state.is_over:
            late = next((action for action in step.state.open if _is_late(action, group, state.open)), None)
            if late is None:
                return step
            after = replace(step.state, open=tuple(action for action in step.state.open if action is not late))
            failure = Failure(stage_of(late), STAGE_TIMEOUT, f"{group} took longer than {limit:g} s")
            taken = _taken(self._playbook(state).failed(after, late, failure))
            step = Step(taken.state, (*step.decisions, *taken.decisions))
        return step


def _is_late(action: Action, group: StageGroup, were_open: tuple[Action, ...]) -> bool:
    """Whether an action was under way when the time of its group ended; what a failure has led to since is not late."""
    return group_of(action) == group and any(action is other for other in were_open)


_ANSWERING: tuple[Stage, ...] = ("prepare_synthesis", "synthesize", "verify", "persist_trace")


def _timed(state: RunState, elapsed: float) -> RunState:
    """The time since the last step belongs to the stage the run was in, and to every group that had actions open."""
    if elapsed <= state.elapsed:
        return state
    spent = round(state.stage_seconds.get(state.stage, 0.0) + elapsed - state.elapsed, 6)
    groups = {group: stage_group_spent(state, group, elapsed) for group in _open_groups(state)}
    return replace(
        state,
        elapsed=elapsed,
        stage_seconds={**state.stage_seconds, state.stage: spent},
        group_seconds={**state.group_seconds, **groups},
    )


def _taken(taken: Transition) -> Step:
    """A playbook's answer as a step: stages follow from the actions chosen."""
    after = taken.state
    if after.is_over:
        return _checked_flow(Step(replace(after, open=()), taken.decisions))
    stage = stage_of(taken.actions[0]) if taken.actions else after.stage
    return Step(replace(after, open=taken.actions, stage=stage), taken.decisions)


def _checked_flow(step: Step) -> Step:
    """Nothing is cited that was not shown, nothing shown that was not found: a run that breaks this has failed."""
    flow = flow_of(step.state)
    if flow.holds or step.state.stop_reason == "verification_failed":
        return step
    failure = Failure("verify", "evidence_flow", f"cited or shown without having been found: {', '.join(flow.strays)}")
    failed = replace(step.state, stop_reason="verification_failed", failure=failure)
    return Step(failed, (*step.decisions, RunStopped("verification_failed", failure.message)))


def _over(state: RunState, phase: Phase) -> RunState:
    return replace(state, phases_over=(*state.phases_over, phase))


def _incomplete(state: RunState) -> RunState:
    return state if "incomplete" in state.warnings else replace(state, warnings=(*state.warnings, "incomplete"))


def _stopped(state: RunState, reason: StopReason, why: str) -> Step:
    return Step(replace(state, stop_reason=reason, open=()), (RunStopped(reason, why),))


def stage_group_spent(state: RunState, group: StageGroup, elapsed: float) -> float:
    """Seconds in which actions of a group were open, with the time since the last step."""
    running = elapsed - state.elapsed if group in _open_groups(state) else 0.0
    return state.group_seconds.get(group, 0.0) + running


def _open_groups(state: RunState) -> tuple[StageGroup, ...]:
    return tuple(dict.fromkeys(group_of(action) for action in state.open))
