"""A playbook that inspects eight documents at the same time, and an engine whose io can be held up and is counted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from citewell.runner.actions import Action, Expand, Inspect, Inspected, Observation, Retrieved
from citewell.runner.driver import Perform
from citewell.runner.machine import Machine
from citewell.runner.playbooks import answering, local
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.state import RunState

from citewell.app import Engine
from citewell.domain.runs import Failure, StageSeconds
from citewell.flows.merge import merge_inspection
from citewell.settings import Settings

WIDTH = 8
QUESTION = "Which keepers tended the lamp of the Orrin Head Light?"
KEEPERS = ("Josiah Pell", "Agnes Flett", "Ada Moar", "Tom Rendall", "Mary Isbister", "Jon Clouston", "Ann Heddle")
NOTES: dict[str, str] = {
    f"Keeper {number}.md": f"# Keeper {number}\n{name} tended the lamp of the Orrin Head Light for {number + 3} years."
    for number, name in enumerate((*KEEPERS, "Magnus Leask"))
}


class FanOut:
    """The local playbook, but every row is inspected by an action of its own, all of them at once."""

    def __init__(self, stages: StageSeconds | None = None) -> None:
        self._stages = stages

    def opening(self, state: RunState) -> Transition:
        if self._stages is not None:
            state = replace(state, budget=replace(state.budget, stages=self._stages))
        return local.opening(state)

    def observed(self, state: RunState, observation: Observation, action: Action) -> Transition:
        match observation:
            case Retrieved(pack=pack):
                keys = tuple(row.source_key for row in pack.evidence)
                found = replace(state, pack=pack, retrieved_keys=keys)
                return Transition(found, self.fan(found, keys))
            case Inspected(views=views):
                assert state.pack is not None
                keys = (*state.inspected_keys, *(view.source_key for view in views))
                # Sorted, so that the result does not depend on which was done first.
                merged = replace(state, pack=merge_inspection(state.pack, views), inspected_keys=tuple(sorted(keys)))
                return self._once_inspected(merged)
            case _:
                return local.observed(state, observation, action)

    def fan(self, state: RunState, keys: tuple[str, ...]) -> tuple[Action, ...]:
        """What is done at the same time once these rows are found."""
        assert state.plan is not None
        return tuple(Inspect((key,), state.plan.text_query, state.budget.inspect_chars) for key in keys[:WIDTH])

    def _once_inspected(self, state: RunState) -> Transition:
        return waiting(state) if state.open else answering.prepare(state)

    def end_gathering(self, state: RunState) -> Transition:
        return local.end_gathering(state)

    def end_writing(self, state: RunState) -> Transition:
        return local.end_writing(state)

    def failed(self, state: RunState, action: Action, failure: Failure) -> Transition:
        if isinstance(action, (Inspect, Expand)):
            return self._once_inspected(replace(state, warnings=(*state.warnings, "inspection_failed")))
        return local.failed(state, action, failure)


Around = Callable[[Action, Callable[[], Awaitable[Observation]]], Awaitable[Observation]]


class WatchedEngine(Engine):
    """An engine whose io actions go through a function of the test."""

    around: Around | None = None

    def _effects(self, run_id: str | None) -> Perform:
        perform, around = super()._effects(run_id), self.around
        if around is None:
            return perform

        async def performed(action: Action, on_text: Callable[[str], None]) -> Observation:
            return await around(action, lambda: perform(action, on_text))

        return performed


class Held:
    """Holds up every Inspect for good, or until all are let through; knows how many were under way at once."""

    def __init__(self, expected: int = WIDTH, *, blocks_threads: bool = False) -> None:
        self.most = 0
        self.all_begun = threading.Event()
        self._expected = expected
        self._blocks_threads = blocks_threads
        self._under_way = 0
        self._open = threading.Event()

    async def __call__(self, action: Action, perform: Callable[[], Awaitable[Observation]]) -> Observation:
        if not isinstance(action, Inspect):
            return await perform()
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        if self._under_way == self._expected:
            self.all_begun.set()
        try:
            await (asyncio.to_thread(self._open.wait) if self._blocks_threads else self._opened())
            return await perform()
        finally:
            self._under_way -= 1

    async def _opened(self) -> None:
        while not self._open.is_set():
            await asyncio.sleep(0.001)

    def let_through(self) -> None:
        self._open.set()


def open_fan_out(data: Path, around: Around | None = None, playbook: FanOut | None = None) -> WatchedEngine:
    chosen = playbook or FanOut()
    engine = WatchedEngine(Settings(data_dir=data), machine=Machine({"local": chosen, "deep": chosen}))
    engine.around = around
    return engine


def write_keepers(root: Path) -> Path:
    root.mkdir(parents=True)
    for name, text in NOTES.items():
        (root / name).write_text(text, "utf-8")
    return root
