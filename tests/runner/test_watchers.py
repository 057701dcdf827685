"""Watchers in several processes see one run whole, although whoever executed it was killed and another took it over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell import RunEvent
from conftest import add
from runner.fan_out import WIDTH, WatchedEngine, open_fan_out, write_keepers
from runner.run_programs import TESTS, Processes

# Behind the fourth of the eight observations.
KILLED_BEHIND = 20


@pytest.fixture
def data(tmp_path: Path) -> Path:
    engine = open_fan_out(tmp_path / "data")
    add(engine, write_keepers(tmp_path / "vault"))
    engine.close()
    return tmp_path / "data"


@contextmanager
def watching_processes(*commands: tuple[str, ...]) -> Iterator[list[subprocess.Popen[str]]]:
    """These processes, none of which outlives the test."""
    processes = [start_watching(*command) for command in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def start_watching(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "runner.watching_program", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def let_join(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    print(file=process.stdin, flush=True)


def when_all_are_under_way(engine: WatchedEngine) -> list[RunEvent]:
    """The log of the one run, once its eight actions are on record as begun."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for summary in engine.runs.latest(1).runs:
            events = engine.run_store.events(summary.run_id)
            if sum(event.body.get("action") == "inspect" for event in events) == WIDTH:
                return events
    raise AssertionError("the run did not get that far")


def inspected(events: list[RunEvent]) -> int:
    """How many inspections are on record as done."""
    begun = {event.body["digest"] for event in events if event.body.get("action") == "inspect"}
    return sum(event.body.get("answers") in begun for event in events)


@pytest.mark.slow
def test_twenty_watchers_in_three_processes_see_a_run_whole_that_is_killed_and_taken_over(
    data: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    engine = open_fan_out(data)
    with Processes(data) as processes:
        processes.begin("start", tmp_path / "first", kill_behind=KILLED_BEHIND, gate=str(gate))
        so_far = when_all_are_under_way(engine)
        run_id, seen = so_far[0].run_id, so_far[-1].sequence
        run = (str(data), run_id)
        commands = [(*run, watchers, str(seen), leaves) for watchers, leaves in (("7", "leaves"), ("7", ""), ("4", ""))]
        with watching_processes(*commands) as watching:
            assert [said(process) for process in watching] == ["ready"] * 3
            gate.touch()
            assert processes.ended() == -signal.SIGKILL
            assert engine.run_store.summary(run_id).status == "interrupted"
            assert 0 < inspected(engine.run_store.events(run_id)) < WIDTH
            let_join(watching[2])
            assert said(watching[2]) == "joined"
            processes.begin("resume", tmp_path / "second", first=2)
            let_join(watching[2])
            assert said(watching[2]) == "joined"
            assert processes.ended() == 0
            reports = [process.communicate(timeout=60)[0] for process in watching]
    log = [[event.sequence, event.digest] for event in engine.run_store.checked_events(run_id)]
    assert [sequence for sequence, _ in log] == list(range(len(log)))
    (first, second, third) = (json.loads(report) for report in reports)
    assert first[0] == log[: seen + 1], "it left in the middle"
    assert first[1:] == [log] * 6
    assert (second, third) == ([log] * 7, [log] * 6)
    assert engine.runs.result(run_id).answer_status == "ok"
    assert engine.runs.replay(run_id).identical
    engine.close()
