"""The folders of traces: built aside, locked while somebody works on them, and taken away whole.

Readers share a lock, writing and deleting exclude. Only the files that Citewell writes are ever unlinked, links are
never followed, and what a killed process left aside is swept by the next one. Where the file system has no locks, none
is held.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from citewell.domain.errors import BadInput, StoreFull, Unavailable

TRACES = "research-runs"
MARKER = ".complete"
# Every trace has these; where a model planned, its reply stands beside them.
FILES = ("log.jsonl", "planner-input.md", "run.json", "run.md", "synthesis-input.md")
PLANNER_OUTPUTS = ("planner-output.json", "planner-output.txt")
ALL_FILES = tuple(sorted((*FILES, *PLANNER_OUTPUTS)))

# A run of a brief has an id that follows from the request; every other one has an id of its own.
RUN_ID = re.compile(r"(?:[0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})")
_ASIDE = re.compile(rf"\.{RUN_ID.pattern}\.[0-9a-f]{{16}}\.(?:new|gone)")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def check_run_id(run_id: str) -> str:
    """The id, if it is one: nothing else ever becomes part of a path."""
    if not RUN_ID.fullmatch(run_id):
        raise BadInput(f"{run_id!r} is not the id of a run.", fix="See 'citewell runs list'.")
    return run_id


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise StoreFull(
                f"{what} could not be written: {reason}. Nothing of it was left behind.",
                fix="Free some disk space; the run itself is on record.",
            ) from error
        raise Unavailable(
            f"{what} cannot be written: {reason}.", fix="Check the folder and its permissions."
        ) from error


def aside_of(place: Path, why: str) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}.{why}")


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, how: int) -> Iterator[int]:
    """An open folder that has this name and is locked until the end."""
    folder = _open_locked(path, how)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_locked(path: Path, how: int) -> int:
    while True:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _lock(folder, how)
            # While we waited it may have been renamed: then what we hold is not what the caller means.
            if is_at(path, folder):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)


def _lock(folder: int, how: int) -> None:
    """Lock a folder; a file system without locks goes without."""
    try:
        fcntl.flock(folder, how)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            raise


def is_at(path: Path, folder: int) -> bool:
    """Whether an open folder still has this name."""
    try:
        there, here = path.lstat(), os.fstat(folder)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def take_away(place: Path, folder: int) -> None:
    """Remove a trace that the caller has locked: first its name, so that nobody sees it half gone."""
    gone = aside_of(place, "gone")
    os.rename(place, gone)
    if not discard(gone, folder):
        os.rename(gone, place)  # somebody put files of their own into it: those stay


def foreign_names(folder: int) -> list[str]:
    """What lies in the folder of a trace and is not part of it."""
    return sorted(set(os.listdir(folder)) - {MARKER, *ALL_FILES})


def discard(path: Path, folder: int) -> bool:
    """Remove the files we write, the marker first, and the folder if it is empty then; nothing else."""
    for name in (MARKER, *ALL_FILES):
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(name, dir_fd=folder)
    try:
        path.rmdir()
    except OSError:
        return False
    return True


def sweep(traces: Path) -> None:
    """Remove what writers and removers that were killed left aside; one that still works holds its lock."""
    with os.scandir(traces) as scan:
        left = [entry.name for entry in scan if _ASIDE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
    for name in left:
        with suppress(OSError), locked(traces / name, fcntl.LOCK_EX | fcntl.LOCK_NB) as folder:
            discard(traces / name, folder)


def is_aside(name: str) -> bool:
    """Whether a name is one that we give to what is being written or removed."""
    return _ASIDE.fullmatch(name) is not None
