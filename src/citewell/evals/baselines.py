"""Baselines: how a suite did once, kept in a file, and what has become worse since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from citewell.domain.errors import BadInput
from citewell.domain.eval_reports import CaseStatus, EvalKind, EvalReport


@dataclass(frozen=True, slots=True)
class Baseline:
    """The status of every case, by its id. Keys of evidence tell what moved where a case still passes."""

    kind: EvalKind
    cases: dict[str, CaseStatus]
    schema_version: str = "eval_baseline.v1"


def compared(report: EvalReport, path: Path) -> EvalReport:
    """A report beside the baseline of a file, regressions first; the file is written where there is none."""
    if not path.exists():
        write_baseline(report, path)
        return replace(report, baseline=str(path))
    try:
        before = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{path} is no baseline: {error}.", fix="Remove it, and the next run writes it anew.") from None
    if before.kind != report.kind:
        raise BadInput(f"{path} is a baseline of 'eval {before.kind}'.", fix="Keep one for each kind.")
    cases = tuple(replace(case, before=before.cases.get(case.id)) for case in report.cases)
    now = {case.id for case in cases}
    return replace(
        report,
        cases=tuple(sorted(cases, key=lambda case: not case.is_regression)),
        regressions=tuple(case.id for case in cases if case.is_regression),
        fixed=tuple(case.id for case in cases if case.before == "failed" and case.status == "passed"),
        gone=tuple(name for name in before.cases if name not in now),
        baseline=str(path),
    )


def write_baseline(report: EvalReport, path: Path) -> None:
    """Keep how the suite did; where it is written, nothing is compared."""
    baseline = Baseline(report.kind, {case.id: case.status for case in sorted(report.cases, key=lambda one: one.id)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", fix="Name another file.") from None
