"""Writing a trace that is killed, fails or has company: what can be seen is complete, and the next write works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewell import NotFound
from citewell.runs.folder import prune_traces, read_trace
from recording.builders import RUN_ID, listing, run_id, write
from recording.writer import DONE, FULL

TESTS = Path(__file__).parents[1]


def start_writer(*arguments: str) -> subprocess.Popen[str]:
    """The program of `writer.py` running."""
    return subprocess.Popen(
        [sys.executable, "-m", "recording.writer", *arguments],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def endings(*arguments: str) -> list[int]:
    with start_writer(*arguments) as process:
        return [int(line) for line in process.communicate(timeout=120)[0].split()]


def visible(root: Path) -> list[str]:
    return [name for name in listing(root) if not name.startswith(".")]


@pytest.mark.slow
def test_a_write_killed_at_any_step_leaves_nothing_that_can_be_seen_half_made(tmp_path: Path) -> None:
    """T1, V9: kill -9 before each system call of a write."""
    *killed, last = endings("sabotage", str(tmp_path), "kill")
    assert (set(killed), last) == ({-signal.SIGKILL}, DONE)
    assert len(killed) > 20
    unseen = 0
    for step in range(1, len(killed) + 1):
        root = tmp_path / f"{step:03}"
        assert visible(root) in ([], [RUN_ID])
        unseen += not visible(root)
        for name in visible(root):
            assert read_trace(root / "research-runs" / name).run_id == RUN_ID
        assert read_trace(write(root)).run_id == RUN_ID
        assert listing(root) == [RUN_ID]
    assert 20 < unseen < len(killed)


@pytest.mark.slow
def test_a_write_that_fails_at_any_step_leaves_nothing_behind(tmp_path: Path) -> None:
    """V9, V10: no room at each system call of a write."""
    *full, last = endings("sabotage", str(tmp_path), "fail")
    assert (set(full), last) == ({FULL}, DONE)
    for step in range(1, len(full) + 1):
        root = tmp_path / f"{step:03}"
        assert listing(root) in ([], [RUN_ID])
        assert read_trace(write(root)).run_id == RUN_ID


@pytest.mark.attack("T1")
@pytest.mark.slow
def test_a_program_killed_at_any_moment_leaves_only_complete_traces(tmp_path: Path) -> None:
    """T1: whenever it is, and in the middle of twenty writes."""
    cut_short = 0
    for moment in range(10):
        root = tmp_path / str(moment)
        with start_writer("many", str(root), "20") as process:
            while not listing(root):
                time.sleep(0.0005)
            time.sleep(moment * 0.003)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()  # until the last of them has closed its output
        cut_short += len(visible(root)) < 20
        for name in visible(root):
            assert read_trace(root / "research-runs" / name).run_id == name
        assert_swept(root)
    assert cut_short


def assert_swept(root: Path) -> None:
    """The next writes remove what was left aside; a process that dies inside the kernel lets go a little later."""
    deadline = time.monotonic() + 10
    write(root)
    while len(listing(root)) > len(visible(root)):
        assert time.monotonic() < deadline, listing(root)
        time.sleep(0.01)
        write(root)


@pytest.mark.attack("T2")
@pytest.mark.slow
def test_twenty_writers_at_once_make_twenty_traces_while_old_ones_are_pruned(tmp_path: Path) -> None:
    """T2, T4."""
    old = [run_id(0x1000 + number) for number in range(10)]
    for name in old:
        write(tmp_path, name, at="2020-01-01T12:00:00")
    removed: list[str] = []
    with start_writer("many", str(tmp_path), "20") as process:
        while process.poll() is None:
            report = prune_traces(tmp_path, 0, 180, False, "2026-01-02T00:00:00Z", lambda _: False)
            removed += report.removed
        assert process.stdout is not None
        assert process.stdout.read().split() == [str(DONE)] * 20
    assert sorted(removed) == old
    assert listing(tmp_path) == [run_id(number) for number in range(20)]
    for name in listing(tmp_path):
        assert read_trace(tmp_path / "research-runs" / name).run_id == name


def test_writers_of_the_same_trace_at_once_make_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: write(tmp_path), range(24)))
    assert (len(folders), listing(tmp_path)) == (1, [RUN_ID])
    assert read_trace(folders.pop()).run_id == RUN_ID


def read_until_gone(folder: Path) -> int:
    """How often a trace could be read whole before it was not there any more."""
    reads = 0
    try:
        while True:
            read_trace(folder)
            reads += 1
    except NotFound:
        return reads


@pytest.mark.attack("T2")
def test_a_reader_sees_a_trace_whole_or_not_at_all_while_it_is_pruned(tmp_path: Path) -> None:
    """T2: a trace that somebody is reading is left for the next time."""
    names = [run_id(number) for number in range(12)]
    for name in names:
        write(tmp_path, name)
    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(read_until_gone, tmp_path / "research-runs" / name) for name in names]
        while visible(tmp_path):
            prune_traces(tmp_path, 0, 1, False, "2030-01-01T00:00:00Z", lambda _: False)
            time.sleep(0.001)
        assert all(future.result() >= 0 for future in reading)
    assert listing(tmp_path) == []


def test_what_another_writer_is_busy_with_is_not_swept_away(tmp_path: Path) -> None:
    """A folder aside is removed only once nobody holds it."""
    write(tmp_path)
    aside = tmp_path / "research-runs" / f".{run_id(1)}.{'0' * 16}.new"
    aside.mkdir()
    (aside / "run.md").write_text("half")
    with start_holder(aside) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        write(tmp_path, run_id(2))
        assert (aside / "run.md").exists()
        os.kill(holder.pid, signal.SIGKILL)
    write(tmp_path, run_id(3))
    assert listing(tmp_path) == [run_id(2), run_id(3), RUN_ID]


def start_holder(folder: Path) -> subprocess.Popen[str]:
    code = (
        "import fcntl, os, sys, time; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX);"
        "print('held', flush=True); time.sleep(60)"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)


def test_names_that_only_look_like_ours_are_never_swept_away(tmp_path: Path) -> None:
    traces = tmp_path / "research-runs"
    write(tmp_path)
    (traces / ".keep").mkdir()
    (traces / f".{RUN_ID}.new").mkdir()
    (traces / f".{RUN_ID}.{'0' * 16}.new").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "run.md").write_text("mine")
    (traces / f".{RUN_ID}.{'1' * 16}.gone").mkdir()
    (traces / f".{RUN_ID}.{'1' * 16}.gone" / "mine.md").write_text("mine")
    before = listing(tmp_path)
    write(tmp_path, run_id(2))
    assert listing(tmp_path) == sorted([*before, run_id(2)])
    assert (tmp_path / "elsewhere" / "run.md").read_text() == "mine"
