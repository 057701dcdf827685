"""The driver: performs a run's actions, puts everything on record, and feeds what it sees back into the machine.

All waiting is here. Intents are recorded before an action, observations after it; a control or a deadline can end the
waiting at any moment. The broad except at its boundary turns whatever an action raises into an observation.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from citewell.domain.errors import CitewellError
from citewell.domain.events import RunEvent
from citewell.domain.ports import Clock
from citewell.domain.runs import RunRequest, RunResult, Stage
from citewell.recording.log import Entry, RunLog
from citewell.runner.actions import (
    Action,
    ActionFailed,
    CancelRequested,
    DeadlinePassed,
    FinishRequested,
    Observation,
    kind_of,
)
from citewell.runner.compute import compute
from citewell.runner.display import Display
from citewell.runner.machine import Step, begin, step
from citewell.runner.playback import (
    Position,
    control_entry,
    entries_after,
    observation_entry,
    opening_entry,
)
from citewell.runner.playbooks.answering import ANSWER_GRACE_SECONDS
from citewell.runner.profiles import SYNTHESIS_RESERVE_SECONDS
from citewell.runner.result import result_of

# Performs an io action; text that a model writes is told as it comes.
Perform = Callable[[Action, Callable[[str], None]], Awaitable[Observation]]
CONTROL_POLL_SECONDS = 0.2


class _ToShow:
    """There is something to show while an action still runs."""


_TO_SHOW = _ToShow()
_CONTROLS: dict[str, Callable[[], Observation]] = {"cancel": CancelRequested, "finish": FinishRequested}


class Driver:
    """Executes one run."""

    def __init__(
        self,
        log: RunLog,
        perform: Perform,
        clock: Clock,
        redact: Callable[[str], str] = str,
        poll_seconds: float = CONTROL_POLL_SECONDS,
    ) -> None:
        self._log = log
        self._perform = perform
        self._clock = clock
        self._redact = redact
        self._poll_seconds = poll_seconds
        self._step: Step
        self._tool_version = ""
        self._offset = 0.0
        self._deadline_told = 0
        self._display = Display()

    async def start(self, request: RunRequest, tool_version: str) -> AsyncIterator[RunEvent | RunResult]:
        """Execute a new run; the last thing that comes is its result."""
        self._tool_version = tool_version
        self._step = begin(request)
        entries = [opening_entry(request, tool_version), *self._entries("begin_trace", None)]
        async for event in self._go_on(entries, None):
            yield event

    async def resume(self, position: Position) -> AsyncIterator[RunEvent | RunResult]:
        """Go on with a run from where its log leaves off; nothing recorded is done again."""
        self._tool_version = position.tool_version
        self._step = position.step
        self._offset = position.step.state.elapsed
        entries = [Entry("run_resumed", {}), *position.unrecorded]
        async for event in self._go_on(entries, None):
            yield event

    async def _go_on(self, entries: list[Entry], running: Action | None) -> AsyncIterator[RunEvent | RunResult]:
        started = self._clock.monotonic()
        for event in await self._record(entries):
            yield event
        task: asyncio.Task[Observation] | None = None
        try:
            while not self._step.state.is_over:
                action = self._step.actions[0]
                if task is None or action is not running:
                    await _let_go(task)
                    task, running = asyncio.ensure_future(self._do(action)), action
                waited = await self._wait(task, started)
                if waited is _TO_SHOW:
                    for event in await self._record(self._display.take()):
                        yield event
                    continue
                control = None if isinstance(waited, _ToShow) else waited
                elapsed = self._offset + self._clock.monotonic() - started
                if control is None:
                    entry, observation, task = observation_entry(action, task.result(), elapsed), task.result(), None
                else:
                    entry, observation = control_entry(control, elapsed), control
                for event in await self._take(entry, observation, entry.body["elapsed"], action, task is not None):
                    yield event
        finally:
            await _let_go(task)
        yield result_of(self._log.run_id, self._step.state, self._tool_version)

    async def _take(
        self, entry: Entry, observation: Observation, elapsed: float, action: Action, is_running: bool
    ) -> list[RunEvent]:
        before = self._step.state.stage
        self._step = step(self._step.state, observation, elapsed, action)
        shown = self._display.after(observation, self._step.state)
        return await self._record([*shown, entry, *self._entries(before, action if is_running else None)])

    def _entries(self, stage_before: Stage, running: Action | None) -> list[Entry]:
        return entries_after(self._log.run_id, self._step, stage_before, running, self._tool_version)

    async def _record(self, entries: list[Entry]) -> list[RunEvent]:
        # Off the event loop: a commit waits for the disk.
        return await asyncio.to_thread(self._log.append, entries, self._clock.now()) if entries else []

    async def _wait(self, task: asyncio.Task[Observation], started: float) -> Observation | _ToShow | None:
        """Wait for the action, a control, a deadline or something to show, whichever is first; None: it is done."""
        while True:
            if self._display.is_waiting:
                return _TO_SHOW
            for control in self._log.controls():
                if control in _CONTROLS:
                    return _CONTROLS[control]()
            left = self._time_left(started)
            if left <= 0:
                self._deadline_told += 1
                return DeadlinePassed()
            woken = asyncio.ensure_future(self._display.woken.wait())
            try:
                await asyncio.wait(
                    {task, woken}, timeout=min(self._poll_seconds, left), return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                woken.cancel()
            if task.done() and not self._display.is_waiting:
                return None

    def _time_left(self, started: float) -> float:
        """Until gathering must end; then until a model must stop writing; then until everything must."""
        budget = self._step.state.budget.seconds
        reserves = (min(SYNTHESIS_RESERVE_SECONDS, budget * 0.3), min(ANSWER_GRACE_SECONDS, budget * 0.1), 0.0)
        if self._deadline_told >= len(reserves):
            return float("inf")
        return budget - reserves[self._deadline_told] - (self._offset + self._clock.monotonic() - started)

    async def _do(self, action: Action) -> Observation:
        try:
            if kind_of(action) == "compute":
                return await asyncio.to_thread(compute, action)
            return await self._perform(action, self._display.open(action, self._step.state))
        except CitewellError as error:
            return ActionFailed(error.code, self._redact(error.message))
        except Exception as error:  # noqa: BLE001  the driver's boundary: recorded as what the run saw
            return ActionFailed(type(error).__name__, self._redact(str(error))[:500])


async def _let_go(task: asyncio.Task[Observation] | None) -> None:
    """Cancel what is still running and do not wait for it longer than it takes to notice."""
    if task is None or task.done():
        return
    task.cancel()
    await asyncio.wait({task}, timeout=1.0)
