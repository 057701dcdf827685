"""`runs.db`: the runs and their logs, in a file of its own so that adding documents never blocks a run."""

from __future__ import annotations

from pathlib import Path

from citewell.database.sqlite import Database, fetch_value, load_schema

APPLICATION_ID = 0x43575231  # "CWR1"


class RunStore:
    """The store of runs."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, load_schema("runs", APPLICATION_ID, "citewell.recording.migrations"))

    def count(self) -> int:
        return int(fetch_value(self.database.reader(), "SELECT count(*) FROM runs"))

    def close(self) -> None:
        self.database.close()
