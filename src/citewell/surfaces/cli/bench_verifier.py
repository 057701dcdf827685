"""`citewell bench-verifier`: how well claims are caught that their evidence does not support."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.domain.benchmarks import VerifierReport
from citewell.settings import Settings, load_settings
from citewell.surfaces.cli.console import note, print_json, print_table
from citewell.surfaces.cli.options import json_option

if TYPE_CHECKING:
    from citewell.models.entailment import OnnxEntailment


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
    from citewell.evals.verifier_bench import measure_verifier, read_pairs

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
    from citewell.models.judges import open_judge

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


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
