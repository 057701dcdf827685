"""Ctrl-C while `add` encodes at its end, or while it follows a folder: nothing is lost, and the next one goes on.

Real processes with the real model; skipped where `citewell[semantic]` or its weights are not installed.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell import Unavailable
from citewell.models.minilm import INSTALL, weights_folder
from durability.programs import assert_sound, command, note_text, opened, run, texts, write

NOTES = 120


def _is_installed() -> bool:
    try:
        weights_folder()
    except Unavailable:
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _is_installed(), reason=f"the semantic lane is not installed: {INSTALL}"),
]


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_EMBEDDINGS", "on")


@pytest.fixture
def notes(tmp_path: Path) -> dict[str, str]:
    """Notes long enough that encoding them takes a while."""
    found = {f"n{number:03}.md": note_text(number) + "Kelp hangs below the wall. " * 60 for number in range(NOTES)}
    for name, text in found.items():
        write(tmp_path / "vault" / name, text)
    return found


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program running, Ctrl-C as a terminal would send it."""
    with subprocess.Popen(
        command(data, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_encoded(process: subprocess.Popen[str], data: Path, count: int) -> None:
    """Until so many passages have a vector in the file, seen from outside."""
    while not (data / "corpus.db").exists():
        assert process.poll() is None
    with opened(data) as engine:
        while engine.store.vectors.coverage().encoded < count:
            assert process.poll() is None, process.communicate()


def test_ctrl_c_while_add_encodes_keeps_every_note_and_every_vector(tmp_path: Path, notes: dict[str, str]) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    with running(data, "add", str(vault)) as process:
        wait_until_encoded(process, data, 32)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate()
    assert process.returncode == 130
    assert f"{NOTES} new" in shown
    assert "Stopped encoding" in said
    assert "Traceback" not in said
    with opened(data) as engine:
        before = engine.store.vectors.coverage()
        assert 32 <= before.encoded < before.encoded + before.left
        assert f"{before.left:,} passages left" in said
        assert texts(engine) == notes
        assert len(engine.search("kelp", limit=1_000, mode="lexical").results) == NOTES
        assert_sound(engine)
    again = run(data, "embed", "--json")
    report = json.loads(again.stdout)
    assert (again.returncode, report["encoded"], report["left"]) == (0, before.left, 0)
    with opened(data) as engine:
        assert engine.search("seaweed", mode="semantic").results


def test_the_next_add_of_unchanged_notes_goes_on_encoding(tmp_path: Path, notes: dict[str, str]) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    with running(data, "add", str(vault)) as process:
        wait_until_encoded(process, data, 32)
        process.send_signal(signal.SIGINT)
        process.communicate()
    again = run(data, "add", str(vault))
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{NOTES} unchanged" in again.stdout
    with opened(data) as engine:
        assert engine.store.vectors.coverage().left == 0
        assert_sound(engine)


def test_a_watched_folder_is_encoded_as_it_changes_and_ctrl_c_while_encoding_loses_nothing(
    tmp_path: Path, notes: dict[str, str]
) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    with running(data, "add", str(vault), "--watch") as process:
        assert process.stderr is not None
        assert f"{NOTES} new" in process.stderr.readline()
        wait_until_encoded(process, data, 32)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 0
    assert "Stopped encoding" in said
    with opened(data) as engine:
        encoded = engine.store.vectors.coverage().encoded
        assert 32 <= encoded < NOTES
    for number in range(20, NOTES):
        (vault / f"n{number:03}.md").unlink()
    with running(data, "add", str(vault), "--watch") as process:
        assert process.stderr is not None
        assert f"{NOTES - 20} deleted" in process.stderr.readline()
        write(vault / "garage.md", "The automobile needs new tyres.")
        assert "1 new" in next(line for line in process.stderr if " 1 new" in line)
        wait_until_encoded(process, data, 21)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 0
    with opened(data) as engine:
        assert engine.store.vectors.coverage().left == 0
        assert engine.search("car", mode="semantic").results[0].source_key == "note:vault/garage"
        assert_sound(engine)
