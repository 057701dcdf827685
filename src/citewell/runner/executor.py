"""The thread that executes this process's runs, with an event loop of its own.

Runs outlive their callers: whoever starts one may leave, and no caller's event loop ever waits for a run's work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from citewell.runs.execute import Threads

# Blocking calls to the outside, of all runs, at the same time. Far more than run well together: one that hangs keeps
# its thread after the run has let go of it.
OUTSIDE_WORKERS = 64
# Pure work has threads of its own, so that what hangs outside never keeps an answer from being made. Few: they share
# one interpreter with the loop.
COMPUTE_WORKERS = 4


class RunExecutor:
    """An event loop on its own thread, and the threads its blocking work is done in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._outside = ThreadPoolExecutor(OUTSIDE_WORKERS, "citewell-outside")
        self._work = ThreadPoolExecutor(COMPUTE_WORKERS, "citewell-work")
        self._log = ThreadPoolExecutor(1, "citewell-log")

    @property
    def threads(self) -> Threads:
        return Threads(self._work, self._log)

    def call(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, soon."""
        self._started_loop().call_soon_threadsafe(function)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="citewell-loop", daemon=True)
                self._thread.start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.set_default_executor(self._outside)
        try:
            loop.run_forever()
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
        finally:
            loop.close()

    def close(self) -> None:
        """Stop the loop; work that does not end is not waited for."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=2.0)
        for pool in (self._outside, self._work, self._log):
            pool.shutdown(wait=False, cancel_futures=True)
