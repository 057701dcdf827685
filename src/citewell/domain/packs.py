"""The research pack: a question, how it was understood, and the evidence found for it (`research_pack.v1`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citewell.domain.counts import CorpusMatches, TagCount
from citewell.domain.documents import ContentMode
from citewell.domain.evidence import Answerability, EvidenceRow
from citewell.domain.lanes import SemanticReport
from citewell.domain.queries import QueryPlan
from citewell.domain.topics import TopicBrief

PACK_SCHEMA_VERSION = "research_pack.v1"

PackMode = Literal["evidence_only", "topic_brief_and_evidence"]
NextAction = Literal["inspect_top_evidence", "expand_related", "open_lookup", "reformulate"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the pack shows against what there is."""

    evidence_count: int
    by_kind: dict[str, int]
    by_source_type: dict[str, int]
    top_user_tags: tuple[TagCount, ...]
    exact_tag_matches: tuple[TagCount, ...]
    corpus_matches: CorpusMatches
    eligible_documents: int
    corpus_documents: int
    corpus_chunks: int
    term_chunks: dict[str, int]
    displayed_limit: int
    related_limit: int
    topic_nodes: int
    topic_edges: int
    missing_concepts: tuple[str, ...]
    recall_note: str
    answerability: Answerability | None = None
    # The languages of the corpus, where the question is in none of them.
    other_languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NextStepParams:
    """Parameters of a next step; which ones are set depends on the action."""

    lookups: tuple[str, ...] = ()
    lookup: str | None = None
    content_mode: ContentMode | None = None
    query: str | None = None
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something worth doing next, named by what it does and never by a tool."""

    action: NextAction
    label: str
    params: NextStepParams


@dataclass(frozen=True, slots=True)
class ResearchPack:
    """`research_pack.v1`. Building one never writes a trace."""

    question: str
    mode: PackMode
    query_plan: QueryPlan
    coverage: Coverage
    evidence: tuple[EvidenceRow, ...]
    exact_tag_evidence: tuple[EvidenceRow, ...]
    next_steps: tuple[NextStep, ...]
    topic_brief: TopicBrief | None = None
    schema_version: Literal["research_pack.v1"] = "research_pack.v1"


@dataclass(frozen=True, slots=True)
class VariantReport:
    """What one query variant found: how many chunks, and the documents they belong to, best first."""

    kind: str
    query: str
    chunks: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A document that was found and is not shown: how well it did, and why it was let go of."""

    source_key: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """How a pack came to its rows: what was found, what fell together, what was left out."""

    variants: tuple[VariantReport, ...]
    before_dedupe: int
    after_dedupe: int
    dropped: tuple[DroppedCandidate, ...] = ()
    dropped_count: int = 0
    # Other names of what the question names that were known and not searched for.
    aliases_untried: tuple[str, ...] = ()
    semantic: SemanticReport | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a search came to what it came to: what was tried, what is missing, what to try instead."""

    question: str
    answer_status: Literal["ok", "no_evidence"]
    summary: str
    reasons: tuple[str, ...]
    queries_tried: tuple[str, ...]
    missing_concepts: tuple[str, ...]
    unseen_terms: tuple[str, ...]
    active_filters: tuple[str, ...]
    suggestions: tuple[str, ...]
