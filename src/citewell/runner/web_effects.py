"""The web as a run reaches it: asks providers, reads pages, keeps them, finds passages in them.

Whatever leaves does so here, under the fetch guard; every request goes on record with what was seen. An address comes
from a provider's results or from the person's own question, never out of a page or a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from citewell.domain.ports import Clock
from citewell.domain.web import PageFacts, SentRequest
from citewell.readers.pages import shortened
from citewell.runner.actions import (
    KeepSnippets,
    Observation,
    PageKept,
    PagesRanked,
    RankPages,
    ReadPage,
    SearchWeb,
    SnippetsKept,
    WebFailed,
    WebSearched,
)
from citewell.runner.pages import PageStore
from citewell.web.guard import FetchFailed, Guard
from citewell.web.pages import READERS, MakesText, PageReader
from citewell.web.pages import ReadPage as FetchedPage
from citewell.web.providers.registry import Enabled
from citewell.web.searching import MAX_BYTES, SiteRules, WebSearcher

# Keeps a page for as long as the run exists.
Keep = Callable[[PageFacts], None]


class WebEffects:
    """Performs the actions of the loop on the web."""

    def __init__(
        self,
        guard: Guard,
        readers: MakesText,
        searcher: WebSearcher,
        providers: Mapping[str, Enabled],
        pages: Callable[[], PageStore],
        keep: Keep,
        clock: Clock,
    ) -> None:
        self._guard = guard
        self._readers = readers
        self._searcher = searcher
        self._providers = providers
        self._pages = pages
        self._keep = keep
        self._clock = clock

    async def perform(self, action: SearchWeb | ReadPage | KeepSnippets | RankPages) -> Observation:
        """Do one action; what fails outside is an observation of its own."""
        try:
            match action:
                case SearchWeb():
                    return await self._search(action)
                case ReadPage():
                    return await self._read(action)
                case KeepSnippets():
                    return await asyncio.to_thread(self._snippets, action)
                case RankPages():
                    return await asyncio.to_thread(self._rank, action)
        except FetchFailed as failed:
            requests = tuple(SentRequest(one.host, one.sent, one.received) for one in failed.requests)
            return WebFailed(failed.problem, failed.message[:300], requests)

    async def _search(self, action: SearchWeb) -> Observation:
        at = self._providers.get(action.provider)
        if at is None:
            raise FetchFailed("other", f"{action.provider} is no longer turned on")
        # What is found will be read: the readers get ready meanwhile.
        await asyncio.to_thread(self._readers.warm, READERS)
        rules = SiteRules(action.allow, action.deny)
        most = action.max_bytes if action.max_bytes is not None else MAX_BYTES
        found = await self._searcher.search(at, action.query, action.limit, action.seconds, rules, most)
        return WebSearched(found.hits, found.requests, found.dropped)

    async def _read(self, action: ReadPage) -> Observation:
        permits = SiteRules(action.allow, action.deny).permits
        reader = PageReader(self._guard, self._readers, action.seconds, action.max_bytes, permits)
        page = await reader.read(action.url)
        if action.max_chars is not None:
            page = replace(page, read=shortened(page.read, action.max_chars))
        requests = tuple(SentRequest(one.host, one.sent, one.received) for one in page.fetched.requests)
        return PageKept(await asyncio.to_thread(self._kept, page), requests)

    def _kept(self, page: FetchedPage) -> PageFacts:
        facts = self._pages().put(page, self._clock.now())
        self._keep(facts)
        return facts

    def _snippets(self, action: KeepSnippets) -> Observation:
        store, at = self._pages(), self._clock.now()
        kept = tuple(store.put_snippet(hit, at) for hit in action.hits)
        for facts in kept:
            self._keep(facts)
        return SnippetsKept(kept)

    def _rank(self, action: RankPages) -> Observation:
        return PagesRanked(self._pages().rank(action.question, action.plan, action.paths))
