"""The strategies of a report by their names: what `ResearchConfig` chooses from. A new one is a class and a row here.

A strategy is named in the request of a run, so that a replay uses the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from citewell.briefs.binding import CitationBinder
from citewell.briefs.deduplication import LexicalDeduplicator, NoDeduplicator
from citewell.briefs.planning import LlmQueryPlanner, RuleQueryPlanner
from citewell.briefs.triage import HeuristicCredibilityTriage, HybridCredibilityTriage, NoTriage
from citewell.domain.answers import Citation
from citewell.domain.briefs import BoundCitation, Brief, Duplicate, ItemCredibility, ReportItem, ReportPlan
from citewell.domain.surveys import TopicSurvey


class QueryPlanner(Protocol):
    """Which questions are looked into for a brief."""

    def plan(self, brief: Brief, survey: TopicSurvey | None = None) -> ReportPlan: ...


class Deduplicator(Protocol):
    """Which items say what another one says."""

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]: ...


class CredibilityTriage(Protocol):
    """How far sources from outside are to be believed."""

    asks_model: bool

    def verdicts(self, items: Sequence[ReportItem], floor: float) -> tuple[ItemCredibility, ...]: ...


class Binder(Protocol):
    """Which retained item each citation stands in, and which citations stand in none."""

    def bind(
        self, citations: Sequence[Citation], retained: Sequence[ReportItem]
    ) -> tuple[tuple[BoundCitation, ...], tuple[int, ...]]: ...


PLANNERS: dict[str, QueryPlanner] = {"llm": LlmQueryPlanner(), "rules": RuleQueryPlanner()}
DEDUPLICATORS: dict[str, Deduplicator] = {"lexical": LexicalDeduplicator(), "off": NoDeduplicator()}
TRIAGES: dict[str, CredibilityTriage] = {
    "hybrid": HybridCredibilityTriage(),
    "heuristic": HeuristicCredibilityTriage(),
    "off": NoTriage(),
}
BINDERS: dict[str, Binder] = {"citation": CitationBinder()}
