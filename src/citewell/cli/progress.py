"""Watching a run from the command line: progress on stderr, Ctrl-C once interrupts, twice quits at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from citewell.cli.console import cells, note, one_line, page_width, plain, screen_width
from citewell.cli.excerpts import quote_lines
from citewell.engine import Citewell
from citewell.errors import CitewellError, Interrupted
from citewell.runs.events import DecisionMade, RunEvent, RunResumed, SentenceRetracted, SentenceShown, StageEntered
from citewell.runs.run import RunResult
from citewell.runs.timeline import STAGE_TITLES
from citewell.store.port import SyncProgress

if TYPE_CHECKING:
    from rich.text import Text

# A run's progress as lines for a person: rendered from its log and nothing else.


# The ends of a log are large and say nothing to a person who watches.
_SHOWN = ("stage_entered", "decision_made", "sentence_shown", "sentence_retracted", "run_resumed", "display_updated")


class ProgressLine:
    """Progress on stderr: one line that the next one replaces and the answer clears away; or lines that stay."""

    def __init__(self, *, quiet: bool, stays: bool) -> None:
        self._quiet = quiet
        self._stays = stays
        self._shown = 0

    def show_event(self, event: RunEvent) -> None:
        line = progress_line(event)
        if line:
            self.show(line)

    def show(self, text: str) -> None:
        if self._quiet:
            return
        if self._stays:
            note(text)
            return
        line = one_line(text, screen_width() - 1)
        self.clear()
        self._shown = cells(line)
        print(line, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for what follows; with spaces, which every terminal knows."""
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0


def progress_line(event: RunEvent) -> str | None:
    """What a person wants to read of an event, if anything."""
    if event.kind not in _SHOWN:
        return None
    match event.event:
        case StageEntered(stage=stage):
            return STAGE_TITLES.get(stage, stage)
        case DecisionMade() as decision:
            return f"  {decision.sentence}"
        case SentenceShown(text=text):
            return f"  > {text}"
        case SentenceRetracted(indexes=indexes, reason=reason):
            return f"  removed: sentence {', '.join(str(index + 1) for index in indexes)} ({reason})"
        case RunResumed():
            return f"resumed {event.run_id}"
        case _:
            return None


# An answer while it is written: its sentences as they are bound, and under them what is being done.
#
# The region is repainted as sentences come or are removed, shows their last lines where the screen is too low for
# all, and is gone when the answer itself is printed. Nothing but a terminal is given it.


_ROOM = 3  # lines of the screen that are left for the prompt and the progress


class LiveAnswer:
    """A run on a terminal."""

    def __init__(self) -> None:
        # Not imported above: only a conversation on a terminal needs it.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._live = Live(
            console=self._console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._standing: dict[int, str] = {}
        self._removed: set[int] = set()
        self._doing = ""

    def show_event(self, event: RunEvent) -> None:
        match event.event:
            case SentenceShown(index=index, text=text):
                self._standing[index] = text
                self._removed.discard(index)
            case SentenceRetracted(indexes=indexes):
                self._removed.update(indexes)
            case _:
                line = progress_line(event)
                if line is None:
                    return
                self._doing = one_line(line, page_width() - 1)
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._painted(), refresh=True)

    def clear(self) -> None:
        if self._live.is_started:
            self._live.stop()

    def _painted(self) -> Text:
        from rich.text import Text

        width = min(page_width(), self._console.width)
        lines: list[tuple[str, str]] = []
        for index in sorted(self._standing):
            how = "dim strike" if index in self._removed else ""
            lines += [(plain(line), how) for line in quote_lines(self._standing[index].strip(), width)]
        shown = Text()
        for line, how in lines[-max(1, self._console.height - _ROOM) :]:
            shown.append(f"{line}\n", style=how)
        return shown.append(self._doing, style="dim")


EXIT_CANCELLED = 130


class Terminated(Interrupted):
    """Interrupted by SIGTERM: the whole program is to go, and not only the run."""


class RunDisplay(Protocol):
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
) -> RunResult:
    """Watch a run this process executes to its end, or leave it resumable when interrupted.

    A terminal shows the sentences as they are written and one line of progress, which give way to the answer; with
    `verbose` every line of progress stays.
    """
    # Not asyncio.run: it would wait for a thread that waits for a lock, though the run was told to stop.
    loop = asyncio.new_event_loop()
    try:
        is_live = sys.stdout.isatty() and sys.stderr.isatty() and not quiet and not verbose
        shown = LiveAnswer() if is_live else ProgressLine(quiet=quiet, stays=verbose)
        return loop.run_until_complete(_execute(engine, run_id, shown, after))
    finally:
        loop.close()


async def _execute(engine: Citewell, run_id: str, display: RunDisplay, after: int) -> RunResult:
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


async def _watch(engine: Citewell, run_id: str, display: RunDisplay, after: int) -> RunResult:
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


# The progress of an `add` as a bar on a terminal: how far, how fast, how long still. Piped output stays quiet.


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
