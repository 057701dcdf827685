"""`citewell add --watch` killed again and again while files and folders are moved about ends in step with the disk."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from durability.programs import assert_sound, command, keys, note_text, opened, texts, write, write_notes

NOTES = 40
KILLS = 8
IN_STEP_SECONDS = 60


class Mover(threading.Thread):
    """Renames, moves, deletes, rewrites and makes files and folders without a pause until it is told to stop."""

    def __init__(self, vault: Path) -> None:
        super().__init__()
        self.vault, self.stopping, self.moves = vault, threading.Event(), 0
        self._random = random.Random(7)

    def run(self) -> None:
        while not self.stopping.is_set():
            self._move()
            self.moves += 1
            self.stopping.wait(0.002)

    def _move(self) -> None:
        files = sorted(self.vault.rglob("*.md"))
        folders = sorted(path for path in self.vault.iterdir() if path.is_dir())
        chosen, folder = self._random.choice(files), self._random.choice(folders)
        match self._random.randrange(7):
            case 0 | 1:
                chosen.rename(folder / chosen.name)
            case 2:
                chosen.rename(chosen.with_name(f"renamed-{self.moves}.md"))
            case 3:
                folder.rename(folder.with_name(f"box-{self.moves}"))
            case 4 if len(files) > NOTES // 2:
                chosen.unlink()
            case 5:
                write(folder / f"new-{self.moves}.md", note_text(self.moves, 1))
            case 6:
                # As editors save: a new file takes the place of the old one.
                write(chosen.with_suffix(".tmp"), note_text(self.moves, 2))
                chosen.with_suffix(".tmp").replace(chosen)
            case _:
                shutil.copy(chosen, folder / f"copy-{self.moves}.md")


@contextmanager
def watching(data: Path, vault: Path) -> Iterator[subprocess.Popen[str]]:
    """The program watching, once it has added what is there."""
    environment = {**os.environ, "CITEWELL_EMBEDDINGS": "off"}
    asked = command(data, "add", str(vault), "--watch")
    process = subprocess.Popen(asked, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        assert " new" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def on_disk(vault: Path) -> dict[str, str]:
    return {str(path.relative_to(vault)): path.read_text("utf-8") for path in vault.rglob("*.md")}


@pytest.mark.slow
@pytest.mark.attack("D1")
def test_a_watcher_killed_while_files_and_folders_move_ends_in_step_with_the_disk(tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    write_notes(vault, NOTES)
    mover = Mover(vault)
    mover.start()
    try:
        for number in range(KILLS):
            with watching(data, vault) as process:
                seen = mover.moves
                while mover.is_alive() and mover.moves < seen + 15 * (number + 1):
                    time.sleep(0.01)
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
            with opened(data) as engine:
                assert_sound(engine)
                assert all(not info.watched for info in engine.corpus.collections().collections)
    finally:
        mover.stopping.set()
        mover.join()
    wanted = on_disk(vault)
    with watching(data, vault), opened(data) as engine:
        until = time.monotonic() + IN_STEP_SECONDS
        while texts(engine) != wanted and time.monotonic() < until:
            time.sleep(0.1)
        assert texts(engine) == wanted
        # What is moved now is followed by the watcher itself.
        before = keys(engine)
        (vault / "moved").mkdir()
        first = sorted(wanted)[0]
        (vault / first).rename(vault / "moved" / "last.md")
        wanted = on_disk(vault)
        while texts(engine) != wanted and time.monotonic() < until:
            time.sleep(0.1)
        assert texts(engine) == wanted
        assert keys(engine)["moved/last.md"] == before[first]
        assert_sound(engine)
    assert mover.moves > 100
