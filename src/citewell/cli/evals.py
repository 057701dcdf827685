"""`citewell eval`: cases over whole runs and over retrieval, proposals from runs, and how a corpus fares."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from citewell.check.verdict import AnswerStatus
from citewell.cli.console import note, one_line, print_as_it_is, print_json, print_table, print_text, style
from citewell.cli.options import Command, json_option
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError
from citewell.evals.bench import (
    BenchProgress,
    BenchReport,
    BenchRow,
    find_collections,
    run_bench,
)
from citewell.evals.results import (
    CorpusReport,
    EvalArm,
    EvalCaseReport,
    EvalKind,
    EvalProgress,
    EvalReport,
    ProposalReport,
    compared,
    html_report,
    junit_report,
    write_baseline,
)
from citewell.search.lookup import SearchMode
from citewell.settings import load_settings
from citewell.wire import to_document

if TYPE_CHECKING:
    from citewell.evals.propose import Review


# Reports of evals on a terminal: failures first, why each failed, and where to look.


_COLOURS = {"passed": "green", "failed": "red", "known_failing": "yellow", "skipped": "dim", "shown": "dim"}
_SAID = {"known_failing": "known to fail"}


def print_eval_report(report: EvalReport) -> None:
    """What failed and why, then how the families did, then the count."""
    for case in report.cases:
        if case.status == "failed":
            _print_case(case)
    _print_arms(report)
    for title, names in (("regressions", report.regressions), ("fixed", report.fixed), ("gone", report.gone)):
        if names:
            print_text(style(f"{title}: ", "bold"), ", ".join(names))
    for case in report.cases:
        if case.status == "known_failing":
            print_text(style(f"known to fail: {case.id}: ", "yellow"), case.known_failing)
    for name in report.now_passing:
        print_text(style(f"passes now: {name}: ", "bold green"), "take out its known_failing")
    known = f"{report.known_failing} known to fail, " if report.known_failing else ""
    counted = f"{report.passed} passed, {report.failed} failed, {known}{report.skipped} skipped"
    counted += f" in {report.seconds:.1f} s"
    print_text(style(counted, "red" if report.failed else "green"))


def _print_case(case: EvalCaseReport) -> None:
    mark = " (regression)" if case.is_regression else ""
    place = f"  {Path(case.file).name}:{case.line}"
    print_text(style(f"FAILED {case.id}{mark}", "bold red"), style(place, "dim"))
    print_text(case.question, indent=2)
    for arm in case.arms:
        _print_arm(arm)
    print_text("")


def _print_arm(arm: EvalArm) -> None:
    said = f": {arm.reason}" if arm.reason else ""
    name = arm.arm.replace("_", " ")
    print_text(style(f"{name} {arm.status}", _COLOURS[arm.status]), said, indent=2)
    for one in arm.failures:
        print_text(style(f"- {one.assertion}: ", "bold"), one.message, indent=4)
    for row in arm.top:
        signals = ", ".join(f"{signal} {value:g}" for signal, value in row.signals.items())
        print_text(style(f"{row.source_key}  {signals}", "dim"), indent=4)
    if arm.planner:
        error = f", {arm.planner.error}" if arm.planner.error else ""
        model = f" {arm.planner.model}" if arm.planner.model else ""
        planned = f"planned by {arm.planner.planner}{model} ({arm.planner.status}{error}) as {arm.planner.family}"
        print_text(style(planned, "dim"), indent=4)
    if arm.run_id:
        print_text(style(f"run {arm.run_id}, trace {arm.trace_path}", "dim"), indent=4)


def _print_arms(report: EvalReport) -> None:
    """Both arms side by side, family by family."""
    counts: Counter[tuple[str, str, str]] = Counter(
        (case.family, arm.arm, arm.status) for case in report.cases for arm in case.arms
    )
    families = sorted({case.family for case in report.cases})
    print_table(
        ("family", "cases", "planner off", "planner on"),
        (
            (
                family,
                str(sum(case.family == family for case in report.cases)),
                *(
                    ", ".join(
                        f"{counts[family, arm, status]} {_SAID.get(status, status)}"
                        for status in _COLOURS
                        if counts[family, arm, status]
                    )
                    or "–"
                    for arm in ("planner_off", "planner_on")
                ),
            )
            for family in families
        ),
    )


def print_corpus_report(report: CorpusReport) -> None:
    """How search and answers did on a folder, why they failed, and what to do about it."""
    print_text(style(f"{report.path}: {report.documents} documents", "bold"))
    print_table(
        ("questions from", "asked", "found", "found first", "right part", "answered right"),
        (
            (
                row.kind,
                str(row.asked),
                *(f"{share:.0%}" for share in (row.found, row.first, row.right_part, row.right)),
            )
            for row in report.by_kind
        ),
    )
    print_text("")
    if report.outcomes:
        print_table(("outcome", "questions"), ((name, str(count)) for name, count in report.outcomes.items()))
        print_text("")
    for one in [case for case in report.cases if case.outcome not in ("right",)][:12]:
        print_text(style(f"{one.outcome}: ", "bold"), one.question)
        print_text(style(one.why, "dim"), indent=2)
    if report.not_indexed:
        print_text(style(f"not indexed: {len(report.not_indexed)} files", "bold"))
        for missing in report.not_indexed[:8]:
            print_text(f"- {missing.path}: {missing.reason}", indent=2)
    for line in report.advice:
        print_text(f"→ {line}")
    print_text(f"{report.passed} right, {report.failed} not, in {report.seconds:.0f} s")


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
    from citewell.evals.suite import bring_up_to_date, moments

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
    from citewell.evals.cases import load_cases
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
    from citewell.evals.propose import Review, as_yaml, propose, write_cases

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
    from citewell.evals.propose import write_cases

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


# `citewell bench`: how well and how fast test collections are searched, beside other engines if asked.


_COLUMNS = (
    *("collection", "system", "mode", "nDCG@10", "R@10", "R@100", "MRR@10", "p50 ms", "p95 ms"),
    *("docs", "queries", "index s"),
)


@click.command(short_help="Measure search on test collections.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(("lexical", "semantic", "hybrid")),
    help="Only this lane (default: every lane there is).",
)
@click.option("--peers", is_flag=True, help="Measure other engines in the same run: bm25s, SQLite FTS5, tantivy.")
@click.option("--max-queries", type=click.IntRange(1), help="At most so many queries of a collection, evenly drawn.")
@json_option
@click.pass_context
def bench(
    ctx: click.Context,
    folder: Path,
    mode: SearchMode | None,
    peers: bool,
    max_queries: int | None,
    as_json: bool,
) -> None:
    """Index test collections in a temporary folder, ask every judged query, and report quality and latency.

    DIR is one collection in BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) or a folder of them. Your own
    corpus is not touched.

    \b
    Examples:
      citewell bench collections/scifact
      citewell bench collections --peers
      citewell bench collections --mode lexical --json
    """
    folders = find_collections(folder)
    settings = load_settings(ctx.find_root().obj)
    report = BenchReport(())
    with _bench_bar() as show:
        for event in run_bench(folders, settings, mode=mode, with_peers=peers, max_queries=max_queries):
            if isinstance(event, BenchReport):
                report = event
            else:
                show(event)
    for warning in report.warnings:
        note(warning)
    for peer in report.missing_peers:
        note(f"{peer.system} is not installed and was not measured: {peer.fix}")
    if as_json:
        print_json(report)
    else:
        print_table(_COLUMNS, (_cells(row) for row in report.collections))


def _cells(row: BenchRow) -> tuple[str, ...]:
    quality = (row.ndcg_10, row.recall_10, row.recall_100, row.mrr_10)
    latency = (row.p50_ms, row.p95_ms)
    return (
        *(row.name, row.system, row.mode),
        *(f"{value:.3f}" for value in quality),
        *(f"{value:.2f}" for value in latency),
        *(str(row.docs), str(row.queries), f"{row.index_seconds:.1f}"),
    )


@contextmanager
def _bench_bar() -> Iterator[Callable[[BenchProgress], None]]:
    """A bar on a terminal; a line for each step elsewhere."""
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(event: BenchProgress) -> None:
            progress.update(task, description=_label(event), total=event.total, completed=event.done)

        yield show


def _line(event: BenchProgress) -> None:
    if event.done == 0:
        note(f"{_label(event)} …")


def _label(event: BenchProgress) -> str:
    return one_line(f"{event.collection}: {event.system} {event.stage}", 60).replace("[", "(")
