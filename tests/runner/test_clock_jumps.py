"""A clock on the wall that somebody sets by ten years while a run is under way, or between adding and pruning."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings, Unavailable
from citewell.runs.execute import Perform
from conftest import add
from runner.scripted_runs import GOOD, QUESTION, writes
from runner.test_runs import NOTES
from support.model_script import ModelRequest, Reply
from support.model_server import ScriptedModelServer

TEN_YEARS = 3_650


class SetByHand:
    """The machine's clock, with the one on the wall off by some days."""

    def __init__(self, days: int = 0) -> None:
        self.days = days

    def now(self) -> str:
        moment = datetime.now(UTC) + timedelta(days=self.days)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


class Gated:
    """A model that writes once it may."""

    def __init__(self) -> None:
        self.may_write = threading.Event()
        self._writes = writes(GOOD)

    def __call__(self, request: ModelRequest) -> Reply:
        return replace(self._writes(request), after=self.may_write)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in NOTES.items():
        assert isinstance(text, str)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def clock() -> SetByHand:
    return SetByHand()


@pytest.fixture
def opened(tmp_path: Path, clock: SetByHand) -> Iterator[Any]:
    engines: list[Citewell] = []

    def opening(**settings: Any) -> Citewell:
        engines.append(Citewell(Settings(data_dir=tmp_path / "data", embeddings="off", **settings), clock))
        return engines[-1]

    yield opening
    for engine in engines:
        engine.close()


def ask(engine: Citewell) -> RunResult:
    return engine.runs.wait(engine.start(QUESTION))


@pytest.mark.attack("T4")
@pytest.mark.parametrize("days", [TEN_YEARS, -TEN_YEARS])
def test_a_run_under_way_ends_well_and_is_taken_by_nobody_when_the_clock_is_set(
    days: int, opened: Any, vault: Path, clock: SetByHand
) -> None:
    model = Gated()
    with ScriptedModelServer(model) as server:
        first = opened(model="openai:test", model_base_url=server.base_url)
        add(first, vault)
        run_id = first.start(QUESTION)
        assert server.wait_until_asked()
        clock.days = days
        second = opened(trace_keep=0, trace_max_age_days=0)
        assert second.runs.status(run_id) == "running"
        assert second.runs.adopt() == ()
        with pytest.raises(Unavailable):
            second.runs.resume(run_id)
        assert second.runs.prune().removed == ()
        model.may_write.set()
        result = first.runs.wait(run_id)
    assert (result.status, result.stop_reason, result.answer_status) == ("done", "enough_evidence", "ok")
    assert 0 <= result.metrics.seconds < 60
    assert all(seconds >= 0 for seconds in result.metrics.stage_seconds.values())
    assert second.runs.replay(run_id).identical
    assert result.trace_path is not None


@pytest.mark.attack("T4")
def test_the_pruning_behind_a_run_leaves_that_run_however_old_a_clock_that_was_put_right_makes_it(
    opened: Any, vault: Path, clock: SetByHand
) -> None:
    """As on a machine that boots in the past: the clock is put right between the start of a run and the pruning."""
    engine = opened(trace_keep=2, trace_max_age_days=180)
    add(engine, vault)
    older = [ask(engine).run_id for _ in range(3)]
    clock.days = -TEN_YEARS
    last = ask(engine).run_id
    clock.days = 0
    assert engine.runs.prune().removed == ()
    assert engine.runs.result(last).answer
    assert {one.run_id for one in engine.runs.latest(9).runs} == {*older, last}


@pytest.mark.attack("T4")
@pytest.mark.parametrize("days", [TEN_YEARS, -TEN_YEARS])
def test_what_was_added_stays_in_step_and_what_a_run_cites_opens_when_the_clock_is_set(
    days: int, opened: Any, vault: Path, clock: SetByHand
) -> None:
    engine = opened(trace_keep=1, trace_max_age_days=1)
    assert add(engine, vault).indexed == 3
    result = ask(engine)
    clock.days = days
    assert add(engine, vault).unchanged == 3
    (vault / "Lamp.md").write_text("# Lamp\nThe lamp was lit by somebody else.\n", "utf-8")
    (vault / "Walk.md").unlink()
    again = add(engine, vault)
    assert (again.updated, again.deleted, again.unchanged) == (1, 1, 1)
    engine.runs.prune()
    for citation in result.citations:
        (view,) = engine.corpus.get(
            f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
        ).documents
        assert view.text[citation.span.start : citation.span.end] == citation.quote
    clock.days = 0
    assert add(engine, vault).unchanged == 2
    assert engine.runs.replay(result.run_id).identical


class Running:
    """Time that passes only where somebody says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"

    def monotonic(self) -> float:
        return self.seconds


class SlowToOpen(Citewell):
    """An engine whose corpus takes an hour to open."""

    def _effects(self, run_id: str | None) -> Perform:
        assert isinstance(self.clock, Running)
        self.clock.seconds += 3_600.0
        return super().effects(run_id)


def test_opening_the_corpus_takes_no_time_of_the_run(tmp_path: Path, vault: Path) -> None:
    engine = SlowToOpen(Settings(data_dir=tmp_path / "data", embeddings="off"), Running())
    try:
        add(engine, vault)
        result = engine.runs.wait(engine.start(QUESTION), timeout=60)
    finally:
        engine.close()
    assert (result.stop_reason, result.metrics.seconds) == ("enough_evidence", 0.0)
