"""Where a run of a brief stands: typed, immutable, part of the run's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from citewell.briefs.composing import count
from citewell.domain.answers import PreparedSynthesis
from citewell.domain.briefs import (
    ClaimType,
    Duplicate,
    Family,
    ItemCredibility,
    ReportItem,
    ReportPlan,
    ReportRecord,
    ReportTask,
    SkippedFamily,
    SubQuestion,
    WrittenReport,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan
from citewell.domain.web import PageFacts, PaperFacts, SearchHit


@dataclass(frozen=True, slots=True)
class QueryWork:
    """How far a sub-query has come."""

    sub_query: SubQuestion
    plan: QueryPlan | None = None
    # What the corpus has for it; `corpus_failed` says why it has nothing.
    pack: ResearchPack | None = None
    corpus_failed: str = ""
    # What pages have for it.
    pages: ResearchPack | None = None
    prepared: PreparedSynthesis | None = None

    @property
    def index(self) -> int:
        return self.sub_query.index


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A result of a search, who found it and for which sub-query; `place` is where it was ranked."""

    hit: SearchHit
    family: Family
    provider: str
    sub_query: int
    place: int
    name: str


@dataclass(frozen=True, slots=True)
class FamilyFailure:
    """A search of a family that failed."""

    family: Family
    provider: str
    message: str


@dataclass(frozen=True, slots=True)
class ReportProgress:
    """What a run of a brief has planned, found, kept and written."""

    planner_asked: int = 0
    planner_reply: str = ""
    plan: ReportPlan | None = None
    is_surveyed: bool = False
    work: tuple[QueryWork, ...] = ()
    # Searches that were sent and those that came back, as family, provider and number of the sub-query.
    searches: tuple[tuple[Family, str, int], ...] = ()
    answered: tuple[tuple[Family, str, int], ...] = ()
    failures: tuple[FamilyFailure, ...] = ()
    is_searched: bool = False
    candidates: tuple[FoundPage, ...] = ()
    known: tuple[str, ...] = ()
    hits: tuple[FoundPage, ...] = ()
    attempts: int = 0
    pages: tuple[PageFacts, ...] = ()
    # Of each page by its key: whence it came, who found it, for which sub-queries.
    origins: dict[str, tuple[Family, str]] = field(default_factory=dict)
    asked_for: dict[str, tuple[int, ...]] = field(default_factory=dict)
    papers: tuple[tuple[str, PaperFacts], ...] = ()
    snippets_of: tuple[Family, ...] = ()
    bytes_received: int = 0
    skipped: tuple[SkippedFamily, ...] = ()
    items: tuple[ReportItem, ...] | None = None
    duplicates: tuple[Duplicate, ...] | None = None
    credibility: tuple[ItemCredibility, ...] | None = None
    triage_asked: bool = False
    is_triaged: bool = False
    types: dict[str, ClaimType] = field(default_factory=dict)
    report: WrittenReport | None = None
    error: str = ""

    @property
    def retained(self) -> tuple[ReportItem, ...]:
        """The items a report may be written from: no copies, nothing below the floor."""
        copies = {one.ref_id for one in self.duplicates or ()}
        dropped = {one.ref_id for one in self.credibility or () if not one.kept}
        return tuple(item for item in self.items or () if item.ref_id not in copies | dropped)

    def of_query(self, index: int) -> tuple[ReportItem, ...]:
        """The retained items of a sub-query; in the place of a copy stands what it is a copy of."""
        kept = {item.ref_id: item for item in self.retained}
        copied = {one.ref_id: one.duplicate_of for one in self.duplicates or ()}
        own = (copied.get(item.ref_id, item.ref_id) for item in self.items or () if item.sub_query == index)
        return tuple(kept[ref] for ref in dict.fromkeys(own) if ref in kept)

    def with_work(self, index: int, **changes: object) -> ReportProgress:
        work = tuple(
            replace(one, **changes) if one.index == index else one  # type: ignore[arg-type]
            for one in self.work
        )
        return replace(self, work=work)

    def record(self, task: ReportTask) -> ReportRecord:
        """Everything that was gathered and came of it."""
        retained = tuple(item.ref_id for item in self.retained) if self.is_triaged else ()
        items = self.items or ()
        searches: Counter[str] = Counter(family for family, _, _ in self.searches)
        searches["knowledge"] = sum(one.pack is not None or bool(one.corpus_failed) for one in self.work)
        return ReportRecord(
            brief_id=task.brief_id,
            brief=task.brief,
            created_by=task.created_by,
            plan=self.plan,
            items=tuple(_told(item) for item in items),
            duplicates=self.duplicates or (),
            credibility=self.credibility or (),
            retained=retained,
            skipped=self.skipped,
            methodology=count(
                *(self.plan, task.families, searches, items, self.duplicates or (), self.credibility or ()),
                *(retained, self.report, len(_read(self.pages))),
            ),
            report=self.report,
            error=self.error,
        )


def _read(pages: Sequence[PageFacts]) -> list[PageFacts]:
    return [page for page in pages if "snippet" not in page.flags]


def _told(item: ReportItem) -> ReportItem:
    """An item as a record keeps it: what ranked it says nothing to who reads the report."""
    row = replace(item.row, signals=(), sections=(), matched_terms=(), missing_terms=(), lanes=())
    return replace(item, row=row)
