"""What evals report: cases with their arms, what failed and why, proposals, and how a corpus fares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import msgspec

from citewell.errors import BadInput

EvalKind = Literal["research", "mcp"]
ArmName = Literal["planner_off", "planner_on"]
# `shown` is an arm that ran beside the one the case is about, and is held to nothing.
# `known_failing` is one that fails and whose case says why (`known_failing`).
ArmStatus = Literal["passed", "failed", "known_failing", "skipped", "shown"]
CaseStatus = Literal["passed", "failed", "known_failing", "skipped"]


@dataclass(frozen=True, slots=True)
class EvalFailure:
    """One assertion that does not hold."""

    assertion: str
    message: str
    expected: Any = None
    found: Any = None


@dataclass(frozen=True, slots=True)
class PlannerNote:
    """How the question was planned."""

    planner: str
    status: str
    family: str
    model: str | None = None
    error: str | None = None
    variants: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopRow:
    """One of the best rows: what it is, and what spoke for it."""

    source_key: str
    score: float
    signals: dict[str, float] = field(default_factory=dict)
    missing_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvalArm:
    """A case asked once: with or without a planning model."""

    arm: ArmName
    status: ArmStatus
    reason: str = ""
    failures: tuple[EvalFailure, ...] = ()
    # Assertions of the case that do not apply to what was run.
    not_checked: tuple[str, ...] = ()
    run_id: str | None = None
    trace_path: str | None = None
    latency_ms: float = 0.0
    answer_status: str | None = None
    stop_reason: str | None = None
    cited_keys: tuple[str, ...] = ()
    evidence_keys: tuple[str, ...] = ()
    top: tuple[TopRow, ...] = ()
    planner: PlannerNote | None = None


@dataclass(frozen=True, slots=True)
class EvalCaseReport:
    id: str
    file: str
    line: int
    question: str
    family: str
    status: CaseStatus
    arms: tuple[EvalArm, ...]
    # Why the case says that it fails; empty where it does not say so.
    known_failing: str = ""
    # As the baseline has it; None where there is none.
    before: CaseStatus | None = None

    @property
    def is_regression(self) -> bool:
        return self.before == "passed" and self.status == "failed"

    @property
    def passes_by_now(self) -> bool:
        """Whether the case says that it fails, and it does not."""
        return bool(self.known_failing) and self.status == "passed"


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What a suite came to; failed cases come first."""

    kind: EvalKind
    passed: int
    failed: int
    skipped: int
    seconds: float
    cases: tuple[EvalCaseReport, ...]
    # Against the baseline: what passed and fails now, what failed and passes now, what is no longer there.
    regressions: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    baseline: str | None = None
    data_dir: str = ""
    known_failing: int = 0
    # Cases that say they fail and pass: what they say is to be taken out.
    now_passing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvalProgress:
    """Where a suite is."""

    done: int
    total: int
    what: str


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """Cases proposed from what was recorded; written only where an output was named."""

    cases: tuple[dict[str, Any], ...]
    written: str | None = None
    notes: tuple[str, ...] = ()


QuestionKind = Literal["heading", "property", "definition", "cloze"]
# `not_indexed` is a file nobody can find; then what search and answers did wrong with the others.
Outcome = Literal["right", "not_found", "wrong_part", "wrong_choice", "refused", "error"]


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A question made from a passage of the user's own notes, and how it fared."""

    kind: QuestionKind
    question: str
    source_key: str
    start: int
    end: int
    wanted: str
    outcome: Outcome
    # Place of its document among the rows, from 1; None where it is not there.
    rank: int | None
    cited_keys: tuple[str, ...] = ()
    run_id: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class CorpusKindRow:
    """How the questions of one kind fared: shares of those asked."""

    kind: str
    asked: int
    found: float
    first: float
    right_part: float
    right: float
    outcomes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotIndexed:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """How well search and answers do on a user's own notes, and why they fail where they do."""

    path: str
    documents: int
    passed: int
    failed: int
    seconds: float
    by_kind: tuple[CorpusKindRow, ...]
    outcomes: dict[str, int]
    not_indexed: tuple[NotIndexed, ...]
    advice: tuple[str, ...]
    cases: tuple[CorpusQuestion, ...]
    written: str | None = None


# A report of a suite as files: a page for people, JUnit XML for machines. Pure: both return bytes.
#
# The page stands alone: no script, nothing fetched, and what notes and questions say is text on it and never markup.


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 92rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0; }
.case { border: 1px solid #ddd; border-left-width: 6px; border-radius: 4px; padding: .7rem 1rem; margin: .7rem 0; }
.failed { border-left-color: #b3261e; } .passed { border-left-color: #2e7d32; } .skipped { border-left-color: #8a8a8a; }
.known_failing { border-left-color: #b26a00; }
.why { margin: .3rem 0; } code { background: #f2f2f2; padding: 0 .25rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0; }
td, th { border: 1px solid #ddd; padding: .15rem .5rem; text-align: left; vertical-align: top; }
.arms { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: .3rem 1.5rem; }
.arm { min-width: 0; overflow-x: auto; }
summary { cursor: pointer; } .dim { color: #666; }
@media (prefers-color-scheme: dark) {
 body { background: #161616; color: #e6e6e6; } code { background: #2a2a2a; } .case, td, th { border-color: #3a3a3a; }
 .dim { color: #a0a0a0; } a { color: #9cc4ff; } }
"""


def html_report(report: EvalReport) -> bytes:
    """The report as one page, failures first and open."""
    head = f"eval {report.kind}: {report.passed} passed, {report.failed} failed, {report.skipped} skipped"
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(head)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style><h1>{escape(head)}</h1>",
        f'<p class="dim">{len(report.cases)} cases in {report.seconds:.1f} s; runs are in '
        f"<code>{escape(report.data_dir)}</code></p>",
    ]
    told = (("Regressions", report.regressions), ("Fixed", report.fixed), ("Gone", report.gone))
    for title, names in (*told, ("Known to fail, and passing now", report.now_passing)):
        if names:
            parts.append(f"<p><strong>{title}:</strong> {escape(', '.join(names))}</p>")
    parts += [_case_html(case) for case in report.cases]
    return "\n".join(parts).encode("utf-8", "replace") + b"\n"


def _case_html(case: EvalCaseReport) -> str:
    is_open = " open" if case.status == "failed" else ""
    place = f"{Path(case.file).name}:{case.line}"
    mark = " regression" if case.is_regression else ""
    head = (
        f'<section class="case {case.status}"><details{is_open}><summary><strong>{escape(case.id)}</strong> '
        f'<span class="dim">{case.status}{mark} · {escape(case.family)} · {escape(place)}</span><br>'
        f"{escape(case.question)}</summary>"
    )
    if case.known_failing:
        head += f'<p class="dim">known to fail: {escape(case.known_failing)}</p>'
    arms = "".join(f'<div class="arm">{_arm_html(arm)}</div>' for arm in case.arms)
    return f'{head}<div class="arms">{arms}</div></details></section>'


def _arm_html(arm: EvalArm) -> str:
    parts = [f"<h2>{arm.arm.replace('_', ' ')}: {arm.status}</h2>"]
    if arm.reason:
        parts.append(f'<p class="dim">{escape(arm.reason)}</p>')
    parts += [f'<p class="why"><code>{escape(one.assertion)}</code> {escape(one.message)}</p>' for one in arm.failures]
    if arm.run_id:
        link = Path(arm.trace_path).absolute().as_uri() + "/run.md" if arm.trace_path else ""
        trace = f" · <a href={quoteattr(link)}>trace</a>" if link else ""
        parts.append(
            f'<p class="dim">{escape(arm.answer_status or "")} · {escape(arm.stop_reason or "")} · '
            f"{arm.latency_ms:.0f} ms · run <code>{escape(arm.run_id)}</code>{trace}</p>"
        )
    if arm.planner:
        said = f"planner {arm.planner.planner} ({arm.planner.status}), family {arm.planner.family}"
        said += f": {arm.planner.error}" if arm.planner.error else ""
        parts.append(f'<p class="dim">{escape(said)}</p>')
    if arm.top:
        rows = "".join(
            f"<tr><td><code>{escape(row.source_key)}</code><td>{row.score:.3f}"
            f"<td>{escape(', '.join(f'{name} {value:g}' for name, value in row.signals.items()))}"
            f"<td>{escape(', '.join(row.missing_terms))}</tr>"
            for row in arm.top
        )
        parts.append(f"<table><tr><th>best rows<th>score<th>signals<th>missing</tr>{rows}</table>")
    return "".join(parts)


def junit_report(report: EvalReport) -> bytes:
    """The report as JUnit XML: an arm of a case is one test."""
    root = ElementTree.Element("testsuites", name="citewell eval")
    tests = [(case, arm) for case in report.cases for arm in case.arms if arm.status != "shown"]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=f"eval {report.kind}",
        tests=str(len(tests)),
        failures=str(sum(arm.status == "failed" for _, arm in tests)),
        skipped=str(sum(arm.status in ("skipped", "known_failing") for _, arm in tests)),
        time=f"{report.seconds:.3f}",
    )
    for case, arm in tests:
        test = ElementTree.SubElement(
            suite,
            "testcase",
            name=_xml(f"{case.id} ({arm.arm})"),
            classname=_xml(f"{Path(case.file).stem}.{case.family}"),
            file=_xml(case.file),
            line=str(case.line),
            time=f"{arm.latency_ms / 1000:.3f}",
        )
        if arm.status == "failed":
            message = "; ".join(f"{one.assertion}: {one.message}" for one in arm.failures)
            ElementTree.SubElement(test, "failure", message=_xml(message)).text = _xml("\n".join(_told(case, arm)))
        elif arm.status == "known_failing":
            ElementTree.SubElement(test, "skipped", message=_xml(f"known to fail: {case.known_failing}"))
        elif arm.status == "skipped":
            ElementTree.SubElement(test, "skipped", message=_xml(arm.reason))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _told(case: EvalCaseReport, arm: EvalArm) -> Iterator[str]:
    yield case.question
    yield from (f"{one.assertion}: {one.message}" for one in arm.failures)
    if arm.trace_path:
        yield f"trace: {arm.trace_path}"


def _xml(text: str) -> str:
    """Text without what XML cannot hold."""
    return "".join(char if char in "\t\n" or (char >= " " and char.isprintable()) else "\ufffd" for char in text)


# Baselines: how a suite did once, kept in a file, and what has become worse since.


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
