"""Watching a run from the command line: progress on stderr, Ctrl-C once interrupts, twice quits at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from citewell.domain.errors import Interrupted
from citewell.domain.runs import RunResult
from citewell.public import Citewell
from citewell.surfaces.cli.progress import ProgressLine, progress_line

EXIT_CANCELLED = 130


def execute(engine: Citewell, run_id: str, *, quiet: bool, verbose: bool = False, after: int = -1) -> RunResult:
    """Watch a run this process executes to its end, or leave it resumable when interrupted.

    Progress is one line that gives way to the answer; with `verbose` every line of it stays.
    """
    # Not asyncio.run: it would wait for a thread that waits for a lock, though the run was told to stop.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_execute(engine, run_id, ProgressLine(quiet=quiet, stays=verbose), after))
    finally:
        loop.close()


async def _execute(engine: Citewell, run_id: str, progress: ProgressLine, after: int) -> RunResult:
    loop = asyncio.get_running_loop()
    watching = asyncio.ensure_future(_watch(engine, run_id, progress, after))

    def on_interrupt() -> None:
        if watching.cancelling():
            os._exit(EXIT_CANCELLED)
        watching.cancel()

    loop.add_signal_handler(signal.SIGINT, on_interrupt)
    loop.add_signal_handler(signal.SIGTERM, on_interrupt)
    try:
        return await watching
    except asyncio.CancelledError:
        await asyncio.to_thread(engine.runs.interrupt, run_id)
        raise Interrupted(
            f"Interrupted: run {run_id} is kept as far as it came.",
            fix=f"Go on with 'citewell runs resume {run_id}'.",
            run_id=run_id,
        ) from None
    finally:
        progress.clear()
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


async def _watch(engine: Citewell, run_id: str, progress: ProgressLine, after: int) -> RunResult:
    async for event in engine.runs.follow(run_id, after, until="left"):
        line = progress_line(event)
        if line:
            progress.show(line)
    return await asyncio.to_thread(engine.runs.wait, run_id)


def wants_progress() -> bool:
    """Progress is for a person watching."""
    return sys.stderr.isatty()
