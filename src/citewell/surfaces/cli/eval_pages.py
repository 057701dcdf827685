"""Reports of evals on a terminal: failures first, why each failed, and where to look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from citewell.domain.eval_reports import CorpusReport, EvalArm, EvalCaseReport, EvalReport
from citewell.surfaces.cli.console import print_table, print_text, style

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
