"""`citewell summarize`: derived summaries of documents, by their own sentences or by a model; Ctrl-C loses nothing."""

from __future__ import annotations

import sys

import click

from citewell.domain.errors import BadInput
from citewell.domain.summaries import SummaryReport
from citewell.surfaces.cli.console import note, one_line, print_json, print_text
from citewell.surfaces.cli.options import engine, json_option

_SHOWN_FAILURES = 5


@click.command(short_help="Make summaries of documents.")
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@click.option("--all", "every", is_flag=True, help="Every document that lacks one.")
@click.option("--model", default="", metavar="MODEL", help="A model writes them, such as ollama:NAME.")
@click.option(
    "--max-cost",
    "max_cost_usd",
    type=click.FloatRange(min=0),
    help="Stop before it costs more; a hosted model needs it.",
)
@json_option
@click.pass_context
def summarize(
    ctx: click.Context, keys: tuple[str, ...], every: bool, model: str, max_cost_usd: float | None, as_json: bool
) -> None:
    """Store a summary of each document and of its parts, apart from the text; run it again to go on where it stopped.

    Without a model a summary is made of the text's own sentences. Summaries are derived: 'get --content-mode summary'
    shows them, answers never quote them. With CITEWELL_SUMMARIES=on search looks into them too. A document that
    changes loses its summary.

    \b
    Examples:
      citewell summarize --all
      citewell summarize note:vault/projects/tide-gauge --model ollama:llama3.2
      citewell summarize --all --model openai:NAME --max-cost 0.50
    """
    if bool(keys) == every:
        raise BadInput("Name documents or --all.", fix="For example: citewell summarize --all")
    with engine(ctx) as opened:
        for event in opened.corpus.summarize(*keys, model=model, max_cost_usd=max_cost_usd):
            if isinstance(event, SummaryReport):
                report = event
            elif sys.stderr.isatty():
                click.echo(f"\r{event.done:,} of {event.total:,} documents", nl=False, err=True)
    if sys.stderr.isatty():
        click.echo("", err=True)
    if as_json:
        print_json(report)
        return
    _print_report(report)


def _print_report(report: SummaryReport) -> None:
    by = f" by {report.model}" if report.model else ""
    cost = f", {report.cost_usd:.4f} USD" if report.model and report.cost_usd is not None else ""
    print_text(f"{report.documents:,} documents summarised{by} in {report.seconds:.1f} s{cost}, {report.left:,} left.")
    if report.stopped == "cost_limit_reached":
        note("Stopped: the next call might cost more than the ceiling allows. Run it again to go on.")
    for key in report.withheld:
        note(f"Not sent, because a key or a password seems to stand in it: {one_line(key, 120)}")
    for key, reason in report.failed[:_SHOWN_FAILURES]:
        note(f"{one_line(key, 120)}: {one_line(reason, 200)}")
    if len(report.failed) > _SHOWN_FAILURES:
        note(f"… and {len(report.failed) - _SHOWN_FAILURES} more without a summary.")
