"""What a run may use of the web: providers, how many queries and pages, how much of them, for how long."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.notes import MAX_TOPICS, PAGE_SECONDS, PAGES_A_TOPIC
from citewell.domain.runs import RunProfile
from citewell.domain.web import WebUse
from citewell.settings import Settings
from citewell.web.providers.registry import PROVIDERS, enabled, enabled_names

# What is reckoned for the reply to a query, in bytes.
_A_REPLY = 250_000


def web_use(settings: Settings, profile: RunProfile, model: str, deny: Sequence[str] = ()) -> WebUse | None:
    """What a run of this profile may use of the web, if anything; `model` is asked between rounds."""
    if profile == "note":
        return _note_web(settings)
    if profile not in ("chat", "deep", "report"):
        return None
    enabled(settings)  # what is turned on without what it needs is said before anything starts
    # A report reads as much as a deep run; what a model says of its pages is asked in its own steps.
    is_deep = profile in ("deep", "report")
    most_reads = settings.deep_research_max_sources_read if is_deep else settings.chat_research_max_sources_read
    most_queries = settings.deep_research_max_search_queries if is_deep else settings.chat_research_max_search_queries
    may_loop = settings.agentic_research_deep_enabled if is_deep else settings.agentic_research_chat_enabled
    return WebUse(
        providers=enabled_names(settings),
        loops=may_loop,
        max_loops=settings.deep_research_max_loops if is_deep else settings.chat_research_max_loops,
        max_reads=most_reads,
        max_queries=most_queries,
        max_bytes=_most_bytes(settings, most_reads, most_queries),
        fetch_seconds=settings.research_source_fetch_timeout_seconds,
        page_bytes=settings.research_source_max_bytes,
        allow=_sites(settings.web_allow),
        deny=(*_sites(settings.web_deny), *deny),
        model=model,
        from_notes=settings.web_queries_from_notes,
        families={name: PROVIDERS[name].family for name in enabled_names(settings)},
    )


def _most_bytes(settings: Settings, reads: int, queries: int) -> int:
    """What a run may receive from the web in all; unless it is set, twice what its pages may have, and its searches."""
    return settings.research_max_bytes or settings.research_source_max_bytes * max(1, reads) * 2 + queries * _A_REPLY


def _note_web(settings: Settings) -> WebUse | None:
    """What a run about a note may use: providers that are turned on, unless nothing may be asked outside."""
    providers = tuple(one.provider.name for one in enabled(settings))
    if not providers or settings.policy_external_data_request == "deny":
        return None
    reads = PAGES_A_TOPIC * MAX_TOPICS
    return WebUse(
        providers=providers,
        loops=settings.agentic_research_deep_enabled,
        max_loops=1,
        max_reads=reads,
        max_queries=2 * MAX_TOPICS,
        max_bytes=_most_bytes(settings, reads, 2 * MAX_TOPICS),
        fetch_seconds=min(PAGE_SECONDS, settings.research_source_fetch_timeout_seconds),
        page_bytes=settings.research_source_max_bytes,
        allow=_sites(settings.web_allow),
        deny=_sites(settings.web_deny),
    )


def _sites(listed: str) -> tuple[str, ...]:
    return tuple(site.strip().lower() for site in listed.split(",") if site.strip())
