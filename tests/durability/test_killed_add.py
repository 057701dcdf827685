"""`citewell add` killed at any moment: what it said was stored is there, and the next `add` finishes the work."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from citewell import Citewell
from durability.programs import (
    add,
    assert_sound,
    keys,
    note_path,
    note_text,
    opened,
    run,
    size,
    start,
    texts,
    write_notes,
)
from durability.programs import write as write_file

NOTES = 300
Moment = Callable[["subprocess.Popen[str]", Path], list[str]]


def after_lines(count: int) -> Moment:
    """Once so many notes have been reported as stored."""

    def wait(process: subprocess.Popen[str], data: Path) -> list[str]:
        assert process.stderr is not None
        return [process.stderr.readline() for _ in range(count)]

    return wait


def after_bytes(name: str, count: int) -> Moment:
    """Once a file of the database has grown by so much: inside a commit, or inside a checkpoint."""

    def wait(process: subprocess.Popen[str], data: Path) -> list[str]:
        before = size(data / name)
        while process.poll() is None and size(data / name) < before + count:
            pass
        return []

    return wait


def kill_at(moment: Moment, data: Path, vault: Path) -> tuple[bool, set[str]]:
    """Whether `add` was killed before it was done, and what it had reported as stored by then."""
    with start(data, "add", str(vault), "-v") as process:
        lines = moment(process, data)
        process.kill()
        _, rest = process.communicate()
    reported = "".join(lines) + rest
    whole = [line for line in reported.splitlines(keepends=True) if line.endswith("\n")]
    names = {line.removeprefix("stored ").rstrip("\n") for line in whole if line.startswith("stored ")}
    return process.returncode == -signal.SIGKILL, names


def assert_acknowledged(engine: Citewell, names: set[str], notes: dict[str, str], edition: int) -> None:
    """Every note reported as stored is there with its whole text, and is found."""
    stored = texts(engine)
    assert {name: stored.get(name) for name in names} == {name: notes[name] for name in names}
    written = {name for name in names if f"edition{edition}," in notes[name]}
    found = engine.search(f"edition{edition}", limit=1_000).results if names else ()
    assert written <= {row.note_path for row in found}
    assert_sound(engine)


FIRST_ADD: tuple[Moment, ...] = (
    after_bytes("corpus.db", 1),
    after_bytes("corpus.db-wal", 1),
    after_bytes("corpus.db-wal", 100_000),
    after_lines(1),
    after_lines(63),
    after_lines(64),
    after_lines(65),
    after_lines(130),
    after_bytes("corpus.db-wal", 400_000),
    after_lines(200),
)


@pytest.mark.attack("D1")
@pytest.mark.slow
def test_a_first_add_killed_at_ten_moments_keeps_what_it_acknowledged_and_is_finished_by_the_next(
    tmp_path: Path,
) -> None:
    """D1, over an empty data folder each time."""
    vault = tmp_path / "vault"
    notes = write_notes(vault, NOTES)
    kills = 0
    for round_number, moment in enumerate(cycle(FIRST_ADD)):
        data = tmp_path / f"data-{round_number}"
        killed, names = kill_at(moment, data, vault)
        kills += killed
        with opened(data) as engine:
            assert_acknowledged(engine, names, notes, 0)
            report = add(engine, vault)
            assert (report.indexed + report.unchanged, report.documents) == (NOTES, NOTES)
            assert report.unchanged >= len(names)
            assert texts(engine) == notes
            assert_sound(engine)
        if kills == len(FIRST_ADD):
            return
        assert round_number < 2 * len(FIRST_ADD), "the program ends before it can be killed"


UPDATE: tuple[Moment, ...] = (
    after_bytes("corpus.db-wal", 1),
    after_lines(1),
    after_bytes("corpus.db-wal", 60_000),
    after_lines(40),
    after_bytes("corpus.db-wal", 300_000),
    after_lines(64),
    after_lines(65),
    after_lines(100),
    after_bytes("corpus.db-wal", 200_000),
    after_lines(128),
    after_lines(129),
)


class Vault:
    """A vault that is edited between two runs, and what its files say now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes = write_notes(root, NOTES)
        self._next = NOTES

    def change(self, edition: int) -> None:
        """Edit every second note, move five, delete five, write five new ones."""
        paths = sorted(self.notes)
        for path in paths[edition % 2 :: 2]:
            self.put(path, f"{self.notes[path].splitlines()[0]}\n\nNow edition{edition}, once more.\n")
        kept = paths[1 - edition % 2 :: 2]
        for path in kept[edition : edition + 5]:
            target = f"moved-{edition}/{Path(path).name}"
            write_file(self.root / target, self.notes[path])
            self.notes[target] = self.forget(path)
        for path in kept[edition + 5 : edition + 10]:
            self.forget(path)
        for _ in range(5):
            self.put(note_path(self._next), note_text(self._next, edition))
            self._next += 1

    def put(self, path: str, text: str) -> None:
        write_file(self.root / path, text)
        self.notes[path] = text

    def forget(self, path: str) -> str:
        (self.root / path).unlink()
        return self.notes.pop(path)


@pytest.mark.attack("D1")
@pytest.mark.slow
def test_updates_killed_at_fifteen_moments_keep_what_they_acknowledged_and_end_in_step_with_the_disk(
    tmp_path: Path,
) -> None:
    """D1, over one corpus whose vault is edited, moved and deleted from in between."""
    vault, data = Vault(tmp_path / "vault"), tmp_path / "data"
    with opened(data) as engine:
        add(engine, vault.root)
    kills, rounds = 0, zip(range(1, 30), cycle(UPDATE), strict=False)
    while kills < 15:
        edition, moment = next(rounds)
        vault.change(edition)
        killed, names = kill_at(moment, data, vault.root)
        kills += killed
        with opened(data) as engine:
            keys_of_moved = {path: key for path, key in keys(engine).items() if path.startswith(f"moved-{edition}/")}
            assert all(not key.startswith("note:vault/moved") for key in keys_of_moved.values())
            assert_acknowledged(engine, names, vault.notes, edition)
            if edition % 2:
                continue  # the next kill hits work that was already left half done
            report = add(engine, vault.root)
            assert (report.documents, report.failed, report.skipped) == (len(vault.notes), 0, 0)
            assert texts(engine) == vault.notes
            assert_sound(engine)
    last = run(data, "add", str(vault.root))
    assert (last.returncode, last.stderr) == (0, "")
    with opened(data) as engine:
        assert texts(engine) == vault.notes
        assert_sound(engine)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_after_an_index_update_killed_midway_every_search_finds_what_is_stored(tmp_path: Path, share: float) -> None:
    """The index that ranks and the texts are one transaction: what is found is what is there, before and after."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    write_notes(vault, NOTES)
    with opened(data) as engine:
        add(engine, vault)
        before = size(data / "corpus.db-wal")
        for number in range(NOTES):
            write_file(vault / note_path(number), note_text(number, edition=1) + "Kelp and tide. " * 200)
        serving = {row.source_key for row in engine.search("kelp", limit=1_000).results}
        kill_at(after_bytes("corpus.db-wal", int(share * 2_000_000) - before), data, vault)
        for _ in range(2):
            stored = texts(engine)
            first = {path for path, text in stored.items() if "edition0" in text}
            by_words = {row.note_path for row in engine.search("edition0", limit=1_000).results}
            assert by_words == first
            assert {row.source_key for row in engine.search("kelp", limit=1_000).results} == serving
            assert_sound(engine)
        add(engine, vault)
        assert {row.note_path for row in engine.search("edition1", limit=1_000).results} == set(texts(engine))
        assert_sound(engine)
