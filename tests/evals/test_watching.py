"""`eval --watch` as a process of its own: asked again when a case or a note changes, gone cleanly with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CASE = 'corpus: {corpus}\ncases:\n  - question: "When was the lamp lit?"\n    disable_planner: true\n'
LAMP = "# Lamp\nThe lamp of the tower was lit in {year}.\n"


@contextmanager
def watching(data: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], str]]]:
    """The program while it watches, and its next line that counts cases."""
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "eval", *arguments, "--watch"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", env={**os.environ}
    ) as process:
        assert process.stdout is not None
        lines = process.stdout
        try:
            yield process, lambda: next(line.partition(" in ")[0] for line in lines if "passed," in line)
        finally:
            process.kill()


def test_a_case_and_a_note_that_change_are_asked_again_until_ctrl_c(tmp_path: Path) -> None:
    notes, cases = tmp_path / "notes", tmp_path / "cases.yaml"
    notes.mkdir()
    (notes / "lamp.md").write_text(LAMP.format(year=1859), "utf-8")
    case = CASE.format(corpus="notes")
    cases.write_text(f"{case}    expect_text: ['1859']\n", "utf-8")
    with watching(tmp_path / "data", "research", str(cases)) as (process, counted):
        assert counted() == "1 passed, 0 failed, 0 skipped"
        cases.write_text(f"{case}    expect_text: ['1861']\n", "utf-8")
        assert counted() == "0 passed, 1 failed, 0 skipped"
        (notes / "lamp.md").write_text(LAMP.format(year=1861), "utf-8")
        assert counted() == "1 passed, 0 failed, 0 skipped"
        assert process.stdout is not None
        assert next(line for line in process.stdout if line.startswith("Watching"))
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert "Traceback" not in rest
        assert "Stopped watching." in rest
        assert process.wait(timeout=20) == 0


def test_the_users_own_notes_are_brought_up_to_date_and_a_wrong_file_does_not_end_it(tmp_path: Path) -> None:
    vault, cases, data = tmp_path / "vault", tmp_path / "cases.yaml", tmp_path / "data"
    vault.mkdir()
    (vault / "lamp.md").write_text(LAMP.format(year=1859), "utf-8")
    added = [sys.executable, "-m", "citewell", "--data-dir", str(data), "add", str(vault)]
    subprocess.run(added, check=True, capture_output=True, timeout=120)
    case = CASE.format(corpus="''")
    cases.write_text(f"{case}    expect_text: ['1861']\n", "utf-8")
    report = tmp_path / "report.html"
    with watching(data, "mcp", str(cases), "--html", str(report)) as (process, counted):
        assert counted() == "0 passed, 1 failed, 0 skipped"
        (vault / "lamp.md").write_text(LAMP.format(year=1861), "utf-8")
        assert counted() == "1 passed, 0 failed, 0 skipped"
        assert process.stdout is not None
        cases.write_text(f"{case}    expect_txt: ['1861']\n", "utf-8")
        assert "did you mean `expect_text`" in next(line for line in process.stdout if "expect_txt" in line)
        cases.write_text(f"{case}    expect_text: ['1859']\n", "utf-8")
        assert counted() == "0 passed, 1 failed, 0 skipped"
        assert next(line for line in process.stdout if line.startswith("Watching"))
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(timeout=20) == 1
    assert report.exists()
