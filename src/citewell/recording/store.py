"""`runs.db`: the runs and their logs, in a file of its own so that adding documents never blocks a run."""

from __future__ import annotations

from pathlib import Path

from citewell.database.sqlite import Database, load_schema
from citewell.database.sqlite_sessions import SqliteSessions
from citewell.domain.ports import Clock
from citewell.recording.owners import is_alive, is_here, seconds_between
from citewell.recording.run_tables import RunTables

APPLICATION_ID = 0x43575231  # "CWR1"


class SqliteRuns(RunTables):
    """The store of runs in one SQLite file (`domain/run_store.py`)."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.database = Database(path, load_schema("runs", APPLICATION_ID, "citewell.recording.migrations"))
        super().__init__(SqliteSessions(self.database), clock)

    @property
    def place(self) -> str:
        return self.database.path.name

    def shrink(self) -> None:
        """Let nothing of what was deleted stay readable in the write-ahead log."""
        self.database.fold_log()

    def _lease(self, until: str | None) -> str | None:
        """The end of a lease by the clock on the wall, and by the one of this machine that nobody can set."""
        if until is None:
            return None
        return f"{until} {self._clock.monotonic() + seconds_between(self._clock.now(), until):.3f}"

    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        """Whether somebody executes a run: its process lives and has renewed its lease in time.

        A clock that is set while a run goes on takes nothing from a process of this machine.
        """
        if owner is None or not is_alive(str(owner)):
            return False
        if lease_until is None:
            return True
        until, _, steady = str(lease_until).partition(" ")
        return float(steady) > self._clock.monotonic() if steady and is_here(str(owner)) else until > now
