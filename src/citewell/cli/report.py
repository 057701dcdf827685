"""`citewell report`: a brief becomes a cited report, in a recorded run."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import click

from citewell.cli.console import note as tell
from citewell.cli.console import one_line, print_json, print_table, print_text, style
from citewell.cli.options import engine, json_option, verbose_option
from citewell.cli.progress import execute, put_old_runs_away, wants_progress
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError
from citewell.reports.model import (
    ResearchBrief,
    ResearchCitation,
    ResearchClaim,
    ResearchReport,
    ResearchRun,
    ResearchRunList,
    read_brief,
)
from citewell.reports.render import claims_by_query, marks, place_of, remark_on

# A report as a person reads it on a terminal: what was found out, each claim with its quote, how it was made.


_QUOTE_CHARS = 300
_LINK_TARGET = re.compile(r"\]\([^()\s]*\)|\[\[[^\]|]*\|")
_FAMILY_NAMES = {"knowledge": "what you saved", "web": "the web", "academic": "papers", "code": "code"}


def print_report(run: ResearchRun, *, verbose: bool = False) -> None:
    """The run: its report, or why there is none and what is there instead."""
    print_text(style(one_line(run.brief.question, 400), "bold"))
    print_text()
    if run.report is None:
        _print_failure(run)
    else:
        _print_written(run, run.report)
    _print_method(run, verbose=verbose)
    print_text(style(f"Run {run.run_id}, brief {run.brief_id}, by {run.model or 'nobody'}, {run.seconds:.1f} s", "dim"))


def _print_written(run: ResearchRun, report: ResearchReport) -> None:
    for sentence in report.summary_sentences:
        print_text(
            f"{one_line(sentence.text, 2_000)} ",
            style(marks(sentence.citations), "cyan"),
            style(remark_on(sentence), "yellow"),
        )
    quoted: set[int] = set()
    queries = {one.index: one.query for one in run.plan.sub_queries} if run.plan else {}
    for index, claims in claims_by_query(report).items():
        print_text()
        title = queries.get(index, "Findings") if index is not None else "Findings"
        if index == 0 and len(queries) > 1:
            title = "On the question as a whole"
        print_text(style(one_line(title[:1].upper() + title[1:], 200), "bold"))
        for places, beside in groupby(claims, key=_places):
            _print_claims(list(beside), places, quoted)
    for claim in report.withdrawn:
        print_text(style(f"- Removed ({one_line(claim.reason, 120)}): {one_line(claim.text, 600)}", "red"))
    for found in report.contradictions:
        values = " / ".join(one_line(value, 60) for value in found.values)
        print_text(style(f"Sources disagree: {values}" + (f" (newer: {found.newer})" if found.newer else ""), "yellow"))
    if report.gaps:
        print_text()
        print_text(style("Not found", "bold"))
        for gap in report.gaps:
            print_text(f"- {one_line(gap, 400)}")
    print_text()


def _places(claim: ResearchClaim) -> tuple[tuple[str, str], ...]:
    """Where a claim stands: the title and place of each of its sources."""
    return tuple(dict.fromkeys(place_of(citation) for citation in claim.citations))


def _print_claims(claims: list[ResearchClaim], places: tuple[tuple[str, str], ...], quoted: set[int]) -> None:
    """Claims of the same sources, which are named once below them."""
    numbers: dict[tuple[str, str], dict[int, None]] = {place: {} for place in places}
    for claim in claims:
        kind = "" if claim.type == "fact" else f"{claim.type}: "
        print_text(
            f"- {kind}{one_line(claim.text, 2_000)} ",
            style(marks(claim.citations), "cyan"),
            style(remark_on(claim), "yellow"),
        )
        for citation in claim.citations:
            if not claim.words:
                _print_quote(citation, claim.text, is_known=(citation.n or 0) in quoted)
            quoted.add(citation.n or 0)
            numbers[place_of(citation)][citation.n or 0] = None
        for words in claim.words:
            print_text(style(f"«{one_line(words, _QUOTE_CHARS)}»", "dim"), indent=8)
    for (title, where), cited in numbers.items():
        told = " ".join(f"[{n}]" for n in cited)
        print_text(style(f"{told} {one_line(title, 100)}  {one_line(where, 120)}", "dim"), indent=4)


def _print_quote(citation: ResearchCitation, said: str, *, is_known: bool) -> None:
    """The quote behind a claim, unless the claim is the quote or it was shown above."""
    quote = " ".join(citation.quote.split())
    if not is_known and _spoken(quote) != _spoken(said):
        print_text(style(f"“{one_line(quote, _QUOTE_CHARS)}”", "dim"), indent=8)


def _spoken(text: str) -> str:
    """The letters of a text, without what only marks it up."""
    return "".join(char for char in _LINK_TARGET.sub("", text) if char.isalnum())


def _print_failure(run: ResearchRun) -> None:
    print_text(style(f"No report: {run.error or run.status}.".replace("..", "."), "yellow"))
    kept = [item for items in run.retrieved_items.values() for item in items if item.retained or not run.credibility]
    if kept:
        print_text(f"What was found is kept with the run ({len(kept)} passages), the best first:")
        for item in sorted(kept, key=lambda one: -one.relevance)[:5]:
            title, where = place_of(item.citation)
            print_text(f"- {one_line(title, 100)}  ", style(one_line(where, 120), "dim"))
    print_text()


def _print_method(run: ResearchRun, *, verbose: bool) -> None:
    """How it was made, in numbers."""
    counted = run.methodology
    if counted is None:
        return
    print_text(style("How it was made", "bold"))
    print_text(
        f"{counted.sub_queries} question{'s' * (counted.sub_queries != 1)} looked into; "
        f"{counted.items_retrieved} passages found, {counted.duplicates} of them copies, "
        f"{counted.below_floor} not credible enough; "
        f"{counted.items_retained} kept, {counted.items_cited} cited."
    )
    for family in counted.families:
        if family.family != "knowledge" or verbose:
            print_text(
                f"- {_FAMILY_NAMES[family.family]}: {family.searches} searches, {family.found} passages, "
                f"{family.retained} kept, {family.cited} cited"
            )
    for one in counted.skipped:
        print_text(style(f"- {_FAMILY_NAMES[one.family]} was left out: {one_line(one.reason, 300)}", "yellow"))
    if verbose and run.plan is not None:
        for query in run.plan.sub_queries:
            print_text(f"- looked into: {one_line(query.query, 160)}", style(f"  {one_line(query.why, 80)}", "dim"))


def print_reports(found: ResearchRunList) -> None:
    rows = (
        [one.run_id, one.created_at[:16].replace("T", " "), one.status, str(one.claims), one_line(one.question, 100)]
        for one in found.runs
    )
    print_table(("run", "made", "status", "claims", "question"), rows, "There are no reports yet.")


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
