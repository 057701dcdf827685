"""`citewell report`: a brief becomes a cited report, in a recorded run."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.domain.errors import BadInput, CitewellError
from citewell.engine import Citewell
from citewell.reports.files import read_brief
from citewell.reports.models import ResearchBrief, ResearchRun
from citewell.surfaces.cli.console import note as tell
from citewell.surfaces.cli.console import print_json
from citewell.surfaces.cli.execution import execute, put_old_runs_away, wants_progress
from citewell.surfaces.cli.options import engine, json_option, verbose_option
from citewell.surfaces.cli.report_pages import print_report, print_reports

_FAILED = 1


@click.command(short_help="Write a cited report from a brief.")
@click.argument("question", required=False)
@click.option("--brief", "brief_file", type=click.Path(path_type=Path), metavar="FILE", help="A brief, YAML or JSON.")
@click.option("--fresh", is_flag=True, help="Run it again, though there is a report of the same brief.")
@click.option("--show", "shown", metavar="RUN", help="Show the report of a run.")
@click.option("--list", "listed", is_flag=True, help="List the latest reports.")
@verbose_option
@json_option
@click.pass_context
def report(
    ctx: click.Context,
    /,
    question: str | None,
    brief_file: Path | None,
    fresh: bool,
    shown: str | None,
    listed: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Look into everything a brief asks, and write a report: a summary and claims, each with its passage and a verdict.

    The question is taken apart, every part is looked up in what you saved and, where providers are set, in the web,
    papers and code. Without a model the claims are quotations. The run is recorded and can be replayed; an identical
    request shows the stored report unless --fresh asks for another attempt.

    \b
    Examples:
      citewell report "How did the kelp lines fare, and what was changed?"
      citewell report --brief brief.yaml
      citewell report --brief brief.yaml --fresh --json | jq '.report.claims[].text'
      citewell report --list
    """
    if sum(map(bool, (question, brief_file, shown, listed))) != 1:
        raise BadInput("One thing is wanted: a question, --brief FILE, --show RUN or --list.", fix="Give one of them.")
    if fresh and (shown or listed):
        raise BadInput("--fresh runs a brief again; with --show and --list nothing is run.", fix="Leave it out.")
    with engine(ctx) as opened:
        if listed:
            found = opened.reports().list()
            print_json(found) if as_json else print_reports(found)
            return 0
        if shown:
            run = opened.reports().get(opened.runs.find(shown))
        else:
            brief = read_brief(brief_file) if brief_file else ResearchBrief(question=_asked(question))
            run = _executed(opened, brief, fresh=fresh, verbose=verbose)
    print_json(run) if as_json else print_report(run, verbose=verbose)
    return _FAILED if run.status == "failed" else 0


def _asked(question: str | None) -> str:
    asked = question or ""
    if not any(map(str.isalnum, asked)):
        raise BadInput("The question is empty.", fix='Ask something: citewell report "…"')
    if len(asked) > ResearchBrief.model_fields["question"].metadata[-1].max_length:
        raise BadInput("The question is too long.", fix="Put it into a brief, its background under `context`.")
    return asked


def _executed(opened: Citewell, brief: ResearchBrief, *, fresh: bool, verbose: bool) -> ResearchRun:
    service = opened.reports()
    begun = opened.start_report(brief, fresh=fresh)
    is_over = begun.is_stored and service.get(begun.run_id).status in ("done", "failed", "cancelled")
    if is_over:
        tell(f"citewell: this brief was run before ({begun.run_id}); --fresh makes another attempt.")
    else:
        try:
            execute(opened, begun.run_id, quiet=not wants_progress(), verbose=verbose)
        except CitewellError:
            if not begun.is_stored:
                raise
            service.wait(begun)  # another process executes it
        put_old_runs_away(opened)
    return service.get(begun.run_id)
