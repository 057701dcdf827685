"""Watching a folder: the moments at which it has changed and come to rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

# Long enough for an editor to finish saving, short enough to feel immediate.
_SETTLE_MS = 400


def changes(path: Path, stop: Event) -> Iterator[int]:
    """How many files changed, each time something did; ends when told to stop."""
    from watchfiles import watch

    folder = path if path.is_dir() else path.parent
    for changed in watch(folder, debounce=_SETTLE_MS, stop_event=stop, raise_interrupt=True, recursive=True):
        touched = {Path(name) for _, name in changed}
        if path.is_dir() or path in touched:
            yield len(touched)
