"""A report as a person reads it on a terminal: what was found out, each claim with its quote, how it was made."""

from __future__ import annotations

import re
from itertools import groupby

from citewell.reports.models import ResearchCitation, ResearchClaim, ResearchReport, ResearchRun, ResearchRunList
from citewell.reports.rendering import claims_by_query, marks, place_of
from citewell.surfaces.cli.console import one_line, print_table, print_text, style

_FLAGS = {"unsupported": "  (not proven by its quote)", "partial": "  (proven in part)"}
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
            style(_FLAGS.get(sentence.verdict, ""), "dim"),
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
        print_text(style(f"- TAKEN BACK ({one_line(claim.reason, 120)}): {one_line(claim.text, 600)}", "red"))
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
            style(_FLAGS.get(claim.verdict, ""), "dim"),
        )
        for citation in claim.citations:
            _print_quote(citation, claim.text, is_known=(citation.n or 0) in quoted)
            quoted.add(citation.n or 0)
            numbers[place_of(citation)][citation.n or 0] = None
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
