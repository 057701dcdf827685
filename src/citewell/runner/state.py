"""The state of a run: typed, immutable, and everything its result is made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from citewell.domain.answers import Doubt, Draft, PreparedSynthesis, Verification
from citewell.domain.chat import ChatRequest
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import (
    Budget,
    Failure,
    JudgeResult,
    MergeRecord,
    ModelCall,
    RunRequest,
    Spend,
    Stage,
    StopReason,
)


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run stands. `step` makes a new one; nothing changes it."""

    request: RunRequest
    budget: Budget
    spend: Spend = field(default_factory=Spend)
    stage: Stage = "begin_trace"
    steps: int = 0
    elapsed: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    plan: QueryPlan | None = None
    pack: ResearchPack | None = None
    candidates: tuple[int, int] = (0, 0)
    retrieved_keys: tuple[str, ...] = ()
    inspected_keys: tuple[str, ...] = ()
    queries_tried: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    judgements: tuple[JudgeResult, ...] = ()
    merges: tuple[MergeRecord, ...] = ()
    planner_asked: int = 0
    planner_reply: str = ""
    retry_variant: str | None = None
    calls: tuple[ModelCall, ...] = ()
    prepared: PreparedSynthesis | None = None
    write_request: ChatRequest | None = None
    written: str = ""
    # A draft and its verdict, kept while a model tries to mend it.
    first_draft: tuple[Draft, Verification] | None = None
    deadlines: int = 0
    doubts: tuple[Doubt, ...] = ()
    draft: Draft | None = None
    verification: Verification | None = None
    warnings: tuple[str, ...] = ()
    finishing: StopReason | None = None
    finish_requested: bool = False
    failure: Failure | None = None
    stop_reason: StopReason | None = None

    @property
    def is_over(self) -> bool:
        return self.stop_reason is not None

    @property
    def seconds_left(self) -> float:
        return self.budget.seconds - self.elapsed

    @property
    def open_gaps(self) -> tuple[str, ...]:
        """Required concepts that nothing gathered so far satisfies."""
        return self.judgements[-1].missing_concepts if self.judgements else ()
