"""`runs.db`: the runs and their logs, in a file of its own so that adding documents never blocks a run."""

from __future__ import annotations

from pathlib import Path

from citewell.database.sqlite import Database, load_schema
from citewell.database.sqlite_sessions import SqliteSessions
from citewell.domain.ports import Clock
from citewell.recording.owners import is_alive
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

    def _is_held(self, owner: object, lease_until: object, now: str) -> bool:
        """Whether somebody executes a run: its process lives and has renewed its lease in time."""
        if owner is None or not is_alive(str(owner)):
            return False
        return lease_until is None or str(lease_until) > now
