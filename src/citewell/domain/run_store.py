"""The port of the store of runs: their logs, who executes them, and what is asked of them.

Whoever executes a run holds a lease on it under a token. A lease runs out unless it is renewed, and every entry is
appended under the token, so a process that was taken for dead and comes back can add nothing to a run that another one
has taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from citewell.domain.events import Entry, RunEvent
from citewell.domain.run_reports import RunList
from citewell.domain.runs import Control, RunStatus, RunSummary


@dataclass(frozen=True, slots=True)
class RunMark:
    """How far a run is: enough to tell whether there is anything new to read."""

    status: RunStatus
    last_sequence: int
    last_control: int


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Which runs are wanted: behind another, in some states, of a profile or surface, with words in the question."""

    behind: str | None = None
    statuses: tuple[RunStatus, ...] = ()
    profile: str | None = None
    surface: str | None = None
    words: str = ""


ANY_RUN = RunChoice()


class RunStore(Protocol):
    """Every method blocks until it is done; none is called on an event loop."""

    @property
    def place(self) -> str:
        """Where the runs are kept, in words for a person; no secret is in them."""
        ...

    def create(
        self, summary: RunSummary, opening: Entry, token: str | None = None, lease_until: str | None = None
    ) -> None:
        """A new run with the first entry of its log, executed by whoever holds the token, or by nobody yet.

        Conflict where there is a run of this id already.
        """
        ...

    def summary(self, run_id: str) -> RunSummary:
        """A run as it stands; one whose owner is gone is `interrupted`. NotFound where there is none."""
        ...

    def put_record(self, summary: RunSummary, events: Sequence[RunEvent]) -> None:
        """A run that ended elsewhere, with its whole log; Conflict where there is one of this id."""
        ...

    def latest(self, limit: int, choice: RunChoice = ANY_RUN) -> RunList: ...

    def count(self) -> int: ...

    def matching(self, beginning: str, limit: int) -> list[str]:
        """The ids that begin so, newest first, at most so many."""
        ...

    def acquire(self, run_id: str, token: str, lease_until: str) -> None:
        """Become the one that executes a run: Unavailable while another one does, BadInput once it has ended."""
        ...

    def renew(self, tokens: Sequence[str], lease_until: str) -> None:
        """Keep the leases held under these tokens."""
        ...

    def release(self, run_id: str, token: str, status: RunStatus, stop_reason: str | None, at: str) -> None:
        """Stop executing a run, whatever became of it; a token that no longer holds it changes nothing."""
        ...

    def claimable(self, limit: int) -> list[str]:
        """Runs that wait for somebody to execute them, oldest first: queued, or left by an owner that is gone."""
        ...

    def append(self, run_id: str, entries: Sequence[Entry], at: str, token: str) -> list[RunEvent]:
        """Put entries on record, all or none; LeaseLost where the token does not hold the run."""
        ...

    def events(self, run_id: str, after: int = -1, limit: int | None = None) -> list[RunEvent]: ...

    def checked_events(self, run_id: str) -> list[RunEvent]:
        """The whole log of a run, refused if anything in it was changed."""
        ...

    def marks(self, run_ids: Sequence[str]) -> Mapping[str, RunMark]:
        """How far these runs are; one that does not exist is left out."""
        ...

    def on_change(self, tell: Callable[[str | None], None]) -> Callable[[], None] | None:
        """Have somebody told of each run that changes (None: any may have), on a thread of the store.

        What is returned ends it. None where a store cannot tell and has to be asked (`marks`).
        """
        ...

    def request(self, run_id: str, control: Control, at: str) -> None:
        """Ask something of a run, whoever executes it."""
        ...

    def controls(self, run_id: str, after: int) -> list[tuple[int, Control]]:
        """What was asked of a run behind a number, each with its own."""
        ...

    def put_citations(self, run_id: str, texts: Sequence[tuple[str, str]]) -> None: ...

    def citations(self, run_id: str) -> list[tuple[str, str]]:
        """What a run cites: keys, each with the hash of the text."""
        ...

    def citing(self, keys: Sequence[str]) -> list[str]:
        """The runs that cite any of these documents."""
        ...

    def mentioning(self, keys: Sequence[str]) -> list[str]:
        """The runs whose record holds anything of these documents, cited or not."""
        ...

    def delete(self, run_ids: Sequence[str]) -> None:
        """Forget runs with their logs."""
        ...

    def shrink(self) -> None:
        """Let nothing of what was deleted stay readable."""
        ...

    def close(self) -> None: ...
