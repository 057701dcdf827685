"""`citewell models`: judges, readers and rerankers: which there are, fetching one, measuring one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.console import note, print_json, print_table, print_text
from citewell.cli.options import json_option
from citewell.errors import BadInput, CitewellError
from citewell.evals.bench import VerifierReport
from citewell.models.chat import check_model, open_chat
from citewell.models.download import Downloads, Fetch, FetchReport, ModelList, find_model, list_models
from citewell.models.endpoints import names_model
from citewell.models.entailment import is_automatic, judge_folder, models_folder, open_judge
from citewell.runs.run import RunResult
from citewell.settings import Settings, load_settings

if TYPE_CHECKING:
    from citewell.models.entailment import OnnxEntailment


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


_OFFERED = "nli-deberta-v3-small"


def offer_judge(settings: Settings, result: RunResult) -> None:
    """After the first answer that a model wrote, once and only on a terminal: whether to fetch a small judge."""
    asked = settings.data_dir / "judge-offered"
    is_watched = sys.stdin.isatty() and sys.stdout.isatty()
    has_judge = not is_automatic(settings.judge) or judge_folder(settings) is not None
    if not is_watched or result.tool != "model" or result.answer_status != "ok" or has_judge or asked.exists():
        return
    with suppress(OSError):
        asked.touch()
    model = find_model(_OFFERED)
    print_text()
    question = f"A {model.megabytes} MB checker can read each sentence against its quote on this machine. Fetch it?"
    try:
        if not click.confirm(question):
            note(f"Later: citewell models get {model.name}")
            return
        downloads = Downloads(models_folder(settings), Fetch(settings.models_url), settings.models_url)
        with _bar() as show:
            downloads.get(model, show)
        note(f"{model.name} judges from the next question on; 'citewell doctor' says so.")
    except click.Abort:
        note(f"Later: citewell models get {model.name}")
    except CitewellError as error:
        note(f"citewell: {error.message} Later: citewell models get {model.name}")


def _print_fetched(report: FetchReport) -> None:
    came = f"{report.fetched_bytes / 1e6:.1f} MB fetched" if report.fetched_bytes else "it was there already"
    print_text(f"{report.name}: {came}, {len(report.files)} files, in {report.folder}")
    print_text(f"Use it: export {report.setting}")


@models.command()
@click.argument("file", metavar="[FILE.jsonl]", required=False, type=click.Path(path_type=Path))
@click.option("--judge", metavar="FOLDER|MODEL", help="Measure this model; else the one that is set.")
@json_option
@click.pass_context
def check(ctx: click.Context, file: Path | None, judge: str | None, as_json: bool) -> None:
    """Measure a judge on labelled claims: how often it is right about them, by itself.

    Without FILE these are the claims that come with the program: true ones in other words, and false ones of 55 kinds.
    FILE.jsonl is that of 'citewell bench-verifier': {"claim": …, "evidence": …, "label": …} a line. A chat model is
    asked as in a run, ten claims a call.

    \b
    Examples:
      citewell models check --judge nli-deberta-v3-small
      citewell models check --judge ollama:qwen3:8b
      citewell models check pairs.jsonl
    """
    from citewell.evals.verifier import SHIPPED_CLAIMS, measure_chat_judge, measure_judge, read_pairs

    settings = load_settings(ctx.find_root().obj)
    pairs = read_pairs(file) if file is not None else read_pairs(SHIPPED_CLAIMS, half="test")
    named = (judge or settings.judge).strip()
    if names_model(named):
        check_model(named, settings)
        calls = -(-len(pairs) // 10)
        note(f"{named} judges {len(pairs):,} claims in {calls:,} calls; this takes a while …")
        report = asyncio.run(measure_chat_judge(open_chat(settings), named, pairs))
    else:
        opened = chosen_judge(settings, judge)
        if opened is None:
            raise BadInput("There is no judge to measure.", fix="Name one with --judge; see 'citewell models list'.")
        note(f"{opened.name} judges {len(pairs):,} claims; this takes a while …")
        report = measure_judge(opened, pairs)
    if as_json:
        print_json(report)
        return
    rows = [
        ("claims", f"{report.n:,}"),
        ("right", f"{report.right:.0%}"),
        ("AUROC, supported from refuted", _shown(report.auroc.refuted)),
        ("AUROC, supported from unsupported", _shown(report.auroc.unsupported)),
        ("claims a second", f"{report.pairs_per_second:.1f}"),
    ]
    print_table(("measure", "value"), rows)
    columns = tuple(next(iter(report.called.values())))
    called = ([label, *(f"{count:,}" for count in found.values())] for label, found in report.called.items())
    print_table(("label", *columns), called)


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


# `citewell bench-verifier`: how well claims are caught that their evidence does not support.


@click.command("bench-verifier", short_help="Measure the verifier on labelled pairs.")
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option("--judge", metavar="FOLDER|off", help="Judge with this model, or without any; else as it is set.")
@json_option
@click.pass_context
def bench_verifier(ctx: click.Context, file: Path, judge: str | None, as_json: bool) -> None:
    """Check every claim of a file against its evidence, and compare with the labels.

    FILE.jsonl has one object a line: {"claim": …, "evidence": …, "label": "supported", "unsupported" or "refuted"},
    and "title" where the evidence has one. Caught is what is labelled unsupported or refuted and called anything but
    supported; a false alarm is a supported claim that is called anything else. AUROC says how well the score alone
    tells supported claims from refuted and from unsupported ones.

    \b
    Examples:
      citewell bench-verifier pairs.jsonl
      citewell bench-verifier pairs.jsonl --json
      citewell bench-verifier pairs.jsonl --judge ~/models/nli-deberta-v3-small
    """
    # What follows is needed by this command only.
    from citewell.evals.verifier import measure_verifier, read_pairs

    pairs = read_pairs(file)
    settings = load_settings(ctx.find_root().obj)
    opened = chosen_judge(settings, judge)
    if opened is not None:
        note(f"{opened.name} judges {len(pairs):,} claims; this takes a while …")
    report = measure_verifier(pairs, opened)
    if as_json:
        print_json(report)
        return
    print_table(("measure", "value"), _rows(report))
    verdicts = [verdict for verdict in next(iter(report.called.values())) if verdict != "not_a_claim"]
    called = ([label, *(f"{found[verdict]:,}" for verdict in verdicts)] for label, found in report.called.items())
    print_table(("label", *(f"called {verdict}" for verdict in verdicts)), called)


def chosen_judge(settings: Settings, chosen: str | None) -> OnnxEntailment | None:
    """The judge that an option names, else the one that is set; raises Unavailable where it cannot be used."""
    opened = open_judge(replace(settings, judge=chosen) if chosen is not None else settings)
    if opened is not None:
        opened.open()
    return opened


def _rows(report: VerifierReport) -> list[tuple[str, str]]:
    labels = f"{report.supported} supported, {report.refuted} refuted, {report.unsupported} unsupported"
    return [
        ("pairs", f"{report.n} ({labels})"),
        ("precision", f"{report.precision:.3f}"),
        ("recall", f"{report.recall:.3f}"),
        ("F1", f"{report.f1:.3f}"),
        ("false alarms", f"{report.false_alarm_rate:.3f}"),
        ("AUROC, supported from refuted", _shown(report.auroc.refuted)),
        ("AUROC, supported from unsupported", _shown(report.auroc.unsupported)),
        ("judge", report.judge or "none"),
        ("pairs a second", f"{report.pairs_per_second:.0f}"),
    ]
