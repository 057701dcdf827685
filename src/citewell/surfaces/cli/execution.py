"""Watching a run from the command line: progress on stderr, Ctrl-C once interrupts, twice quits at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Protocol

from citewell.domain.errors import CitewellError, Interrupted
from citewell.domain.events import RunEvent
from citewell.domain.runs import RunResult
from citewell.engine import Citewell
from citewell.surfaces.cli.console import note
from citewell.surfaces.cli.progress import ProgressLine

EXIT_CANCELLED = 130


class Terminated(Interrupted):
    """Interrupted by SIGTERM: the whole program is to go, and not only the run."""


class Display(Protocol):
    """Whatever shows a run while it goes on."""

    def show_event(self, event: RunEvent) -> None: ...

    def clear(self) -> None:
        """Make room for what follows."""


def execute(
    engine: Citewell,
    run_id: str,
    *,
    quiet: bool = False,
    verbose: bool = False,
    after: int = -1,
    display: Display | None = None,
) -> RunResult:
    """Watch a run this process executes to its end, or leave it resumable when interrupted.

    Progress is one line that gives way to the answer; with `verbose` every line of it stays.
    """
    # Not asyncio.run: it would wait for a thread that waits for a lock, though the run was told to stop.
    loop = asyncio.new_event_loop()
    try:
        shown = display or ProgressLine(quiet=quiet, stays=verbose)
        return loop.run_until_complete(_execute(engine, run_id, shown, after))
    finally:
        loop.close()


async def _execute(engine: Citewell, run_id: str, display: Display, after: int) -> RunResult:
    loop = asyncio.get_running_loop()
    watching = asyncio.ensure_future(_watch(engine, run_id, display, after))
    signals: list[int] = []

    def on_signal(number: int) -> None:
        if signals:
            display.clear()
            os._exit(EXIT_CANCELLED)
        signals.append(number)
        watching.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    try:
        return await watching
    except asyncio.CancelledError:
        await asyncio.to_thread(engine.runs.interrupt, run_id)
        kind = Terminated if signal.SIGTERM in signals else Interrupted
        raise kind(
            f"Interrupted: run {run_id} is kept as far as it came.",
            fix=f"Go on with 'citewell runs resume {run_id}'.",
            run_id=run_id,
        ) from None
    finally:
        display.clear()
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


async def _watch(engine: Citewell, run_id: str, display: Display, after: int) -> RunResult:
    async for event in engine.runs.follow(run_id, after, until="left"):
        display.show_event(event)
    return await asyncio.to_thread(engine.runs.wait, run_id)


def put_old_runs_away(opened: Citewell, *, keep_all: bool = False) -> None:
    """Prune; the answer is there, so whatever fails is only told."""
    try:
        opened.runs.prune(keep_all=keep_all)
    except Exception as error:  # noqa: BLE001  nothing that goes wrong while tidying up may hide the answer
        said = error.message if isinstance(error, CitewellError) else f"{type(error).__name__}: {error}"
        note(f"citewell: old runs could not be put away: {opened.without_secrets(said)}")


def wants_progress() -> bool:
    """Progress is for a person watching."""
    return sys.stderr.isatty()
