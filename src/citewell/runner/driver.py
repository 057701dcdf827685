"""The driver: performs a run's actions, puts everything on record, and feeds what it sees back into the machine.

All waiting is here. Several actions may be under way: what the machine newly wants is started, what it no longer wants
is let go of. Intents are recorded before an action begins, observations after it; a control or a deadline can end the
waiting at any moment. The broad except at its boundary turns whatever an action raises into an observation.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from citewell.domain.errors import CitewellError
from citewell.domain.events import Entry, RunResumed
from citewell.domain.ports import Clock
from citewell.domain.run_store import RunLog
from citewell.domain.runs import Control, StageGroup
from citewell.runner.actions import (
    CONTROL_OBSERVATIONS,
    Action,
    ActionFailed,
    DeadlinePassed,
    Observation,
    group_of,
    kind_of,
)
from citewell.runner.compute import compute
from citewell.runner.display import Display
from citewell.runner.machine import Machine, Step, stage_group_spent
from citewell.runner.playback import Position, control_entry, entries_after, observation_entry
from citewell.runner.state import PHASES, Phase, RunState
from citewell.runner.telling import tell_computing, tell_decisions, tell_failed
from citewell.version import __version__

# Performs an io action; text that a model writes is told as it comes.
Perform = Callable[[Action, Callable[[str], None]], Awaitable[Observation]]
# How long an action that was let go of may take to notice.
LET_GO_SECONDS = 1.0
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Threads:
    """Where compute actions are done and where the log is written; io has the loop's own threads.

    The three are apart, so that no slow action holds up the record, and none that hangs holds up an answer.
    """

    work: Executor | None = None
    log: Executor | None = None


class Driver:
    """Executes one run."""

    def __init__(
        self,
        log: RunLog,
        perform: Perform,
        clock: Clock,
        redact: Callable[[str], str] = str,
        machine: Machine | None = None,
        threads: Threads | None = None,
    ) -> None:
        self._log = log
        self._perform = perform
        self._clock = clock
        self._redact = redact
        self._machine = machine or Machine()
        self._threads = threads or Threads()
        self._controls: deque[Control] = deque()
        self._woken = asyncio.Event()
        self._display = Display(self._woken.set, self._in_thread)
        self._running: list[tuple[Action, asyncio.Task[Observation]]] = []
        self._let_go: set[asyncio.Task[Observation]] = set()
        self._slots: asyncio.Semaphore
        self._step: Step
        self._tool_version = ""
        self._started = 0.0
        self._offset = 0.0

    def tell(self, control: Control) -> None:
        """Ask something of the run; called on its own event loop."""
        self._controls.append(control)
        self._woken.set()

    async def run(self, position: Position, *, is_resumed: bool = False) -> RunState:
        """Execute a run from where its log leaves off until it is over; nothing recorded is done again."""
        self._tool_version = position.tool_version
        self._step = position.step
        self._offset = position.step.state.elapsed
        self._started = self._clock.monotonic()
        self._slots = asyncio.Semaphore(position.step.state.budget.parallel)
        resumed = [Entry.of(RunResumed(__version__))] if is_resumed else []
        await self._record([*resumed, *position.unrecorded])
        try:
            while not self._state.is_over:
                self._reconcile()
                await self._wait()
                await self._record(self._take_what_happened())
        finally:
            await self._let_everything_go()
        return self._state

    @property
    def _state(self) -> RunState:
        return self._step.state

    def _elapsed(self) -> float:
        return self._offset + self._clock.monotonic() - self._started

    def _reconcile(self) -> None:
        """Start what is newly open, let go of what is not open any more."""
        wanted = self._state.open
        for action, task in self._running:
            if not any(action is other for other in wanted):
                task.cancel()
                self._let_go.add(task)
        self._running = [(action, task) for action, task in self._running if any(action is other for other in wanted)]
        for action in wanted:
            if not any(action is other for other, _ in self._running):
                self._running.append((action, asyncio.ensure_future(self._do(action))))

    async def _wait(self) -> None:
        """Until an action is done, something was asked of the run, there is something to show, or time is up."""
        if self._controls or self._display.is_waiting:
            return
        self._woken.clear()
        woken = asyncio.ensure_future(self._woken.wait())
        tasks = {task for _, task in self._running}
        try:
            await asyncio.wait(
                {*tasks, woken}, timeout=max(self._seconds_left(), 0.0), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            woken.cancel()

    def _take_what_happened(self) -> list[Entry]:
        """Everything that goes on record now, in the order in which the run sees it."""
        entries = self._display.take()
        while self._controls and not self._state.is_over:
            entries += self._take(CONTROL_OBSERVATIONS[self._controls.popleft()](), None)
        if not self._state.is_over and (passed := self._deadline_passed()) is not None:
            entries += self._take(passed, None)
        for action, task in list(self._running):
            if task.done() and not self._state.is_over and any(action is other for other in self._state.open):
                entries += self._take(task.result(), self._answered_by(action, task))
        return entries

    def _answered_by(self, action: Action, task: asyncio.Task[Observation]) -> Action:
        """What a task that is done has answered: of equal actions the first one, as a reader of the log must think."""
        answered = next(other for other in self._state.open if other == action)
        left = [pair for pair in self._running if pair[1] is not task]
        self._running = [(action if other is answered else other, running) for other, running in left]
        return answered

    def _take(self, observation: Observation, answered: Action | None) -> list[Entry]:
        elapsed = round(self._elapsed(), 6)
        before = self._state
        entry = (
            control_entry(observation, elapsed)
            if answered is None
            else observation_entry(answered, observation, elapsed)
        )
        self._step = self._machine.step(before, observation, elapsed, answered)
        tell_decisions(self._step.decisions)
        shown = [*self._display.take(), *self._display.settle(self._state)]
        return [*shown, entry, *entries_after(self._log.run_id, before, self._step, answered, self._tool_version)]

    async def _record(self, entries: Sequence[Entry]) -> None:
        # Off the event loop: a commit waits for the disk.
        if entries:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads.log, self._log.append, list(entries), self._clock.now())

    def _seconds_left(self) -> float:
        """Until the next deadline."""
        elapsed = self._elapsed()
        ends = [getattr(self._state.deadlines, phase) - elapsed for phase in self._phases_ahead()]
        ends += [self._stage_left(group, elapsed) for group in self._groups_under_way()]
        return min(ends, default=3600.0)

    def _deadline_passed(self) -> DeadlinePassed | None:
        elapsed = self._elapsed()
        for phase in self._phases_ahead():
            if elapsed >= getattr(self._state.deadlines, phase):
                return DeadlinePassed(phase)
        for group in self._groups_under_way():
            if self._stage_left(group, elapsed) <= 0:
                return DeadlinePassed(group)
        return None

    def _phases_ahead(self) -> list[Phase]:
        return [phase for phase in PHASES if phase not in self._state.phases_over]

    def _groups_under_way(self) -> list[StageGroup]:
        groups = dict.fromkeys(group_of(action) for action in self._state.open)
        return [group for group in groups if group not in self._state.stages_over]

    def _stage_left(self, group: StageGroup, elapsed: float) -> float:
        limit: float = getattr(self._state.budget.stages, group)
        return limit - stage_group_spent(self._state, group, elapsed)

    async def _do(self, action: Action) -> Observation:
        try:
            if kind_of(action) == "compute":
                tell_computing(action)
                return await self._in_thread(compute, action)
            async with self._slots:
                observation = await self._perform(action, self._display.open(action, self._state))
                await self._display.close(action, observation)
                return observation
        except CitewellError as error:
            return ActionFailed(error.code, self._redact(error.message))
        except Exception as error:  # noqa: BLE001  the driver's boundary: recorded as what the run saw
            tell_failed(action, type(error).__name__)
            return ActionFailed(type(error).__name__, self._redact(str(error))[:500])

    async def _in_thread(self, function: Callable[..., _Result], *args: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads.work, function, *args)

    async def _let_everything_go(self) -> None:
        """Cancel what is still running and do not wait for it longer than it takes to notice."""
        for _, task in self._running:
            task.cancel()
            self._let_go.add(task)
        self._running = []
        pending = {task for task in self._let_go if not task.done()}
        if pending:
            await asyncio.wait(pending, timeout=LET_GO_SECONDS)
