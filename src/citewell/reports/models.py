"""A brief, what was found for it, and the report: the documents that scripts, agents and people get (Pydantic).

Frozen, and nothing unknown is taken. A run's log has the same as values of `domain/briefs.py`; `reports/documents.py`
makes these of them.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from citewell.domain.answers import Verdict
from citewell.domain.briefs import (
    DEFAULT_FLOOR,
    DEFAULT_SECONDS,
    DEFAULT_SUB_QUERIES,
    MAX_SNIPPET_CHARS,
    MAX_SUB_QUERIES,
    Brief,
    ClaimType,
    Family,
)
from citewell.domain.runs import RunStatus

# As every door has it: something a person can see.
_SAYS_SOMETHING = re.compile(r"[^\s\x1c-\x1f\x85\ufeff]")
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1, max_length=8_000)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceToggles(_Frozen):
    """Which families of sources may be used; one takes part only where somebody can be asked for it."""

    knowledge: bool = True
    web: bool = True
    academic: bool = True
    code: bool = True

    @property
    def families(self) -> tuple[Family, ...]:
        return tuple(family for family in ("knowledge", "web", "academic", "code") if getattr(self, family))


class ProjectScope(_Frozen):
    """Which part of the corpus the brief is about."""

    project_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    collections: Annotated[tuple[Name, ...], Field(max_length=50)] = ()
    tags: Annotated[tuple[Name, ...], Field(max_length=50)] = ()


class BriefLimits(_Frozen):
    """What the run may spend."""

    max_cost_usd: Annotated[float, Field(gt=0, le=10_000)] | None = None
    max_seconds: Annotated[float, Field(ge=5, le=3_600)] = DEFAULT_SECONDS
    max_sub_queries: Annotated[int, Field(ge=1, le=MAX_SUB_QUERIES)] = DEFAULT_SUB_QUERIES


class ResearchBrief(_Frozen):
    """What a report is to be about."""

    question: Text
    context: Annotated[str, Field(max_length=20_000)] = ""
    sub_questions: Annotated[tuple[Text, ...], Field(max_length=MAX_SUB_QUERIES - 1)] = ()
    scope: ProjectScope = ProjectScope()
    sources: SourceToggles = SourceToggles()
    credibility_floor: Share = DEFAULT_FLOOR
    limits: BriefLimits = BriefLimits()

    @field_validator("question")
    @classmethod
    def _asks_something(cls, question: str) -> str:
        if not _SAYS_SOMETHING.search(question):
            raise ValueError("the question is empty")
        return question

    @field_validator("sub_questions")
    @classmethod
    def _each_asks(cls, asked: tuple[str, ...]) -> tuple[str, ...]:
        if any(not _SAYS_SOMETHING.search(one) for one in asked):
            raise ValueError("a sub-question is empty")
        return asked

    def as_value(self) -> Brief:
        """The brief as a run records it."""
        room = max(self.limits.max_sub_queries, len(self.sub_questions) + 1 if self.sub_questions else 1)
        return Brief(
            question=self.question,
            context=self.context,
            sub_questions=self.sub_questions,
            project_id=self.scope.project_id,
            collections=self.scope.collections,
            tags=self.scope.tags,
            sources=self.sources.families,
            credibility_floor=self.credibility_floor,
            max_cost_usd=self.limits.max_cost_usd,
            max_seconds=self.limits.max_seconds,
            max_sub_queries=room,
        )

    @classmethod
    def of_value(cls, brief: Brief) -> ResearchBrief:
        return cls(
            question=brief.question,
            context=brief.context,
            sub_questions=brief.sub_questions,
            scope=ProjectScope(project_id=brief.project_id, collections=brief.collections, tags=brief.tags),
            sources=SourceToggles(**{name: name in brief.sources for name in SourceToggles.model_fields}),
            credibility_floor=brief.credibility_floor,
            limits=BriefLimits(
                max_cost_usd=brief.max_cost_usd,
                max_seconds=brief.max_seconds,
                max_sub_queries=brief.max_sub_queries,
            ),
        )


class SubQuery(_Frozen):
    """One question that was looked into, and why."""

    index: Annotated[int, Field(ge=0)]
    query: str
    why: str = ""


class ResearchQueryPlan(_Frozen):
    sub_queries: tuple[SubQuery, ...]
    planned_by: str


class TextSpan(_Frozen):
    """`text[start:end]` of the canonical text with that hash, in code points."""

    content_hash: str
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    chunk_id: str = ""


class CorpusCitation(_Frozen):
    """A citation of something the user saved, as answers have it."""

    source_key: str
    title: str
    note_path: str | None = None
    url: str | None = None
    page: int | None = None
    quote: str
    span: TextSpan


class KnowledgeLocator(_Frozen):
    family: Literal["knowledge"] = "knowledge"
    citation: CorpusCitation


class WebLocator(_Frozen):
    """A page that was read; its text is kept under `source_key` for as long as the run."""

    family: Literal["web"] = "web"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    author: str | None = None
    published: str | None = None
    fetched_at: str | None = None


class AcademicLocator(_Frozen):
    family: Literal["academic"] = "academic"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    doi: str | None = None
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str | None = None
    fetched_at: str | None = None


class CodeLocator(_Frozen):
    family: Literal["code"] = "code"
    url: str
    title: str
    source_key: str
    span: TextSpan
    provider: str = ""
    repository: str | None = None
    fetched_at: str | None = None


Locator = Annotated[KnowledgeLocator | WebLocator | AcademicLocator | CodeLocator, Field(discriminator="family")]


class ResearchCitation(_Frozen):
    """Where a statement stands: the retained item it resolves to, the exact words, and the place."""

    n: Annotated[int, Field(ge=1)] | None = None
    ref_id: str
    quote: str
    locator: Locator


class RetrievedItem(_Frozen):
    """A passage that was found for a sub-query."""

    ref_id: str
    snippet: Annotated[str, Field(max_length=MAX_SNIPPET_CHARS)]
    content_hash: str
    relevance: Share
    citation: ResearchCitation
    # Set where it says what another item says; it is neither triaged nor written from.
    duplicate_of: str | None = None
    retained: bool = False


class SourceCredibility(_Frozen):
    """How far a source from outside is to be believed. The user's own documents are never judged."""

    ref_id: str
    source_key: str
    score: Share
    reasons: tuple[str, ...]
    kept: bool
    judged_by: str


class ReportSentence(_Frozen):
    """A sentence of the summary."""

    text: str
    verdict: Verdict
    confidence: Share
    citations: Annotated[tuple[ResearchCitation, ...], Field(min_length=1)]


class ResearchClaim(_Frozen):
    """A claim with its verdict and at least one citation."""

    text: str
    type: ClaimType
    verdict: Verdict
    confidence: Share
    citations: Annotated[tuple[ResearchCitation, ...], Field(min_length=1)]
    sub_query: int | None = None
    reason: str = ""


class ReportContradiction(_Frozen):
    """Sources that disagree."""

    about: str
    values: tuple[str, ...]
    newer: str | None = None


class FamilyMethodology(_Frozen):
    family: Family
    searches: int
    found: int
    retained: int
    cited: int


class SkippedSource(_Frozen):
    """A family that failed and was left out."""

    family: Family
    reason: str


class ReportMethodology(_Frozen):
    """How the report was made, in numbers."""

    sub_queries: int
    items_retrieved: int
    duplicates: int
    below_floor: int
    items_retained: int
    items_cited: int
    pages_read: int
    families: tuple[FamilyMethodology, ...]
    skipped: tuple[SkippedSource, ...] = ()


class ResearchReport(_Frozen):
    """The report: a summary, itself cited, and claims."""

    summary: str
    summary_sentences: Annotated[tuple[ReportSentence, ...], Field(min_length=1)]
    claims: Annotated[tuple[ResearchClaim, ...], Field(min_length=1)]
    withdrawn: tuple[ResearchClaim, ...] = ()
    gaps: tuple[str, ...] = ()
    contradictions: tuple[ReportContradiction, ...] = ()
    methodology: ReportMethodology

    @property
    def citations(self) -> tuple[ResearchCitation, ...]:
        """Every citation once, by its number."""
        claimed = [one for claim in (*self.claims, *self.withdrawn) for one in claim.citations]
        cited = [*(one for said in self.summary_sentences for one in said.citations), *claimed]
        return tuple({one.n or 0: one for one in sorted(cited, key=lambda one: one.n or 0)}.values())


class ResearchRun(_Frozen):
    """A run of a brief: the brief as it was, what was planned, found, judged and written."""

    run_id: str
    brief_id: str
    attempt: int
    status: RunStatus
    brief: ResearchBrief
    plan: ResearchQueryPlan | None = None
    # By the index of the sub-query.
    retrieved_items: dict[int, tuple[RetrievedItem, ...]] = Field(default_factory=dict)
    credibility: tuple[SourceCredibility, ...] = ()
    report: ResearchReport | None = None
    methodology: ReportMethodology | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    stop_reason: str | None = None
    created_by: str = ""
    created_at: str = ""
    model: str = ""
    cost_usd: float | None = None
    seconds: float = 0.0
    trace_path: str | None = None

    def document(self) -> dict[str, Any]:
        """The run as plain JSON data."""
        found: dict[str, Any] = self.model_dump(mode="json")
        return found


class ResearchRunSummary(_Frozen):
    """A run of a brief as a list shows it."""

    run_id: str
    brief_id: str
    project_id: str | None
    status: RunStatus
    created_at: str
    question: str
    claims: int
    citations: int


class ResearchRunList(_Frozen):
    runs: tuple[ResearchRunSummary, ...]
