"""The progress of an `add` as a bar on a terminal: how far, how fast, how long still. Piped output stays quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from citewell.domain.library import SyncProgress
from citewell.surfaces.cli.console import one_line


class Bar(Protocol):
    def show(self, event: SyncProgress) -> None: ...


class _Silent:
    def show(self, event: SyncProgress) -> None:
        """Nothing until the end."""


@contextmanager
def sync_bar(label: str) -> Iterator[Bar]:
    """A bar on stderr while the work goes on."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(one_line(label, 40), total=None, rate="")

        class Shown:
            settled = -1

            def show(self, event: SyncProgress) -> None:
                if self.settled < 0:  # files that need no reading say nothing about how fast reading is
                    self.settled = event.done
                    progress.reset(task, total=event.total, completed=event.done)
                seconds = progress.tasks[0].elapsed or 0.0
                progress.update(task, completed=event.done, rate=rate(event.done - self.settled, event.bytes, seconds))

        yield Shown()


def rate(files: int, size: int, seconds: float) -> str:
    """How fast files were read so far; empty until something was."""
    if files <= 0 or seconds <= 0:
        return ""
    return f"{files / seconds:,.0f} files/s, {size / 1e6 / seconds:.1f} MB/s"
