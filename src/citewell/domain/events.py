"""The one event vocabulary: whatever happens in a run is one of these, and every rendering is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

EventKind = Literal[
    "run_started",
    "stage_entered",
    "action_intended",
    "observation_recorded",
    "decision_made",
    "warning_raised",
    "display_updated",
    "run_interrupted",
    "run_resumed",
    "run_finished",
]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One entry of a run's log. `digest` chains it to the entry before, so that a changed byte shows."""

    run_id: str
    sequence: int
    at: str
    kind: EventKind
    body: dict[str, Any]
    digest: str
