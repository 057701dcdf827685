"""What evals report: cases with their arms, what failed and why, proposals, and how a corpus fares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

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
