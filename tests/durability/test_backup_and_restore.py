"""`backup` while others write, and `restore` that is killed: what comes of it is whole, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import Citewell
from citewell.errors import StoreUnusable
from durability.programs import add, assert_sound, command, keys, opened, run, start, texts, write_notes
from recording.writer import DONE, FULL

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]


def report(data: Path, *arguments: str) -> dict[str, object]:
    done = run(data, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_a_backup_made_while_add_runs_is_one_consistent_state(tmp_path: Path) -> None:
    """Whatever was stored at that moment is in it whole: texts, index and files agree."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    notes = write_notes(vault, 600)
    seen: set[int] = set()
    with start(data, "add", str(vault), "-v") as process:
        assert process.stderr is not None
        for number in range(4):
            while "note-" not in (line := process.stderr.readline()) and line:
                pass
            found = report(data, "backup", str(tmp_path / f"{number}.zip"))
            seen.add(int(str(found["documents"])))
        process.communicate()
    assert process.returncode == 0
    for number in range(4):
        restored = tmp_path / f"restored-{number}"
        found = report(restored, "restore", str(tmp_path / f"{number}.zip"))
        with opened(restored) as engine:
            assert_sound(engine)
            assert engine.store.check_integrity() == []
            stored = texts(engine)
            assert len(stored) == found["documents"] in seen
            assert stored == {name: notes[name] for name in stored}
            rest = add(engine, vault)
            assert (rest.indexed, rest.unchanged) == (600 - len(stored), len(stored))
    with opened(data) as engine:
        assert len(keys(engine)) == 600


def test_a_restored_folder_answers_as_the_old_one_and_its_runs_replay(tmp_path: Path) -> None:
    vault, data, elsewhere = tmp_path / "vault", tmp_path / "data", tmp_path / "elsewhere"
    write_notes(vault, 40)
    report(data, "add", str(vault))
    answer = report(data, "research", "What is under word7x0?")
    report(data, "backup", str(tmp_path / "all.zip"))
    report(elsewhere, "restore", str(tmp_path / "all.zip"))
    before, after = (report(place, "search", "kelp tide") for place in (data, elsewhere))
    assert after["results"] == before["results"]
    replayed = report(elsewhere, "runs", "replay", str(answer["run_id"]))
    assert replayed["identical"] is True
    assert replayed == report(data, "runs", "replay", str(answer["run_id"]))
    with opened(elsewhere) as engine:
        assert_sound(engine)


def endings(archive: Path, root: Path, how: str) -> list[int]:
    """How a restore ended that was struck before each of its steps, each over a folder with another corpus."""
    program = [sys.executable, "-m", "durability.restorer", str(archive), str(root), how]
    done = subprocess.run(program, cwd=TESTS, capture_output=True, text=True, timeout=240, check=True)
    return [int(line) for line in done.stdout.split()]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A backup of a corpus that has the new note."""
    vault = tmp_path / "new"
    write_notes(vault, 3)
    report(tmp_path / "source", "add", str(vault))
    report(tmp_path / "source", "backup", str(tmp_path / "all.zip"))
    return tmp_path / "all.zip"


@pytest.mark.parametrize("how", ["kill", "fail"])
def test_a_restore_struck_at_any_step_leaves_the_old_state_or_the_new_one(
    archive: Path, tmp_path: Path, how: str
) -> None:
    """V9, V10: kill -9, or a full disk, before each system call."""
    root = tmp_path / how
    *struck, last = endings(archive, root, how)
    assert last == DONE
    assert set(struck) <= ({-signal.SIGKILL} if how == "kill" else {FULL})
    assert len(struck) > 10
    states = set()
    for step in range(1, len(struck) + 2):
        place = root / f"{step:03}"
        states.add(documents(place / "data"))
        # The old folder is there, under its own name or another, or hidden until the next restore names it.
        assert 1 in {documents(path.parent) for path in place.rglob("corpus.db")}
        done = run(place / "data", "restore", str(archive), "--force")
        assert done.returncode == 0, done.stderr
        assert documents(place / "data") == 3
        assert 1 in {documents(folder) for folder in place.glob("data.before-restore-*")}
        assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []
    assert states == {1, 3}


def documents(data: Path) -> int:
    """How many documents a data folder has; -1 where it is none, or one that was being unpacked."""
    if not (data / "corpus.db").exists():
        return -1
    engine = Citewell(data)
    try:
        return engine.corpus.stats().documents
    except StoreUnusable:
        return -1
    finally:
        engine.close()


def test_a_killed_backup_leaves_no_file_of_its_name_and_the_next_one_sweeps_up(tmp_path: Path) -> None:
    vault, data, target = tmp_path / "vault", tmp_path / "data", tmp_path / "out" / "all.zip"
    write_notes(vault, 300)
    report(data, "add", str(vault))
    target.parent.mkdir()
    with subprocess.Popen(command(data, "backup", str(target)), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not os.listdir(target.parent):
            pass
        process.kill()
    left = os.listdir(target.parent)
    assert "all.zip" not in left or process.returncode == 0
    report(data, "backup", str(target), "--force")
    assert os.listdir(target.parent) == ["all.zip"]
