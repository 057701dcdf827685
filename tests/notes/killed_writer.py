"""Rewrites a note and dies at a chosen step. Arguments: data folder, root, path, step, before|after, unnamed|named."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from citewell.notes.file import Disk, NotePlace, NoteRewriter

STEPS = ("create", "create_unnamed", "name", "write", "fsync", "replace")


class FixedClock:
    def now(self) -> str:
        return "2026-11-16T12:00:00.000Z"

    def monotonic(self) -> float:
        return 0.0


class DeadlyDisk(Disk):
    """Kills its own process at the n-th step."""

    def __init__(self, step: int, moment: str, *, unnamed: bool) -> None:
        self._left = step
        self._moment = moment
        self._unnamed = unnamed

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._deadly(found, name) if name in STEPS else found

    def _deadly(self, method: Any, name: str) -> Any:
        def step(*values: Any) -> Any:
            if name == "create_unnamed" and not self._unnamed:
                return None
            self._left -= 1
            if self._left == 0 and self._moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            if self._left == 0 and self._moment == "within" and name == "write":
                os.write(values[0], values[1][: len(values[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            result = method(*values)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return step


def main() -> None:
    data, root, path, step, moment, temporary = sys.argv[1:]
    disk = DeadlyDisk(int(step), moment, unnamed=temporary == "unnamed")
    NoteRewriter(Path(data), FixedClock(), disk).rewrite(NotePlace(root, path), lambda text: text + "new\n" * 10_000)


if __name__ == "__main__":
    main()
