"""Briefs become cited reports: the documents, the service, the strategies by name, and a tool for agents."""

from citewell.briefs.binding import CitationBinder
from citewell.briefs.deduplication import LexicalDeduplicator
from citewell.briefs.planning import LlmQueryPlanner, RuleQueryPlanner
from citewell.briefs.triage import HeuristicCredibilityTriage, HybridCredibilityTriage
from citewell.briefs.untrusted import TAG_RESEARCH_BRIEF, TAG_RESEARCH_SOURCE, wrap_untrusted
from citewell.reports.config import ResearchConfig
from citewell.reports.errors import ResearchSynthesisError
from citewell.reports.models import (
    ResearchBrief,
    ResearchCitation,
    ResearchClaim,
    ResearchQueryPlan,
    ResearchReport,
    ResearchRun,
    RetrievedItem,
    SourceCredibility,
    SubQuery,
)
from citewell.reports.replay import ReplayRetrievalSource
from citewell.reports.service import ResearchParts, ResearchService, build_research_service
from citewell.reports.tool import ResearchTool, ResearchToolFactory

__all__ = [
    "TAG_RESEARCH_BRIEF",
    "TAG_RESEARCH_SOURCE",
    "CitationBinder",
    "HeuristicCredibilityTriage",
    "HybridCredibilityTriage",
    "LexicalDeduplicator",
    "LlmQueryPlanner",
    "ReplayRetrievalSource",
    "ResearchBrief",
    "ResearchCitation",
    "ResearchClaim",
    "ResearchConfig",
    "ResearchParts",
    "ResearchQueryPlan",
    "ResearchReport",
    "ResearchRun",
    "ResearchService",
    "ResearchSynthesisError",
    "ResearchTool",
    "ResearchToolFactory",
    "RetrievedItem",
    "RuleQueryPlanner",
    "SourceCredibility",
    "SubQuery",
    "build_research_service",
    "wrap_untrusted",
]
