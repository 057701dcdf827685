"""Data folders that cannot be written, also for root: a program without its capabilities is held to permissions."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PR_SET_SECUREBITS, _SECBIT_NOROOT = 28, 1


def give_up_rights() -> None:
    """For `preexec_fn`: the program that is started may do only what permissions allow, though it is root's."""
    if os.geteuid() == 0 and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECUREBITS, _SECBIT_NOROOT, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "rights cannot be given up here")


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder and all in it without permission to write, until the end; that this holds is tried out."""
    places = [folder, *folder.rglob("*")]
    modes = {place: stat.S_IMODE(place.stat().st_mode) for place in places}
    for place, mode in modes.items():
        place.chmod(mode & ~0o222)
    try:
        _refuses_writing(folder)
        yield folder
    finally:
        for place, mode in modes.items():
            if place.exists():
                place.chmod(mode)


def _refuses_writing(folder: Path) -> None:
    attempt = [sys.executable, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1], 'x').touch()", str(folder)]
    tried = subprocess.run(attempt, preexec_fn=give_up_rights, capture_output=True, text=True, check=False, timeout=60)
    assert "PermissionError" in tried.stderr, tried.stderr
