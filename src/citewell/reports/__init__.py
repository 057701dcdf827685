"""Briefs become cited reports: the documents, the service, the strategies by name, and a tool for agents."""

from citewell.briefs.binding import CitationBinder
from citewell.briefs.deduplication import LexicalDeduplicator
from citewell.briefs.planning import LlmQueryPlanner, RuleQueryPlanner
from citewell.briefs.quoting import QuotedQuery
from citewell.briefs.strategies import (
    Binder,
    CredibilityTriage,
    Deduplicator,
    QueryPlanner,
    QuotingSynthesizer,
    RetrievalSource,
    RuleVerifier,
    Synthesizer,
    Verifier,
    register_strategy,
)
from citewell.briefs.triage import HeuristicCredibilityTriage, HybridCredibilityTriage
from citewell.briefs.untrusted import TAG_RESEARCH_BRIEF, TAG_RESEARCH_SOURCE, wrap_untrusted
from citewell.domain.briefs import (
    BoundCitation,
    Brief,
    Duplicate,
    ItemCredibility,
    ReportItem,
    ReportPlan,
    SubQuestion,
)
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
    "Binder",
    "BoundCitation",
    "Brief",
    "CitationBinder",
    "CredibilityTriage",
    "Deduplicator",
    "Duplicate",
    "HeuristicCredibilityTriage",
    "HybridCredibilityTriage",
    "ItemCredibility",
    "LexicalDeduplicator",
    "LlmQueryPlanner",
    "QueryPlanner",
    "QuotedQuery",
    "QuotingSynthesizer",
    "ReplayRetrievalSource",
    "ReportItem",
    "ReportPlan",
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
    "RetrievalSource",
    "RetrievedItem",
    "RuleQueryPlanner",
    "RuleVerifier",
    "SourceCredibility",
    "SubQuery",
    "SubQuestion",
    "Synthesizer",
    "Verifier",
    "build_research_service",
    "register_strategy",
    "wrap_untrusted",
]
