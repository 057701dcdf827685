"""Cases and reports that are kept in the data folder: what the page promotes from a run, asks again and shows.

eval-cases/promoted.yaml       every case that was promoted, each file as `citewell eval research` reads it
eval-reports/20260105T101500-0a1b2c3d.json  one report of asking them all
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from citewell.engine import Citewell
from citewell.errors import BadInput, Busy, Conflict, NotFound
from citewell.evals.cases import load_cases, load_file
from citewell.evals.propose import Review, as_yaml, propose, write_cases
from citewell.evals.results import EvalKind, EvalReport
from citewell.evals.suite import SuiteOptions, run_suite

_REPORT_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")
_KEPT_REPORTS = 200


@dataclass(frozen=True, slots=True)
class EvalProposal:
    """Cases made from a run; `written` is the name of the file they were put into, where they were kept."""

    cases: tuple[dict[str, Any], ...]
    yaml: str
    written: str | None = None


@dataclass(frozen=True, slots=True)
class EvalReportSummary:
    """A kept report as the list shows it."""

    report: str
    kind: EvalKind
    passed: int
    failed: int
    skipped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class EvalReportList:
    """The kept reports, newest first, and how many cases there are to ask."""

    reports: tuple[EvalReportSummary, ...]
    cases: int


@dataclass(frozen=True, slots=True)
class EvalReportView:
    """One kept report."""

    report: str
    result: EvalReport


class KeptEvals:
    """The cases and reports of one data folder."""

    def __init__(self, engine: Citewell) -> None:
        self._engine = engine
        self._running = Lock()

    @property
    def _cases(self) -> Path:
        return self._engine.settings.data_dir / "eval-cases"

    @property
    def _reports(self) -> Path:
        return self._engine.settings.data_dir / "eval-reports"

    def promote(self, run_id: str, review: Review, *, keep: bool) -> EvalProposal:
        """A run as cases: shown, and put with the others where that is wanted."""
        self._engine.runs.result(run_id)  # one that has not ended, or is not there, is that
        cases = propose(self._engine, run_id, review)
        target = self._cases / "promoted.yaml"
        if keep:
            held = {one.case.id for one in load_file(target).cases} if target.exists() else set()
            if twice := [case.id for case in cases if case.id in held]:
                raise Conflict(f"The case {twice[0]} is kept already.", fix="Edit it there, or ask without keeping it.")
            write_cases(cases, target)
        return EvalProposal(
            tuple(msgspec.to_builtins(case) for case in cases),
            as_yaml(cases),
            f"{target.parent.name}/{target.name}" if keep else None,
        )

    def run(self, kind: EvalKind, *, with_planner: bool) -> EvalReportView:
        """Ask every kept case and keep the report. One suite at a time."""
        if not self._cases.is_dir():
            raise Conflict("No case is kept here yet.", fix="Turn a run into an eval case first.")
        if not self._running.acquire(blocking=False):
            raise Busy("The evals are being run already.", fix="Wait until they have ended.")
        try:
            *_, report = run_suite(
                load_cases([self._cases]), self._engine.settings, SuiteOptions(kind, (), with_planner)
            )
        finally:
            self._running.release()
        assert isinstance(report, EvalReport)
        name = f"{_stamp(self._engine.now())}-{secrets.token_hex(4)}"
        self._reports.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = self._reports / f".{name}.new"
        aside.write_bytes(msgspec.json.encode(report))
        aside.replace(self._reports / f"{name}.json")
        return EvalReportView(name, report)

    def reports(self) -> EvalReportList:
        """What was kept, newest first."""
        files = sorted(self._reports.glob("*.json"), reverse=True)[:_KEPT_REPORTS] if self._reports.is_dir() else []
        found = [self.report(file.stem) for file in files if _REPORT_ID.fullmatch(file.stem)]
        return EvalReportList(tuple(_summary(one) for one in found), self._case_count())

    def report(self, name: str) -> EvalReportView:
        """A kept report by its id."""
        path = self._reports / f"{name}.json"
        if not _REPORT_ID.fullmatch(name) or not path.is_file():
            raise NotFound(f"There is no report {name!r}.", fix="GET /api/evals lists them.")
        return EvalReportView(name, msgspec.json.decode(path.read_bytes(), type=EvalReport))

    def _case_count(self) -> int:
        if not self._cases.is_dir():
            return 0
        try:
            return sum(len(file.cases) for file in load_cases([self._cases]))
        except (BadInput, NotFound):
            return 0


def _stamp(now: str) -> str:
    """2026-01-05T10:15:00.123Z -> 20260105T101500"""
    return re.sub(r"[-:]", "", now)[:15]


def _summary(view: EvalReportView) -> EvalReportSummary:
    one = view.result
    return EvalReportSummary(view.report, one.kind, one.passed, one.failed, one.skipped, one.seconds)
