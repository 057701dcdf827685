"""Briefs become cited reports: the documents, the service, the strategies by name, and a tool for agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citewell.reports.brief import (
        BoundCitation,
        Brief,
        Duplicate,
        ItemCredibility,
        ReportItem,
        ReportPlan,
        SubQuestion,
    )
    from citewell.reports.document import ResearchSynthesisError
    from citewell.reports.model import (
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
    from citewell.reports.quotes import QuotedQuery
    from citewell.reports.render import ResearchTool, ResearchToolFactory
    from citewell.reports.service import ReplayRetrievalSource, ResearchParts, ResearchService, build_research_service
    from citewell.reports.strategies import (
        Binder,
        CitationBinder,
        CredibilityTriage,
        Deduplicator,
        HeuristicCredibilityTriage,
        HybridCredibilityTriage,
        LexicalDeduplicator,
        QueryPlanner,
        QuotingSynthesizer,
        ResearchConfig,
        RetrievalSource,
        RuleVerifier,
        Synthesizer,
        Verifier,
        register_strategy,
    )
    from citewell.reports.subqueries import LlmQueryPlanner, RuleQueryPlanner
    from citewell.text.untrusted import TAG_RESEARCH_BRIEF, TAG_RESEARCH_SOURCE, wrap_untrusted

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

_WHERE = {
    **dict.fromkeys(
        (
            "CitationBinder",
            "LexicalDeduplicator",
            "Binder",
            "CredibilityTriage",
            "Deduplicator",
            "QueryPlanner",
            "QuotingSynthesizer",
            "RetrievalSource",
            "RuleVerifier",
            "Synthesizer",
            "Verifier",
            "register_strategy",
            "HeuristicCredibilityTriage",
            "HybridCredibilityTriage",
            "ResearchConfig",
        ),
        "citewell.reports.strategies",
    ),
    **dict.fromkeys(("LlmQueryPlanner", "RuleQueryPlanner"), "citewell.reports.subqueries"),
    **dict.fromkeys(("QuotedQuery",), "citewell.reports.quotes"),
    **dict.fromkeys(("TAG_RESEARCH_BRIEF", "TAG_RESEARCH_SOURCE", "wrap_untrusted"), "citewell.text.untrusted"),
    **dict.fromkeys(
        ("BoundCitation", "Brief", "Duplicate", "ItemCredibility", "ReportItem", "ReportPlan", "SubQuestion"),
        "citewell.reports.brief",
    ),
    **dict.fromkeys(("ResearchSynthesisError",), "citewell.reports.document"),
    **dict.fromkeys(
        (
            "ResearchBrief",
            "ResearchCitation",
            "ResearchClaim",
            "ResearchQueryPlan",
            "ResearchReport",
            "ResearchRun",
            "RetrievedItem",
            "SourceCredibility",
            "SubQuery",
        ),
        "citewell.reports.model",
    ),
    **dict.fromkeys(
        ("ReplayRetrievalSource", "ResearchParts", "ResearchService", "build_research_service"),
        "citewell.reports.service",
    ),
    **dict.fromkeys(("ResearchTool", "ResearchToolFactory"), "citewell.reports.render"),
}


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first used: types of reports are read by what makes none."""
    if name not in _WHERE:
        raise AttributeError(f"module 'citewell.reports' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
