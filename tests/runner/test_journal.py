"""The journal of a run: a toy flow over a toy world, recorded, replayed, cut, hurried, late and broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest

from citewell import RunEvent, WorkFailed
from citewell.flows.play import PROFILES
from citewell.runs.events import Entry
from citewell.runs.execute import Driver, Perform
from citewell.runs.journal import (
    FINISH_GRACE_SECONDS,
    Abandoned,
    Call,
    Failed,
    Run,
    Scope,
    Task,
    TolerantRun,
    step,
)
from citewell.runs.records import opening_entry
from citewell.runs.run import Budget, Control, StageSeconds
from citewell.runs.store import RunLog
from runner.plays import request

AT = "2026-01-01T00:00:00.000Z"
BUDGET = replace(PROFILES["local"], seconds=60.0, stages=StageSeconds(planning=5.0, retrieval=20.0))


class World:
    """All that a toy run asks for, and what it got."""

    def __init__(self) -> None:
        self.performed: list[tuple[str, str]] = []

    @step("plan", "gathering")
    async def think(self, about: str) -> str:
        return self._done("think", about)

    @step("retrieve", "search")
    async def look(self, words: str) -> str:
        return self._done("look", words)

    @step("evaluate", "weighing")
    async def weigh(self, words: str) -> str:
        return self._done("weigh", words)

    @step("synthesize", "writing")
    async def write(self, text: str) -> str:
        return self._done("write", text)

    @step("persist_trace", "end")
    async def keep(self, text: str) -> tuple[str, ...]:
        return (self._done("keep", text),)

    def _done(self, name: str, what: str) -> str:
        self.performed.append((name, what))
        return f"{name} {what}"


Trail = list[str]
ToyFlow = Callable[[Run, Trail], Coroutine[Any, Any, None]]
Kind = Literal["think", "look", "weigh", "write", "keep"]


class Toy:
    """A run of a toy flow that a test answers call by call; everything is put on record as it is said."""

    def __init__(self, flow: ToyFlow, recorded: Sequence[RunEvent] = (), budget: Budget = BUDGET) -> None:
        self.seconds = 0.0
        self.trail: Trail = []
        self.log = RunLog("toy", list(recorded))
        if not recorded:
            self.log.append([opening_entry(request())], AT)
        self.run = Run("toy", request(), budget, self.log.events(), lambda: self.seconds)
        self.run.start(flow(self.run, self.trail))
        self._record()

    def gives(self, name: Kind, what: str, value: object) -> Toy:
        return self._answers(name, what, {"value": value})

    def fails(self, name: Kind, what: str, code: str = "broken") -> Toy:
        return self._answers(name, what, {"failed": {"code": code, "message": f"{code}!"}})

    def control(self, control: Control | Scope) -> Toy:
        self.run.control(control)
        return self._record()

    def call(self, name: Kind, what: str, nth: int = 0) -> Call:
        found = [one for one in self.run.open if (one.name, *one.arguments.values()) == (name, what)]
        return found[nth]

    @property
    def open(self) -> list[tuple[str, str]]:
        return [(call.name, *call.arguments.values()) for call in self.run.open]

    def recorded(self, kind: str) -> list[dict[str, Any]]:
        return [event.body for event in self.log.events() if event.kind == kind]

    def _answers(self, name: Kind, what: str, outcome: dict[str, Any]) -> Toy:
        self.run.observe(self.call(name, what), outcome)
        return self._record()

    def _record(self) -> Toy:
        entries = self.run.take_entries()
        if entries:
            self.log.append(entries, AT)
        return self


def replayed(flow: ToyFlow, events: Sequence[RunEvent]) -> tuple[Run, Trail]:
    """A run from its record alone: no clock, and nothing that could perform a call."""
    trail: Trail = []
    run = Run("toy", request(), BUDGET, events)
    run.start(flow(run, trail))
    return run, trail


def assert_replays(toy: Toy, flow: ToyFlow) -> None:
    run, trail = replayed(flow, toy.log.events())
    assert trail == toy.trail
    assert (run.stop_reason, run.warnings, run.failure) == (toy.run.stop_reason, toy.run.warnings, toy.run.failure)
    assert (run.elapsed, run.stage_seconds, run.steps) == (toy.run.elapsed, toy.run.stage_seconds, toy.run.steps)
    assert run.take_entries() == []


async def noted(trail: Trail, name: str, awaited: Task[Any]) -> None:
    """What came of a call, in the order it came."""
    try:
        trail.append(f"{name}: {await awaited}")
    except Failed as failed:
        trail.append(f"{name} failed: {failed.code}")
    except Abandoned:
        trail.append(f"{name} was let go of")


async def both(run: Run, trail: Trail) -> None:
    """Two searches at once; what is written depends on which of them was first."""
    await run.all(*(noted(trail, words, run.io(World.look, words)) for words in ("lamp", "oil")))
    trail.append(await run.io(World.write, trail[0]))
    run.end("enough_evidence")


async def one_of_each(run: Run, trail: Trail) -> None:
    """A call of every kind, all under way at once, and then a text is kept."""
    calls = (World.think, World.look, World.weigh, World.write)
    await run.all(*(noted(trail, one.__name__, run.io(one, "it")) for one in calls))
    await noted(trail, "keep", run.io(World.keep, "it"))
    run.end("enough_evidence")


# What is on record


def test_outcomes_are_handed_out_in_the_order_of_the_record() -> None:
    for first, second in (("lamp", "oil"), ("oil", "lamp")):
        toy = Toy(both).gives("look", first, "1").gives("look", second, "2")
        toy.gives("write", f"{first}: 1", "done")
        assert toy.trail == [f"{first}: 1", f"{second}: 2", "done"]
        assert_replays(toy, both)


def test_several_at_once_give_their_values_in_the_order_they_were_asked() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        async def look(words: str) -> str:
            return await run.io(World.look, words)

        trail += await run.all(look("lamp"), look("oil"))

    assert Toy(flow).gives("look", "oil", "second").gives("look", "lamp", "first").trail == ["first", "second"]


def test_a_call_that_was_begun_can_be_awaited_later() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        early = run.io(World.look, "lamp")
        trail.append(await run.io(World.think, "lamp"))
        trail.append(await early)
        trail.append(await early)
        run.end("enough_evidence")

    toy = Toy(flow).gives("look", "lamp", "seen").gives("think", "lamp", "thought")
    assert toy.trail == ["thought", "seen", "seen"]
    assert_replays(toy, flow)


def test_a_value_comes_back_in_the_form_its_function_promises() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        kept = await run.io(World.keep, "it")
        assert isinstance(kept, tuple)
        trail += kept
        run.end("enough_evidence")

    toy = Toy(flow).gives("keep", "it", ["a", "b"])
    assert toy.trail == ["a", "b"]
    assert_replays(toy, flow)


def test_equal_calls_are_told_apart() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        await run.all(*(noted(trail, name, run.io(World.look, "lamp")) for name in ("first", "second")))
        run.end("enough_evidence")

    toy = Toy(flow)
    first, second = toy.run.open
    assert (first.arguments, first.key != second.key) == (second.arguments, True)
    toy.run.observe(second, {"value": "two"})
    toy.run.observe(first, {"value": "one"})
    toy._record()
    assert toy.trail == ["second: two", "first: one"]
    assert_replays(toy, flow)


def test_an_intent_is_on_record_before_its_outcome_and_an_outcome_only_once() -> None:
    toy = Toy(both)
    lamp = toy.call("look", "lamp")
    toy.gives("look", "lamp", "1")
    toy.run.observe(lamp, {"value": "again"})
    assert toy.run.take_entries() == []
    kinds = [event.kind for event in toy.log.events()]
    assert kinds == [
        *("run_started", "stage_entered", "stage_entered"),
        *("action_intended", "action_intended", "observation_recorded"),
    ]


def test_time_is_the_time_of_the_record_and_goes_on_where_it_ends() -> None:
    toy = Toy(both)
    toy.seconds = 3.0
    toy.gives("look", "lamp", "1")
    assert toy.run.elapsed == 3.0
    later = Toy(both, toy.log.events())
    later.seconds = 2.0
    later.gives("look", "oil", "2")
    assert later.run.elapsed == 5.0
    later.gives("write", "lamp: 1", "done")
    assert later.run.stage_seconds == {"retrieve": 5.0}
    assert_replays(later, both)


def test_playing_back_takes_no_time_of_the_run() -> None:
    seconds = 0.0

    async def takes_long(run: Run, trail: Trail) -> None:
        nonlocal seconds
        await noted(trail, "lamp", run.io(World.look, "lamp"))
        seconds += 7.0
        await noted(trail, "oil", run.io(World.look, "oil"))
        run.end("enough_evidence")

    def resumed(events: Sequence[RunEvent]) -> Run:
        run = Run("toy", request(), BUDGET, events, lambda: seconds)
        run.start(takes_long(run, []))
        return run

    toy = Toy(takes_long)
    toy.seconds = 2.0
    toy.gives("look", "lamp", "1")
    again = resumed(toy.log.events())
    again.observe(again.open[0], {"value": "2"})
    assert again.elapsed == 2.0


# Replay, divergence, resume


class NothingShown:
    """No text is shown while it is written."""

    def open(self, call: Call) -> Callable[[str], None]:
        return lambda text: None

    async def close(self, call: Call, *, is_whole: bool) -> None: ...

    def take(self) -> list[Entry]:
        return []

    def settle(self) -> list[Entry]:
        return []


class NoTime:
    """A clock that stands still."""

    def now(self) -> str:
        return AT

    def monotonic(self) -> float:
        return 0.0


def executed(flow: ToyFlow, log: RunLog, perform: Perform) -> tuple[Run, Trail]:
    trail: Trail = []
    run = Run("toy", request(), BUDGET, log.events(), NoTime().monotonic)
    run.start(flow(run, trail))
    asyncio.run(_driven(run, log, perform))
    return run, trail


async def _driven(run: Run, log: RunLog, perform: Perform) -> None:
    async with asyncio.timeout(30):
        await Driver(run, log.append, perform, NoTime()).drive(NothingShown())


def test_a_recorded_value_that_no_longer_fits_its_type_is_refused_as_another_outcome() -> None:
    toy = Toy(both).gives("look", "lamp", "1").gives("look", "oil", "2").gives("write", "lamp: 1", "done")
    events = toy.log.events()
    at = next(event.sequence for event in events if event.kind == "observation_recorded")
    events[at] = replace(events[at], body={**events[at].body, "observation": {"value": {"of": "another version"}}})
    told = rf"at entry {at} \(observation_recorded .*this version would have recorded another outcome of look"
    with pytest.raises(WorkFailed, match=told):
        replayed(both, events)
    run = TolerantRun("toy", request(), BUDGET, events)
    with pytest.raises(WorkFailed, match=told):
        run.start(both(run, []))


def test_a_program_that_asks_for_something_else_is_refused_by_name() -> None:
    toy = Toy(both).gives("look", "lamp", "1").gives("look", "oil", "2").gives("write", "lamp: 1", "done")

    async def asks_otherwise(run: Run, trail: Trail) -> None:
        lamp = run.io(World.look, "lamp")
        try:
            await run.io(World.look, "wick")
        except Exception:  # noqa: BLE001  a flow that would go on whatever happens
            await lamp

    with pytest.raises(WorkFailed, match=r"at entry 4 \(action_intended look\).*recorded action_intended look") as no:
        replayed(asks_otherwise, toy.log.events())
    assert "--tolerant" in no.value.fix

    async def thinks_first(run: Run, trail: Trail) -> None:
        await run.io(World.think, "lamp")

    with pytest.raises(WorkFailed, match=r"at entry 2 \(stage_entered retrieve\); .* recorded stage_entered plan\."):
        replayed(thinks_first, toy.log.events())

    async def ends_early(run: Run, trail: Trail) -> None:
        await run.all(*(noted(trail, words, run.io(World.look, words)) for words in ("lamp", "oil")))
        run.end("enough_evidence")

    with pytest.raises(WorkFailed, match=r"stage_entered synthesize\); .* recorded decision_made stopped\."):
        replayed(ends_early, toy.log.events())


def test_an_outcome_that_answers_no_open_call_is_refused() -> None:
    events = Toy(both).gives("look", "lamp", "1").log.events()
    stray = replace(events[-1], body={**events[-1].body, "answers": "f" * 64})
    with pytest.raises(WorkFailed, match="observation_recorded ffff"):
        replayed(both, [*events[:-1], stray])


def test_a_tolerant_replay_hands_outcomes_to_calls_of_the_same_kind_and_says_where_they_differ() -> None:
    toy = Toy(both).gives("look", "oil", "2").gives("look", "lamp", "1").gives("write", "oil: 2", "done")

    async def in_other_words(run: Run, trail: Trail) -> None:
        await run.all(*(noted(trail, words, run.io(World.look, words)) for words in ("lamp", "wick")))
        run.end("enough_evidence")

    trail, run = Trail(), TolerantRun("toy", request(), BUDGET, toy.log.events())
    run.start(in_other_words(run, trail))
    assert sorted(trail) == ["lamp: 1", "wick: 2"]
    assert (run.stop_reason, len(run.notes)) == ("enough_evidence", 1)
    assert "today's look differs" in run.notes[0]


def test_a_tolerant_replay_says_what_was_never_recorded() -> None:
    toy = Toy(both).gives("look", "lamp", "1")

    async def thinks(run: Run, trail: Trail) -> None:
        await run.io(World.think, "lamp")

    run = TolerantRun("toy", request(), BUDGET, toy.log.events())
    with pytest.raises(WorkFailed, match="asks for think, which run toy never recorded"):
        run.start(thinks(run, []))


# Failures


def test_the_failure_of_a_spawned_task_is_raised_where_it_is_awaited() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        async def looks() -> str:
            return await run.io(World.look, "lamp")

        beside = run.spawn(looks())
        trail.append(await run.io(World.think, "lamp"))
        try:
            await beside
        except Failed as failed:
            trail.append(f"{failed.code}: {failed.message}")
        run.end("enough_evidence")

    toy = Toy(flow).fails("look", "lamp")
    assert toy.trail == []
    toy.gives("think", "lamp", "thought")
    assert toy.trail == ["thought", "broken: broken!"]
    assert_replays(toy, flow)


def test_a_failure_nobody_awaits_changes_nothing() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        async def looks() -> str:
            return await run.io(World.look, "lamp")

        run.spawn(looks())
        trail.append(await run.io(World.think, "lamp"))
        run.end("enough_evidence")

    toy = Toy(flow).fails("look", "lamp").gives("think", "lamp", "thought")
    assert (toy.trail, toy.run.failure) == (["thought"], None)


def test_a_failure_brings_what_is_known_of_it() -> None:
    seen: list[Failed] = []

    async def flow(run: Run, trail: Trail) -> None:
        try:
            await run.io(World.think, "it")
        except Failed as failed:
            seen.append(failed)
        run.end("no_evidence")

    toy = Toy(flow)
    known = {"code": "refused", "message": "No.", "fix": "Ask again.", "details": {"usage": 3}}
    toy.run.observe(toy.call("think", "it"), {"failed": known})
    (failed,) = seen
    assert {"code": failed.code, "message": str(failed), "fix": failed.fix, "details": failed.details} == known


@pytest.mark.parametrize(
    ("stage", "reason"), [("retrieve", "no_evidence"), ("synthesize", "synthesis_failed")], ids=["early", "writing"]
)
@pytest.mark.parametrize("is_spawned", [False, True], ids=["itself", "in a task"])
def test_a_flow_that_breaks_ends_the_run_with_a_failure(stage: Any, reason: str, is_spawned: bool) -> None:
    async def flow(run: Run, trail: Trail) -> None:
        async def breaks() -> None:
            run.enter(stage)
            await run.io(World.write if stage == "synthesize" else World.look, "it")
            raise ZeroDivisionError("a fault of ours")

        beside = run.io(World.keep, "it")
        await (run.spawn(breaks()) if is_spawned else breaks())
        await beside
        trail.append("went on")

    toy = Toy(flow).gives("write" if stage == "synthesize" else "look", "it", "seen")
    assert (toy.run.stop_reason, toy.trail, toy.open) == (reason, [], [])
    assert toy.run.failure is not None
    assert (toy.run.failure.code, toy.run.failure.message) == ("ZeroDivisionError", "a fault of ours")
    assert_replays(toy, flow)


def test_whatever_a_call_raises_is_an_outcome() -> None:
    async def breaks(call: Call, on_text: Callable[[str], None]) -> Any:
        raise ZeroDivisionError("a fault of theirs")

    log = RunLog("toy")
    log.append([opening_entry(request())], AT)
    _, trail = executed(one_of_each, log, breaks)
    assert trail == [f"{one} failed: ZeroDivisionError" for one in ("think", "look", "weigh", "write", "keep")]
    assert replayed(one_of_each, log.events())[1] == trail


# Controls and deadlines


def test_asking_twice_to_finish_changes_nothing_more() -> None:
    toy = Toy(one_of_each).control("finish")
    toy.seconds = 0.5
    toy.control("finish")
    assert toy.run.deadlines["gathering"] == FINISH_GRACE_SECONDS
    assert len(toy.recorded("warning_raised")) == 1
    toy.control("cancel")
    assert_replays(toy, one_of_each)


def test_the_end_of_gathering_lets_go_of_what_is_gathered_and_the_end_of_writing_of_what_is_written() -> None:
    toy = Toy(one_of_each)
    toy.seconds = 4.0
    assert toy.run.next_deadline() == (1.0, "planning")
    toy.control("gathering")
    assert toy.trail == ["think was let go of", "look was let go of"]
    assert (toy.run.finishing, toy.run.warnings) == ("timeout_exceeded", ["incomplete"])
    toy.control("writing")
    assert toy.trail[2:] == ["weigh was let go of", "write was let go of"]
    assert toy.open == [("keep", "it")]
    toy.control("everything")
    assert (toy.run.stop_reason, toy.open) == ("timeout_exceeded", [])
    assert_replays(toy, one_of_each)


def test_time_counts_for_a_stage_only_while_calls_of_it_are_under_way() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        for what in ("one", "two"):
            await noted(trail, "think", run.io(World.think, what))
            await noted(trail, "look", run.io(World.look, what))

    toy = Toy(flow)
    toy.seconds = 2.0
    toy.gives("think", "one", "thought")
    toy.seconds = 12.0
    toy.gives("look", "one", "seen")
    toy.seconds = 13.0
    assert toy.run.next_deadline() == (2.0, "planning")


@pytest.mark.attack("C3")
def test_cancelling_lets_go_of_everything_and_the_record_says_so() -> None:
    toy = Toy(one_of_each).control("cancel")
    assert (toy.run.stop_reason, toy.open, toy.trail) == ("cancelled", [], [])
    assert [one["action"] for one in toy.recorded("action_abandoned")] == ["think", "look", "weigh", "write"]
    toy.control("finish")
    assert [one["observation"] for one in toy.recorded("observation_recorded")] == [{"control": "cancel"}]
    assert_replays(toy, one_of_each)


def test_the_end_of_a_run_leaves_no_call_on_record_as_under_way() -> None:
    async def flow(run: Run, trail: Trail) -> None:
        run.io(World.look, "never awaited")
        await run.io(World.think, "it")
        run.end("enough_evidence")

    toy = Toy(flow).gives("think", "it", "thought")
    assert [one["action"] for one in toy.recorded("action_abandoned")] == ["look"]
    assert_replays(toy, flow)
