"""`citewell research`: a question answered in a recorded run, or its evidence alone."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from citewell.app import PackOptions
from citewell.domain.errors import BadInput
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import Filters
from citewell.domain.runs import ModelChoice, RunProfile, RunResult
from citewell.public import Citewell
from citewell.surfaces.cli.console import note, one_line, print_json, print_text, style
from citewell.surfaces.cli.egress import agreed_to
from citewell.surfaces.cli.execution import execute, put_old_runs_away, wants_progress
from citewell.surfaces.cli.options import (
    engine,
    filter_options,
    filters_from,
    json_option,
    named_collections,
    verbose_option,
    warn_of_unused,
)
from citewell.surfaces.cli.reading import print_row
from citewell.surfaces.cli.runs import show_result
from citewell.surfaces.cli.topics import print_brief


@click.command(short_help="Answer a question, with citations.")
@click.argument("question")
@click.option("--retrieval-only", is_flag=True, help="Only gather: print the research pack, record nothing.")
@click.option(
    "--profile",
    type=click.Choice(("local", "chat", "deep")),
    default="local",
    show_default=True,
    help="What the run may use.",
)
@click.option(
    "--max-evidence-chars",
    type=int,
    help="Evidence an answer is made from (default: as set, 24000).",
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Deadline of the run (default 90; chat: 20; deep: 150).")
@click.option("--preview", is_flag=True, help="Show what would leave this machine, and ask before anything does.")
@click.option("--save", is_flag=True, help="Put the pages of the web that are cited into your corpus.")
@click.option("--no-trace", is_flag=True, help="Leave nothing on disk; the run cannot be resumed or replayed.")
@click.option("--keep-all-traces", is_flag=True, help="Do not put old runs away.")
@click.option("--limit", type=int, help="How many rows of evidence (default 8).")
@click.option(
    "--max-chars-per-doc", type=int, help="Size of each row's window (default CITEWELL_MAX_CHARS_PER_DOC, 700)."
)
@click.option(
    "--include-related",
    is_flag=True,
    default=None,
    help="With --retrieval-only: add documents linked with the evidence.",
)
@click.option("--related-limit", type=int, help="With --include-related: how many of those (default 2).")
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
@click.option("--max-tokens", type=int, metavar="N", help="Stop asking models at so many tokens in all.")
@click.option("--no-semantic", is_flag=True, help="Search by words only, whatever CITEWELL_EMBEDDINGS says.")
@click.option("--explain", is_flag=True, help="Say why each row of the evidence won (--json has it anyway).")
@verbose_option
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
    max_tokens: int | None,
    no_semantic: bool,
    explain: bool,
    verbose: bool,
    profile: RunProfile,
    max_evidence_chars: int | None,
    timeout: float | None,
    no_trace: bool,
    keep_all_traces: bool,
    preview: bool,
    save: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Answer a question from everything you have saved; every sentence is bound to the passage it comes from.

    The run is recorded: see 'citewell runs'. Without a model the answer is quoted from your documents; with one, each
    sentence it writes is shown only once its passage supports it.

    \b
    Examples:
      citewell research "when was the lantern restored?"
      citewell research "kelp line spacing" --tag kelp --since 2024
      citewell research "how do I seed the lines?" --collection vault -v
      citewell research "when did the ferry change?" --profile chat --preview
      citewell research "kelp line spacing" --json | jq '.citations[].quote'
      citewell research --retrieval-only "kelp line spacing"
    """
    _refuse_no_ops(ctx, retrieval_only=retrieval_only)
    options = PackOptions(limit, max_chars_per_doc, include_related, related_limit, topic, topic_brief, not no_semantic)
    filters = filters_from(chosen)
    with engine(ctx) as opened:
        named_collections(opened, filters)
        if retrieval_only:
            pack = _gather(
                opened, question, options, filters, ModelChoice(None, planner, planner_model, planner_timeout)
            )
            print_json(pack) if as_json else print_pack(pack, explain=explain)
            return 0
        warn_of_unused(opened)
        if preview and not agreed_to(opened.preview(question, profile=profile, model=model, planner=planner), as_json):
            return 0
        run_id = opened.start(
            question,
            profile=profile,
            limit=limit,
            max_chars_per_doc=max_chars_per_doc,
            source_types=filters.source_types,
            tags=filters.tags,
            collections=filters.collections,
            only=filters.only,
            since=filters.since,
            until=filters.until,
            not_in=filters.exclude_paths,
            not_from=filters.exclude_domains,
            topic=topic,
            topic_brief=topic_brief,
            planner=planner,
            planner_model=planner_model,
            planner_timeout=planner_timeout,
            model=model,
            max_evidence_chars=max_evidence_chars,
            max_cost=max_cost,
            max_tokens=max_tokens,
            timeout=timeout,
            semantic=not no_semantic,
            trace=not no_trace,
        )
        result = execute(opened, run_id, quiet=not wants_progress(), verbose=verbose)
        saved = opened.runs.save_pages(run_id) if save else ()
        if not no_trace:
            put_old_runs_away(opened, keep_all=keep_all_traces)
    code = show_result(result, as_json, verbose=verbose)
    for key in saved:
        note(f"citewell: saved {key}")
    if explain and not as_json:
        _print_why(result)
    return code


def _gather(
    opened: Citewell, question: str, options: PackOptions, filters: Filters, models: ModelChoice
) -> ResearchPack:
    """The evidence alone; a model that is wanted for planning and not there is an error, as in a run."""
    wanted = bool(models.planner_model) if models.planner is None else models.planner
    pack = opened.pack(question, options=options, filters=filters, use_model_planner=wanted, models=models)
    if models.planner and pack.query_plan.planner_status == "off":
        raise BadInput(
            "No model is chosen that could plan.",
            fix="Name one with --planner-model, or set CITEWELL_PLANNER_MODEL.",
        )
    return pack


# What each of these would change is not part of the other way to ask: better refused than ignored.
_ONLY_IN_RUNS = {
    "profile": "--profile",
    "model": "--model",
    "max_cost": "--max-cost",
    "max_tokens": "--max-tokens",
    "timeout": "--timeout",
    "no_trace": "--no-trace",
    "preview": "--preview",
    "save": "--save",
    "keep_all_traces": "--keep-all-traces",
    "max_evidence_chars": "--max-evidence-chars",
}
_ONLY_IN_PACKS = {"include_related": "--include-related", "related_limit": "--related-limit"}


def _refuse_no_ops(ctx: click.Context, *, retrieval_only: bool) -> None:
    """Refuse every option that was given and would do nothing."""

    def given(options: dict[str, str]) -> list[str]:
        sources = ((shown, ctx.get_parameter_source(name)) for name, shown in options.items())
        return [shown for shown, source in sources if source is ParameterSource.COMMANDLINE]

    chosen = ctx.params
    if retrieval_only and (named := given(_ONLY_IN_RUNS)):
        raise BadInput(
            f"With --retrieval-only no run is started, no model is asked and nothing is recorded: {', '.join(named)} "
            "would do nothing.",
            fix="Leave it out, or leave out --retrieval-only.",
        )
    if not retrieval_only and (named := given(_ONLY_IN_PACKS)):
        raise BadInput(
            f"A run adds linked documents by itself, where what it found asks for them: {', '.join(named)} would do "
            "nothing.",
            fix="Leave it out, or add --retrieval-only.",
        )
    if chosen["related_limit"] is not None and not chosen["include_related"]:
        raise BadInput("--related-limit does nothing without --include-related.", fix="Add --include-related.")
    if chosen["planner"] is False and (named := given({"planner_model": "--planner-model"})):
        raise BadInput("--planner-model names a model that --no-planner leaves out.", fix="Leave one of them out.")
    if retrieval_only and chosen["planner_timeout"] is not None and not (chosen["planner"] or chosen["planner_model"]):
        raise BadInput("A time for planning does nothing where no model plans.", fix="Add --planner, or leave it out.")
    if chosen["no_trace"] and chosen["save"]:
        raise BadInput("A run that leaves no trace has no pages to save.", fix="Leave one of them out.")
    if chosen["no_trace"] and chosen["keep_all_traces"]:
        raise BadInput("--keep-all-traces does nothing with --no-trace.", fix="Leave one of them out.")


def _print_why(result: RunResult) -> None:
    """The rows of evidence of a run, each with why it won."""
    rows = result.pack.evidence if result.pack else ()
    print_text()
    print_text("The evidence, and why each row won:" if rows else "There is no evidence to explain.")
    for number, row in enumerate(rows, start=1):
        print_row(number, row, explain=True)


def print_pack(pack: ResearchPack, *, explain: bool) -> None:
    """A pack as a person reads it."""
    plan = pack.query_plan
    print_text(style(f"Question: {one_line(pack.question, 200)}", "bold"))
    required = ", ".join(concept.name for concept in plan.required) or "nothing in particular"
    family = "" if plan.family == "general" else f"  ({plan.family.replace('_', ' ')})"
    print_text(f"Looking for: {required}", style(family, "dim"))
    if plan.excluded:
        print_text(f"Leaving out: {', '.join(concept.name for concept in plan.excluded)}")
    print_text()
    if pack.topic_brief is not None:
        print_brief(pack.topic_brief)
        print_text()
    for number, row in enumerate(pack.evidence, start=1):
        print_row(number, row, explain)
    for row in pack.exact_tag_evidence:
        print_text(
            f"tagged: {one_line(row.title, 80)}  ", style(row.source_key, "cyan"), f"  {' '.join(row.user_tags)}"
        )
    print_text(f"Coverage: {pack.coverage.recall_note}")
    if pack.coverage.answerability is not None:
        print_text(f"Estimate: {one_line(pack.coverage.answerability.spoken, 300)}")
    print_text("Next:")
    for step in pack.next_steps:
        hint = f" ({' | '.join(step.params.suggestions)})" if step.params.suggestions else ""
        print_text(f"  - {one_line(step.label, 120)}{hint}")
