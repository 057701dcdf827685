"""What a run decides on its way, as types: part of the event vocabulary (`domain/events.py`).

A decision is recorded as `{"name": …, "data": {…}}`. A field added later has a default, so that older records stay
readable; a decision nobody knows any more is read as `OtherDecision`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import msgspec

from citewell.domain.chat import ChatPurpose
from citewell.domain.notes import NoteTopic
from citewell.domain.runs import RetryAction, Stage, StopReason, VerdictOnEvidence


@dataclass(frozen=True, slots=True)
class CostEstimated:
    """The most the models of a run can cost, before any of them is asked; `usd` is None where a price is unknown."""

    name: ClassVar[str] = "cost_estimated"
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    max_cost_usd: float | None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SearchesPlanned:
    name: ClassVar[str] = "planned"
    text_query: str
    terms: tuple[str, ...]
    concepts: tuple[str, ...]
    variants: tuple[str, ...]
    planner_status: str
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    name: ClassVar[str] = "retrieved"
    keys: tuple[str, ...]
    recall_note: str


@dataclass(frozen=True, slots=True)
class EvidenceReread:
    """Rows somebody gave, as the store has them; each refused one with the reason."""

    name: ClassVar[str] = "reread"
    keys: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicBriefAdded:
    name: ClassVar[str] = "topic_briefed"
    topic: str
    nodes: int
    edges: int


@dataclass(frozen=True, slots=True)
class CoverageJudged:
    name: ClassVar[str] = "judged"
    verdict: VerdictOnEvidence
    reason: str
    missing_concepts: tuple[str, ...]
    retry_action: RetryAction
    answerability: float | None = None


@dataclass(frozen=True, slots=True)
class RetryMerged:
    name: ClassVar[str] = "retried"
    preserved: tuple[str, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpansionMerged:
    name: ClassVar[str] = "expanded"
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvidencePrepared:
    """The evidence an answer is made from; `withheld` holds secrets and was kept from a hosted model."""

    name: ClassVar[str] = "prepared"
    sources: tuple[str, ...]
    chars: int
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelAsked:
    name: ClassVar[str] = "model_asked"
    model: str
    purpose: ChatPurpose
    input_tokens: int
    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class CostLimitReached:
    """A ceiling, in USD or in tokens, leaves no room for the next call; `of_day` says so of the one for a whole day."""

    name: ClassVar[str] = "cost_limit_reached"
    max_cost_usd: float | None
    spent_usd: float
    max_tokens: int | None = None
    spent_tokens: int = 0
    of_day: str = ""

    @property
    def ceiling(self) -> str:
        """The ceilings that are set, in words."""
        usd = f"{self.max_cost_usd} USD" if self.max_cost_usd is not None else ""
        return " and ".join(filter(None, (usd, f"{self.max_tokens} tokens" if self.max_tokens is not None else "")))


@dataclass(frozen=True, slots=True)
class ActionGivenUp:
    """An action that failed, and what is known of it."""

    name: ClassVar[str] = "action_failed"
    stage: Stage
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class AnswerDrafted:
    name: ClassVar[str] = "drafted"
    sentences: int
    refused: bool
    reason: str
    problems: tuple[str, ...] = ()
    written_by: str = "engine"


@dataclass(frozen=True, slots=True)
class ClaimsScored:
    """A judge said of so many sentences whether their quotes entail them."""

    name: ClassVar[str] = "claims_judged"
    judge: str
    pairs: int


@dataclass(frozen=True, slots=True)
class JudgeFailed:
    """The judge gave no answer: sentences are checked by rules alone."""

    name: ClassVar[str] = "judge_failed"
    why: str


@dataclass(frozen=True, slots=True)
class PassagesRead:
    """A reader said of so many passages whether they answer the question."""

    name: ClassVar[str] = "passages_read"
    reader: str
    passages: int


@dataclass(frozen=True, slots=True)
class ReaderFailed:
    """The reader gave no answer: passages are chosen without it."""

    name: ClassVar[str] = "reader_failed"
    why: str


@dataclass(frozen=True, slots=True)
class RepairAsked:
    name: ClassVar[str] = "repair_asked"
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RepairRejected:
    name: ClassVar[str] = "repair_rejected"
    why: str


@dataclass(frozen=True, slots=True)
class AnswerVerified:
    name: ClassVar[str] = "verified"
    failed_gates: tuple[str, ...]
    unsupported_rate: float
    contradicted_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class AnswerReviewed:
    name: ClassVar[str] = "reviewed"
    doubts: tuple[str, ...]
    opinions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewFailed:
    name: ClassVar[str] = "review_failed"
    why: str


@dataclass(frozen=True, slots=True)
class PlannerAsked:
    name: ClassVar[str] = "planner_asked"
    model: str
    why: str


@dataclass(frozen=True, slots=True)
class PlannerSkipped:
    name: ClassVar[str] = "planner_skipped"
    why: str


@dataclass(frozen=True, slots=True)
class PlannerMerged:
    name: ClassVar[str] = "planner_merged"
    raw: str
    accepted: tuple[str, ...]
    dropped: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class PlannerFailed:
    name: ClassVar[str] = "planner_failed"
    error: str


@dataclass(frozen=True, slots=True)
class GatheringEnded:
    name: ClassVar[str] = "gathering_ended"
    why: str


@dataclass(frozen=True, slots=True)
class WritingEnded:
    name: ClassVar[str] = "writing_ended"
    why: str


@dataclass(frozen=True, slots=True)
class StageEnded:
    """A stage took longer than its profile allows: what was still under way in it is let go of."""

    name: ClassVar[str] = "stage_ended"
    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TopicsChosen:
    """What of a note is looked up, and who chose it."""

    name: ClassVar[str] = "topics_chosen"
    topics: tuple[NoteTopic, ...]
    chosen_by: str


@dataclass(frozen=True, slots=True)
class TopicSkipped:
    """A topic of a note of which nothing is written, and why."""

    name: ClassVar[str] = "topic_skipped"
    topic: str
    why: str


@dataclass(frozen=True, slots=True)
class NoteWritten:
    """What became of a note; with a dry run, what would have."""

    name: ClassVar[str] = "note_written"
    path: str
    topics_researched: int
    preview: str
    changed: bool
    dry_run: bool = False
    diff: str = ""
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class RunStopped:
    name: ClassVar[str] = "stopped"
    stop_reason: StopReason
    why: str = ""


@dataclass(frozen=True, slots=True)
class WebRoundBegun:
    """A round of the loop on the web: what is asked, of whom."""

    name: ClassVar[str] = "web_round"
    loop: int
    max_loops: int
    queries: tuple[str, ...]
    providers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WebHitsFound:
    name: ClassVar[str] = "web_found"
    provider: str
    query: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageChosen:
    """A page to read; `reason` says why it comes before others that a provider ranked higher, where it does."""

    name: ClassVar[str] = "page_chosen"
    url: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PageTaken:
    """A page that was read and counts."""

    name: ClassVar[str] = "page_read"
    source_key: str
    url: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceTurnedAway:
    """A search, a page or a passage that gives nothing, and why; its place goes to the next."""

    name: ClassVar[str] = "source_turned_away"
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class WebAssessed:
    """Whether what was read is enough, what is still missing, and what would be asked next."""

    name: ClassVar[str] = "web_assessed"
    sufficient: bool
    reason: str
    gaps: tuple[str, ...]
    queries: tuple[str, ...]
    by: str = "rules"


@dataclass(frozen=True, slots=True)
class WebLoopEnded:
    name: ClassVar[str] = "web_ended"
    stop: str
    reason: str
    loops: int
    queries: int
    pages: int


@dataclass(frozen=True, slots=True)
class SubQueriesPlanned:
    """What is looked into for a brief, who planned it, and which families of sources take part."""

    name: ClassVar[str] = "sub_queries_planned"
    queries: tuple[str, ...]
    planned_by: str
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilySkipped:
    """A family of sources that gave nothing because it failed."""

    name: ClassVar[str] = "family_skipped"
    family: str
    reason: str


@dataclass(frozen=True, slots=True)
class DuplicatesDropped:
    name: ClassVar[str] = "duplicates_dropped"
    items: int
    # Each with the item it says the same as.
    duplicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourcesTriaged:
    """How far the sources from outside are believed; what is below the floor is dropped."""

    name: ClassVar[str] = "sources_triaged"
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    judged_by: str


@dataclass(frozen=True, slots=True)
class ReportBound:
    """Whether every citation of a report resolves to an item that was kept."""

    name: ClassVar[str] = "report_bound"
    claims: int
    citations: int
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherDecision:
    """A decision of another version that this one has no type for."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)


KnownDecision = (
    CostEstimated
    | SearchesPlanned
    | EvidenceFound
    | EvidenceReread
    | TopicBriefAdded
    | CoverageJudged
    | RetryMerged
    | ExpansionMerged
    | EvidencePrepared
    | ModelAsked
    | CostLimitReached
    | ActionGivenUp
    | AnswerDrafted
    | ClaimsScored
    | JudgeFailed
    | PassagesRead
    | ReaderFailed
    | RepairAsked
    | RepairRejected
    | AnswerVerified
    | AnswerReviewed
    | ReviewFailed
    | PlannerAsked
    | PlannerSkipped
    | PlannerMerged
    | PlannerFailed
    | GatheringEnded
    | WritingEnded
    | StageEnded
    | TopicsChosen
    | TopicSkipped
    | NoteWritten
    | WebRoundBegun
    | WebHitsFound
    | PageChosen
    | PageTaken
    | SourceTurnedAway
    | WebAssessed
    | WebLoopEnded
    | SubQueriesPlanned
    | FamilySkipped
    | DuplicatesDropped
    | SourcesTriaged
    | ReportBound
    | RunStopped
)
Decision = KnownDecision | OtherDecision

DECISION_TYPES: dict[str, type[Any]] = {entry.name: entry for entry in get_args(KnownDecision)}


def decision_body(decision: Decision) -> dict[str, Any]:
    """A decision as it is recorded."""
    data = decision.data if isinstance(decision, OtherDecision) else msgspec.to_builtins(decision)
    return {"name": decision.name, "data": data}


def read_decision(body: dict[str, Any]) -> Decision:
    """A recorded decision; one of another version that fits no type is kept as it is."""
    name, data = str(body.get("name", "")), body.get("data")
    form = DECISION_TYPES.get(name)
    if form is not None:
        try:
            decision: Decision = msgspec.convert(data, form)
            return decision
        except msgspec.ValidationError:
            pass
    return OtherDecision(name, data if isinstance(data, dict) else {})
