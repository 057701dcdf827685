"""Files on the disk: written whole and synced, folders locked while somebody works on them, errors that say what to do.

Readers share a lock, writing and deleting exclude; links are never followed. Where the file system has no locks,
none is held.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell.domain.errors import StoreFull, Unavailable

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


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


def write_file(path: str | Path, content: bytes, folder: int | None = None) -> None:
    """A new file that only its owner can read, synced; `folder` is an open one it is put into."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_locked(path: Path, how: int) -> int:
    """An open folder that has this name and is locked until it is closed."""
    while True:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(folder, how)
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                    raise
            # While we waited it may have been renamed: then what we hold is not what the caller means.
            if is_at(path, folder):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)


@contextmanager
def locked(path: Path, how: int) -> Iterator[int]:
    """An open folder that has this name and is locked until the end."""
    folder = open_locked(path, how)
    try:
        yield folder
    finally:
        os.close(folder)


def is_at(path: Path, folder: int) -> bool:
    """Whether an open folder still has this name."""
    try:
        there, here = path.lstat(), os.fstat(folder)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
