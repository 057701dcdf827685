"""Where backups and restores are put together: a hidden folder beside the target, on the same disk."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from citewell.domain.errors import StoreFull, Unavailable
from citewell.store.disk import locked

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SPARE_BYTES = 10_000_000


@contextmanager
def workshop(
    target: Path, kind: Literal["backup", "restore"], rescue: Callable[[Path], None] = lambda _: None
) -> Iterator[Path]:
    """A folder of our own beside the target, gone at the end; one that a killed process left behind is removed first.

    Before a folder is removed, `rescue` takes out of it what must not be lost; where that fails, it stays.
    """
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.{kind}")
    for stale in [entry for entry in target.parent.iterdir() if left.fullmatch(entry.name)]:
        with suppress(OSError), locked(stale, fcntl.LOCK_EX | fcntl.LOCK_NB):
            rescue(stale)
            shutil.rmtree(stale)
    place = target.with_name(f".{target.name}.{secrets.token_hex(8)}.{kind}")
    os.mkdir(place, 0o700)
    try:
        with locked(place, fcntl.LOCK_EX):
            yield place
    finally:
        rescue(place)
        shutil.rmtree(place, ignore_errors=True)


def check_room(folder: Path, needed: int, what: str) -> None:
    """Refuse before anything is written where it might not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        megabytes = (needed + _SPARE_BYTES) // 1_000_000
        raise StoreFull(
            f"{what} may need {megabytes:,} MB in {folder}, and {free // 1_000_000:,} MB are free.",
            fix="Free some disk space, or choose a place on another disk.",
        )


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise StoreFull(
                f"{what} could not be written: {reason}. Nothing was changed.",
                fix="Free some disk space, or choose a place on another disk, and run the same command again.",
            ) from error
        raise Unavailable(
            f"{what} cannot be written: {reason}.", fix="Check the folder and its permissions."
        ) from error
