"""One reader of the run store per process: it tells whoever watches or executes a run that something has changed.

A single thread asks how far all watched runs are, however many watch. It reads and never writes, so no writer holds it
up. Where the store tells of changes, it asks when it is told, and now and then, so that a lost word stalls nobody and a
lease that ran out is seen. Callbacks run on that thread and must be short.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from citewell.runs.store import RunMark

POLL_SECONDS = 0.1
# How often a store that tells of changes is asked all the same.
TOLD_POLL_SECONDS = 2.0

_UNSEEN = object()

OnChange = Callable[[RunMark | None], None]
# Asks the store to tell of changes (`RunStore.on_change`).
Listen = Callable[[Callable[[str | None], None]], Callable[[], None] | None]


class RunPoller:
    """Change notifications for runs that any process executes."""

    def __init__(
        self,
        marks: Callable[[Sequence[str]], Mapping[str, RunMark]],
        poll_seconds: float = POLL_SECONDS,
        listen: Listen | None = None,
    ) -> None:
        self._marks = marks
        self._listen = listen
        self._stop_listening: Callable[[], None] | None = None
        self._poll_seconds = poll_seconds
        self._condition = threading.Condition()
        self._watchers: dict[str, list[OnChange]] = {}
        # Runs that are in this process's memory only: nothing to ask the store about them.
        self._unstored: set[str] = set()
        # None: there is no such run any more.
        self._seen: dict[str, RunMark | None] = {}
        self._poked: set[str] = set()
        # Whether a watched run may have changed.
        self._is_told = False
        # Whether the last look failed: the next one is soon, since what was told then may not be told again.
        self._has_failed = False
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def watch(self, run_id: str, on_change: OnChange, *, is_stored: bool = True) -> Callable[[], None]:
        """Be told of every change from now on; returns how to leave."""
        with self._condition:
            self._watchers.setdefault(run_id, []).append(on_change)
            if not is_stored:
                self._unstored.add(run_id)
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._poll, name="citewell-runs", daemon=True)
                self._thread.start()
            # At once the first time: from then on the store may tell.
            self._is_told = self._is_told or self._listen is not None
            self._condition.notify()

        def leave() -> None:
            with self._condition:
                left = [other for other in self._watchers.get(run_id, []) if other is not on_change]
                if left:
                    self._watchers[run_id] = left
                    return
                self._watchers.pop(run_id, None)
                self._seen.pop(run_id, None)
                self._unstored.discard(run_id)

        return leave

    def poke(self, run_id: str) -> None:
        """This process has just changed a run: do not wait for the next look."""
        with self._condition:
            if run_id in self._watchers:
                self._poked.add(run_id)
                self._condition.notify()

    def look(self, run_id: str | None) -> None:
        """A run has changed in some process, or any may have: look now."""
        with self._condition:
            if run_id is None or run_id in self._watchers:
                self._is_told = True
                self._condition.notify()

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._watchers.clear()
            self._condition.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=2.0)
        if self._stop_listening is not None:
            self._stop_listening()

    def _poll(self) -> None:
        while True:
            with self._condition:
                if not self._poked and not self._is_told and not self._is_closed:
                    pause = min(POLL_SECONDS, self._poll_seconds) if self._has_failed else self._poll_seconds
                    self._condition.wait(pause if self._watchers else None)
                if self._is_closed:
                    return
                poked, self._poked, self._is_told = self._poked, set(), False
                stored = [run_id for run_id in self._watchers if run_id not in self._unstored]
            # Not before there is a run to ask about: a store is made when it is first opened.
            if stored and self._listen is not None:
                # One that cannot be opened is asked, as whoever watches will hear.
                with suppress(Exception):
                    self._stop_listening = self._listen(self.look)
                    self._listen = None
                    if self._stop_listening is not None:
                        self._poll_seconds = max(self._poll_seconds, TOLD_POLL_SECONDS)
            marks = self._changed(stored)
            for run_id in {*marks, *poked}:
                self._tell(run_id, marks.get(run_id))

    def _changed(self, run_ids: Sequence[str]) -> dict[str, RunMark | None]:
        """How far those runs are that have changed since the last look, or are gone."""
        if not run_ids:
            return {}
        try:
            marks = self._marks(run_ids)
            self._has_failed = False
        except Exception:  # noqa: BLE001  the store is busy or gone for a moment, and nobody else looks
            self._has_failed = True
            return {}
        found = {run_id: marks.get(run_id) for run_id in run_ids}
        changed = {run_id: mark for run_id, mark in found.items() if self._seen.get(run_id, _UNSEEN) != mark}
        self._seen.update(changed)
        return changed

    def _tell(self, run_id: str, mark: RunMark | None) -> None:
        with self._condition:
            watchers = list(self._watchers.get(run_id, ()))
        for on_change in watchers:
            try:
                on_change(mark)
            except Exception:  # noqa: BLE001  one watcher's trouble is not the others'; it is told again at the next look
                self._seen.pop(run_id, None)
