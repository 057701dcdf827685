"""`citewell bench-verifier`: how well claims are caught that their evidence does not support."""

from __future__ import annotations

from pathlib import Path

import click

from citewell.domain.benchmarks import VerifierReport
from citewell.settings import load_settings
from citewell.surfaces.cli.console import note, print_json, print_table
from citewell.surfaces.cli.options import json_option


@click.command("bench-verifier", short_help="Measure the verifier on labelled pairs.")
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option("--embeddings", is_flag=True, help="Let the local model inform the score; verdicts stay as they are.")
@json_option
@click.pass_context
def bench_verifier(ctx: click.Context, file: Path, embeddings: bool, as_json: bool) -> None:
    """Check every claim of a file against its evidence, and compare with the labels.

    FILE.jsonl has one object a line: {"claim": …, "evidence": …, "label": "supported", "unsupported" or "refuted"}.
    Caught is what is labelled unsupported or refuted and is not let pass; a false alarm is a supported claim that is
    not let pass. AUROC says how well the score alone tells supported claims from refuted and from unsupported ones.

    \b
    Examples:
      citewell bench-verifier pairs.jsonl
      citewell bench-verifier pairs.jsonl --embeddings --json
    """
    # What follows is needed by this command only.
    from citewell.evals.verifier_bench import likeness_by, measure_verifier, read_pairs

    pairs = read_pairs(file)
    likeness = None
    if embeddings:
        from citewell.evals.verifier_bench import open_model

        likeness = likeness_by(open_model(load_settings(ctx.find_root().obj)))
        note(f"Encoding {len(pairs):,} claims and their evidence; this takes a while …")
    report = measure_verifier(pairs, likeness)
    if as_json:
        print_json(report)
        return
    print_table(("measure", "value"), _rows(report))


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
        ("embeddings", "yes" if report.embeddings else "no"),
        ("pairs a second", f"{report.pairs_per_second:.0f}"),
    ]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
