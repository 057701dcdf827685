"""`citewell models`: judges, readers and rerankers: which there are, fetching one, measuring one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from citewell.domain.model_reports import FetchReport, ModelList
from citewell.settings import load_settings
from citewell.surfaces.cli.console import note, print_json, print_table, print_text
from citewell.surfaces.cli.options import json_option


@click.group(short_help="Judges, readers and rerankers: list, fetch, measure.")
def models() -> None:
    """Small models that read on this machine: a judge of sentences, a reader of answers, a reranker of passages.

    None is needed. Nothing is fetched but by 'citewell models get'.

    \b
    Examples:
      citewell models list
      citewell models get nli-deberta-v3-small
      citewell models check pairs.jsonl --judge nli-deberta-v3-small
    """


@models.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List public models that fit, with their licence, size and the figures their authors publish.

    \b
    Example:
      citewell models list
    """
    from citewell.models.catalogue import list_models

    found = list_models(load_settings(ctx.find_root().obj))
    if as_json:
        print_json(found)
        return
    _print(found)


def _print(found: ModelList) -> None:
    rows = [
        (
            one.name + (" (used)" if one.is_used else " (fetched)" if one.is_fetched else ""),
            one.kind,
            one.licence,
            f"{one.megabytes} MB",
            one.published,
        )
        for one in found.models
    ]
    print_table(("model", "kind", "licence", "size", "as its authors say"), rows)
    print_text(f"Judge: {found.judge}. Reader: {found.reader}. Reranker: {found.reranker or 'off'}.")


@models.command()
@click.argument("name")
@json_option
@click.pass_context
def get(ctx: click.Context, name: str, as_json: bool) -> None:
    """Fetch a model of the list, from huggingface.co or CITEWELL_MODELS_URL; run it again to go on where it stopped.

    Files are checked by the hash this program knows, else by the one their host declares, and pinned: a file that
    changes later is refused.

    \b
    Example:
      citewell models get nli-deberta-v3-small
    """
    from citewell.models.catalogue import find_model
    from citewell.models.downloading import Downloads
    from citewell.models.fetching import Fetch
    from citewell.models.judges import models_folder

    settings = load_settings(ctx.find_root().obj)
    model = find_model(name)
    note(f"{model.name}: {model.about}. {model.authors}, {model.licence}, about {model.megabytes} MB.")
    downloads = Downloads(models_folder(settings), Fetch(settings.models_url), settings.models_url)
    with _bar() as show:
        report = downloads.get(model, show)
    if as_json:
        print_json(report)
        return
    _print_fetched(report)


def _print_fetched(report: FetchReport) -> None:
    came = f"{report.fetched_bytes / 1e6:.1f} MB fetched" if report.fetched_bytes else "it was there already"
    print_text(f"{report.name}: {came}, {len(report.files)} files, in {report.folder}")
    print_text(f"Use it: export {report.setting}")


@models.command()
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option("--judge", metavar="FOLDER", help="Measure this model; else the one that is set.")
@json_option
@click.pass_context
def check(ctx: click.Context, file: Path, judge: str | None, as_json: bool) -> None:
    """Measure a judge on labelled pairs, by itself; 'bench-verifier --judge' measures it together with the rules.

    FILE.jsonl is that of 'citewell bench-verifier': {"claim": …, "evidence": …, "label": …} a line.

    \b
    Example:
      citewell models check pairs.jsonl
    """
    from citewell.domain.errors import BadInput
    from citewell.evals.judge_bench import measure_judge
    from citewell.evals.verifier_bench import read_pairs
    from citewell.surfaces.cli.bench_verifier import chosen_judge

    pairs = read_pairs(file)
    opened = chosen_judge(load_settings(ctx.find_root().obj), judge)
    if opened is None:
        raise BadInput("There is no judge to measure.", fix="Name one with --judge; see 'citewell models list'.")
    note(f"{opened.name} judges {len(pairs):,} claims; this takes a while …")
    report = measure_judge(opened, pairs)
    if as_json:
        print_json(report)
        return
    rows = [
        ("pairs", f"{report.n:,}"),
        ("AUROC, supported from refuted", _shown(report.auroc.refuted)),
        ("AUROC, supported from unsupported", _shown(report.auroc.unsupported)),
        ("pairs a second", f"{report.pairs_per_second:.1f}"),
    ]
    print_table(("measure", "value"), rows)
    called = ([label, *(f"{count:,}" for count in found.values())] for label, found in report.called.items())
    print_table(("label", "entails", "neutral", "contradicts"), called)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, of the file that is coming; piped output stays quiet."""
    if not sys.stderr.isatty():
        yield lambda name, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, int] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total or None)
            progress.update(tasks[name], completed=done)  # type: ignore[arg-type]

        yield show
