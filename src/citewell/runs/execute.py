"""Executing a run: performs the calls that are open, puts everything on record, and hands in what came of them.

Watching is apart from it (`RunPoller`): one reader of the run store per process tells anyone who cares of changes.

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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from citewell.clock import Clock
from citewell.errors import CitewellError
from citewell.runs.events import Entry
from citewell.runs.journal import STAGE_TIMEOUT, Call, Failed, Run
from citewell.runs.run import Control
from citewell.runs.store import RunMark

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
# How often a store is asked how far the watched runs are; one that tells of changes is asked all the same now and then,
# so that a lost word stalls nobody and a lease that ran out is seen.
POLL_SECONDS = 0.1
TOLD_POLL_SECONDS = 2.0
_UNSEEN = object()
OnChange = Callable[[RunMark | None], None]
# Asks the store to tell of changes (`RunStore.on_change`).
Listen = Callable[[Callable[[str | None], None]], Callable[[], None] | None]
_Result = TypeVar("_Result")
_log = logging.getLogger("citewell.runs")


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
        controls: deque[Control] | None = None,
        work: Executor | None = None,
        log: Executor | None = None,
    ) -> None:
        """`work` is where pure work is done and `log` where the log is written; calls have the loop's own threads.

        The three are apart, so that no slow call holds up the record, and none that hangs holds up an answer.
        """
        self._run, self._append, self._perform, self._clock, self._redact = run, append, perform, clock, redact
        # What is asked of the run: filled from outside, followed by `wake`.
        self._controls = deque() if controls is None else controls
        self._work, self._log = work, log
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

    async def drive(self, display: Any, first: Sequence[Entry] = ()) -> None:
        """Go on until the run is over; nothing that is on record is done again.

        The display (`flows/play.py`) says what a person sees of an answer while it is written.
        """
        self._display = display
        await self._record([*first, *self._run.take_entries()])
        try:
            while not self._run.is_over:
                self._reconcile()
                await self._wait()
                await self._take_what_happened()
        finally:
            for call in list(self._tasks):
                self._leave(call)
            # Not waited for longer than it takes to notice.
            if pending := {task for task in self._let_go if not task.done()}:
                await asyncio.wait(pending, timeout=LET_GO_SECONDS)

    async def in_thread(self, function: Callable[..., _Result], *args: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._work, function, *args)

    def _reconcile(self) -> None:
        """Start what is newly open, let go of what is not open any more."""
        for call in [one for one in self._tasks if one not in self._run.open]:
            self._leave(call)
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
        await self._record([*self._display.take(), *run.take_entries()])

    async def _record(self, entries: Sequence[Entry]) -> None:
        # Off the event loop: a commit waits for the disk.
        if entries:
            _tell(entries)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._log, self._append, list(entries), self._clock.now())

    async def _do(self, call: Call) -> tuple[dict[str, Any], Any]:
        """What came of a call, as it goes on record, and its value."""
        try:
            async with self._slots:
                value = await self._perform(call, self._display.open(call))
            await self._display.close(call, is_whole=True)
            return {"value": await self.in_thread(msgspec.to_builtins, value)}, value
        except Failed as failed:
            said = {"code": failed.code, "message": failed.message, "fix": failed.fix, "details": failed.details}
        except CitewellError as error:
            said = {"code": error.code, "message": self._redact(error.message), "fix": self._redact(error.fix)}
            _log.warning("%s failed: %s (%s)", call.name, said["message"], error.code)
        except Exception as error:  # noqa: BLE001  the boundary of a run: recorded as what it saw
            said = {"code": type(error).__name__, "message": self._redact(str(error))[:500]}
            _log.warning("%s failed (%s)", call.name, type(error).__name__)
        return {"failed": {name: told for name, told in said.items() if told or name in ("code", "message")}}, None

    def _leave(self, call: Call) -> None:
        task = self._tasks.pop(call)
        task.cancel()
        self._let_go.add(task)


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


class RunExecutor:
    """The thread that executes this process's runs, with an event loop of its own, and the threads of blocking work.

    Runs outlive their callers: anyone who starts one may leave, and no caller's event loop ever waits for a run's work.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._outside = ThreadPoolExecutor(OUTSIDE_WORKERS, "citewell-outside")
        self.work = ThreadPoolExecutor(COMPUTE_WORKERS, "citewell-work")
        self.log = ThreadPoolExecutor(1, "citewell-log")

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
        for pool in (self._outside, self.work, self.log):
            pool.shutdown(wait=False, cancel_futures=True)


class RunPoller:
    """Tells of changes of runs that any process executes.

    A single thread asks how far all watched runs are, however many watch. It reads and never writes, so no writer holds
    it up. Callbacks run on that thread and must be short.
    """

    def __init__(
        self,
        marks: Callable[[Sequence[str]], Mapping[str, RunMark]],
        poll_seconds: float = POLL_SECONDS,
        listen: Listen | None = None,
    ) -> None:
        self._marks, self._listen, self._poll_seconds = marks, listen, poll_seconds
        self._stop_listening: Callable[[], None] | None = None
        self._condition = threading.Condition()
        # Who watches a run, and whether there is anything to ask the store about it.
        self._watchers: dict[str, list[tuple[OnChange, bool]]] = {}
        # None: there is no such run any more.
        self._seen: dict[str, RunMark | None] = {}
        # Runs that this process has changed, and whether any that is watched may have changed elsewhere.
        self._poked: set[str] = set()
        self._is_told = False
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def watch(self, run_id: str, on_change: OnChange, *, is_stored: bool = True) -> Callable[[], None]:
        """Be told of every change from now on; returns how to leave."""
        with self._condition:
            self._watchers.setdefault(run_id, []).append((on_change, is_stored))
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._poll, name="citewell-runs", daemon=True)
                self._thread.start()
        self.look(run_id)

        def leave() -> None:
            with self._condition:
                left = [other for other in self._watchers.get(run_id, []) if other[0] is not on_change]
                if left:
                    self._watchers[run_id] = left
                else:
                    self._watchers.pop(run_id, None)
                    self._seen.pop(run_id, None)

        return leave

    def poke(self, run_id: str) -> None:
        """This process has just changed a run: do not wait for the next look."""
        with self._condition:
            self._poked |= self._watchers.keys() & {run_id}
            self._condition.notify()

    def look(self, run_id: str | None) -> None:
        """A run has changed in some process, or any may have: look now."""
        with self._condition:
            self._is_told = self._is_told or run_id is None or run_id in self._watchers
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
        has_failed = False
        while True:
            with self._condition:
                if not self._poked and not self._is_told and not self._is_closed:
                    # After a look that failed the next one is soon: what was told then may not be told again.
                    pause = min(POLL_SECONDS, self._poll_seconds) if has_failed else self._poll_seconds
                    self._condition.wait(pause if self._watchers else None)
                if self._is_closed:
                    return
                poked, self._poked, self._is_told = self._poked, set(), False
                stored = [run_id for run_id, watchers in self._watchers.items() if all(one[1] for one in watchers)]
            # Not before there is a run to ask about: a store is made when it is first opened.
            if stored and self._listen is not None:
                # One that cannot be opened is asked, as anyone who watches will hear.
                with suppress(Exception):
                    self._stop_listening = self._listen(self.look)
                    self._listen = None
                    if self._stop_listening is not None:
                        self._poll_seconds = max(self._poll_seconds, TOLD_POLL_SECONDS)
            found: dict[str, RunMark | None] = {}
            try:
                marks = self._marks(stored) if stored else {}
                found = {run_id: marks.get(run_id) for run_id in stored}
                has_failed = False
            except Exception:  # noqa: BLE001  the store is busy or gone for a moment, and nobody else looks
                has_failed = True
            changed = {run_id for run_id, mark in found.items() if self._seen.get(run_id, _UNSEEN) != mark}
            self._seen.update(found)
            for run_id in changed | poked:
                self._tell(run_id, found.get(run_id))

    def _tell(self, run_id: str, mark: RunMark | None) -> None:
        with self._condition:
            watchers = list(self._watchers.get(run_id, ()))
        for on_change, _ in watchers:
            try:
                on_change(mark)
            except Exception:  # noqa: BLE001  one watcher's trouble is not the others'; it is told again at the next look
                self._seen.pop(run_id, None)
