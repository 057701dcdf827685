"""What a playbook answers: the next state, the next actions, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from citewell.runner.actions import Action
from citewell.runner.state import RunState


@dataclass(frozen=True, slots=True)
class Decision:
    """Something a reader of the log wants to know: what was decided, and from what."""

    name: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Play:
    """One move of a playbook."""

    state: RunState
    actions: tuple[Action, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def after(self, *decisions: Decision) -> Play:
        """The same move, told after what was decided first."""
        return replace(self, decisions=(*decisions, *self.decisions))
