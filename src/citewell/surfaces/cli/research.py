"""`citewell research`: a question answered in a recorded run, or its evidence alone."""

from __future__ import annotations

from typing import Any

import click

from citewell.app import PackOptions
from citewell.domain.errors import BadInput
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import ModelChoice, RunProfile
from citewell.surfaces.cli.console import one_line, print_json, print_text, style
from citewell.surfaces.cli.execution import execute, wants_progress
from citewell.surfaces.cli.options import engine, filter_options, filters_from, json_option
from citewell.surfaces.cli.reading import print_row
from citewell.surfaces.cli.runs import show_result
from citewell.surfaces.cli.topics import print_brief


@click.command(short_help="Answer a question, with citations.")
@click.argument("question")
@click.option("--retrieval-only", is_flag=True, help="Only gather: print the research pack, record nothing.")
@click.option(
    "--profile", type=click.Choice(("local", "deep")), default="local", show_default=True, help="What the run may use."
)
@click.option(
    "--max-evidence-chars", type=int, default=24_000, show_default=True, help="Evidence an answer is made from."
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Deadline of the run (default 90).")
@click.option("--no-trace", is_flag=True, help="Leave nothing on disk; the run cannot be resumed or replayed.")
@click.option("--keep-all-traces", is_flag=True, help="Do not put old runs away.")
@click.option("--limit", type=int, help="How many rows of evidence (default 8).")
@click.option("--max-chars-per-doc", type=int, help="Size of each row's window (default 700).")
@click.option("--include-related", is_flag=True, default=None, help="Add documents linked with the evidence.")
@click.option("--related-limit", type=int, help="How many of those (default 2).")
@click.option("--topic", metavar="TOPIC", help="The topic the question belongs to; its brief goes with the evidence.")
@click.option(
    "--topic-brief/--no-topic-brief",
    default=None,
    help="With or without a brief of the topic (default: where a topic is named or an overview is asked for).",
)
@click.option(
    "--planner/--no-planner", default=None, help="With or without a model that helps to plan (default: if one is set)."
)
@click.option("--planner-model", metavar="MODEL", help="The model that plans (default CITEWELL_PLANNER_MODEL).")
@click.option("--planner-timeout", type=float, metavar="SECONDS", help="How long it may take (default 20).")
@click.option("--model", metavar="MODEL", help="The model that writes, such as ollama:qwen3:8b, or 'extractive'.")
@click.option("--max-cost", type=float, metavar="USD", help="Stop spending at this; needs known prices.")
@click.option("--no-semantic", is_flag=True, help="Search by words only, whatever CITEWELL_EMBEDDINGS says.")
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
    topic_brief: bool | None,
    planner: bool | None,
    planner_model: str | None,
    planner_timeout: float | None,
    model: str | None,
    max_cost: float | None,
    no_semantic: bool,
    explain: bool,
    profile: RunProfile,
    max_evidence_chars: int,
    timeout: float | None,
    no_trace: bool,
    keep_all_traces: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Answer a question from everything you have saved; every sentence is bound to the passage it comes from.

    The run is recorded: see 'citewell runs'. Without a model the answer is quoted from your documents; with one, each
    sentence it writes is shown only once its passage supports it.

    \b
    Examples:
      citewell research "when was the lantern restored?"
      citewell research "kelp line spacing" --tag kelp --json
      citewell research --retrieval-only "kelp line spacing"
    """
    options = PackOptions(limit, max_chars_per_doc, include_related, related_limit, topic, topic_brief, not no_semantic)
    filters = filters_from(chosen)
    with engine(ctx) as opened:
        if retrieval_only:
            pack = opened.research_pack(question, options=options, filters=filters)
            print_json(pack) if as_json else print_pack(pack, explain=explain)
            return 0
        if timeout is not None and not 0 < timeout < 86_400:
            raise BadInput(f"--timeout is {timeout}.", fix="Give the run at least a second or two.")
        run_id = opened.start_research(
            question,
            options=options,
            filters=filters,
            profile=profile,
            max_evidence_chars=max_evidence_chars,
            deadline_seconds=timeout,
            traced=not no_trace,
            models=ModelChoice(model, planner, planner_model, planner_timeout, max_cost),
        )
        result = execute(opened, run_id, quiet=not wants_progress())
        if not no_trace:
            opened.prune_runs(keep_all=keep_all_traces)
    return show_result(result, as_json)


def print_pack(pack: ResearchPack, *, explain: bool) -> None:
    """A pack as a person reads it."""
    plan = pack.query_plan
    print_text(style(f"Question: {one_line(pack.question, 200)}", "bold"))
    required = ", ".join(concept.name for concept in plan.required) or "nothing in particular"
    family = "" if plan.family == "general" else f"  ({plan.family.replace('_', ' ')})"
    print_text(f"Looking for: {required}{style(family, 'dim') if family else ''}")
    if plan.excluded:
        print_text(f"Leaving out: {', '.join(concept.name for concept in plan.excluded)}")
    print_text()
    if pack.topic_brief is not None:
        print_brief(pack.topic_brief)
        print_text()
    for number, row in enumerate(pack.evidence, start=1):
        print_row(number, row, explain)
    for row in pack.exact_tag_evidence:
        print_text(f"tagged: {one_line(row.title, 80)}  {style(row.source_key, 'cyan')}  {' '.join(row.user_tags)}")
    print_text(f"Coverage: {pack.coverage.recall_note}")
    if pack.coverage.answerability is not None:
        print_text(f"Estimate: {one_line(pack.coverage.answerability.spoken, 300)}")
    print_text("Next:")
    for step in pack.next_steps:
        hint = f" ({' | '.join(step.params.suggestions)})" if step.params.suggestions else ""
        print_text(f"  - {one_line(step.label, 120)}{hint}")
