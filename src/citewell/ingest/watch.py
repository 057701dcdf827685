"""Watching a folder: the moments at which it has changed and come to rest."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

# Long enough for an editor to finish saving, short enough to feel immediate.
_SETTLE_MS = 400
_WAKE_MS = 300


def changes(path: Path, stop: Event) -> Iterator[int]:
    """How many files changed, each time something did; ends when told to stop.

    The first one comes when the watch has begun, changed or not: what happened before it is not missed.
    """
    from watchfiles import watch

    folder = path if path.is_dir() else path.parent
    has_begun = False
    for changed in watch(
        folder,
        debounce=_SETTLE_MS,
        rust_timeout=_WAKE_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=True,
    ):
        touched = {Path(name) for _, name in changed}
        if not has_begun or (touched and (path.is_dir() or path in touched)):
            yield len(touched)
        has_begun = True


# Who follows which folder: a small file in `watching/` for each `add --watch`, locked for as long as it goes on.
#
# The lock ends with the process, however that ends, so there is nothing to keep fresh; the file that a killed one left
# is taken away by the next. Where the file system has no locks, nobody is seen to follow anything.


WATCHING = "watching"
_NAME = re.compile(r"[0-9a-f]{16}\.path")
_LONGEST = 20_000


@contextmanager
def announced(data: Path, path: Path) -> Iterator[None]:
    """Let others see that this path is followed, for as long as this lasts.

    Where that cannot be written it is not seen, and followed all the same.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            _announce(stack, data / WATCHING, path)
        yield


def _announce(stack: ExitStack, folder: Path, path: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(folder)
    name = secrets.token_hex(8)
    # Locked before it has its name: the sweep of another one never takes it for left behind.
    aside, place = folder / f".{name}.new", folder / f"{name}.path"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    stack.callback(_forget, aside)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(descriptor, str(path).encode("utf-8", "replace"))
    os.replace(aside, place)
    stack.callback(_forget, place)


def watched_paths(data: Path) -> tuple[str, ...]:
    """The paths that a living process follows, each once."""
    return tuple(sorted({path for path, _ in _announcements(data / WATCHING, fcntl.LOCK_SH) if path}))


def watched_by_root(roots: Sequence[str], paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The followed paths of each root: a path belongs to the nearest root above it. Pure."""
    found: dict[str, list[str]] = {}
    for path in paths:
        above = [root for root in roots if path == root or path.startswith(root.rstrip("/") + "/")]
        if above:
            found.setdefault(max(above, key=len), []).append(path)
    return {root: tuple(sorted(inside)) for root, inside in found.items()}


def _sweep(folder: Path) -> None:
    """Take away what was left by processes that are gone."""
    for path, place in _announcements(folder, fcntl.LOCK_EX):
        if path is None:
            _forget(place)


def _announcements(folder: Path, lock: int) -> Iterator[tuple[str | None, Path]]:
    """Each file with the path it names; None where nobody holds it any more."""
    try:
        places = [place for place in folder.iterdir() if _NAME.fullmatch(place.name)]
    except OSError:
        return
    for place in places:
        with suppress(OSError):
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if _is_held(descriptor, lock):
                    yield file.read(_LONGEST).decode("utf-8", "replace"), place
                else:
                    yield None, place


def _is_held(descriptor: int, lock: int) -> bool:
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _forget(place: Path) -> None:
    with suppress(OSError):
        place.unlink(missing_ok=True)
