"""A file that hangs, crashes or swallows memory costs itself only; every other file is read, in order."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from citewell.ingest.sync import FileReading, ReaderPool, ReadTask, unfinished
from citewell.ingest.walk import WalkedFile
from corpus.hostile_files import nested_forms
from corpus.hostile_readers import misbehave
from readers.pdf_bytes import pdf_bytes


class Now:
    def now(self) -> str:
        return "2026-01-01T00:00:00Z"

    def monotonic(self) -> float:
        return time.monotonic()


def read(root: Path, names: list[str], **options: float) -> list[FileReading]:
    tasks = []
    for number, name in enumerate(names):
        (root / name).write_text(f"Words of {name}.", "utf-8")
        tasks.append(ReadTask(number, WalkedFile(name, 10, 1), None))
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
def test_a_small_pdf_that_unpacks_to_gigabytes_meets_the_limit_of_its_kind(tmp_path: Path) -> None:
    (tmp_path / "forms.pdf").write_bytes(nested_forms())
    (tmp_path / "good.pdf").write_bytes(pdf_bytes([["Words on a page."]]))
    tasks = [
        ReadTask(n, WalkedFile(name, (tmp_path / name).stat().st_size, 1), None)
        for n, name in enumerate(["forms.pdf", "good.pdf"])
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    found = list(ReaderPool(tmp_path, None, Now(), 1).read(tasks))
    assert [extracted.status for extracted in found] == ["failed", "read"]
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most == before or most < 700_000  # kilobytes; two gigabytes without the limit


def test_what_could_not_be_read_to_its_end_stays_and_is_tried_again(tmp_path: Path) -> None:
    """A busy machine, not the file, may be why; its time is one that no file has, so that it is never taken as read."""
    (tmp_path / "a.md").write_text("Words.", "utf-8")
    given_up = unfinished(WalkedFile("a.md", 6, 1), "hash before", "took too long to read")
    assert (given_up.status, given_up.keeps_document) == ("failed", True)
    assert (given_up.facts.file_hash, given_up.facts.mtime_ns) == ("hash before", -1)


@pytest.mark.slow
def test_a_file_that_hangs_is_given_up_and_the_others_are_read(tmp_path: Path) -> None:
    names = ["a.md", "hang.md", *(f"c{n}.md" for n in range(10))]
    found = {extracted.facts.path: extracted for extracted in read(tmp_path, names, seconds_a_file=2.5)}
    assert (found["hang.md"].status, found["hang.md"].reason) == ("failed", "took too long to read")
    assert found["hang.md"].keeps_document
    assert all(found[name].status == "read" for name in names if name != "hang.md")


@pytest.mark.slow
def test_a_file_that_swallows_memory_meets_the_limit(tmp_path: Path) -> None:
    found = read(tmp_path, ["a.md", "eat.md", "b.md"])
    assert [extracted.status for extracted in found] == ["read", "failed", "read"]
