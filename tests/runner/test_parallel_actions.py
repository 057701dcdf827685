"""Several calls at once: what a person, a clock or a ceiling says holds for all of them, and the record shows it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import RunEvent, RunResult
from citewell.flows.outside import Outside
from citewell.flows.state import Findings
from citewell.runs.events import ActionAbandoned, ActionIntended
from citewell.runs.journal import Call, Failed, Run
from citewell.runs.run import Control, StageSeconds
from conftest import add
from runner.fan_out import QUESTION, WIDTH, FanOut, Held, WatchedEngine, open_fan_out, write_keepers


@pytest.fixture
def data(tmp_path: Path) -> Path:
    engine = open_fan_out(tmp_path / "data")
    add(engine, write_keepers(tmp_path / "vault"))
    engine.close()
    return tmp_path / "data"


class Bench:
    """One engine over eight documents, whose inspections are held up."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._held: list[Held] = []
        self._engines: list[WatchedEngine] = []

    def open(self, held: Held, stages: StageSeconds | None = None, flow: FanOut | None = None) -> WatchedEngine:
        engine = open_fan_out(self._data, held, flow or FanOut(stages))
        self._held.append(held)
        self._engines.append(engine)
        return engine

    def close(self) -> None:
        for held in self._held:
            held.let_through()
        for engine in self._engines:
            engine.close()


@pytest.fixture
def bench(data: Path) -> Iterator[Bench]:
    opened = Bench(data)
    yield opened
    opened.close()


def ended(engine: WatchedEngine, run_id: str) -> tuple[RunResult, list[RunEvent]]:
    result = engine.runs.wait(run_id, timeout=30)
    assert engine.runs.replay(run_id).identical
    return result, engine.run_store.checked_events(run_id)


def abandoned(events: list[RunEvent]) -> Counter[str]:
    """How many actions were let go of, by name; each one had been begun, and none twice."""
    typed = [event.event for event in events]
    gone = [event for event in typed if isinstance(event, ActionAbandoned)]
    begun = {event.digest for event in typed if isinstance(event, ActionIntended)}
    assert {one.digest for one in gone} <= begun
    assert len({one.digest for one in gone}) == len(gone)
    return Counter(one.action for one in gone)


@pytest.mark.parametrize("blocks_threads", [False, True], ids=["waiting", "blocking"])
@pytest.mark.parametrize(
    ("control", "stop_reason", "answer_status"),
    [("cancel", "cancelled", "error"), ("finish", "weak_evidence_budget_exhausted", "ok")],
)
def test_a_person_who_asks_reaches_eight_actions_under_way(
    bench: Bench, control: Control, stop_reason: str, answer_status: str, blocks_threads: bool
) -> None:
    held = Held(blocks_threads=blocks_threads)
    engine = bench.open(held)
    run_id = engine.start(QUESTION, profile="deep")
    assert held.all_begun.wait(30)
    engine.runs.control(run_id, control)
    result, events = ended(engine, run_id)
    assert (result.stop_reason, result.answer_status) == (stop_reason, answer_status)
    assert "incomplete" in result.answer_warnings
    assert abandoned(events) == {"inspect": WIDTH}
    assert result.pack is not None
    assert result.pack.evidence


def test_the_time_of_a_stage_ends_every_action_of_it_and_the_run_goes_on(bench: Bench) -> None:
    engine = bench.open(Held(), StageSeconds(inspection=0.3))
    run_id = engine.start(QUESTION, profile="deep")
    result, events = ended(engine, run_id)
    assert (result.status, result.answer_status) == ("done", "ok")
    assert "inspection_failed" in result.warnings
    assert abandoned(events) == {"inspect": WIDTH}


def test_the_time_of_the_run_ends_every_action_and_leaves_an_answer(bench: Bench) -> None:
    held = Held()
    engine = bench.open(held)
    run_id = engine.start(QUESTION, profile="deep", timeout=3.0)
    result, events = ended(engine, run_id)
    assert (result.stop_reason, result.answer_status) == ("timeout_exceeded", "ok")
    assert "incomplete" in result.answer_warnings
    assert abandoned(events) == {"inspect": WIDTH}


@pytest.mark.parametrize(("profile", "bound"), [("local", 4), ("deep", 8)])
def test_no_more_actions_reach_outside_at_once_than_the_profile_allows(bench: Bench, profile: Any, bound: int) -> None:
    held = Held(bound)
    engine = bench.open(held)
    run_id = engine.start(QUESTION, profile=profile)
    assert held.all_begun.wait(30)
    held.let_through()
    result, events = ended(engine, run_id)
    assert (result.status, held.most) == ("done", bound)
    assert abandoned(events) == {}


def test_an_engine_that_closes_while_eight_are_under_way_leaves_the_run_to_be_resumed(bench: Bench) -> None:
    held = Held()
    engine = bench.open(held)
    run_id = engine.start(QUESTION, profile="deep")
    assert held.all_begun.wait(30)
    engine.close()
    freed = Held()
    freed.let_through()
    again = bench.open(freed)
    assert again.run_store.summary(run_id).status == "interrupted"
    again.runs.resume(run_id)
    result, events = ended(again, run_id)
    assert (result.status, result.answer_status, abandoned(events)) == ("done", "ok", {})


class TwoStages(FanOut):
    """Rows are inspected while the links of one are followed."""

    def fan(self, run: Run, found: Findings, keys: tuple[str, ...]) -> list[Coroutine[Any, Any, None]]:
        return [*super().fan(run, found, keys), self._follow(run, keys[0])]

    async def _follow(self, run: Run, key: str) -> None:
        try:
            await run.io(Outside.expand, key, 8, 700)
        except Failed as failed:
            run.warn(failed.code)


class HeldLinks(Held):
    """Holds up the links and lets the rest through once they are under way."""

    async def __call__(self, call: Call, perform: Callable[[], Awaitable[Any]]) -> Any:
        if call.name == "expand":
            await asyncio.Event().wait()
        return await super().__call__(call, perform)


def test_the_time_of_a_stage_counts_for_its_actions_whatever_else_is_under_way(bench: Bench) -> None:
    """Eight inspections hold the run; the links followed beside them have used up their own time."""
    held = HeldLinks()
    engine = bench.open(held, flow=TwoStages(StageSeconds(retrieval=1.0)))
    run_id = engine.start(QUESTION, profile="deep", timeout=60.0)
    assert held.all_begun.wait(30)
    waiting = asyncio.run(first(engine, run_id, "action_abandoned"))
    assert waiting.body["action"] == "expand"
    held.let_through()
    result, events = ended(engine, run_id)
    assert (result.status, abandoned(events)) == ("done", {"expand": 1})


async def first(engine: WatchedEngine, run_id: str, kind: str) -> RunEvent:
    async with asyncio.timeout(30):
        async for event in engine.runs.follow(run_id):
            if event.kind == kind:
                return event
    raise AssertionError(f"no {kind}")


class Twice(FanOut):
    """The first row is inspected twice at the same time, with another one between."""

    def fan(self, run: Run, found: Findings, keys: tuple[str, ...]) -> list[Coroutine[Any, Any, None]]:
        return [self.inspect(run, found, key) for key in (keys[0], keys[1], keys[0])]


class OnlyTheThird(Held):
    """Lets only the third inspection through."""

    def __init__(self) -> None:
        super().__init__(expected=3)
        self._begun = 0

    async def __call__(self, call: Call, perform: Callable[[], Awaitable[Any]]) -> Any:
        if call.name == "inspect":
            self._begun += 1
            if self._begun == 3:
                return await perform()
        return await super().__call__(call, perform)


def test_the_record_of_equal_actions_under_way_at_once_can_be_replayed(bench: Bench) -> None:
    engine = bench.open(OnlyTheThird(), flow=Twice())
    run_id = engine.start(QUESTION, profile="deep")
    seen = asyncio.run(observed(engine, run_id))
    assert seen.body["kind"] == "io"
    engine.runs.control(run_id, "cancel")
    result, events = ended(engine, run_id)
    assert result.status == "cancelled"
    assert sum(event.kind == "action_abandoned" for event in events) == 2


async def observed(engine: WatchedEngine, run_id: str) -> RunEvent:
    """The first inspection that was done."""
    inspections: set[str] = set()
    async with asyncio.timeout(30):
        async for event in engine.runs.follow(run_id):
            if event.body.get("action") == "inspect":
                inspections.add(event.body["digest"])
            elif event.body.get("answers") in inspections:
                return event
    raise AssertionError("none")
