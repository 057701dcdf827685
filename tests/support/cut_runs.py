"""A stored run cut short, as if its process had died behind one of its entries: all that tests know of the store."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from citewell.store.sqlite import connect, fetch_rows


class StoredRun:
    """The record of a run that has ended, to be cut again and again."""

    def __init__(self, data: Path, run_id: str) -> None:
        self._data = data
        self._run_id = run_id
        with closing(connect(data / "runs.db")) as store:
            self._entries = fetch_rows(store, "SELECT * FROM events WHERE run_id = ? ORDER BY sequence", (run_id,))

    @property
    def entries(self) -> int:
        return len(self._entries)

    def cut(self, entries: int) -> None:
        """Leave only the first entries on record, and nothing that the end of the run has left."""
        with closing(connect(self._data / "runs.db")) as store, store:
            for table in ("events", "citations", "controls", "research_runs"):
                store.execute(f"DELETE FROM {table} WHERE run_id = ?", (self._run_id,))
            places = ", ".join("?" * len(self._entries[0]))
            store.executemany(f"INSERT INTO events VALUES ({places})", self._entries[:entries])
            left = "status = 'interrupted', stop_reason = NULL, owner = NULL, lease_until = NULL"
            store.execute(f"UPDATE runs SET {left} WHERE run_id = ?", (self._run_id,))
        shutil.rmtree(self._data / "research-runs" / self._run_id, ignore_errors=True)
