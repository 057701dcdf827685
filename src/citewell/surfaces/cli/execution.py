"""Executing a run from the command line: progress on stderr, Ctrl-C once interrupts, twice quits at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

from citewell.domain.errors import Interrupted, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.runs import RunResult
from citewell.surfaces.cli.console import note
from citewell.surfaces.cli.progress import progress_line

EXIT_CANCELLED = 130


def execute(events: AsyncIterator[RunEvent | RunResult], *, quiet: bool) -> RunResult:
    """Drive a run to its end, or leave it resumable when interrupted."""
    # Not asyncio.run: it would wait for a thread that waits for a lock, though the run was told to stop.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_execute(events, quiet=quiet))
    finally:
        loop.close()


async def _execute(events: AsyncIterator[RunEvent | RunResult], *, quiet: bool) -> RunResult:
    loop = asyncio.get_running_loop()
    seen: list[str] = []
    watching = asyncio.ensure_future(_watch(events, seen, quiet=quiet))

    def on_interrupt() -> None:
        if watching.cancelling():
            os._exit(EXIT_CANCELLED)
        watching.cancel()

    loop.add_signal_handler(signal.SIGINT, on_interrupt)
    loop.add_signal_handler(signal.SIGTERM, on_interrupt)
    try:
        return await watching
    except asyncio.CancelledError:
        if not seen:
            raise Interrupted("Interrupted before the run had begun.", fix="Ask the question again.") from None
        raise Interrupted(
            f"Interrupted: run {seen[0]} is kept as far as it came.",
            fix=f"Go on with 'citewell runs resume {seen[0]}'.",
            run_id=seen[0],
        ) from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


async def _watch(events: AsyncIterator[RunEvent | RunResult], seen: list[str], *, quiet: bool) -> RunResult:
    result: RunResult | None = None
    try:
        async for event in events:
            if isinstance(event, RunResult):
                result = event
                continue
            if not seen:
                seen.append(event.run_id)
            line = progress_line(event)
            if line and not quiet:
                note(line)
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
    if result is None:
        raise WorkFailed("The run ended without a result.")
    return result


def wants_progress() -> bool:
    """Progress is for a person watching."""
    return sys.stderr.isatty()
