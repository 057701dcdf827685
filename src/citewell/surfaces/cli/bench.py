"""`citewell bench`: how well and how fast test collections are searched, beside other engines if asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from citewell.domain.benchmarks import AnswerabilityRow, BenchProgress, BenchReport, BenchRow
from citewell.domain.errors import BadInput
from citewell.domain.results import SearchMode
from citewell.settings import load_settings
from citewell.surfaces.cli.console import note, one_line, print_json, print_table
from citewell.surfaces.cli.options import json_option

_COLUMNS = (
    *("collection", "system", "mode", "nDCG@10", "R@10", "R@100", "MRR@10", "p50 ms", "p95 ms"),
    *("docs", "queries", "index s"),
)


_TOLD_APART = ("collection", "questions of", "drawn from", "AUROC", "answerable", "unanswerable")


@click.command(short_help="Measure search on test collections.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(("lexical", "semantic", "hybrid")),
    help="Only this lane (default: every lane there is).",
)
@click.option("--peers", is_flag=True, help="Measure other engines in the same run: bm25s, SQLite FTS5, tantivy.")
@click.option("--max-queries", type=click.IntRange(1), help="At most so many queries of a collection, evenly drawn.")
@click.option("--answerability", is_flag=True, help="Measure how well what a collection answers is told from the rest.")
@json_option
@click.pass_context
def bench(
    ctx: click.Context,
    folder: Path,
    mode: SearchMode | None,
    peers: bool,
    max_queries: int | None,
    answerability: bool,
    as_json: bool,
) -> None:
    """Index test collections in a temporary folder, ask every judged query, and report quality and latency.

    DIR is one collection in BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) or a folder of them. Your own
    corpus is not touched.

    With --answerability, questions a collection cannot answer are asked as well: those it names itself
    (qrels/unanswerable.tsv or unanswerable.jsonl) and, in a folder of collections, those of every other. AUROC is how
    often a question that is answered gets the higher estimate; 0.5 is chance.

    \b
    Examples:
      citewell bench collections/scifact
      citewell bench collections --peers
      citewell bench collections --mode lexical --json
      citewell bench collections --answerability --max-queries 60
    """
    # What follows is needed by this command only.
    from citewell.evals.answerability import run_answerability
    from citewell.evals.bench import run_bench
    from citewell.evals.collections import find_collections

    if answerability and (mode or peers):
        raise BadInput("--answerability measures estimates, not lanes.", fix="Leave out --mode and --peers.")
    folders = find_collections(folder)
    settings = load_settings(ctx.find_root().obj)
    report = BenchReport(())
    with _progress() as show:
        for event in (
            run_answerability(folders, settings, max_queries)
            if answerability
            else run_bench(folders, settings, mode=mode, with_peers=peers, max_queries=max_queries)
        ):
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
    elif answerability:
        print_table(_TOLD_APART, (_told_apart(row) for row in report.answerability))
    else:
        print_table(_COLUMNS, (_cells(row) for row in report.collections))


def _told_apart(row: AnswerabilityRow) -> tuple[str, ...]:
    return (row.corpus, row.questions, row.half, f"{row.auroc:.3f}", str(row.answerable), str(row.unanswerable))


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
def _progress() -> Iterator[Callable[[BenchProgress], None]]:
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
