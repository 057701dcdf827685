"""Everything of the web that one engine holds: the guard, the readers, the providers, and where pages are kept.

Nothing of it is opened before a run asks for it. A run that leaves no trace has pages of its own, gone with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from citewell.clock import Clock
from citewell.errors import CitewellError
from citewell.flows.note import ATTEMPTS
from citewell.flows.outside import Web
from citewell.flows.pages import PageStore, PassingStore, is_page_key, save_pages
from citewell.readers.pages import PageBytes, PageDocument
from citewell.readers.process_pool import WarmReaders
from citewell.runs.run import RunRequest
from citewell.runs.summaries import EgressPreview, PreviewedProvider
from citewell.search.conversation import prompt_of
from citewell.search.plan import first_queries, intents_of, plan_question
from citewell.settings import Settings
from citewell.store.port import CorpusStore
from citewell.text.documents import split_version
from citewell.text.urls import host_of
from citewell.web.facts import PageFacts
from citewell.web.fetch import page_readers
from citewell.web.guard import Guard, Resolve
from citewell.web.providers import PROVIDERS, EnabledProvider, enabled
from citewell.web.search import ReplyBytes, ReplyHits, WebSearcher, reply_readers


@dataclass
class WebAccess:
    """The web as an engine reaches it."""

    settings: Settings
    clock: Clock
    corpus: Callable[[], CorpusStore]
    open_store: Callable[[Path], CorpusStore]
    resolve: Resolve | None = None

    @cached_property
    def guard(self) -> Guard:
        """The one way by which anything of the web is fetched."""
        allowed = self.settings.fetch_allow.split(",")
        return Guard(allowed, self.resolve) if self.resolve is not None else Guard(allowed)

    @cached_property
    def pages(self) -> PageStore:
        """Pages that runs have read."""
        return PageStore(self.open_store(self.settings.pages_path))

    @cached_property
    def readers(self) -> WarmReaders[PageBytes, PageDocument]:
        return page_readers()

    @cached_property
    def searcher(self) -> WebSearcher:
        return WebSearcher(self.guard, self.clock, readers=self.reply_readers)

    @cached_property
    def reply_readers(self) -> WarmReaders[ReplyBytes, ReplyHits]:
        return reply_readers()

    def close(self) -> None:
        """End the readers and close the store, as far as they were opened."""
        for name in ("readers", "reply_readers"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        if "pages" in self.__dict__:
            self.__dict__.pop("pages").store.close()

    def of_run(self, run_id: str | None) -> RunWeb:
        """The web as one run reaches it."""
        return RunWeb(self, run_id, (lambda: self.pages) if run_id is not None else PassingStore(self.open_store))

    def providers(self) -> dict[str, EnabledProvider]:
        """The providers that are turned on and can be asked; a run begun with others is told that they are gone."""
        try:
            return {one.provider.name: one for one in enabled(self.settings)}
        except CitewellError:
            return {}

    def store_of(self, lookup: str) -> CorpusStore:
        """Where a document stands: what the user saved comes first; a key of the web's own leads to its pages."""
        key, digest = split_version(lookup)
        if not is_page_key(key) or self.corpus().find(key) is not None or not self.settings.pages_path.exists():
            return self.corpus()
        store = self.pages.store
        known = store.find(key) is not None or (digest is not None and store.find_kept(key, digest) is not None)
        return store if known else self.corpus()

    def save(self, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Put pages, each by key and hash, into what the user saved; their keys there."""
        online = [(key, digest) for key, digest in texts if self.store_of(f"{key}@{digest}") is not self.corpus()]
        return save_pages(self.pages.store, self.corpus(), online, self.clock.now()) if online else ()

    def release(self, run_ids: Sequence[str]) -> None:
        """Keep no longer what only these runs read."""
        if self.settings.pages_path.exists():
            self.pages.store.release_texts(run_ids)

    def preview(self, request: RunRequest) -> EgressPreview:
        """What a run would send, before it does: its first queries, to whom, and at most how much more."""
        use, models = request.web, request.models
        asked = tuple(
            dict.fromkeys(filter(None, (models.planner, models.writer if models.writes else "", models.reviewer)))
        )
        note = request.note
        if use is None or not use.providers or (note is not None and not note.web_queries):
            return EgressPreview(request.question, request.profile, models=asked, hosted_models=models.is_hosted)
        pages, most = use.max_reads if use.loops else 0, use.max_queries
        if note is not None and note.web_queries:
            queries = note.web_queries
            pages = ATTEMPTS * len(queries) if use.loops and note.depth == "deep" else 0
            most = min(most, len(queries) * len(use.providers))
        else:
            plan = plan_question(prompt_of(request.question, request.conversation), request.filters, request.limits)
            queries = first_queries(request.question, plan, intents_of(request.question), use.max_queries)
        return EgressPreview(
            question=request.question,
            profile=request.profile,
            providers=tuple(PreviewedProvider(name, _host(self.settings, name)) for name in use.providers),
            queries=queries,
            max_queries=most,
            max_pages=pages,
            max_bytes_received=use.max_bytes,
            models=asked if note is not None else tuple(dict.fromkeys((*asked, *filter(None, (use.model,))))),
            hosted_models=models.is_hosted,
        )


def _host(settings: Settings, name: str) -> str:
    setting = "github" if name == "github_code" else name
    address = str(getattr(settings, f"{setting}_url")) or PROVIDERS[name].base_url
    return host_of(address) or address


@dataclass
class RunWeb:
    """The web as one run reaches it: where its pages are, and what keeps them."""

    access: WebAccess
    run_id: str | None
    pages: Callable[[], PageStore]

    def effects(self) -> Web | None:
        """What performs the loop's actions, where any provider is turned on."""
        if not self.access.settings.search.strip():
            return None
        access = self.access
        return Web(
            *(access.guard, access.readers, access.searcher, access.providers(), self.pages, self._keep, access.clock)
        )

    def store_of(self, key: str) -> CorpusStore:
        """Where a document of this run stands."""
        corpus = self.access.corpus()
        if not is_page_key(key) or not self.access.settings.search.strip() or corpus.find(key) is not None:
            return corpus
        store = self.pages().store
        return store if store.find(key) is not None else corpus

    def keep_texts(self, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Keep what the run cites for as long as it exists; the keys whose text is no longer there."""
        if self.run_id is None:
            return ()
        missing: list[str] = []
        by_store: dict[int, tuple[CorpusStore, list[tuple[str, str]]]] = {}
        for key, digest in texts:
            store = self.store_of(key)
            by_store.setdefault(id(store), (store, []))[1].append((key, digest))
        for store, own in by_store.values():
            missing += store.keep_texts(self.run_id, own)
        return tuple(missing)

    def _keep(self, page: PageFacts) -> None:
        if self.run_id is not None:
            self.pages().store.keep_texts(self.run_id, [(page.source_key, page.content_hash)])
