"""What a playbook answers: the next state, the actions under way from now on, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass, replace

from citewell.domain.decisions import Decision
from citewell.runner.actions import Action
from citewell.runner.state import RunState


@dataclass(frozen=True, slots=True)
class Transition:
    """One move of a playbook. `actions` is everything that is to be under way: what is left out is let go of."""

    state: RunState
    actions: tuple[Action, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def after(self, *decisions: Decision) -> Transition:
        """The same move, told after what was decided first."""
        return replace(self, decisions=(*decisions, *self.decisions))


def waiting(state: RunState, *decisions: Decision) -> Transition:
    """Nothing new: what is under way goes on."""
    return Transition(state, state.open, decisions)
