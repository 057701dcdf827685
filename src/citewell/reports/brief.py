"""Briefs and reports as a run sees them: what is asked, what was found, what is claimed, and on which passage it rests.

    brief: "How did the kelp lines fare, and what was changed?"   ->   sub-queries  ->  items  ->  claims, each cited

These are the values of the run's log. What scripts and people get is made of them (`reports/model.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from citewell.check.verdict import UNCHECKED, Citation, Contradiction, SentenceCheck, Verdict
from citewell.search.rows import EvidenceRow, GivenRow
from citewell.web.facts import PageFacts, PaperFacts

Family = Literal["knowledge", "web", "academic", "code"]
FAMILIES: tuple[Family, ...] = get_args(Family)
ClaimType = Literal["fact", "analysis", "recommendation", "comparison"]
CLAIM_TYPES: tuple[ClaimType, ...] = get_args(ClaimType)
StrategyStage = Literal[
    "planner",
    "retrieval",
    "deduplicator",
    "triage",
    "synthesizer",
    "verifier",
    "binder",
    "search_planner",
    "inspector",
    "expander",
    "judge",
]
# The names of the shipped strategies; any other is one of the user's own (`reports/strategies.py`).
STRATEGY_NAMES: dict[StrategyStage, tuple[str, ...]] = {
    "planner": ("llm", "rules"),
    "retrieval": ("live", "replay"),
    "deduplicator": ("lexical", "off"),
    "triage": ("hybrid", "heuristic", "off"),
    "synthesizer": ("default",),
    "verifier": ("rules",),
    "binder": ("citation",),
}

MAX_SNIPPET_CHARS = 8_192
DEFAULT_FLOOR = 0.5
DEFAULT_SECONDS = 300.0
DEFAULT_SUB_QUERIES, MAX_SUB_QUERIES = 8, 32


@dataclass(frozen=True, slots=True)
class Brief:
    """What a report is to be about, as it was asked: a snapshot that nothing changes."""

    question: str
    context: str = ""
    # What is to be looked into; empty: the planner says.
    sub_questions: tuple[str, ...] = ()
    project_id: str | None = None
    collections: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[Family, ...] = FAMILIES
    credibility_floor: float = DEFAULT_FLOOR
    max_cost_usd: float | None = None
    max_seconds: float = DEFAULT_SECONDS
    max_sub_queries: int = DEFAULT_SUB_QUERIES


@dataclass(frozen=True, slots=True)
class FamilyUse:
    """A family that takes part, and the providers that are asked for it; the corpus needs none."""

    family: Family
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportTask:
    """What a run of the profile `report` is to do; resolved before it starts."""

    brief_id: str
    brief: Brief
    created_by: str
    families: tuple[FamilyUse, ...] = (FamilyUse("knowledge"),)
    planner: str = "llm"
    triage: str = "hybrid"
    deduplicator: str = "lexical"
    binder: str = "citation"
    retrieval: str = "live"
    synthesizer: str = "default"
    verifier: str = "rules"

    def own(self, stage: StrategyStage) -> str:
        """The name of the user's own strategy of a stage; empty where it is a shipped one."""
        name: str = getattr(self, stage)
        return "" if name in STRATEGY_NAMES[stage] else name


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One thing to look into, and why; `places` are the sections of the corpus it was taken from and is told by.

    `topics` is what each sentence quoted for it must speak of, where its sections are about more than that.
    """

    index: int
    query: str
    why: str = ""
    places: tuple[GivenRow, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportPlan:
    sub_queries: tuple[SubQuestion, ...]
    planned_by: str = "rules"


@dataclass(frozen=True, slots=True)
class ReportItem:
    """A passage that was found for a sub-query; `ref_id` is its name in this run."""

    ref_id: str
    sub_query: int
    family: Family
    relevance: float
    row: EvidenceRow
    provider: str = ""
    page: PageFacts | None = None
    paper: PaperFacts | None = None

    @property
    def is_external(self) -> bool:
        return self.family != "knowledge"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An item that says what another one says; it is neither triaged nor written from."""

    ref_id: str
    duplicate_of: str
    why: str


@dataclass(frozen=True, slots=True)
class ItemCredibility:
    """How far a source from outside is to be believed. The user's own documents are never judged."""

    ref_id: str
    source_key: str
    score: float
    reasons: tuple[str, ...]
    kept: bool
    judged_by: str = "rules"


@dataclass(frozen=True, slots=True)
class SkippedFamily:
    family: Family
    reason: str


@dataclass(frozen=True, slots=True)
class BoundCitation:
    """A numbered citation and the retained item it resolves to."""

    ref_id: str
    family: Family
    citation: Citation


@dataclass(frozen=True, slots=True)
class ReportStatement:
    """A sentence of a report with its verdict, who checked it, and the words it rests on."""

    text: str
    verdict: Verdict
    confidence: float
    citations: tuple[int, ...]
    type: ClaimType = "fact"
    sub_query: int | None = None
    reason: str = ""
    check: SentenceCheck = UNCHECKED
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report that holds: every citation of it resolves to an item that was kept."""

    summary: tuple[ReportStatement, ...]
    claims: tuple[ReportStatement, ...]
    citations: tuple[BoundCitation, ...]
    # Claims whose source says otherwise.
    withdrawn: tuple[ReportStatement, ...] = ()
    # What was looked for and not found.
    gaps: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class FamilyCount:
    family: Family
    searches: int = 0
    found: int = 0
    retained: int = 0
    cited: int = 0


@dataclass(frozen=True, slots=True)
class Methodology:
    """How a report was made, in numbers."""

    sub_queries: int = 0
    items_retrieved: int = 0
    duplicates: int = 0
    below_floor: int = 0
    items_retained: int = 0
    items_cited: int = 0
    pages_read: int = 0
    families: tuple[FamilyCount, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRecord:
    """Everything a run of a brief gathered and came to; a failed one keeps what it had."""

    brief_id: str
    brief: Brief
    created_by: str
    plan: ReportPlan | None = None
    items: tuple[ReportItem, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    credibility: tuple[ItemCredibility, ...] = ()
    retained: tuple[str, ...] = ()
    skipped: tuple[SkippedFamily, ...] = ()
    methodology: Methodology = field(default_factory=Methodology)
    report: WrittenReport | None = None
    # Why there is no report, where there is none.
    error: str = ""


# A survey of a topic: which documents speak of it, and under which headings.


@dataclass(frozen=True, slots=True)
class SurveyedSection:
    """What stands under one heading, or above the first one; `start..end` includes the heading.

    The shares say how much of the topic, its rarer words heavier, stands where: in the heading itself, in everything
    the section is called (title, tags, headings above), in its text. `mentions` counts its words in the text.
    """

    heading: str
    level: int
    start: int
    end: int
    headed: float
    named: float
    said: float
    mentions: int
    # How many characters of it can be quoted by themselves.
    prose: int = 0
    # Which of the topics it is called after, by its number.
    topic: int = 0
    # Where the headings above it stand, outermost first: sections of one part share them.
    above: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SurveyedDocument:
    """A document that speaks of the topic, and its sections.

    `is_linked`: a link leads to it from a document named after the topic, or from it to such a one. `titled` is how
    much of the topic its title has, or nearly so its tags and other names.
    """

    source_key: str
    content_hash: str
    title: str
    titled: float
    sections: tuple[SurveyedSection, ...]
    is_linked: bool = False


@dataclass(frozen=True, slots=True)
class TopicSurvey:
    """What the corpus holds on a topic, the nearest document first."""

    topics: tuple[str, ...]
    documents: tuple[SurveyedDocument, ...] = ()
