"""A program that writes traces in processes of their own, which can be killed or fail at any step.

python writer.py sabotage ROOT kill|fail    a write for every step of it, struck there, each into ROOT/<step>
python writer.py many ROOT COUNT            COUNT processes that write one trace each, at once
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from citewell import StoreFull
from recording.builders import RUN_ID, run_id, write

CALLS = ("mkdir", "open", "fdopen", "fsync", "rename")
DONE, FULL, BROKEN = 0, 3, 4


class Saboteur:
    """Counts the system calls of a write, and strikes before one of them."""

    def __init__(self, how: str, step: int) -> None:
        self._how, self._step, self._count = how, step, 0
        for name in CALLS:
            setattr(os, name, self._around(getattr(os, name)))

    @property
    def has_struck(self) -> bool:
        return self._count >= self._step

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def struck(*args: Any, **options: Any) -> Any:
            self._count += 1
            if self._count == self._step and self._how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self._count == self._step:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*args, **options)

        return struck


def in_child(work: Callable[[], object]) -> int:
    """Start a process that does one thing; its id."""
    child = os.fork()
    if child:
        return child
    ending = BROKEN
    try:
        work()
        ending = DONE
    except StoreFull:
        ending = FULL
    finally:
        os._exit(ending)


def ending_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sabotage(root: Path, how: str) -> None:
    for step in count(1):

        def work(step: int = step) -> None:
            Saboteur(how, step)
            write(root / f"{step:03}", RUN_ID)

        ending = ending_of(in_child(work))
        print(ending, flush=True)
        if ending == DONE:
            return


def many(root: Path, number: int) -> None:
    children = [in_child(lambda n=n: write(root, run_id(n))) for n in range(number)]  # type: ignore[misc]
    for child in children:
        print(ending_of(child), flush=True)


if __name__ == "__main__":
    command, folder, option = sys.argv[1:]
    if command == "sabotage":
        sabotage(Path(folder), option)
    else:
        many(Path(folder), int(option))
