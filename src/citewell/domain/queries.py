"""Questions as values: filters, terms, concepts, variants and the plan that holds them."""

from __future__ import annotations

import re
from typing import Literal

from citewell.domain.documents import SourceType
from citewell.domain.errors import BadInput
from citewell.domain.values import dataclass

# Who asks, and what kind of run answers.
Surface = Literal["cli", "web_chat", "web_research_api", "mcp", "eval", "python", "rest", "note"]
RunProfile = Literal["local", "chat", "deep", "report", "note"]


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be considered at all. Applied before ranking, never after."""

    source_types: tuple[SourceType, ...] = ()
    tags: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    exclude_paths: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Filters()


def checked_filters(filters: Filters) -> Filters:
    """The filters, or a clear refusal of a date that is none and of a blank path or domain."""
    for name, value in (("since", filters.since), ("until", filters.until)):
        if value is not None and not _is_day(value):
            raise BadInput(f"--{name} is '{value}'.", fix="Write a date as 2024, 2024-05 or 2024-05-31.")
    for name, values in (("not-in", filters.exclude_paths), ("not-from", filters.exclude_domains)):
        # A blank one would leave out everything or nothing.
        if any(not value.strip().strip("/") for value in values):
            raise BadInput(f"--{name} is empty.", fix=f"Name what to leave out, for example: --{name} Archive")
    return filters


def _is_day(value: str) -> bool:
    """Whether a date that may lack its day or month is in the calendar."""
    if not re.fullmatch(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", value):
        return False
    year, month, day = (int(part) for part in f"{value}-01-01"[:10].split("-"))
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1]


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query: as the user wrote it, and every folded or stemmed form that matches it."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must stand next to each other, in order; each form is the whole phrase in one language's stems."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What the lexical lane ranks by. Terms may repeat: their frequency in the question counts."""

    terms: tuple[Term, ...]
    phrases: tuple[Phrase, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.terms and not self.phrases


ConceptRole = Literal["anchor", "content", "intent", "frame"]
ProtectedKind = Literal["handle", "tag", "source_key", "phrase"]


@dataclass(frozen=True, slots=True)
class Concept:
    """Something an answer has to be about. A protected one is met exactly or as a phrase, never by an expansion."""

    name: str
    role: ConceptRole
    required: bool
    terms: tuple[str, ...]
    protected: ProtectedKind | None = None


# A side of a comparison, a topic with a year, a topic alone, what a correction puts in place of what was asked before;
# words nothing has as the nearest that something has, other names that the corpus gives, and what a model adds.
VariantKind = Literal[
    "original",
    "content",
    "anchors",
    "phrase",
    "title",
    "side",
    "dated",
    "topic",
    "correction",
    "follow_up",
    "spelling",
    "alias",
    "planner",
]

FamilyName = Literal[
    "general",
    "overview",
    "person",
    "selection",
    "project",
    "comparison",
    "timeline",
    "media",
    "corrective",
    "exact_title",
]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of putting the question to the index."""

    kind: VariantKind
    query: str
    weight: float


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a pack may hold."""

    limit: int
    max_chars_per_doc: int
    include_related: bool
    related_limit: int


PlannerStatus = Literal["off", "used", "skipped_by_policy", "planner_failed_deterministic_used"]


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Everything decided about a question before anything is retrieved."""

    text_query: str
    terms: tuple[str, ...]
    tag_queries: tuple[str, ...]
    query_variants: tuple[Variant, ...]
    concepts: tuple[Concept, ...]
    filters: Filters
    limits: Limits
    family: FamilyName = "general"
    source_keys: tuple[str, ...] = ()
    # What the question says it is not about. Rows about a protected one are left out, rows about another come later.
    excluded: tuple[Concept, ...] = ()
    # Kinds of source the question points to: they come first where all else is equal.
    preferred_source_types: tuple[SourceType, ...] = ()
    include_topic_brief: bool = False
    topic: str | None = None
    planner: str = "deterministic"
    planner_model: str | None = None
    planner_error: str | None = None
    planner_status: PlannerStatus = "off"
    # What is searched for where that is more than the question says: a follow-up with what it points back to.
    retrieval_question: str = ""

    @property
    def required(self) -> tuple[Concept, ...]:
        return tuple(concept for concept in self.concepts if concept.required)
