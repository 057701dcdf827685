"""Commands that keep everything safe: backup, restore."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from citewell.backup import BackupReport, RestoreReport, SettingChange
from citewell.cli.console import note, one_line, print_json, print_text
from citewell.cli.options import engine, json_option
from citewell.runs.reports import MigrationReport


@click.command(short_help="Write everything to one file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@json_option
@click.pass_context
def backup(ctx: click.Context, file: Path, force: bool, as_json: bool) -> None:
    """Write the corpus, runs, traces and settings to one file, while other commands go on.

    Keys and passwords of the settings are left out and named. The texts of your documents are in it as they are: keep
    the file as safe as the documents. Only its owner may read it.

    \b
    Example:
      citewell backup ~/backups/citewell-2026-05-31.zip
    """
    with engine(ctx) as opened:
        report = opened.corpus.backup(file, force=force)
    if as_json:
        print_json(report)
        return
    _print_backup(report)


def _print_backup(report: BackupReport) -> None:
    held = f"{report.documents:,} documents, {report.runs:,} runs, {report.traces:,} traces"
    print_text(f"Wrote {held} to {one_line(report.path, 200)} ({report.bytes / 1_000_000:,.1f} MB).")
    for problem in report.left_out:
        note(f"Left out: {one_line(problem.path, 100)}: {one_line(problem.reason, 200)}")
    _name_secrets(report.secrets_left_out, "Not in it, because they are secret")


@click.command(short_help="Put a backup in place.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a corpus that is there; it is kept aside, never deleted.")
@click.option(
    "--accept-settings", is_flag=True, help="Also take settings that send data elsewhere or permit more, unasked."
)
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path, force: bool, accept_settings: bool, as_json: bool) -> None:
    """Put the corpus, runs, traces and settings of a backup in place, checked to the last byte.

    A data folder that holds something is not touched without --force, and then it is kept beside the new one.
    Settings that send data elsewhere or permit more than now (models, addresses, search providers, the tool that writes
    notes, policies) are shown and asked for; where nobody can be asked they are left out and named.

    \b
    Examples:
      citewell --data-dir ~/restored restore ~/backups/citewell-2026-05-31.zip
      citewell restore ~/backups/citewell-2026-05-31.zip --force
      citewell restore ~/backups/citewell-2026-05-31.zip --accept-settings
    """
    with engine(ctx) as opened:
        report = opened.corpus.restore(file, force=force, accept_settings=accept_settings or _asked)
    if as_json:
        print_json(report)
        return
    _print_restored(report)


def _asked(changes: Sequence[SettingChange]) -> bool:
    """Whether the person at the terminal wants these settings; not where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    note("These settings of the backup send data elsewhere, or permit more than now:")
    for change in changes:
        value, here = (one_line(text, 200) or "nothing" for text in (change.value, change.here))
        note(f"  {change.name}: {value}  (now: {here})")
    return click.confirm("Take them over? Everything else is restored either way.", default=False, err=True)


def _print_restored(report: RestoreReport) -> None:
    held = f"{report.documents:,} documents, {report.runs:,} runs, {report.traces:,} traces"
    print_text(f"Restored {held} of {report.created_at[:19]} to {one_line(report.data_dir, 200)}.")
    if report.settings == "kept":
        print_text("The settings that were there were kept.")
    if report.kept_aside:
        print_text(f"What was there before is in {one_line(report.kept_aside, 200)}.")
    for problem in report.settings_left_out:
        note(f"Setting left out: {one_line(problem.path, 80)}: {one_line(problem.reason, 300)}")
    if report.settings_left_out:
        note("  → Write what you want into citewell.toml, or restore again with --force --accept-settings.")
    _name_secrets(report.secrets_left_out, "To be set again, because a backup holds no secrets")


def _name_secrets(names: tuple[str, ...], why: str) -> None:
    if names:
        note(f"{why}: {', '.join(names)}")


# `citewell migrate`: runs and reports from SQLite to PostgreSQL, and back.


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
