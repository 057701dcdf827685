"""Runs killed in real processes: another process goes on with them, repeats nothing, and comes to the same result."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import RunResult
from conftest import add
from runner.fan_out import WIDTH, WatchedEngine, open_fan_out, write_keepers
from runner.run_programs import Processes
from runner.test_runs import without_time


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with eight documents and no runs."""
    engine = open_fan_out(tmp_path / "data")
    add(engine, write_keepers(tmp_path / "vault"))
    engine.close()
    return tmp_path / "data"


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split() if path.exists() else []


def comparable(result: RunResult) -> RunResult:
    """A result without its name and what depends on time."""
    return replace(without_time(result), run_id="")


def only_new_run(engine: WatchedEngine, known: set[str]) -> str:
    (run_id,) = {run.run_id for run in engine.runs.latest(1_000).runs} - known
    known.add(run_id)
    return run_id


def kill_and_resume(data: Path, tmp_path: Path, boundaries: Sequence[int] | None, every: int) -> int:
    """Kill a run behind entries of its log, resume each, and check what came of it; how many were killed."""
    known: set[str] = set()
    with Processes(data) as processes:
        first = tmp_path / "uninterrupted"
        assert processes.run("start", first) == 0
        engine = open_fan_out(data)
        whole = only_new_run(engine, known)
        wanted = comparable(engine.runs.result(whole))
        last = engine.run_store.events(whole)[-1].sequence
        assert len(lines(first)) == len(set(lines(first))) == WIDTH + 2  # beside: one search, and keeping the texts
        killed = range(0, last + 1, every) if boundaries is None else boundaries
        for cut in killed:
            before, after = tmp_path / f"before-{cut}", tmp_path / f"after-{cut}"
            assert processes.run("start", before, kill_behind=cut, first=cut) == -signal.SIGKILL
            run_id = only_new_run(engine, known)
            assert engine.run_store.summary(run_id).status == "interrupted", f"killed behind entry {cut}"
            log = engine.run_store.checked_events(run_id)
            assert log[-1].sequence == cut
            recorded = {event.body.get("answers") for event in log if event.kind == "observation_recorded"}
            assert processes.run("resume", after, first=3 * cut) == 0, f"killed behind entry {cut}"
            assert comparable(engine.runs.result(run_id)) == wanted, f"killed behind entry {cut}"
            assert not recorded & set(lines(after)), f"killed behind entry {cut}: what was on record was done again"
            assert len(lines(after)) == len(set(lines(after)))
            assert set(lines(before)) | set(lines(after)) == set(lines(first))
            assert engine.runs.replay(run_id).identical, f"killed behind entry {cut}"
        engine.close()
    return len(killed)


def test_a_run_with_eight_actions_at_once_survives_being_killed(data: Path, tmp_path: Path) -> None:
    """Before, among and behind the observations of the eight; everywhere else below."""
    kill_and_resume(data, tmp_path, (0, 12, 19, 22, 30), 1)


@pytest.mark.slow
def test_a_run_with_eight_actions_at_once_survives_being_killed_behind_every_entry(data: Path, tmp_path: Path) -> None:
    assert kill_and_resume(data, tmp_path, None, 1) > 30
