"""A file that hangs, crashes or swallows memory costs itself only; every other file is read, in order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from citewell.corpus.extraction import Extracted
from citewell.corpus.reader_pool import ReaderPool, Task
from citewell.corpus.walk import Found
from corpus.hostile_readers import misbehave


class Now:
    def now(self) -> str:
        return "2026-01-01T00:00:00Z"

    def monotonic(self) -> float:
        return time.monotonic()


def read(root: Path, names: list[str], **options: float) -> list[Extracted]:
    tasks = []
    for number, name in enumerate(names):
        (root / name).write_text(f"Words of {name}.", "utf-8")
        tasks.append(Task(number, Found(name, 10, 1), None))
    pool = ReaderPool(root, None, Now(), 2, extract=misbehave, **options)
    return list(pool.read(tasks))


def test_files_come_back_in_the_order_they_were_given(tmp_path: Path) -> None:
    names = [f"{n:03d}.md" for n in range(60)]
    assert [extracted.facts.path for extracted in read(tmp_path, names)] == names


@pytest.mark.slow
def test_a_crash_is_recorded_against_its_file_and_nobody_else(tmp_path: Path) -> None:
    names = ["a.md", "b.md", "crash.md", *(f"c{n}.md" for n in range(30))]
    found = {extracted.facts.path: extracted for extracted in read(tmp_path, names)}
    assert (found["crash.md"].status, "brought its reader down" in found["crash.md"].reason) == ("failed", True)
    assert all(found[name].status == "read" for name in names if name != "crash.md")


@pytest.mark.slow
def test_a_file_that_hangs_is_given_up_and_the_others_are_read(tmp_path: Path) -> None:
    names = ["a.md", "hang.md", *(f"c{n}.md" for n in range(10))]
    found = {extracted.facts.path: extracted for extracted in read(tmp_path, names, seconds_a_file=2.5)}
    assert (found["hang.md"].status, found["hang.md"].reason) == ("failed", "took too long to read")
    assert all(found[name].status == "read" for name in names if name != "hang.md")


@pytest.mark.slow
def test_a_file_that_swallows_memory_meets_the_limit(tmp_path: Path) -> None:
    found = read(tmp_path, ["a.md", "eat.md", "b.md"])
    assert [extracted.status for extracted in found] == ["read", "failed", "read"]
