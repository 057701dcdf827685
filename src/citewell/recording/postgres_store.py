"""Runs and their logs in PostgreSQL, for several machines at once.

Whether the owner of a run is gone is told by its lease alone. A process id says nothing about another machine, nor
about another container with the same host name, and a lease that a live process renews must never be taken from it.
Leases are told by the server's clock, so that machines whose clocks differ agree on when one has run out.
"""

from __future__ import annotations

from collections.abc import Callable

from citewell.database.postgres import PostgresSessions
from citewell.domain.ports import Clock
from citewell.recording.owners import moved
from citewell.recording.research_tables import ResearchTables
from citewell.recording.run_tables import RunTables

PACKAGE = "citewell.recording.postgres_migrations"
_CHANNEL = "citewell_runs"


class PostgresRuns(RunTables):
    """The store of runs in a database of PostgreSQL (`domain/run_store.py`)."""

    sessions: PostgresSessions

    def __init__(self, sessions: PostgresSessions, clock: Clock) -> None:
        super().__init__(sessions, clock)

    @property
    def place(self) -> str:
        return self.sessions.address.name

    def on_change(self, tell: Callable[[str | None], None]) -> Callable[[], None] | None:
        """The server tells of every change as it is committed."""
        return self.sessions.listen(_CHANNEL, tell)

    def shrink(self) -> None:
        """Write the tables anew: what was deleted is gone from their files.

        The server's own write-ahead log, its replicas and its backups are not in our hands.
        """
        self.sessions.outside_transaction("VACUUM (FULL) runs, events, controls, citations, research_runs")

    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        return owner is not None and lease_until is not None and str(lease_until) > now

    def _now(self) -> str:
        return moved(self._clock.now(), self.sessions.clock_skew)

    def _lease(self, until: str | None) -> str | None:
        return None if until is None else moved(until, self.sessions.clock_skew)


class PostgresResearchRuns(ResearchTables):
    """The reports in the database that also holds the runs (`domain/research_runs.py`)."""

    def __init__(self, sessions: PostgresSessions) -> None:
        super().__init__(sessions)
