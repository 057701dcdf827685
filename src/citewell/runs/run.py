"""Runs: their states, stages, stop reasons, profiles and budgets. Profiles are data, not code."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, get_args

from citewell.answer.evidence import EvidenceReserves, NearestPassage, Truncation
from citewell.check.verdict import AnswerStatus, CheckedSentence, Citation, Contradiction, Gate
from citewell.models.messages import ChatPurpose, Price
from citewell.notes.task import NoteTask
from citewell.reports.brief import ReportRecord, ReportTask
from citewell.search.conversation import Conversation
from citewell.search.lanes import SemanticUse
from citewell.search.pack import DroppedCandidate, ResearchPack
from citewell.search.query import Limits, RunProfile, Surface
from citewell.search.rows import Answerability, GivenRow
from citewell.store.port import Filters
from citewell.web.facts import WebReport, WebUse

RunStatus = Literal["queued", "running", "interrupted", "done", "failed", "cancelled"]
TERMINAL: frozenset[RunStatus] = frozenset({"done", "failed", "cancelled"})

# What a person may ask of a run that is under way.
Control = Literal["cancel", "finish"]

StopReason = Literal[
    "enough_evidence",
    "no_evidence",
    "weak_evidence_budget_exhausted",
    "max_steps_reached",
    "timeout_exceeded",
    "synthesis_unavailable",
    "synthesis_failed",
    "verification_failed",
    "planner_failed_deterministic_used",
    "cost_limit_reached",
    "cancelled",
    "trace_failed",
]
STOP_REASONS: tuple[StopReason, ...] = get_args(StopReason)

Stage = Literal[
    "begin_trace",
    "plan",
    "retrieve",
    "inspect_top",
    "judge_coverage",
    "optional_expand_or_retry",
    "search",
    "read",
    "evaluate",
    "prepare_synthesis",
    "synthesize",
    "verify",
    "persist_trace",
]

# What a profile gives time to: several stages may share it.
StageGroup = Literal["planning", "retrieval", "inspection", "synthesis", "verification", "trace"]
STAGE_GROUPS: dict[str, StageGroup] = {
    "plan": "planning",
    "retrieve": "retrieval",
    "optional_expand_or_retry": "retrieval",
    "search": "retrieval",
    "read": "retrieval",
    "evaluate": "retrieval",
    "inspect_top": "inspection",
    "judge_coverage": "inspection",
    "prepare_synthesis": "synthesis",
    "synthesize": "synthesis",
    "verify": "verification",
    "persist_trace": "trace",
}

# A whole answer, the evidence alone, or an answer from evidence that is given.
RunGoal = Literal["answer", "pack", "synthesis"]


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """How long a run may spend in each group of stages; what is still under way then is let go of."""

    planning: float = 30.0
    retrieval: float = 60.0
    inspection: float = 30.0
    synthesis: float = 85.0
    verification: float = 30.0
    trace: float = 15.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits of a run."""

    seconds: float
    retrieval_passes: int
    retries: int
    expansions: int
    inspect_rows: int
    inspect_chars: int
    expansion_rows: int
    repairs: int
    citations: int = 8
    rows: int = 8
    steps: int = 40
    # Actions that may reach outside at the same time.
    parallel: int = 4
    stages: StageSeconds = field(default_factory=StageSeconds)


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run has used of its budget so far."""

    retrieval_passes: int = 0
    retries: int = 0
    expansions: int = 0
    repairs: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    # Calls whose cost nobody knows: with one of them the whole cost is unknown, not nothing.
    unpriced_calls: int = 0
    # The most that calls may have used which were given up half-way: what a ceiling in tokens must reckon with.
    unmetered_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model, as metrics and traces tell it."""

    purpose: ChatPurpose
    model: str
    provider: str = ""
    input_chars: int = 0
    output_chars: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_are_reported: bool = False
    cost_usd: float | None = None
    attempts: int = 1
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why a run failed."""

    stage: Stage
    code: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Which models a run may ask, what they cost, and what it may spend; resolved before it starts."""

    writer: str = "extractive"
    planner: str = ""
    # The model that judges sentences, where no small model of this machine does.
    judge: str = ""
    writer_price: Price | None = None
    planner_price: Price | None = None
    judge_price: Price | None = None
    evaluator_price: Price | None = None
    is_hosted: bool = False
    max_cost_usd: float | None = None
    max_output_tokens: int = 1_000
    planner_seconds: float = 20.0
    # What all calls together may use, prompts and output; None: no ceiling.
    max_tokens: int | None = None

    @property
    def writes(self) -> bool:
        return self.writer != "extractive"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What was asked of a run: everything it depends on beside the corpus."""

    question: str
    profile: RunProfile
    surface: Surface
    filters: Filters
    limits: Limits
    max_evidence_chars: int
    # What the windows of one document may have together, where the caller says so.
    per_document: int | None = None
    models: ModelUse = field(default_factory=ModelUse)
    topic: str | None = None
    topic_brief: bool | None = None
    deadline_seconds: float | None = None
    semantic: SemanticUse = "off"
    conversation: Conversation = field(default_factory=Conversation)
    # As it was typed, headings and all, where that is more than the question.
    original_question: str = ""
    goal: RunGoal = "answer"
    # With the goal `synthesis`: where the evidence stands. It is read anew from the store.
    given: tuple[GivenRow, ...] = ()
    reserves: EvidenceReserves = field(default_factory=EvidenceReserves)
    # None: as many as the profile allows.
    max_citations: int | None = None
    # The name of the small model of this machine that judges sentences; empty: none does.
    judge: str = ""
    # The name of the model that reads passages for an answer; empty: none does.
    reader: str = ""
    # With the profile `note`: which one.
    note: NoteTask | None = None
    # What the run may use of the web; None: nothing of it.
    web: WebUse | None = None
    # With the profile `report`: the brief.
    report: ReportTask | None = None
    # Which conversation it is a question of, where the caller names one.
    conversation_id: str = ""
    # Parts of the user's own, by what they are: `{"judge": "StrictJudge"}`; the others are the shipped ones.
    components: dict[str, str] = field(default_factory=dict)


VerdictOnEvidence = Literal["enough_evidence", "no_evidence", "weak_evidence"]
RetryAction = Literal["none", "focused_retry", "related_expansion"]


@dataclass(frozen=True, slots=True)
class WeakRow:
    """A row that does not carry the answer on its own, and why."""

    source_key: str
    reason: str
    relationship: str | None
    missing_concepts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Whether the evidence is enough, and the one thing worth trying if it is not."""

    verdict: VerdictOnEvidence
    reason: str
    missing_concepts: tuple[str, ...] = ()
    weak_rows: tuple[WeakRow, ...] = ()
    retry_action: RetryAction = "none"
    retry_variant: str | None = None
    expansion_lookup: str | None = None
    answerability: Answerability | None = None


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """What a retry or an expansion did to the evidence: it adds, it never replaces."""

    preserved: tuple[str, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowLedger:
    """Where evidence went: retrieved ⊇ admitted ⊇ in prompt ⊇ cited."""

    retrieved: tuple[str, ...] = ()
    admitted: tuple[str, ...] = ()
    in_prompt: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        steps = (self.retrieved, self.admitted, self.in_prompt, self.cited)
        return all(set(later) <= set(earlier) for earlier, later in pairwise(steps))

    @property
    def strays(self) -> tuple[str, ...]:
        """What stands in a step without having been in the one before."""
        steps = (self.retrieved, self.admitted, self.in_prompt, self.cited)
        return tuple(dict.fromkeys(key for earlier, later in pairwise(steps) for key in later if key not in earlier))


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a run tried, what it read closely, what it turned away and why, and what stayed open."""

    queries_tried: tuple[str, ...] = ()
    inspected_keys: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    open_gaps: tuple[str, ...] = ()
    aliases_untried: tuple[str, ...] = ()
    dropped: tuple[DroppedCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """What a run took, from its log."""

    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    variants: int = 0
    candidates_before_dedupe: int = 0
    candidates_after_dedupe: int = 0
    model_calls: int = 0
    tokens: int = 0
    # None: some call has no known price, so the cost is unknown (and at least `known_cost_usd`).
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    evidence_chars: int = 0
    answer_chars: int = 0
    unsupported_rate: float = 0.0
    contradicted_rate: float = 0.0
    planner_status: str = "off"
    raw_stop: str = ""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as `runs list` shows it."""

    run_id: str
    status: RunStatus
    stop_reason: StopReason | None
    profile: RunProfile
    surface: Surface
    question: str
    created_at: str
    updated_at: str
    tool_version: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to: the document every surface shows."""

    run_id: str
    status: RunStatus
    question: str
    profile: RunProfile
    answer_status: AnswerStatus
    answer_warnings: tuple[str, ...]
    answer: str
    truncation: Truncation
    citations: tuple[Citation, ...]
    sentences: tuple[CheckedSentence, ...]
    contradictions: tuple[Contradiction, ...]
    stop_reason: StopReason
    warnings: tuple[str, ...]
    provider: str
    model: str
    tool: str
    tool_version: str
    prompt_version: str
    metrics: RunMetrics
    gates: tuple[Gate, ...] = ()
    flow: FlowLedger = field(default_factory=FlowLedger)
    explored: Exploration = field(default_factory=Exploration)
    failure: Failure | None = None
    # What comes nearest where nothing answers.
    nearest: tuple[NearestPassage, ...] = ()
    # One line: who wrote the answer, from how much, and what was and was not checked.
    provenance: str = ""
    trace_path: str | None = None
    pack: ResearchPack | None = None
    # What was done on the web; None where the run has nothing to do with it.
    web: WebReport | None = None
    # What a run of a brief gathered and came to; None for every other run.
    report: ReportRecord | None = None
