"""The log of a run while it is executed: in the store, and in memory once the disk is full."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.errors import StoreFull
from citewell.domain.events import Entry, RunEvent
from citewell.domain.run_store import RunStore
from citewell.recording.log import MemoryLog


class StoredLog:
    """The log of one run in the store, written under the token of whoever executes it."""

    def __init__(self, store: RunStore, run_id: str, token: str) -> None:
        self.run_id = run_id
        self._store = store
        self._token = token

    def append(self, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        return self._store.append(self.run_id, entries, at, self._token)

    def events(self, after: int = -1, limit: int | None = None) -> list[RunEvent]:
        return self._store.events(self.run_id, after, limit)


class FailsafeLog:
    """A stored log that goes on in memory when the disk is full, so that the person still gets the answer."""

    def __init__(self, log: StoredLog) -> None:
        self.run_id = log.run_id
        self._log = log
        self._memory: MemoryLog | None = None

    @property
    def failed(self) -> bool:
        return self._memory is not None

    def append(self, entries: Sequence[Entry], at: str) -> list[RunEvent]:
        if self._memory is None:
            try:
                return self._log.append(entries, at)
            except StoreFull:
                self._memory = MemoryLog(self.run_id, self._log.events())
        return self._memory.append(entries, at)

    def events(self, after: int = -1, limit: int | None = None) -> list[RunEvent]:
        return (self._memory or self._log).events(after, limit)

    def check(self) -> None:
        """Refuse to write a trace of a record that is not on disk."""
        if self.failed:
            raise StoreFull("The record could not be written.")
