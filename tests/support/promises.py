"""A promise of seconds, kept on a busy machine too: what the process waited for a processor does not count.

Linux tells how long each thread was ready to run and was not let (`/proc/PID/task/TID/schedstat`). It is watched while
the block runs, because it is gone with the process. The thread that waited longest counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def promised(seconds: float, pid: int, *, at_most: float = 20.0) -> Iterator[None]:
    """The block ends within so many seconds of its own process; and in any case within `at_most` by the clock."""
    before, seen = _waited(pid), dict[str, float]()
    ended = threading.Event()

    def watch() -> None:
        while True:
            seen.update(_waited(pid))
            if ended.wait(0.02):
                return

    watcher = threading.Thread(target=watch)
    began = time.monotonic()
    watcher.start()
    try:
        yield
        took = time.monotonic() - began
    finally:
        ended.set()
        watcher.join()
    waited = max((since - before.get(thread, 0.0) for thread, since in seen.items()), default=0.0)
    assert took - waited < seconds, f"{took:.2f} s, of which {waited:.2f} s were spent waiting for a processor"
    assert took < at_most, f"{took:.2f} s by the clock"


def _waited(pid: int) -> dict[str, float]:
    """How long each thread of a process has waited for a processor."""
    found: dict[str, float] = {}
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):
            found[task.parent.name] = int(task.read_text().split()[1]) / 1e9
    return found
