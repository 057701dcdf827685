"""`citewell research`: a question answered in a recorded run, or its evidence alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from citewell.ask import Ask
from citewell.cli.console import note, one_line, print_json, print_text, style
from citewell.cli.egress import agreed_to
from citewell.cli.find import print_brief, print_row
from citewell.cli.models import offer_judge
from citewell.cli.options import (
    ask_options,
    engine,
    filter_options,
    json_option,
    verbose_option,
    warn_of_unused,
)
from citewell.cli.progress import execute, put_old_runs_away, wants_progress
from citewell.cli.runs import show_result
from citewell.engine import Citewell
from citewell.errors import BadInput
from citewell.runs.run import RunResult
from citewell.search.pack import ResearchPack


@click.command(short_help="Answer a question, with citations.")
@click.argument("question")
@click.option("--retrieval-only", is_flag=True, help="Only gather: print the research pack, record nothing.")
@ask_options(
    *("profile", "max_evidence_chars", "timeout", "trace", "limit", "max_chars_per_doc", "include_related"),
    *("related_limit", "topic", "topic_brief", "planner", "planner_model", "planner_timeout", "model"),
    *("max_cost", "max_tokens", "semantic"),
    profile={"type": click.Choice(("local", "chat", "deep")), "help": "What the run may use."},
    include_related={
        "flag": "--include-related",
        "is_flag": True,
        "default": None,
        "help": "With --retrieval-only: add documents linked with the evidence.",
    },
    related_limit={"help": "With --include-related: how many of those (default 2)."},
)
@click.option("--preview", is_flag=True, help="Show what would leave this machine, and ask before anything does.")
@click.option("--save", is_flag=True, help="Put the pages of the web that are cited into your corpus.")
@click.option("--keep-all-traces", is_flag=True, help="Do not put old runs away.")
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
    explain: bool,
    verbose: bool,
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
    ask = Ask(question, **chosen)
    with engine(ctx) as opened:
        opened.corpus.check_collections(ask.filters)
        if retrieval_only:
            pack = _gather(opened, ask)
            print_json(pack) if as_json else print_pack(pack, explain=explain)
            return 0
        warn_of_unused(opened)
        if preview and not agreed_to(opened.preview(ask), as_json):
            return 0
        run_id = opened.start(ask)
        result = execute(opened, run_id, quiet=not wants_progress(), verbose=verbose)
        saved = opened.runs.save_pages(run_id) if save else ()
        if ask.trace:
            put_old_runs_away(opened, keep_all=keep_all_traces)
    code = show_result(result, as_json, verbose=verbose)
    for key in saved:
        note(f"citewell: saved {key}")
    if explain and not as_json:
        _print_why(result)
    if not as_json:
        offer_judge(opened.settings, result)
    return code


def _gather(opened: Citewell, ask: Ask) -> ResearchPack:
    """The evidence alone; a model that is wanted for planning and not there is an error, as in a run."""
    wanted = bool(ask.planner_model) if ask.planner is None else ask.planner
    pack = opened.pack(ask, planner=wanted)
    if ask.planner and pack.query_plan.planner_status == "off":
        raise BadInput(
            "No model is chosen that could plan.",
            fix="Name one with --planner-model, or set CITEWELL_PLANNER_MODEL.",
        )
    return pack


# What each of these would change is not part of the other way to ask: better refused than ignored.
_ONLY_IN_RUNS = (
    *("profile", "model", "max_cost", "max_tokens", "timeout", "trace", "preview", "save", "keep_all_traces"),
    "max_evidence_chars",
)
_ONLY_IN_PACKS = ("include_related", "related_limit")


def _refuse_no_ops(ctx: click.Context, *, retrieval_only: bool) -> None:
    """Refuse every option that was given and would do nothing."""
    flags = {one.name: one.opts[0] for one in ctx.command.params}

    def given(names: Iterable[str]) -> list[str]:
        return [flags[name] for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]

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
    if chosen["planner"] is False and (named := given(["planner_model"])):
        raise BadInput("--planner-model names a model that --no-planner leaves out.", fix="Leave one of them out.")
    if retrieval_only and chosen["planner_timeout"] is not None and not (chosen["planner"] or chosen["planner_model"]):
        raise BadInput("A time for planning does nothing where no model plans.", fix="Add --planner, or leave it out.")
    if not chosen["trace"] and chosen["save"]:
        raise BadInput("A run that leaves no trace has no pages to save.", fix="Leave one of them out.")
    if not chosen["trace"] and chosen["keep_all_traces"]:
        raise BadInput("--keep-all-traces does nothing with --no-trace.", fix="Leave one of them out.")


def _print_why(result: RunResult) -> None:
    """The rows of evidence of a run, each with why it is shown."""
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
