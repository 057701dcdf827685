"""Who holds up an event loop, and by how much.

`LoopMonitor` is a task that wakes every few milliseconds and remembers how late it was. A busy machine makes every loop
late, so the same is measured in a process that does nothing else: only what goes beyond that is ours.

`loop_work` counts exactly: the processor time of every callback of every loop in this process, and the threads SQLite
was used on. Neither depends on what else the machine does. The interpreter's garbage collection, which stops whatever
thread happens to allocate, is counted by itself.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import apsw

TICK_SECONDS = 0.005


class LoopMonitor:
    """How late the loop it runs on wakes up."""

    def __init__(self) -> None:
        self.lateness: list[float] = []

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            due = time.monotonic() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.lateness.append(time.monotonic() - due)

    @property
    def worst(self) -> float:
        return max(self.lateness, default=0.0)


_CONTROL = f"""
import asyncio, sys, time
async def main():
    worst = 0.0
    end = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    while not end.done():
        due = time.monotonic() + {TICK_SECONDS}
        await asyncio.sleep({TICK_SECONDS})
        worst = max(worst, time.monotonic() - due)
    print(worst)
asyncio.run(main())
"""


class ControlLoop:
    """An idle loop in a process of its own: its lateness is the machine's, not ours."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CONTROL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def stop(self) -> float:
        """The worst lateness while it ran."""
        return float(self._process.communicate()[0])


@dataclass(frozen=True)
class Callback:
    """One callback of a loop."""

    cpu_seconds: float
    what: str


@dataclass
class LoopWork:
    """What was done on which thread."""

    worst: dict[int, Callback] = field(default_factory=dict)
    worst_collection: float = 0.0
    sqlite: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def took(self, cpu_seconds: float, what: asyncio.Handle) -> None:
        thread = threading.get_ident()
        if thread not in self.worst or cpu_seconds > self.worst[thread].cpu_seconds:
            task = getattr(what._callback, "__self__", None)  # type: ignore[attr-defined]
            self.worst[thread] = Callback(cpu_seconds, f"{what!r} {task!r}")


class _Collections:
    """The processor time this thread spent collecting garbage, as the interpreter tells of it."""

    def __init__(self, work: LoopWork) -> None:
        self._work = work
        self._local = threading.local()

    @property
    def seconds(self) -> float:
        return getattr(self._local, "seconds", 0.0)

    def __call__(self, phase: str, info: object) -> None:
        if phase == "start":
            self._local.begun = time.thread_time()
            return
        took = time.thread_time() - getattr(self._local, "begun", time.thread_time())
        self._local.seconds = self.seconds + took
        self._work.worst_collection = max(self._work.worst_collection, took)


@contextmanager
def loop_work() -> Iterator[LoopWork]:
    """Count every callback of every loop, and every statement of every connection opened from now on."""
    work = LoopWork()
    run, collections = asyncio.Handle._run, _Collections(work)

    def timed(handle: asyncio.Handle) -> None:
        begun, collected = time.thread_time(), collections.seconds
        try:
            run(handle)
        finally:
            work.took(time.thread_time() - begun - (collections.seconds - collected), handle)

    def traced(connection: apsw.Connection) -> None:
        def statement(cursor: object, sql: str, bindings: object) -> bool:
            work.sqlite[threading.get_ident()].append(sql)
            return True

        connection.exec_trace = statement

    asyncio.Handle._run = timed  # type: ignore[method-assign,assignment]
    apsw.connection_hooks.append(traced)
    gc.callbacks.append(collections)
    try:
        yield work
    finally:
        gc.callbacks.remove(collections)
        apsw.connection_hooks.remove(traced)
        asyncio.Handle._run = run  # type: ignore[method-assign]
