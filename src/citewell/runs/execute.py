"""Executing a run: performs the calls that are open, puts everything on record, and hands in what came of them.

All waiting is here. What the flow newly wants is started, what it no longer waits for is let go of. An intent is on
record before its call begins, and its outcome after it; a control or a deadline can end the waiting at any moment. The
broad except at its boundary turns whatever a call raises into an outcome. The flow itself runs in a thread of its own,
so that no pure work holds up the loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from citewell.clock import Clock
from citewell.errors import CitewellError
from citewell.runs.events import Entry
from citewell.runs.journal import STAGE_TIMEOUT, Call, Failed, Run
from citewell.runs.run import Control

# Performs a call; text that a model writes is told as it comes.
Perform = Callable[[Call, Callable[[str], None]], Awaitable[Any]]
# Puts entries on record, all or none, with the moment.
Append = Callable[[Sequence[Entry], str], object]
# How long a call that was let go of may take to notice.
LET_GO_SECONDS = 1.0
# Blocking calls to the outside, of all runs, at the same time. Far more than run well together: one that hangs keeps
# its thread after the run has let go of it.
OUTSIDE_WORKERS = 64
# Pure work has threads of its own, so that what hangs outside never keeps an answer from being made. Few: they share
# one interpreter with the loop.
COMPUTE_WORKERS = 4
_Result = TypeVar("_Result")
_log = logging.getLogger("citewell.runner")


class Shows(Protocol):
    """What a person sees of an answer while it is written: entries for the log, which a replay passes over."""

    def open(self, call: Call) -> Callable[[str], None]: ...

    async def close(self, call: Call, *, is_whole: bool) -> None: ...

    def take(self) -> list[Entry]: ...

    def settle(self) -> list[Entry]: ...


@dataclass(frozen=True, slots=True)
class Threads:
    """Where pure work is done and where the log is written; calls have the loop's own threads.

    The three are apart, so that no slow call holds up the record, and none that hangs holds up an answer.
    """

    work: Executor | None = None
    log: Executor | None = None


def performing(outside: object) -> Perform:
    """Performs calls by the methods of their names."""

    async def perform(call: Call, on_text: Callable[[str], None]) -> Any:
        method = getattr(outside, call.name)
        if call.name == "ask":
            return await method(**call.arguments, on_text=on_text)
        return await method(**call.arguments)

    return perform


class Driver:
    """Executes one run until it is over."""

    def __init__(
        self,
        run: Run,
        append: Append,
        perform: Perform,
        clock: Clock,
        redact: Callable[[str], str] = str,
        threads: Threads | None = None,
    ) -> None:
        self._run = run
        self._append = append
        self._perform = perform
        self._clock = clock
        self._redact = redact
        self._threads = threads or Threads()
        self._controls: deque[Control] = deque()
        self._woken = asyncio.Event()
        self._tasks: dict[Call, asyncio.Task[tuple[dict[str, Any], Any]]] = {}
        self._let_go: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(run.budget.parallel)

    def tell(self, control: Control) -> None:
        """Ask something of the run; called on its own event loop."""
        self._controls.append(control)
        self.wake()

    def wake(self) -> None:
        self._woken.set()

    async def drive(self, shows: Shows, first: Sequence[Entry] = ()) -> None:
        """Go on until the run is over; nothing that is on record is done again."""
        self._shows = shows
        await self._record([*first, *self._run.take_entries()])
        try:
            while not self._run.is_over:
                self._reconcile()
                await self._wait()
                await self._take_what_happened()
        finally:
            await self._let_everything_go()

    async def in_thread(self, function: Callable[..., _Result], *args: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads.work, function, *args)

    def _reconcile(self) -> None:
        """Start what is newly open, let go of what is not open any more."""
        for call in [one for one in self._tasks if one not in self._run.open]:
            task = self._tasks.pop(call)
            task.cancel()
            self._let_go.add(task)
        for call in self._run.open:
            if call not in self._tasks:
                self._tasks[call] = asyncio.ensure_future(self._do(call))

    async def _wait(self) -> None:
        """Until a call is done, something was asked of the run, there is something to show, or time is up."""
        seconds, _ = self._run.next_deadline()
        if self._woken.is_set() or seconds <= 0:
            self._woken.clear()
            return
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait({*self._tasks.values(), woken}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            self._woken.clear()

    async def _take_what_happened(self) -> None:
        """Everything that happened, one thing after the other, each on record before the next is looked at."""
        run = self._run
        while self._controls and not run.is_over:
            await self.in_thread(run.control, self._controls.popleft())
        seconds, scope = run.next_deadline()
        if not run.is_over and seconds <= 0:
            await self.in_thread(run.control, scope)
        for call, task in list(self._tasks.items()):
            if task.done() and not run.is_over and call in run.open:
                del self._tasks[call]
                await self.in_thread(run.observe, call, *task.result())
        await self._record([*self._shows.take(), *run.take_entries()])

    async def _record(self, entries: Sequence[Entry]) -> None:
        # Off the event loop: a commit waits for the disk.
        if entries:
            _tell(entries)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads.log, self._append, list(entries), self._clock.now())

    async def _do(self, call: Call) -> tuple[dict[str, Any], Any]:
        """What came of a call, as it goes on record, and its value."""
        try:
            async with self._slots:
                value = await self._perform(call, self._shows.open(call))
            await self._shows.close(call, is_whole=True)
            return {"value": await self.in_thread(msgspec.to_builtins, value)}, value
        except Failed as failed:
            return _failed(failed.code, failed.message, failed.fix, failed.details), None
        except CitewellError as error:
            message = self._redact(error.message)
            _log.warning("%s failed: %s (%s)", call.name, message, error.code)
            return _failed(error.code, message, self._redact(error.fix)), None
        except Exception as error:  # noqa: BLE001  the boundary of a run: recorded as what it saw
            _log.warning("%s failed (%s)", call.name, type(error).__name__)
            return _failed(type(error).__name__, self._redact(str(error))[:500]), None

    async def _let_everything_go(self) -> None:
        """Cancel what is still running and do not wait for it longer than it takes to notice."""
        for task in self._tasks.values():
            task.cancel()
            self._let_go.add(task)
        self._tasks.clear()
        pending = {task for task in self._let_go if not task.done()}
        if pending:
            await asyncio.wait(pending, timeout=LET_GO_SECONDS)


def _tell(entries: Sequence[Entry]) -> None:
    """What happens, for whoever reads a log: names and codes, never what stands in a question, a note or a document."""
    for entry in entries:
        body = entry.body
        match entry.kind:
            case "stage_entered":
                _log.debug("stage %s", body["stage"])
            case "action_intended":
                _log.debug("%s", body["action"])
            case "decision_made" if body["name"] == "action_failed":
                stage, code = body["data"]["stage"], body["data"]["code"]
                # What failed was told where it was done; what took too long did not fail there.
                level = logging.WARNING if code == STAGE_TIMEOUT else logging.DEBUG
                _log.log(level, "given up in %s: %s", stage, code)
            case "decision_made":
                _log.debug("%s", body["name"])


def _failed(code: str, message: str, fix: str = "", details: Any = None) -> dict[str, Any]:
    said = {"code": code, "message": message, "fix": fix, "details": details}
    return {"failed": {name: value for name, value in said.items() if value or name in ("code", "message")}}


class RunExecutor:
    """The thread that executes this process's runs, with an event loop of its own, and the threads of blocking work.

    Runs outlive their callers: whoever starts one may leave, and no caller's event loop ever waits for a run's work.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._outside = ThreadPoolExecutor(OUTSIDE_WORKERS, "citewell-outside")
        self._work = ThreadPoolExecutor(COMPUTE_WORKERS, "citewell-work")
        self._log = ThreadPoolExecutor(1, "citewell-log")
        self.threads = Threads(self._work, self._log)

    def call(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, soon."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="citewell-loop", daemon=True)
                self._thread.start()
            loop = self._loop
        loop.call_soon_threadsafe(function)

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
