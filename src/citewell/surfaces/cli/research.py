"""`citewell research`."""

from __future__ import annotations

from typing import Any

import click

from citewell.app import PackOptions
from citewell.domain.errors import BadInput
from citewell.domain.packs import ResearchPack
from citewell.surfaces.cli.console import one_line, print_json, print_text, style
from citewell.surfaces.cli.options import engine, filter_options, filters_from, json_option
from citewell.surfaces.cli.reading import print_row


@click.command(short_help="Gather the evidence for a question.")
@click.argument("question")
@click.option("--retrieval-only", is_flag=True, help="Print the research pack: evidence, coverage, next steps.")
@click.option("--limit", type=int, help="How many rows of evidence (default 8).")
@click.option("--max-chars-per-doc", type=int, help="Size of each row's window (default 700).")
@click.option("--include-related", is_flag=True, default=None, help="Add documents linked with the evidence.")
@click.option("--related-limit", type=int, help="How many of those (default 2).")
@click.option("--topic", metavar="TOPIC", help="The topic the question belongs to.")
@click.option("--no-planner", is_flag=True, help="Plan without a model, as this version always does.")
@click.option("--no-semantic", is_flag=True, help="Search by words only, as this version always does.")
@click.option("--explain", is_flag=True, help="Say why each row won.")
@filter_options
@json_option
@click.pass_context
def research(
    ctx: click.Context,
    /,
    question: str,
    retrieval_only: bool,
    limit: int | None,
    max_chars_per_doc: int | None,
    include_related: bool | None,
    related_limit: int | None,
    topic: str | None,
    explain: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Gather the evidence for a question from everything you have saved.

    \b
    Examples:
      citewell research --retrieval-only "when was the lantern restored?"
      citewell research --retrieval-only "kelp line spacing" --tag kelp --json
    """
    if not retrieval_only:
        raise BadInput("Written answers are not part of this version.", fix="Add --retrieval-only to see the evidence.")
    options = PackOptions(limit, max_chars_per_doc, include_related, related_limit, topic)
    with engine(ctx) as opened:
        pack = opened.research_pack(question, options=options, filters=filters_from(chosen))
    if as_json:
        print_json(pack)
        return
    print_pack(pack, explain=explain)


def print_pack(pack: ResearchPack, *, explain: bool) -> None:
    """A pack as a person reads it."""
    plan = pack.query_plan
    print_text(style(f"Question: {one_line(pack.question, 200)}", "bold"))
    required = ", ".join(concept.name for concept in plan.required) or "nothing in particular"
    print_text(f"Looking for: {required}")
    print_text()
    for number, row in enumerate(pack.evidence, start=1):
        print_row(number, row, explain)
    for row in pack.exact_tag_evidence:
        print_text(f"tagged: {one_line(row.title, 80)}  {style(row.source_key, 'cyan')}  {' '.join(row.user_tags)}")
    print_text(f"Coverage: {pack.coverage.recall_note}")
    print_text("Next:")
    for step in pack.next_steps:
        hint = f" ({' | '.join(step.params.suggestions)})" if step.params.suggestions else ""
        print_text(f"  - {one_line(step.label, 120)}{hint}")
