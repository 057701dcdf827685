"""`citewell embed`: the vectors of the semantic lane, with progress; Ctrl-C loses nothing that was stored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from citewell.domain.errors import CitewellError
from citewell.domain.library import EncodeProgress, EncodeReport
from citewell.engine import Citewell
from citewell.surfaces.cli.console import note, print_json, print_text
from citewell.surfaces.cli.options import engine, json_option

STOPPED = 130  # the exit code of work that was interrupted


@click.command(short_help="Prepare search by meaning.")
@json_option
@click.pass_context
def embed(ctx: click.Context, as_json: bool) -> None:
    """Make the vectors that search by meaning needs, on this machine; run it again to go on where it stopped.

    'citewell add' does this itself for up to CITEWELL_ENCODE_MINUTES, unless CITEWELL_EMBEDDINGS is off. Passages
    without a vector are found by their words.

    \b
    Examples:
      citewell embed
      citewell search "cars" --mode semantic
    """
    with engine(ctx) as opened:
        report = encode(opened)
    if as_json:
        print_json(report)
        return
    print_text(
        f"{report.encoded:,} passages encoded in {report.seconds:.1f} s, {report.left:,} of {report.chunks:,} left."
    )


def encode(opened: Citewell, most_seconds: float | None = None) -> EncodeReport:
    """Encode what is left, with a bar on a terminal."""
    with _bar() as show:
        for event in opened.corpus.encode(most_seconds):
            if isinstance(event, EncodeReport):
                return event
            show(event)
    raise AssertionError("encoding ends with its report")


def encode_after_add(opened: Citewell) -> bool:
    """Encode what was added, where the settings ask for it; whether it was left to run to its end.

    What was added is found by its words in any case, so nothing that goes wrong here undoes or fails the `add`.
    """
    if opened.settings.embeddings == "off":
        return True
    try:
        left = encode(opened, opened.settings.encode_minutes * 60).left
        if left:
            note(f"{left:,} passages are not encoded yet and found by their words. 'citewell embed' goes on.")
    except KeyboardInterrupt:
        left = opened.corpus.vectors_left()
        note(f"Stopped encoding: {left:,} passages left, found by their words meanwhile. 'citewell embed' goes on.")
        return False
    except CitewellError as error:
        note(f"Not encoded, so found by words only. {error.message} {error.fix}")
    return True


@contextmanager
def _bar() -> Iterator[Callable[[EncodeProgress], None]]:
    if not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Encoding", total=None, rate="")

        def show(event: EncodeProgress) -> None:
            seconds = progress.tasks[0].elapsed or 0.0
            rate = f"{event.done / seconds:,.0f} passages/s" if event.done and seconds else ""
            progress.update(task, total=event.total, completed=event.done, rate=rate)

        yield show
