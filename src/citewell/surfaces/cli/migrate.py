"""`citewell migrate`: runs and reports from SQLite to PostgreSQL, and back."""

from __future__ import annotations

import click

from citewell.domain.migrations import MigrationReport
from citewell.surfaces.cli.console import note, one_line, print_json, print_text
from citewell.surfaces.cli.options import engine, json_option

_SHOWN = 20
_EXIT_INCOMPLETE = 1


@click.command(short_help="Move runs to PostgreSQL, or back.")
@click.option(
    "--to",
    required=True,
    metavar="PLACE",
    help="sqlite (runs.db of the data folder), postgres (CITEWELL_DATABASE_URL) or postgresql://…",
)
@click.option("--from", "source", default="", metavar="PLACE", help="The same; left out: the other one.")
@json_option
@click.pass_context
def migrate(ctx: click.Context, to: str, source: str, as_json: bool) -> int:
    """Bring runs, their logs and reports from one store to another; what is there already is left as it is.

    Each run arrives whole and is read again there, entry by entry, against its hashes. Stopped in the middle, it goes
    on where it was; the place they come from is only read. Documents are not moved: they stay in corpus.db. Exit code
    1 if a run could not be moved: it is named, with the reason.

    \b
    Examples:
      citewell migrate --to postgres
      citewell migrate --to sqlite
      citewell migrate --from postgres --to postgresql://ann@db2.example/citewell
    """
    with engine(ctx) as opened:
        report = opened.runs.migrate(to, source)
    if as_json:
        print_json(report)
    else:
        _print(report)
    return 0 if report.is_complete else _EXIT_INCOMPLETE


def _print(report: MigrationReport) -> None:
    print_text(f"From {one_line(report.source, 200)} to {one_line(report.target, 200)}:")
    extended = f", {report.extended:,} moved on" if report.extended else ""
    print_text(f"  {report.moved:,} runs moved{extended}, {report.already_there:,} were there already.")
    if report.reports_moved or report.reports_already_there:
        print_text(f"  {report.reports_moved:,} reports moved, {report.reports_already_there:,} were there already.")
    checked = f"{report.entries_verified:,} entries compared by their hashes on arrival"
    print_text(f"  {checked}; {report.runs_in_target:,} runs are there now ({report.seconds:g} s).")
    for left in report.left[:_SHOWN]:
        note(f"Not moved: {one_line(left.run_id, 60)}: {one_line(left.reason, 200)}")
        note(f"  → {one_line(left.fix, 200)}")
    if len(report.left) > _SHOWN:
        note(f"… and {len(report.left) - _SHOWN:,} more; see --json.")
    print_text("What they came from is as it was.")
