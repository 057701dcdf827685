"""`citewell eval`: cases over whole runs and over retrieval, proposals from runs, and how a corpus fares."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from citewell.domain.answers import AnswerStatus
from citewell.domain.errors import BadInput, CitewellError
from citewell.domain.eval_reports import CorpusReport, EvalKind, EvalProgress, EvalReport, ProposalReport
from citewell.settings import load_settings
from citewell.surfaces.cli.console import note, one_line, print_as_it_is, print_json
from citewell.surfaces.cli.eval_pages import print_corpus_report, print_eval_report
from citewell.surfaces.cli.options import Command, json_option
from citewell.surfaces.wire import to_document

if TYPE_CHECKING:
    from citewell.evals.proposing import Review


class _Evals(click.Group):
    """The commands of `eval`; `eval research propose` is another way to write `eval propose`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:2] == ["research", "propose"]:
            args = args[1:]
        return super().resolve_command(ctx, args)


@click.group("eval", cls=_Evals, short_help="Test answers and retrieval with cases of your own.")
def evals() -> None:
    """Turn bad runs into cases, ask cases again, and see how your own notes fare.

    \b
    Examples:
      citewell eval propose last --expect note:notes/heat-pump --output cases.yaml
      citewell eval research cases.yaml
      citewell eval corpus ~/notes
    """


def suite_options(command: Command) -> Command:
    """What `eval research` and `eval mcp` share."""
    for option in (
        json_option,
        click.option("--watch", is_flag=True, help="Ask again whenever cases or notes change, until Ctrl-C."),
        click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Where --report writes."),
        click.option("--report", type=click.Choice(("html", "junit")), help="Also write eval-report.html or .xml."),
        click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write a page."),
        click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write JUnit XML."),
        click.option("--update-baseline", is_flag=True, help="Write the baseline anew instead of comparing."),
        click.option(
            "--baseline",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Compare with how it was; written where it is not there.",
        ),
        click.option("--no-planner", is_flag=True, help="Only the arm without a planning model."),
        click.option("--collection", "collections", multiple=True, metavar="NAME", help="Only this collection."),
        click.option("--file", "named", multiple=True, type=click.Path(path_type=Path), help="A file of cases."),
        click.argument("files", metavar="FILE…", nargs=-1, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return command


@evals.command("research")
@suite_options
@click.pass_context
def research(ctx: click.Context, /, **chosen: Any) -> int:
    """Ask every case in a whole, recorded run, and check evidence, plan, answer, citations and trace.

    FILE is JSON or YAML (see 'citewell schema eval_cases.v1' and docs/evals.md), or a folder of such files. Each case
    is asked without a planning model and, where one is set, with it. Exit code 1 says that a case failed.

    \b
    Examples:
      citewell eval research cases.yaml
      citewell eval research cases --baseline baseline.json --html report.html
      citewell eval research cases.yaml --no-planner --watch
    """
    return _run_or_watch(ctx, "research", chosen)


@evals.command("mcp")
@suite_options
@click.pass_context
def mcp(ctx: click.Context, /, **chosen: Any) -> int:
    """Gather the evidence for every case, as a tool of an assistant would, and check it; nothing is answered.

    Assertions about answers are not checked, and the report says so.

    \b
    Examples:
      citewell eval mcp cases.yaml
      citewell eval mcp cases.yaml --json
    """
    return _run_or_watch(ctx, "mcp", chosen)


def _run_or_watch(ctx: click.Context, kind: EvalKind, chosen: dict[str, Any]) -> int:
    paths = (*chosen["files"], *chosen["named"])
    if not paths:
        raise BadInput("No file of cases was named.", fix=f"For example: citewell eval {kind} cases.yaml")
    if chosen["output"] and not chosen["report"]:
        raise BadInput("--output says where --report writes, and there is none.", fix="Use --html or --junit.")
    if not chosen["watch"]:
        return _run_once(ctx, kind, paths, chosen)
    if chosen["as_json"]:
        raise BadInput("--json prints one document, and --watch never ends.", fix="Leave one of them out.")
    return _watch(ctx, kind, paths, chosen)


def _watch(ctx: click.Context, kind: EvalKind, paths: tuple[Path, ...], chosen: dict[str, Any]) -> int:
    """Ask now and whenever cases or notes change; Ctrl-C ends it with the code of what was asked last."""
    from citewell.evals.watching import bring_up_to_date, moments

    settings = load_settings(ctx.find_root().obj)
    written = [path for name in ("output", "html", "junit", "baseline") if (path := chosen[name])]
    code = 0
    try:
        for own_notes_changed in moments(paths, settings, written):
            if own_notes_changed:
                bring_up_to_date(settings)
            code = _watched_once(ctx, kind, paths, chosen)
            note("Watching the cases and the notes they ask about; Ctrl-C ends it.")
    except KeyboardInterrupt:
        note("Stopped watching.")
    return code


def _watched_once(ctx: click.Context, kind: EvalKind, paths: tuple[Path, ...], chosen: dict[str, Any]) -> int:
    """What is wrong for a moment, a file half saved or a folder moved, does not end the watching."""
    try:
        return _run_once(ctx, kind, paths, chosen)
    except CitewellError as error:
        note(f"citewell: {error.message}")
        return 2
    finally:
        sys.stdout.flush()


def _run_once(ctx: click.Context, kind: EvalKind, paths: tuple[Path, ...], chosen: dict[str, Any]) -> int:
    # What follows is needed by this command only.
    from citewell.evals.baselines import compared, write_baseline
    from citewell.evals.case_files import load_cases
    from citewell.evals.suite import SuiteOptions, run_suite

    files = load_cases(paths)
    settings = load_settings(ctx.find_root().obj)
    options = SuiteOptions(kind, tuple(chosen["collections"]), with_planner=not chosen["no_planner"])
    with _progress() as show:
        report = _last(run_suite(files, settings, options), show)
    if chosen["baseline"] and chosen["update_baseline"]:
        write_baseline(report, chosen["baseline"])
    elif chosen["baseline"]:
        report = compared(report, chosen["baseline"])
    _write_reports(report, chosen)
    if chosen["as_json"]:
        print_json(report)
    else:
        print_eval_report(report)
    return 1 if report.failed else 0


def _last(events: Iterator[EvalProgress | EvalReport], show: Callable[[EvalProgress], None]) -> EvalReport:
    for event in events:
        if isinstance(event, EvalReport):
            return event
        show(event)
    raise AssertionError("a suite ends with its report")


def _write_reports(report: EvalReport, chosen: dict[str, Any]) -> None:
    from citewell.evals.report_files import html_report, junit_report

    wanted = {"html": chosen["html"], "junit": chosen["junit"]}
    if chosen["report"]:
        ending = "html" if chosen["report"] == "html" else "xml"
        wanted[chosen["report"]] = chosen["output"] or Path(f"eval-report.{ending}")
    for form, path in wanted.items():
        if path is None:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(html_report(report) if form == "html" else junit_report(report))
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}.", fix="Name another file.") from None
        note(f"Wrote {path}.")


@contextmanager
def _progress() -> Iterator[Callable[[EvalProgress], None]]:
    """One line that gives way to the report, for a person watching."""
    watched = sys.stderr.isatty()

    def show(event: EvalProgress) -> None:
        if watched:
            print(f"\r\x1b[K{event.done + 1}/{event.total} {one_line(event.what, 60)}", end="", file=sys.stderr)

    try:
        yield show
    finally:
        if watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@evals.command("propose")
@click.argument("source", metavar="RUN|FOLDER|TRANSCRIPT", required=False)
@click.option("--from-trace", metavar="RUN|FOLDER", help="The run: an id, how it begins, 'last', or its folder.")
@click.option("--from-transcript", type=click.Path(path_type=Path), help="A saved conversation.")
@click.option("--expect", multiple=True, metavar="KEY", help="What the answer should have cited.")
@click.option("--forbid", multiple=True, metavar="KEY", help="What it should not have cited.")
@click.option("--expect-text", "texts", multiple=True, metavar="TEXT", help="What the answer should say.")
@click.option("--status", type=click.Choice(get_args(AnswerStatus)), help="How it should have ended.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it here, after what is there.")
@json_option
@click.pass_context
def propose(ctx: click.Context, /, **chosen: Any) -> None:
    """Make cases of a run or a conversation: keys, status and plan, no sentence of the answer.

    Without --output the cases are only printed. Say what should have been (--expect, --forbid, --status) and the case
    fails until it is.

    \b
    Examples:
      citewell eval propose last
      citewell eval propose last --expect note:notes/heat-pump --output cases.yaml
      citewell eval propose --from-transcript chat-transcripts/monday.json --output cases.yaml
    """
    from citewell.engine import Citewell
    from citewell.evals.proposing import Review, as_yaml, propose, write_cases

    given = [str(one) for one in (chosen["source"], chosen["from_trace"], chosen["from_transcript"]) if one]
    if len(given) != 1:
        raise BadInput(
            "Name one run, folder or transcript." if not given else "Name only one run, folder or transcript.",
            fix="For example: citewell eval propose last",
        )
    review: Review = Review(chosen["expect"], chosen["forbid"], chosen["status"], chosen["texts"])
    engine = Citewell(load_settings(ctx.find_root().obj))
    try:
        cases = propose(engine, given[0], review)
    finally:
        engine.close()
    output: Path | None = chosen["output"]
    if output is not None:
        write_cases(cases, output)
    if chosen["as_json"]:
        print_json(ProposalReport(tuple(to_document(cases)), str(output) if output else None))
    elif output is not None:
        note(f"Wrote {len(cases)} cases to {output}. Review them, then: citewell eval research {output}")
    else:
        print_as_it_is(as_yaml(cases).rstrip("\n"))


@evals.command("corpus")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--max-questions", "most", type=click.IntRange(1, 2_000), default=60, show_default=True)
@click.option("--collection", help="The name of the collection (default: that of the folder).")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Keep the questions as cases.")
@json_option
@click.pass_context
def corpus(
    ctx: click.Context, path: Path, most: int, collection: str | None, output: Path | None, as_json: bool
) -> int:
    """Ask your own notes what they say, and see how well search and answers do, and why they fail.

    Questions are made from headings, properties, definitions and sentences with a figure left out. The folder is
    indexed apart; your corpus is not touched. Exit code 1 says that a question was not answered right.

    \b
    Examples:
      citewell eval corpus ~/notes
      citewell eval corpus ~/notes --max-questions 200 --output notes-cases.yaml
    """
    from citewell.evals.own_corpus import as_cases, evaluate_corpus, with_written
    from citewell.evals.proposing import write_cases

    report: CorpusReport | None = None
    with _progress() as show:
        for event in evaluate_corpus(path, load_settings(ctx.find_root().obj), most=most, collection=collection):
            if isinstance(event, EvalProgress):
                show(event)
            else:
                report = event
    assert report is not None
    if output is not None:
        write_cases(as_cases(report), output)
        report = with_written(report, output)
        note(f"Wrote {len(report.cases)} cases to {output}.")
    if as_json:
        print_json(report)
    else:
        print_corpus_report(report)
    return 1 if report.failed else 0
