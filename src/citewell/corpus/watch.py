"""Watching a folder: the moments at which it has changed and come to rest."""

from __future__ import annotations

from collections.abc import Iterator
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
