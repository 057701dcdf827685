"""A flow that inspects eight documents at the same time, and an engine whose io can be held up and is counted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from citewell import Citewell, Settings
from citewell.flows.judge import merge_inspection
from citewell.flows.local import first_plan, search
from citewell.flows.outside import Outside
from citewell.flows.state import Findings
from citewell.flows.write import answer
from citewell.runs.execute import Perform
from citewell.runs.journal import Abandoned, Call, Failed, Run
from citewell.runs.run import StageSeconds
from citewell.search.inspect import looked_for

WIDTH = 8
QUESTION = "Which keepers tended the lamp of the Orrin Head Light?"
KEEPERS = ("Josiah Pell", "Agnes Flett", "Ada Moar", "Tom Rendall", "Mary Isbister", "Jon Clouston", "Ann Heddle")
NOTES: dict[str, str] = {
    f"Keeper {number}.md": f"# Keeper {number}\n{name} tended the lamp of the Orrin Head Light for {number + 3} years."
    for number, name in enumerate((*KEEPERS, "Magnus Leask"))
}


class FanOut:
    """Search, then inspect every row by a call of its own, all of them at once, and answer."""

    def __init__(self, stages: StageSeconds | None = None) -> None:
        self._stages = stages

    async def __call__(self, run: Run, found: Findings) -> None:
        if self._stages is not None:
            run.budget = replace(run.budget, stages=self._stages)
        await search(run, found, first_plan(run))
        if found.pack is None:
            run.end(run.finishing or "no_evidence")
        await run.all(*self.fan(run, found, tuple(row.source_key for row in found.pack.evidence)))
        await answer(run, found)

    def fan(self, run: Run, found: Findings, keys: tuple[str, ...]) -> list[Coroutine[Any, Any, None]]:
        """What is done at the same time once these rows are found."""
        return [self.inspect(run, found, key) for key in keys[:WIDTH]]

    async def inspect(self, run: Run, found: Findings, key: str) -> None:
        assert found.plan is not None
        assert found.pack is not None
        asked = found.plan.text_query
        rows = tuple(row for row in looked_for(found.pack)[1] if row.source_key == key)
        try:
            windows = await run.io(Outside.inspect, asked, (asked,), rows, run.budget.inspect_chars)
        except (Failed, Abandoned):
            run.warn("inspection_failed")
            return
        found.pack = merge_inspection(found.pack, windows)
        # Sorted, so that the result does not depend on which was done first.
        found.inspected_keys = tuple(sorted((*found.inspected_keys, *(window.source_key for window in windows))))


Around = Callable[[Call, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class WatchedEngine(Citewell):
    """An engine whose calls of the outside go through a function of the test."""

    around: Around | None = None

    def effects(self, run_id: str | None) -> Perform:
        perform, around = super().effects(run_id), self.around
        if around is None:
            return perform

        async def performed(call: Call, on_text: Callable[[str], None]) -> Any:
            return await around(call, lambda: perform(call, on_text))

        return performed


class Held:
    """Holds up every inspection for good, or until all are let through; knows how many were under way at once."""

    def __init__(self, expected: int = WIDTH, *, blocks_threads: bool = False) -> None:
        self.most = 0
        self.all_begun = threading.Event()
        self._expected = expected
        self._blocks_threads = blocks_threads
        self._under_way = 0
        self._open = threading.Event()

    async def __call__(self, call: Call, perform: Callable[[], Awaitable[Any]]) -> Any:
        if call.name != "inspect":
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


def open_fan_out(data: Path, around: Around | None = None, flow: FanOut | None = None) -> WatchedEngine:
    chosen = flow or FanOut()
    engine = WatchedEngine(Settings(data_dir=data), flows={"local": chosen, "deep": chosen})
    engine.around = around
    return engine


def write_keepers(root: Path) -> Path:
    root.mkdir(parents=True)
    for name, text in NOTES.items():
        (root / name).write_text(text, "utf-8")
    return root
