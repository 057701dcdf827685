"""What leaves this machine, as a person reads it: before a run, under its answer, and entry by entry."""

from __future__ import annotations

import click

from citewell.cli.console import note, one_line, print_json, print_table, print_text
from citewell.runs.reports import EgressLedger, EgressPreview
from citewell.web.facts import WebReport


def agreed_to(preview: EgressPreview, as_json: bool) -> bool:
    """Show what would leave and ask; with --json it is only shown, and nothing starts."""
    if as_json:
        print_json(preview)
        return False
    if not preview.leaves:
        note("citewell: nothing would leave this machine.")
        return True
    for line in preview_lines(preview):
        note(line)
    try:
        agreed = click.confirm("Send this?", default=False, err=True)
    except click.Abort:
        agreed = False
    if not agreed:
        note("citewell: nothing was sent.")
    return agreed


def preview_lines(preview: EgressPreview) -> list[str]:
    lines = ["This would leave this machine:"]
    for provider in preview.providers:
        lines.append(f"  to {provider.name} ({provider.host}), as searches:")
        lines += [f"    {one_line(query, 130)}" for query in preview.queries]
    if preview.providers and preview.profile == "note":
        most = f"at most {preview.max_pages} pages are" if preview.max_pages else "no page is"
        lines.append(f"  and nothing else of the note; {most} asked for from the sites that are found.")
    elif preview.providers:
        lines.append(
            f"  then at most {preview.max_queries} queries in all, and at most {preview.max_pages} pages are asked for "
            f"from the sites that are found (at most {preview.max_bytes_received:,} bytes come back)."
        )
    if preview.hosted_models:
        what = "note" if preview.profile == "note" else "question"
        lines.append(f"  to {', '.join(preview.models)}: the {what} and the evidence found for it.")
    return lines


def print_ledger(ledger: EgressLedger, *, as_json: bool) -> None:
    if as_json:
        print_json(ledger)
        return
    rows = (
        [
            entry.at,
            entry.kind,
            one_line(entry.to, 60),
            f"{entry.bytes:,}",
            f"{entry.received:,}",
            entry.outcome,
            one_line(entry.purpose, 120),
        ]
        for entry in ledger.entries
    )
    header = ("when", "what", "to", "sent", "received", "outcome", "why")
    print_table(header, rows, "Nothing of this run left this machine.")
    if ledger.entries:
        print_text(f"{len(ledger.entries)} requests, {ledger.bytes:,} bytes sent.")


def web_line(web: WebReport) -> str:
    """One line under an answer: what was done on the web, and what left for it."""
    flagged = sum(bool(page.injections) for page in web.pages)
    told = f"Web: {len(web.queries)} queries, {len(web.pages)} pages read in {web.loops} rounds"
    told += f", {flagged} left out for giving orders" if flagged else ""
    told += f", {len(web.failed)} could not be had" if web.failed else ""
    retracted = sum(bool(one.paper.is_retracted) for one in web.papers)
    told += f", {retracted} of them retracted papers" if retracted else ""
    return f"{told}; {web.requests} requests, {web.bytes_sent:,} bytes sent (runs show --egress)."
