"""No room left: a typed error, everything before it intact, and the same command goes on once there is room."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from citewell.app import Engine
from citewell.domain.errors import StoreFull
from citewell.domain.library import SyncProgress
from conftest import sqlite_corpus
from durability.programs import TIMEOUT_S, add, assert_sound, command, opened, run, texts, write_notes


def add_until_full(data: Path, vault: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """`add -v` in a process whose files may not grow beyond a limit."""
    return subprocess.run(
        command(data, "add", str(vault), "-v"),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


@pytest.mark.attack("D4")
@pytest.mark.slow
@pytest.mark.parametrize("limit", [300_000, 500_000, 800_000])
def test_add_stops_when_the_disk_is_full_and_goes_on_when_it_is_not(tmp_path: Path, limit: int) -> None:
    """D4, with a real limit on the size of files: exit 1, what was stored is there, the rest comes later."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    notes = write_notes(vault, 300)
    stopped = add_until_full(data, vault, limit)
    *stored, said, fix = stopped.stderr.splitlines()
    names = {line.removeprefix("stored ") for line in stored}
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "everything before it is safe" in said
    assert fix.startswith("  → ")
    with opened(data) as engine:
        assert texts(engine) == {name: notes[name] for name in names}
        assert len(engine.search("kelp", limit=1_000).results) == len(names)
        assert_sound(engine)
    assert run(data, "add", str(vault)).returncode == 0
    with opened(data) as engine:
        assert texts(engine) == notes
        assert_sound(engine)


def note_committed(engine: Engine, vault: Path, names: set[str]) -> None:
    """Add a vault, noting what is reported as stored while it lasts."""
    for event in engine.add(vault):
        if isinstance(event, SyncProgress):
            names.update(event.committed)


@pytest.mark.attack("D4")
def test_a_full_database_undoes_the_batch_and_the_same_engine_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """D4, with SQLite's own SQLITE_FULL in a process that lives on."""
    vault, notes = tmp_path / "vault", write_notes(tmp_path / "vault", 200)
    with opened(tmp_path / "data") as engine:
        with sqlite_corpus(engine).database.write() as connection:
            connection.execute(f"PRAGMA max_page_count = {connection.pragma('page_count') + 50}").fetchall()
        names: set[str] = set()
        with pytest.raises(StoreFull, match="No room left"):
            note_committed(engine, vault, names)
        assert 0 < len(names) < 200
        assert texts(engine) == {name: notes[name] for name in names}
        assert_sound(engine)
        with sqlite_corpus(engine).database.write() as connection:
            connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        report = add(engine, vault)
        assert (report.indexed, report.unchanged) == (200 - len(names), len(names))
        assert texts(engine) == notes
        assert_sound(engine)


@pytest.mark.attack("D4")
@pytest.mark.slow
def test_a_disk_with_no_room_for_the_database_gets_none(tmp_path: Path) -> None:
    """Creation fails whole: no half-made file, no leftovers, and the next command creates it."""
    write_notes(tmp_path / "vault", 3)
    stopped = add_until_full(tmp_path / "data", tmp_path / "vault", 20_000)
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("citewell: ")
    assert list((tmp_path / "data").iterdir()) == []
    assert run(tmp_path / "data", "add", str(tmp_path / "vault")).returncode == 0
