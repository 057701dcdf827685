"""The state of a run: typed, immutable, and everything its result is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from citewell.domain.answers import Doubt, Draft, Likeness, Opinion, PreparedSynthesis, Verification
from citewell.domain.chat import ChatRequest
from citewell.domain.notes import NoteText, NoteTopic
from citewell.domain.packs import DroppedCandidate, ResearchPack
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
    StageGroup,
    StopReason,
)
from citewell.domain.topics import TopicBrief
from citewell.notes.composing import TopicFindings
from citewell.runner.actions import Action, JudgedPair
from citewell.runner.profiles import ANSWER_GRACE_SECONDS, SYNTHESIS_RESERVE_SECONDS
from citewell.runner.report_state import ReportProgress
from citewell.runner.web_state import Candidate, WebProgress

Phase = Literal["gathering", "writing", "everything"]
PHASES: tuple[Phase, ...] = ("gathering", "writing", "everything")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """When gathering must end, when a model must stop writing, and when everything must, in seconds of the run."""

    gathering: float
    writing: float
    everything: float

    @classmethod
    def within(cls, seconds: float) -> Deadlines:
        gathering = seconds - min(SYNTHESIS_RESERVE_SECONDS, seconds * 0.3)
        return cls(gathering, seconds - min(ANSWER_GRACE_SECONDS, seconds * 0.1), seconds)


@dataclass(frozen=True, slots=True)
class TopicWork:
    """How far a topic of a note has come; `skipped` says why nothing more is done for it."""

    topic: NoteTopic
    query: str
    plan: QueryPlan | None = None
    pack: ResearchPack | None = None
    prepared: PreparedSynthesis | None = None
    draft: Draft | None = None
    verification: Verification | None = None
    skipped: str = ""
    # What the web is asked for it; empty: nothing.
    asked: str = ""
    candidates: tuple[Candidate, ...] = ()
    # Pages that were taken up for it, by their names, in the order in which they count.
    tried: tuple[str, ...] = ()
    # What its pages say, before it joins the pack.
    passages: ResearchPack | None = None


@dataclass(frozen=True, slots=True)
class NoteProgress:
    """How far research for a note has come."""

    note: NoteText | None = None
    topics_asked: int = 0
    topics_reply: str = ""
    work: tuple[TopicWork, ...] = ()
    # A model writes of all topics at once, from all of their evidence.
    whole: TopicWork | None = None
    findings: tuple[TopicFindings, ...] = ()
    related: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    # Pages that were asked for, by their names: the key of each that counts, nothing for one that does not.
    fetched: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run stands. `step` makes a new one; nothing changes it."""

    request: RunRequest
    budget: Budget
    deadlines: Deadlines
    # The actions under way: whoever performs them starts what is new here and lets go of what is missing.
    open: tuple[Action, ...] = ()
    spend: Spend = field(default_factory=Spend)
    stage: Stage = "begin_trace"
    steps: int = 0
    elapsed: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    # How long actions of a group were under way, whatever else was: what the time of a group is measured by.
    group_seconds: dict[StageGroup, float] = field(default_factory=dict)
    plan: QueryPlan | None = None
    pack: ResearchPack | None = None
    # The brief of the topic, until the evidence it goes with is there.
    brief: TopicBrief | None = None
    candidates: tuple[int, int] = (0, 0)
    retrieved_keys: tuple[str, ...] = ()
    inspected_keys: tuple[str, ...] = ()
    queries_tried: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    dropped: tuple[DroppedCandidate, ...] = ()
    aliases_untried: tuple[str, ...] = ()
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
    # The deadlines that have passed already.
    phases_over: tuple[Phase, ...] = ()
    stages_over: tuple[StageGroup, ...] = ()
    # How near the passages come in meaning, while a reader reads them.
    likeness: Likeness = field(default_factory=Likeness)
    # What a judge said so far, of the first draft and of its repair.
    scores: tuple[JudgedPair, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    draft: Draft | None = None
    verification: Verification | None = None
    note: NoteProgress = field(default_factory=NoteProgress)
    warnings: tuple[str, ...] = ()
    finishing: StopReason | None = None
    finish_requested: bool = False
    # A person wants the answer now: no model is waited for or asked any more.
    is_hurried: bool = False
    failure: Failure | None = None
    stop_reason: StopReason | None = None
    # Where the loop on the web stands; None where there is none.
    web: WebProgress | None = None
    # What the corpus alone gave, while pages are added to it.
    corpus_pack: ResearchPack | None = None
    # Where a run of a brief stands; None for every other run.
    report: ReportProgress | None = None

    @property
    def is_over(self) -> bool:
        return self.stop_reason is not None

    @property
    def seconds_left(self) -> float:
        return self.deadlines.everything - self.elapsed

    @property
    def open_gaps(self) -> tuple[str, ...]:
        """Required concepts that nothing gathered so far satisfies."""
        return self.judgements[-1].missing_concepts if self.judgements else ()
