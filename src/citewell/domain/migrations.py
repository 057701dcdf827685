"""Moving runs from one store to another, as a value: what a `migrate` did, run by run where something is to be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What became of a run that is not simply there now, and why.
LeftBehind = Literal["unreadable", "executed", "different"]


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run that was not moved. `executed`: somebody executes it now; `different`: another one of this id is there."""

    run_id: str
    why: LeftBehind
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What was moved, and the proof: how many entries were compared by their digests on arrival.

    The source is left as it was. `extended` are runs that had gone on since they were last moved.
    """

    source: str
    target: str
    runs: int
    moved: int
    extended: int
    already_there: int
    left: tuple[LeftRun, ...]
    reports_moved: int
    reports_already_there: int
    entries_verified: int
    runs_in_target: int
    seconds: float

    @property
    def is_complete(self) -> bool:
        return not self.left
