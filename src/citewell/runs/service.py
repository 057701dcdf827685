"""Runs: started, executed, watched, resumed, taken over and compared.

Executing and watching are two things. `start` hands a run to a task this process owns (or leaves it queued) and
returns; `follow` renders its log for anyone, in any process, from any point. Except for `follow`, methods block.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from citewell.clock import Clock
from citewell.errors import (
    BadInput,
    Busy,
    CitewellError,
    Conflict,
    Held,
    Interrupted,
    LeaseLost,
    NotFound,
    StoreFull,
    Unavailable,
    WorkFailed,
)
from citewell.runs.events import (
    EVENT_TYPES,
    DecisionMade,
    Entry,
    RunEvent,
    RunInterrupted,
    RunResumed,
    TraceFailed,
    TraceSaved,
    finished_event,
)
from citewell.runs.execute import Driver, Perform, RunExecutor, RunPoller
from citewell.runs.folder import TRACES, delete_trace, prune_traces, put_trace, read_trace, write_trace
from citewell.runs.journal import digest
from citewell.runs.records import (
    Begin,
    cancelled_result,
    check_resumable,
    diff_runs,
    finish_entry,
    opening_entry,
    read_start,
    replay,
    stored_result,
    summary_of,
)
from citewell.runs.reports import ControlReport, ExportReport, PruneSummary, ReplayReport, RunDiff, RunList
from citewell.runs.run import TERMINAL, Control, RunRequest, RunResult, RunStatus, RunSummary
from citewell.runs.store import RENEW_SECONDS, RunLog, RunMark, RunStore, lease_from, new_token
from citewell.runs.trace import Manifest, Trace
from citewell.runs.transfer import export_run, import_run, packed_run, unpacked_run
from citewell.search.conversation import PriorQuestion
from citewell.search.pack import ResearchPack
from citewell.search.query import Surface
from citewell.version import __version__
from citewell.wire import learn_types

# Runs one process executes at the same time; further ones wait in the queue.
MAX_RUNNING = 20
# Entries a watcher holds at a time.
PAGE = 64
# Runs without a trace whose result is still there to be read, and failures of runs that are still told.
_KEPT_IN_MEMORY = 32
# Runs looked at to find one that can be taken over: some may be of a version that cannot be gone on with.
_MOST_CLAIMABLE = 1_000
# How far back a conversation is looked for among the runs of chats.
_CHATS_LOOKED_AT = 200
_CLOSE_SECONDS = 5.0
# What is read back of a record beside its events.
_RECORD_TYPES = (RunEvent, RunSummary, RunStatus, RunResult, ResearchPack, Trace, Manifest)
# Behind every entry of a log.
_ALL = 2**62
_Result = TypeVar("_Result")


@dataclass(slots=True)
class _Execution:
    """A run this process executes, or is about to."""

    run_id: str
    # Under which it holds the run; a run that leaves no trace has none.
    token: str
    log: RunLog
    is_resumed: bool = False
    # What is asked of the run: handed to its driver.
    controls: deque[Control] = field(default_factory=deque)
    result: Future[RunResult] = field(default_factory=Future)
    driver: Driver | None = None
    task: asyncio.Task[None] | None = None
    is_begun: bool = False
    controls_seen: int = 0
    # Whether the token holds the run already.
    is_held: bool = True

    def tell(self, control: Control) -> None:
        """Ask something of the run, on its loop."""
        self.controls.append(control)
        if self.driver is not None:
            self.driver.wake()

    def stop(self) -> None:
        """Cancel its task, on its loop; one cancelled before its first step would end without a word."""
        if self.task is not None and not self.is_begun:
            self.task.get_loop().call_soon(self.stop)
        elif self.task is not None:
            self.task.cancel()


class RunService:
    """Everything that can be done with runs."""

    def __init__(
        self,
        store: Callable[[], RunStore],
        effects: Callable[[str | None], Perform],
        clock: Clock,
        data_dir: Path,
        begin: Begin,
        redact: Callable[[str], str] = str,
        max_running: int = MAX_RUNNING,
        max_waiting: int | None = None,
        adopts: Sequence[Surface] = (),
        on_result: Callable[[RunResult], None] | None = None,
    ) -> None:
        # Runs are executed and read in many threads.
        learn_types((*EVENT_TYPES.values(), *_RECORD_TYPES))
        self._store, self._effects, self._clock, self._data_dir = store, effects, clock, data_dir
        self._flow, self._redact = begin, redact
        # Told of every recorded run that has ended, before anybody is told of its end.
        self._on_result = on_result
        self._max_running = max_running
        # None: any number may wait.
        self._max_waiting = max_waiting
        # Of which surfaces runs are taken over whose owner is gone.
        self._adopts = frozenset(adopts)
        self._starting = 0
        self._lock = threading.Lock()
        self._running: dict[str, _Execution] = {}
        self._queue: deque[_Execution] = deque()
        self._in_memory: OrderedDict[str, _Execution] = OrderedDict()
        # Why a run stopped here before its end: its log cannot say it where the store is what failed.
        self._failures: OrderedDict[str, CitewellError] = OrderedDict()
        self._executor = RunExecutor()
        self._poller = RunPoller(
            lambda run_ids: self._store().marks(run_ids), listen=lambda tell: self._store().on_change(tell)
        )
        self._renewing: asyncio.Task[None] | None = None
        # The run that ended here last: however old a clock makes it seem, the pruning that follows leaves it.
        self._ended_last: str | None = None
        self._is_closed = False

    # Executing

    def start(self, request: RunRequest, *, traced: bool = True, run_id: str | None = None) -> str:
        """Hand a new run to this process and return its id; it goes on anyone who watches. Busy where there is no room.

        An id is given where it follows from the request; Conflict where there is a run of it already.
        """
        with self._room():
            now, opening = self._clock.now(), opening_entry(request)
            run_id = run_id or f"{now[:19].replace('-', '').replace(':', '')}-{secrets.token_hex(4)}"
            if not traced:
                log = RunLog(run_id)
                log.append([opening], now)
                return self._launch(_Execution(run_id, "", log))
            token, has_room = new_token(), len(self._running) < self._max_running
            summary = RunSummary(
                *(run_id, "running" if has_room else "queued", None, request.profile, request.surface),
                *(request.question, now, now, __version__),
            )
            held = (token, lease_from(now)) if has_room else (None, None)
            try:
                # Before anybody is told of the run: one that is acknowledged can be found again.
                self._store().create(summary, opening, *held)
            except StoreFull as error:
                said = f"The run was not begun, because it could not be recorded. {error.message}"
                raise StoreFull(said, fix="Free some disk space, then ask again.") from error
            execution = self._held(run_id, token)
            execution.is_held = has_room
            return self._launch(execution)

    @contextmanager
    def _room(self) -> Iterator[None]:
        """A place among the runs of this process, from here until the run has taken it."""
        with self._lock:
            if self._is_closed:
                raise Unavailable("This process is stopping and takes no more runs.", fix="Ask again in a moment.")
            taken = len(self._running) + len(self._queue) + self._starting
            if self._max_waiting is not None and taken >= self._max_running + self._max_waiting:
                raise Busy(f"{taken} runs are under way, which is the most at a time.", fix="Ask again in a moment.")
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._starting -= 1

    def _held(self, run_id: str, token: str) -> _Execution:
        return _Execution(run_id, token, RunLog(run_id, store=self._store(), token=token))

    def resume(self, run_id: str, *, finish: bool = False) -> int:
        """Go on with an interrupted or queued run, without repeating what is on record; the last entry it had."""
        if self._unstored(run_id) is not None:
            raise Conflict(f"Nothing of run {run_id} is recorded.", fix="Ask the question again, with a trace.")
        with self._room():
            return self._go_on(run_id, ["finish"] if finish else [])

    def _go_on(self, run_id: str, asked: list[Control] | None = None) -> int:
        """Go on with a run that nobody executes; None: what was asked of it and is not on its record still holds."""
        store = self._store()
        if store.summary(run_id).status in TERMINAL:
            raise Conflict(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
        events = store.checked_events(run_id)
        check_resumable(events)
        self._flow(events)  # says now, and not from another thread, where this version went another way
        token = new_token()
        controls = store.controls(run_id, 0)  # before the run is ours: whatever is asked from then on is for us
        store.acquire(run_id, token, lease_from(self._clock.now()))
        if asked is None:
            seen = {event.body["observation"]["control"] for event in events if event.body.get("kind") == "control"}
            asked = [control for control in dict.fromkeys(control for _, control in controls) if control not in seen]
        execution = self._held(run_id, token)
        execution.is_resumed, execution.controls = len(events) > 1, deque(asked)
        execution.controls_seen = controls[-1][0] if controls else 0
        self._launch(execution)
        return events[-1].sequence

    def adopt(self, limit: int = MAX_RUNNING) -> tuple[str, ...]:
        """Take over runs that wait for somebody: queued ones, and those whose owner is gone.

        What was asked of a run and its owner did not live to see still holds.
        """
        return self._adopt(limit, self._store().claimable(_MOST_CLAIMABLE))

    def adopt_left(self) -> tuple[str, ...]:
        """Take over what other servers left behind, as far as there is room; only of the surfaces this one serves."""
        with self._lock:
            room = 0 if self._is_closed else self._max_running - len(self._running)
        if not self._adopts or room <= 0:
            return ()
        return self._adopt(room, filter(self._is_adoptable, self._store().claimable(_MOST_CLAIMABLE)))

    def _adopt(self, limit: int, claimable: Iterable[str]) -> tuple[str, ...]:
        adopted: list[str] = []
        with self._lock:
            mine = {*self._running, *(execution.run_id for execution in self._queue)}
        for run_id in claimable:
            if len(adopted) >= limit:
                break
            # Another process may be faster, or this version cannot go on with it.
            with suppress(CitewellError):
                if run_id not in mine:
                    self._go_on(run_id)
                    adopted.append(run_id)
        return tuple(adopted)

    def _is_adoptable(self, run_id: str) -> bool:
        """Whether this process would take the run over: one about a note is at home where the note is."""
        try:
            summary = self._store().summary(run_id)
        except CitewellError:
            return False
        return summary.surface in self._adopts and summary.profile != "note"

    def _is_taken_over(self, run_id: str) -> bool:
        """Whether a run that its owner left goes on all the same, here or in another process."""
        if self._is_closed or not self._adopts or not self._is_adoptable(run_id):
            return False
        try:
            if run_id in self._store().claimable(_MOST_CLAIMABLE):
                self._go_on(run_id)
            return self._store().summary(run_id).status in ("queued", "running")
        except Held:
            return True
        except CitewellError:
            return False

    def wait(self, run_id: str, timeout: float | None = None) -> RunResult:
        """The result of a run, once it has one."""
        execution = self._execution(run_id)
        if execution is not None:
            return execution.result.result(timeout)
        if failure := self.failure(run_id):
            raise failure
        return self.result(run_id)

    async def ended(self, run_id: str) -> RunResult:
        """The same, waited for on the caller's loop: no thread is held meanwhile. Who leaves, leaves the run alone."""
        execution = self._execution(run_id)
        if execution is not None:
            return await asyncio.shield(asyncio.wrap_future(execution.result))
        return await asyncio.to_thread(self.wait, run_id)

    def failure(self, run_id: str) -> CitewellError | None:
        """Why a run stopped in this process before its end, unless it has gone on since."""
        with self._lock:
            return self._failures.get(run_id)

    def interrupt(self, run_id: str) -> None:
        """Stop executing a run here; it stays resumable."""
        execution = self._execution(run_id)
        if execution is None or execution.result.done():
            return
        self._executor.call(execution.stop)
        try:
            execution.result.exception(timeout=_CLOSE_SECONDS)
        except TimeoutError:
            return  # it waits for a lock: once this process ends, the run is shown as interrupted

    def interrupt_all(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Interrupt what is executed here, resumably, and take no more; anyone who watches is told. At most so long."""
        with self._lock:
            self._is_closed = True
            waiting, self._queue = list(self._queue), deque()
            running = list(self._running.values())
        for execution in waiting:
            execution.result.cancel()
        for execution in running:
            self._executor.call(execution.stop)
        wait([execution.result for execution in running], timeout=seconds)

    def close(self) -> None:
        """Interrupt what is executed here, resumably, and stop."""
        self.interrupt_all()
        self._poller.close()
        self._executor.close()

    def _execution(self, run_id: str) -> _Execution | None:
        with self._lock:
            queued = next((one for one in self._queue if one.run_id == run_id), None)
            return self._running.get(run_id) or queued or self._in_memory.get(run_id)

    def _unstored(self, run_id: str) -> _Execution | None:
        """A run that is in this process's memory only: it leaves no trace, or the disk is full."""
        execution = self._execution(run_id)
        return execution if execution is not None and not execution.log.is_stored else None

    def _launch(self, execution: _Execution) -> str:
        """Execute now, or once there is room."""
        with self._lock:
            self._failures.pop(execution.run_id, None)
            if len(self._running) >= self._max_running:
                self._queue.append(execution)
                return execution.run_id
            self._running[execution.run_id] = execution
        self._executor.call(lambda: self._begin(execution))
        return execution.run_id

    def _begin(self, execution: _Execution) -> None:
        execution.task = asyncio.ensure_future(self._execute(execution))
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(self._renew())

    async def _execute(self, execution: _Execution) -> None:
        execution.is_begun = True
        try:
            execution.result.set_result(await self._driven(execution))
        except asyncio.CancelledError:
            await asyncio.shield(self._in_log_thread(self._left, execution))
            message = f"Run {execution.run_id} was interrupted."
            fix = f"Go on with 'citewell runs resume {execution.run_id}'."
            execution.result.set_exception(Interrupted(message, fix=fix, run_id=execution.run_id))
        except Exception as error:  # noqa: BLE001  the boundary of a run: anyone who waits for it is told
            if isinstance(error, CitewellError) and not isinstance(error, LeaseLost):
                with self._lock:
                    _keep(self._failures, execution.run_id, error)
            if not isinstance(error, LeaseLost):
                await self._in_log_thread(self._left, execution)
            execution.result.set_exception(error)
        finally:
            self._ended(execution)

    async def _driven(self, execution: _Execution) -> RunResult:
        loop, run_id = asyncio.get_running_loop(), execution.run_id

        def on_change(mark: RunMark | None) -> None:
            """On the poller's thread: hand on what was asked of the run."""
            if mark is None or mark.last_control <= execution.controls_seen or execution.driver is None:
                return
            for number, control in self._store().controls(run_id, execution.controls_seen):
                execution.controls_seen = number
                loop.call_soon_threadsafe(execution.driver.tell, control)

        leave = self._poller.watch(run_id, on_change, is_stored=bool(execution.token))
        try:
            if not execution.is_held:  # it had to wait: it may have been cancelled or executed meanwhile
                try:
                    lease = lease_from(self._clock.now())
                    await self._in_log_thread(self._store().acquire, run_id, execution.token, lease)
                except (Conflict, Held):
                    async with aclosing(self.follow(run_id)) as events_of_another:
                        async for _ in events_of_another:
                            pass
                    return await self._in_log_thread(self.result, run_id)
            events = await self._in_log_thread(execution.log.events)
            # The first time, it opens the corpus: before the time of the run begins.
            perform = await asyncio.to_thread(self._effects, run_id if execution.token else None)
            play = await loop.run_in_executor(self._executor.work, self._flow, events, self._clock.monotonic)

            def append(entries: Sequence[Entry], at: str) -> None:
                execution.log.append(entries, at)
                self._poller.poke(run_id)

            driver = execution.driver = Driver(
                *(play.run, append, perform, self._clock, self._redact, execution.controls),
                *(self._executor.work, self._executor.log),
            )
            driver.wake()
            display = play.display(driver)
            await driver.drive(display, [Entry.of(RunResumed(__version__))] if execution.is_resumed else [])
            return await self._in_log_thread(self._finish, execution, play, display.settle())
        finally:
            leave()

    async def _in_log_thread(self, function: Callable[..., _Result], *args: object) -> _Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor.log, function, *args)

    async def _renew(self) -> None:
        """Keep the leases of what is executed here."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with self._lock:
                tokens = [one.token for one in (*self._running.values(), *self._queue) if one.token]
            if not tokens:
                return
            try:
                await self._in_log_thread(self._store().renew, tokens, lease_from(self._clock.now()))
            except CitewellError:
                continue  # the disk is full or the file is locked: the next renewal is soon

    def _finish(self, execution: _Execution, play: Any, shown: Sequence[Entry]) -> RunResult:
        """Put the end of a run on record with its result, and write its trace; one that cannot be written says so."""
        play.check()
        result: RunResult = play.result
        log, run_id = execution.log, execution.run_id
        log.append([*shown, *play.run.take_entries(), finish_entry(result)], self._clock.now())
        self._poller.poke(run_id)
        if not execution.token:
            return result
        told: TraceSaved | TraceFailed
        try:
            if not log.is_stored:
                raise StoreFull("The record could not be written.")
            path = str(write_trace(self._data_dir, result, log.events(), *play.written).relative_to(self._data_dir))
            told, result = TraceSaved(path), replace(result, trace_path=path)
        except (CitewellError, OSError) as error:
            code = error.code if isinstance(error, CitewellError) else type(error).__name__
            told = TraceFailed(code, self._redact(str(error))[:500])
            warnings = (*result.warnings, "trace_failed")
            result = replace(result, stop_reason="trace_failed", warnings=warnings, trace_path=None)
        # Where the disk is full, the result is part of the log and told again when it is asked for.
        with suppress(CitewellError):
            if self._on_result is not None:
                self._on_result(result)
        now, is_stored = self._clock.now(), log.is_stored
        # Where the disk is full, the run is shown as interrupted and can be resumed once there is room.
        with suppress(CitewellError):
            log.append([Entry.of(told)], now)
            if is_stored:
                cited = [(citation.source_key, citation.span.content_hash) for citation in result.citations]
                self._store().put_citations(run_id, cited)
                self._store().release(run_id, execution.token, result.status, result.stop_reason, now)
        return result

    def _left(self, execution: _Execution) -> None:
        """A run this process does not go on with."""
        if not execution.log.is_stored:
            return
        now = self._clock.now()
        with suppress(CitewellError):  # the lease runs out by itself
            execution.log.append([Entry.of(RunInterrupted())], now)
            self._store().release(execution.run_id, execution.token, "interrupted", None, now)

    def _ended(self, execution: _Execution) -> None:
        with self._lock:
            self._running.pop(execution.run_id, None)
            self._ended_last = execution.run_id
            if not execution.log.is_stored:
                _keep(self._in_memory, execution.run_id, execution)
            following = self._queue.popleft() if self._queue and not self._is_closed else None
            if following is not None:
                self._running[following.run_id] = following
        self._poller.poke(execution.run_id)
        if following is not None:
            self._begin(following)

    # Watching

    async def follow(
        self, run_id: str, after: int = -1, *, until: Literal["ended", "left"] = "ended"
    ) -> AsyncGenerator[RunEvent, None]:
        """The events of a run behind a number, as they come, until it ends; any number may watch, and leave.

        `until="left"` also ends where nobody executes the run any more; else a run that is taken over goes on.
        """
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def on_change(mark: RunMark | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        leave = self._poller.watch(run_id, on_change, is_stored=self._unstored(run_id) is None)
        try:
            while True:
                changed.clear()
                status, page = await asyncio.to_thread(self._page, run_id, after)
                for event in page:
                    after = event.sequence
                    yield event
                if len(page) == PAGE:
                    continue
                if status in TERMINAL:
                    return
                if status == "interrupted" and until == "left":
                    if await asyncio.to_thread(self._is_taken_over, run_id):
                        continue
                    return
                await changed.wait()
        finally:
            leave()

    async def watched(self, run_id: str) -> AsyncGenerator[RunEvent | RunResult, None]:
        """The events of a run and then its result. Who leaves early leaves the run alone."""
        async with aclosing(self.follow(run_id)) as events:
            async for event in events:
                yield event
        yield await self.ended(run_id)

    def status(self, run_id: str) -> RunStatus:
        """How a run stands, also one that is in this process's memory only; NotFound where there is none."""
        return self._page(run_id, _ALL)[0]

    def started_at(self, run_id: str) -> str:
        """When a run was begun."""
        return self.summary(run_id).created_at

    def last_entry(self, run_id: str) -> int:
        """The number of the last entry of a run's log, as far as it has come."""
        if (execution := self._unstored(run_id)) is not None:
            return execution.log.events()[-1].sequence
        self._store().summary(run_id)
        return self._store().marks([run_id])[run_id].last_sequence

    def _page(self, run_id: str, after: int) -> tuple[RunStatus, list[RunEvent]]:
        """How a run stands and its next entries, in this order, so that the last entry is never missed."""
        if (execution := self._unstored(run_id)) is not None:
            status: RunStatus = "done" if execution.result.done() else "running"
            return status, execution.log.events(after, PAGE)
        status = self._store().summary(run_id).status
        return status, self._store().events(run_id, after, PAGE)

    # Asking something of a run

    def control(self, run_id: str, control: Control) -> ControlReport:
        """Ask a running run to stop or to finish; one that nobody executes is closed at once."""
        if (execution := self._unstored(run_id)) is not None:
            if execution.result.done():
                raise Conflict(f"Run {run_id} has ended already.", fix="Ask the question again.")
            self._executor.call(lambda: execution.tell(control))
            return ControlReport(run_id, control, "running", "asked")
        store = self._store()
        status = store.summary(run_id).status
        if status in TERMINAL:
            raise Conflict(f"Run {run_id} has ended already.", fix=f"See 'citewell runs show {run_id}'.")
        if status == "running":
            store.request(run_id, control, self._clock.now())
            self._poller.poke(run_id)
            return ControlReport(run_id, control, status, "asked")
        if control == "finish":
            raise Conflict(
                f"Nobody executes run {run_id}.", fix=f"Finish it here with 'citewell runs finish {run_id}'."
            )
        token = new_token()
        store.acquire(run_id, token, lease_from(self._clock.now()))
        events = store.checked_events(run_id)
        try:
            check_resumable(events)
            play = self._flow(events)
        except CitewellError:
            # A record of another version: it is closed as it is.
            result = cancelled_result(run_id, read_start(events[0]))
            store.append(run_id, [finish_entry(result)], self._clock.now(), token)
            store.release(run_id, token, result.status, result.stop_reason, self._clock.now())
        else:
            play.run.control("cancel")
            self._finish(self._held(run_id, token), play, ())
        return ControlReport(run_id, "cancel", "cancelled", "nobody was executing it: closed")

    # Reading

    def summary(self, run_id: str) -> RunSummary:
        """A run as a list shows it, also one that is not on record yet."""
        if (execution := self._unstored(run_id)) is None:
            return self._store().summary(run_id)
        events = execution.log.events()
        return summary_of(events, stored_result(events, self._data_dir))

    def events(self, run: str) -> list[RunEvent]:
        """The checked log of a run, by id or by the path of an exported one; also of one that is in memory only."""
        if (execution := self._unstored(run)) is not None:
            return execution.log.events()
        if Path(run).exists():
            return list(import_run(Path(run)).events)
        events = self._store().checked_events(run)
        folder = self._data_dir / TRACES / run
        if folder.exists() and read_trace(folder).events[-1].digest not in {event.digest for event in events}:
            raise WorkFailed(
                f"The trace of run {run} does not belong to its log.", fix="Use an untouched copy of the run."
            )
        return events

    def result(self, run: str) -> RunResult:
        """The stored result of a finished run, by id or by the path of an exported one."""
        if (execution := self._unstored(run)) is not None:
            return execution.result.result()
        result = stored_result(self.events(run), self._data_dir)
        if result is None:
            raise Conflict(f"Run {run} has not ended.", fix=f"Finish it with 'citewell runs resume {run}'.")
        return result

    def find(self, run: str) -> str:
        """The id of a run, by its id, by how it begins, or as `last`."""
        found = self._store().matching("" if run == "last" else run, 1 if run == "last" else 3) if run else []
        if run in found or len(found) == 1:
            return run if run in found else found[0]
        if run == "last":
            raise NotFound("No run is recorded yet.", fix="Ask a question with 'citewell research'.")
        if found:
            raise BadInput(f"Several runs begin with {run}: {', '.join(found)}.", fix="Write more of the id.")
        raise NotFound(f"There is no run {run}.", fix="See 'citewell runs list'.")

    def latest(self, limit: int) -> RunList:
        """The latest runs, newest first."""
        return self._store().latest(limit)

    def asked_in(self, conversation_id: str) -> tuple[PriorQuestion, ...]:
        """The questions of a conversation as its latest run tells them, that run's own last; known by their runs."""
        store = self._store()
        for summary in store.latest(_CHATS_LOOKED_AT, surface="web_chat").runs:
            first = store.events(summary.run_id, limit=1)
            if first and first[0].body.get("request", {}).get("conversation_id") == conversation_id:
                request = read_start(first[0]).request
                return (*request.conversation.history, PriorQuestion(summary.run_id, request.question))
        return ()

    def decisions(self, run_id: str) -> list[DecisionMade]:
        """What a run decided, in order."""
        events = (event.event for event in self.events(run_id) if event.kind == "decision_made")
        return [one for one in events if isinstance(one, DecisionMade)]

    def replay(self, run: str, *, tolerant: bool = False) -> ReplayReport:
        """Play a run back from its record, in the store or in an exported file."""
        events = self.events(run)
        finished = finished_event(events)
        if finished is None:
            raise Conflict(f"Run {events[0].run_id} has not ended.", fix="Finish it with 'citewell runs resume'.")
        result, notes = replay(events, self._flow, tolerant=tolerant)
        made, wanted = digest(result), str(finished.body["result_digest"])
        return ReplayReport(result.run_id, made == wanted, made, "tolerant" if tolerant else "exact", notes)

    def export(self, run_id: str, target: str | Path) -> ExportReport:
        """Write a finished run to one file that can be replayed on any machine."""
        self._traced(run_id)
        data = export_run(self._data_dir / TRACES / run_id, Path(target))
        return ExportReport(run_id, str(target), len(data), hashlib.sha256(data).hexdigest())

    def archive(self, run_id: str) -> bytes:
        """A finished run as the bytes of such a file."""
        if self._traced(run_id).trace_path is None:
            raise Conflict(f"Run {run_id} has no trace to pack.", fix="Ask the question again, with a trace.")
        return packed_run(self._data_dir / TRACES / run_id)

    def _traced(self, run_id: str) -> RunResult:
        """The result of a run that may leave this machine; a trace that another machine wrote is made again here."""
        result, events = self.shareable(run_id), self.events(run_id)
        saved = next((number for number, event in enumerate(events) if event.kind == "trace_saved"), None)
        if result.trace_path is not None or saved is None:
            return result
        check_resumable(events)
        path = write_trace(self._data_dir, result, events[:saved], *self._flow(events).written)
        return replace(result, trace_path=str(path.relative_to(self._data_dir)))

    def shareable(self, run_id: str) -> RunResult:
        """The result of a run that may leave this machine: one that ended, and not by failing its own checks."""
        result = self.result(run_id)
        if result.stop_reason == "verification_failed":
            raise Conflict(f"Run {run_id} failed verification: it is not exported.", fix="Ask the question again.")
        return result

    def import_archive(self, content: bytes) -> RunSummary:
        """A run that was exported elsewhere goes on record here, whole and checked; nothing of it is executed."""
        trace = unpacked_run(content)
        result = stored_result(trace.events, self._data_dir)
        if result is None:
            raise BadInput("The exported run has not ended.", fix="Finish it where it was begun, and export it again.")
        self._store().put_record(summary_of(trace.events, result), trace.events)
        put_trace(self._data_dir, trace.run_id, trace.files, trace.events)
        return self._store().summary(trace.run_id)

    def forget(self, run_ids: Sequence[str]) -> None:
        """Delete runs with their logs and traces, because what they quote is to be forgotten."""
        for run_id in run_ids:
            delete_trace(self._data_dir, run_id)
        self._store().delete(run_ids)

    def prune(self, *, keep: int, max_age_days: int, keep_all: bool) -> PruneSummary:
        """Put away old runs: the latest stay, the rest go by age.

        A run that has not ended is never touched, nor is the one that has just ended here.
        """
        store = self._store()

        def is_active(run_id: str) -> bool:
            """Whether it is still executed or may be gone on with; one that cannot be looked at is left alone."""
            try:
                return run_id == self._ended_last or store.summary(run_id).status not in TERMINAL
            except NotFound:
                return False
            except CitewellError:
                return True

        report = prune_traces(self._data_dir, keep, max_age_days, keep_all, self._clock.now(), is_active)
        store.delete(report.removed)
        return report

    def diff(self, a: str, b: str | None, *, ask_models: bool = False) -> RunDiff:
        """Two runs compared, or a run with what today's harness makes of its question.

        Models cost: they are asked again only where that is wanted.
        """
        before = self.result(a)
        if b is not None:
            return diff_runs(before, self.result(b))
        return diff_runs(before, replace(self.wait(self._ask_again(a, ask_models)), run_id="today"))

    async def diff_async(self, a: str, b: str | None) -> RunDiff:
        """The same without models, and without a thread that waits."""
        if b is not None:
            return await asyncio.to_thread(self.diff, a, b)
        before = await asyncio.to_thread(self.result, a)
        today = await self.ended(await asyncio.to_thread(self._ask_again, a, False))
        return diff_runs(before, replace(today, run_id="today"))

    def _ask_again(self, a: str, ask_models: bool) -> str:
        """Start what a run asked, as of today; nothing of it is recorded."""
        request = read_start(self.events(a)[0]).request
        if request.note is not None:
            # To compare is to look: nothing is written for it.
            request = replace(request, note=replace(request.note, dry_run=True))
        use = request.models
        asked = [model for model in (use.planner, use.writer if use.writes else "", use.judge) if model]
        if asked and not ask_models:
            raise Conflict(
                f"Run {a} asked {', '.join(dict.fromkeys(asked))}; to compare it with today would ask again.",
                fix="Add --ask-models, or compare it with another run, or use 'citewell runs replay --tolerant'.",
            )
        return self.start(request, traced=False)


def _keep(kept: OrderedDict[str, _Result], run_id: str, value: _Result) -> None:
    """Keep something about a run in memory, beside the latest others."""
    kept[run_id] = value
    while len(kept) > _KEPT_IN_MEMORY:
        kept.popitem(last=False)
