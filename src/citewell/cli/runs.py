"""`citewell runs`: recorded runs, and what can be done with them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast, get_args

import click

from citewell.cli.answers import print_answer
from citewell.cli.console import note, one_line, print_json, print_pairs, print_table, print_text
from citewell.cli.egress import print_ledger
from citewell.cli.options import engine, json_option, verbose_option
from citewell.cli.progress import execute, progress_line, wants_progress
from citewell.engine import Citewell
from citewell.errors import BadInput
from citewell.export.formats import ExportedFile, ExportForm
from citewell.runs.events import RunEvent
from citewell.runs.reports import ExportReport, RunDiff
from citewell.runs.run import RunResult, RunSummary
from citewell.wire import to_json

_OUTCOMES = {
    "enough_evidence": "answered",
    "no_evidence": "not found",
    "weak_evidence_budget_exhausted": "answered, weakly",
    "synthesis_unavailable": "no model",
    "planner_failed_deterministic_used": "answered",
}


@click.group(short_help="Recorded runs: show, resume, replay, compare.")
def runs() -> None:
    """Every run of 'citewell research' is recorded and can be shown, resumed, replayed and compared.

    A run is named by its id, by how that begins, or as 'last'.

    \b
    Examples:
      citewell runs list
      citewell runs show last
      citewell runs replay 20260105T101500-0a1b2c3d
      citewell runs diff 20260105T101500-0a1b2c3d
    """


@runs.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to show.")
@json_option
@click.pass_context
def list_runs(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List the latest runs, with what came of each.

    \b
    Examples:
      citewell runs list
      citewell runs list --limit 100
    """
    with engine(ctx) as opened:
        found = opened.runs.list(limit)
    if as_json:
        print_json(found)
        return
    for run_id in found.unreadable:
        note(f"citewell: the entry of run {run_id} cannot be read.")
    empty = 'No runs yet. Ask something: citewell research "a question about something you saved"'
    rows = ([run.run_id, outcome(run), one_line(run.question, 200)] for run in found.runs)
    print_table(("run", "outcome", "question"), rows, empty)


def outcome(run: RunSummary) -> str:
    """How a run ended, in a word or two."""
    if run.status != "done" or run.stop_reason is None:
        return run.status
    return _OUTCOMES.get(run.stop_reason, run.stop_reason.replace("_", " "))


@runs.command("show")
@click.argument("run_id")
@click.option("--events", "with_events", is_flag=True, help="Include the whole log.")
@click.option("--egress", is_flag=True, help="Show what the run sent: to whom, when, how many bytes, why.")
@click.option("--follow", is_flag=True, help="Follow a run that another process executes until it ends.")
@verbose_option
@json_option
@click.pass_context
def show(
    ctx: click.Context, run_id: str, with_events: bool, egress: bool, follow: bool, verbose: bool, as_json: bool
) -> None:
    """Show a run again: its answer, its evidence, and which of its sources have changed since.

    \b
    Examples:
      citewell runs show last
      citewell runs show 20260105T101500 -v
      citewell runs show last --egress
      citewell runs show last --events --json | jq '.events[].kind'
    """
    with engine(ctx) as opened:
        run_id = opened.runs.find(run_id)
        if follow:
            asyncio.run(_follow(opened.runs.follow(run_id, until="left"), quiet=as_json))
        if egress:
            print_ledger(opened.runs.egress(run_id), as_json=as_json)
            return
        view = opened.runs.show(run_id, with_events=with_events)
    if as_json:
        print_json(view)
        return
    if view.result is None:
        print_text(f"Run {run_id} is {view.summary.status}: {one_line(view.summary.question, 200)}")
        return
    print_answer(view.result, view.sources, verbose=verbose, asked=True)


async def _follow(events: AsyncIterator[RunEvent], *, quiet: bool) -> None:
    async for event in events:
        line = progress_line(event)
        if line and not quiet:
            print_text(line)


@runs.command("resume")
@click.argument("run_id")
@json_option
@click.pass_context
def resume(ctx: click.Context, run_id: str, as_json: bool) -> int:
    """Go on with an interrupted run without repeating anything that is on record.

    \b
    Example:
      citewell runs resume last
    """
    with engine(ctx) as opened:
        result = _resumed(opened, opened.runs.find(run_id))
    return show_result(result, as_json)


def _named(opened: Citewell, run: str) -> str:
    """A run as it was named: the path of an exported one, or its id, how that begins, or `last`."""
    return run if Path(run).exists() else opened.runs.find(run)


def _resumed(opened: Citewell, run_id: str, *, finish: bool = False) -> RunResult:
    """Go on with a run and watch it from where it left off."""
    seen = opened.runs.resume(run_id, finish=finish)
    return execute(opened, run_id, quiet=not wants_progress(), after=seen)


@runs.command("finish")
@click.argument("run_id")
@json_option
@click.pass_context
def finish(ctx: click.Context, run_id: str, as_json: bool) -> int:
    """Answer now with what is there: asks a running run, or finishes an interrupted one.

    \b
    Example:
      citewell runs finish last
    """
    with engine(ctx) as opened:
        run_id = opened.runs.find(run_id)
        if opened.runs.show(run_id).summary.status == "running":
            print_report = opened.runs.finish(run_id)
            print_json(print_report) if as_json else print_text(f"Asked run {run_id} to finish.")
            return 0
        result = _resumed(opened, run_id, finish=True)
    return show_result(result, as_json)


@runs.command("cancel")
@click.argument("run_id")
@json_option
@click.pass_context
def cancel(ctx: click.Context, run_id: str, as_json: bool) -> None:
    """Stop a run. What it gathered stays on record.

    \b
    Example:
      citewell runs cancel 20260105T101500
    """
    with engine(ctx) as opened:
        run_id = opened.runs.find(run_id)
        report = opened.runs.cancel(run_id)
    if as_json:
        print_json(report)
        return
    print_text(f"Run {run_id}: {report.detail}.")


@runs.command("replay")
@click.argument("run", metavar="RUN|FILE")
@click.option("--tolerant", is_flag=True, help="Run today's code on the recorded observations.")
@json_option
@click.pass_context
def replay(ctx: click.Context, run: str, tolerant: bool, as_json: bool) -> int:
    """Play a run back from its record, without touching corpus, model or network.

    RUN is a run's id, or the path of an exported run. Exact replay gives the same result byte for byte, or fails.

    \b
    Examples:
      citewell runs replay last
      citewell runs replay answer.zip
    """
    with engine(ctx) as opened:
        report = opened.runs.replay(_named(opened, run), tolerant=tolerant)
    if as_json:
        print_json(report)
    else:
        same = "identical" if report.identical else "DIFFERENT"
        print_text(f"Run {report.run_id}: {same} ({report.mode}), sha256 {report.sha256}")
        for line in report.notes:
            print_text(f"  {line}")
    return 0 if report.identical or tolerant else 1


@runs.command("diff")
@click.argument("a")
@click.argument("b", required=False)
@click.option("--ask-models", is_flag=True, help="Ask the models of the run again, which may cost.")
@json_option
@click.pass_context
def diff(ctx: click.Context, a: str, b: str | None, ask_models: bool, as_json: bool) -> None:
    """Compare two runs, or a run with what today's corpus and code make of its question.

    \b
    Examples:
      citewell runs diff last
      citewell runs diff 20260105T101500 last
    """
    with engine(ctx) as opened:
        other = _named(opened, b) if b is not None else None
        found = opened.runs.diff(_named(opened, a), other, ask_models=ask_models)
    if as_json:
        print_json(found)
        return
    _print_diff(found)


def _print_diff(found: RunDiff) -> None:
    print_text(f"{found.a} → {found.b}: {'the same' if found.same else 'different'}")
    if not found.answer.same:
        print_text("answer before:\n" + _indented(found.answer.before))
        print_text("answer after:\n" + _indented(found.answer.after))
    print_pairs(
        (name, ", ".join(values))
        for name, values in (
            ("evidence added", found.evidence.added),
            ("evidence removed", found.evidence.removed),
            ("evidence reordered", found.evidence.reordered),
            ("citations added", found.citations.added),
            ("citations removed", found.citations.removed),
            ("plan changed", tuple(found.plan)),
        )
        if values
    )
    if not found.same:
        print_text(f"Keep what should hold as a case: citewell eval propose {found.a} --output cases.yaml")


def _indented(text: str) -> str:
    return "\n".join(f"  {one_line(line, 300)}" for line in text.split("\n"))


_FORMS: tuple[str, ...] = ("zip", "json", "html", *get_args(ExportForm))
_BY_ENDING = {".bib": "bibtex", **{f".{form}": form for form in _FORMS}}


@runs.command("export")
@click.argument("run_id")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="Which file (default: as the ending of --output says, else zip, which can be replayed).",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write (default: named by the run, here)."
)
@json_option
@click.pass_context
def export(ctx: click.Context, run_id: str, form: str | None, output: Path | None, as_json: bool) -> None:
    """Write a finished run, be it an answer or a report, to one file.

    A zip can be replayed on any machine; md, docx and html are to be read, bibtex and ris hold the cited sources for a
    reference manager, json is the whole result.

    \b
    Examples:
      citewell runs export last --output answer.zip
      citewell runs export last --format md
      citewell runs export report-3c9e1f2a-1 --output kelp.docx
    """
    chosen = form or (_BY_ENDING.get(output.suffix.lower()) if output and output.suffix else "zip")
    if chosen is None:
        raise BadInput(f"What ends in {output.suffix if output else ''} is no form of a run.", fix="Say --format.")
    with engine(ctx) as opened:
        run_id = opened.runs.find(run_id)
        if chosen == "zip":
            report = opened.runs.export(run_id, output or Path(f"{run_id}.zip"))
        else:
            report = _written(run_id, _file(opened, run_id, chosen), output)
    if as_json:
        print_json(report)
        return
    replay = f" Replay it with 'citewell runs replay {report.path}'." if chosen == "zip" else ""
    print_text(f"Wrote {report.path} ({report.bytes:,} bytes).{replay}")


def _file(opened: Citewell, run_id: str, form: str) -> ExportedFile:
    """The same file that the server sends."""
    if form == "json":
        return ExportedFile(f"citewell-{run_id}.json", "application/json", to_json(opened.runs.shareable(run_id)))
    if form == "html":
        page = opened.runs.share_page(run_id)
        return ExportedFile(f"citewell-{run_id}.html", "text/html", page.encode("utf-8"))
    return opened.runs.exported(run_id, cast("ExportForm", form))


def _written(run_id: str, file: ExportedFile, output: Path | None) -> ExportReport:
    target = output or Path(file.name)
    try:
        target.write_bytes(file.content)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.", fix="Choose another place.") from None
    return ExportReport(run_id, str(target), len(file.content), hashlib.sha256(file.content).hexdigest())


@runs.command("prune")
@click.option("--keep-all-traces", is_flag=True, help="Only say what there is.")
@json_option
@click.pass_context
def prune(ctx: click.Context, keep_all_traces: bool, as_json: bool) -> None:
    """Put away old runs: the latest 500 stay, the rest go after 180 days (both are settings).

    \b
    Examples:
      citewell runs prune
      citewell runs prune --keep-all-traces
    """
    with engine(ctx) as opened:
        report = opened.runs.prune(keep_all=keep_all_traces)
    if as_json:
        print_json(report)
        return
    print_text(f"{report.kept} kept, {len(report.removed)} removed, {len(report.skipped_active)} active left alone.")


def show_result(result: RunResult, as_json: bool, *, verbose: bool = False) -> int:
    """Print what a run came to; the exit code says how it ended."""
    if as_json:
        print_json(result)
    else:
        print_answer(result, verbose=verbose)
    return exit_code_of(result)


def exit_code_of(result: RunResult) -> int:
    if result.status == "cancelled":
        return 130
    if result.answer_status == "unavailable":
        return 4
    return 1 if result.status == "failed" or result.answer_status == "error" else 0
