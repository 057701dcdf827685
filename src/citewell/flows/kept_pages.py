"""The web as one engine holds it: the guard, the readers, the providers, and the pages that were read.

Pages are documents of a store of their own, with keys, windows, spans and versions like any other (`web.db`): what is
read on the web is never mixed into what the user saved, unless they say so (`save_pages`). A page has one key for
ever; what a run read of it is kept with the run. Nothing is opened before a run asks for it. A run that leaves no trace
has pages of its own, gone with it.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from citewell.answer.passages import injections_in, oddities_of
from citewell.clock import Clock
from citewell.errors import CitewellError
from citewell.ingest.sync import READER_VERSION
from citewell.notes.task import ATTEMPTS_A_TOPIC
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.pages import PageBytes, PageDocument
from citewell.readers.process_pool import WarmReaders
from citewell.runs.reports import EgressPreview, PreviewedProvider
from citewell.runs.run import RunRequest
from citewell.search.conversation import prompt_of
from citewell.search.pack import PackBuilder, ResearchPack
from citewell.search.plan import first_queries, intents_of, plan_question
from citewell.search.query import QueryPlan
from citewell.search.rows import EvidenceRow
from citewell.settings import Settings
from citewell.store.port import CorpusStore, FileFacts, FileOutcome, Filters, PreparedDocument
from citewell.store.prepare import prepare_document
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Section, split_version
from citewell.text.urls import canonical_url, host_of
from citewell.web.credibility import sketch
from citewell.web.facts import PageFacts, SearchHit
from citewell.web.fetch import MakesText, ReadPage, page_readers
from citewell.web.guard import Guard, Resolve
from citewell.web.providers import PROVIDERS, EnabledProvider, enabled
from citewell.web.search import ReplyBytes, ReplyHits, WebSearcher, reply_readers

COLLECTION = "online"
SAVED = "saved-from-the-web"
# Where no folder can be: the collection has no files of its own.
_ROOT, _SAVED_ROOT = "/citewell-pages", "/citewell-saved-pages"
WINDOW_CHARS = 1_500
_MOST_PATH = 200
_WALLS = ("accept all cookies", "enable javascript", "subscribe to continue", "to continue reading", "sign in to read")
_WALLED_CHARS = 900


class PageStore:
    """Keeps pages and finds passages in them."""

    def __init__(self, store: CorpusStore) -> None:
        self.store = store

    def put(self, page: ReadPage, at: str) -> PageFacts:
        """Keep a page that was read; what is known of it."""
        fetched = page.fetched
        path = page_path(fetched.final_url)
        prepared = prepare_document(ImportedDocument(page.read, page.source_type), path)
        key = self._write(path, prepared, at, hashlib.sha256(fetched.body).hexdigest(), len(fetched.body))
        text = page.read.text
        return PageFacts(
            source_key=key,
            path=path,
            url=fetched.url,
            final_url=fetched.final_url,
            title=prepared.title,
            content_type=fetched.content_type,
            fetch_status=fetched.status,
            fetched_at=at,
            content_hash=prepared.content_hash,
            length=len(text),
            author=page.read.author,
            published=page.read.modified or page.read.created,
            language=prepared.language,
            sketch=sketch(text),
            injections=injections_in(f"{prepared.title}\n{text}") or injections_in(page.everything),
            flags=(*oddities_of(text), *_wall(text)),
        )

    def put_snippet(self, hit: SearchHit, at: str) -> PageFacts:
        """Keep what a provider shows of a page, where the page itself is not read; it is told as derived."""
        text = canonicalize(f"{hit.title}\n\n{hit.snippet}")
        path = f"{page_path(hit.url).removesuffix('.page')}.snippet"
        section = Section(role="source_summary", start=0, end=len(text))
        read = ReadDocument(text=text, title=hit.title, sections=(section,), url=hit.url, created=hit.published)
        prepared = prepare_document(ImportedDocument(read, "web", part="snippet"), path)
        key = self._write(path, prepared, at, prepared.content_hash, len(text))
        return PageFacts(
            *(key, path, hit.url, hit.url, prepared.title, "text/plain", 0, at, prepared.content_hash, len(text)),
            published=hit.published,
            sketch=sketch(text),
            injections=injections_in(text),
            flags=("snippet",),
        )

    def rank(self, question: str, plan: QueryPlan, paths: Sequence[str]) -> ResearchPack:
        """The passages of these pages for a planned question, one window a page."""
        own = Filters(only=tuple(paths), since=plan.filters.since, until=plan.filters.until)
        limits = replace(
            plan.limits, limit=max(len(paths), 1), max_chars_per_doc=max(WINDOW_CHARS, plan.limits.max_chars_per_doc)
        )
        here = replace(plan, filters=own, limits=limits, source_keys=(), tag_queries=(), include_topic_brief=False)
        with self.store.snapshot():
            pack = PackBuilder(self.store).build(question, here)
        return replace(pack, evidence=tuple(_as_page(row) for row in pack.evidence), exact_tag_evidence=())

    def _write(self, path: str, prepared: PreparedDocument, at: str, file_hash: str, size: int) -> str:
        collection = self.store.open_collection(_ROOT, True, COLLECTION, ())
        facts = FileFacts(path, size, 0, file_hash)
        self.store.write_batch(collection, [FileOutcome(facts, "indexed", "", (prepared,))], at, READER_VERSION)
        known = self.store.known_files(collection.id, path)[path]
        assert known.source_key is not None
        return known.source_key


def save_pages(pages: CorpusStore, corpus: CorpusStore, texts: Sequence[tuple[str, str]], at: str) -> tuple[str, ...]:
    """Put pages, each given by key and hash, into the user's corpus as saved pages; their keys there."""
    saved: list[str] = []
    for key, digest in dict.fromkeys(texts):
        document = pages.find_kept(key, digest) or pages.find(key)
        length = pages.text_length(key, digest)
        if document is None or length is None:
            continue
        sections = pages.sections_between(key, digest, 0, length)
        read = ReadDocument(
            text=pages.slice(digest, 0, length),
            title=document.title,
            sections=tuple(Section(one.role, one.start, one.end, one.heading, page=one.page) for one in sections),
            author=document.author,
            url=document.url,
            created=document.created,
        )
        path = page_path(document.url or key)
        prepared = prepare_document(ImportedDocument(read, document.source_type, saved=at), path)
        collection = corpus.open_collection(_SAVED_ROOT, True, SAVED, ())
        outcome = FileOutcome(FileFacts(path, length, 0, digest), "indexed", "", (prepared,))
        corpus.write_batch(collection, [outcome], at, READER_VERSION)
        found = corpus.known_files(collection.id, path)[path].source_key
        saved += [found] if found else []
    return tuple(saved)


def is_page_key(key: str) -> bool:
    """Whether a key looks like one of this store's."""
    return key.partition(":")[2].startswith(f"{COLLECTION}/")


class PassingStore:
    """A store in a folder of its own that goes when its holder does: for runs that leave nothing behind."""

    def __init__(self, open_store: Callable[[Path], CorpusStore]) -> None:
        self._open = open_store
        self._lock = threading.Lock()
        self._store: PageStore | None = None

    def __call__(self) -> PageStore:
        with self._lock:
            if self._store is None:
                folder = Path(tempfile.mkdtemp(prefix="citewell-pages-"))
                self._store = PageStore(self._open(folder / "web.db"))
                weakref.finalize(self, _gone, self._store.store, folder)
            return self._store


def _gone(store: CorpusStore, folder: Path) -> None:
    store.close()
    shutil.rmtree(folder, ignore_errors=True)


def page_path(url: str) -> str:
    """Where a page stands in the store: its host and path, and a mark of its query where it has one."""
    parts = urlsplit(canonical_url(url) or url)
    place = f"{parts.netloc}{parts.path}".strip("/") or "page"
    if parts.query or len(place) > _MOST_PATH:
        mark = hashlib.sha256(f"{place}?{parts.query}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
        place = f"{place[:_MOST_PATH]}~{mark}"
    return f"{place}.page"


def _wall(text: str) -> tuple[str, ...]:
    """Whether there is hardly more than a wall to be seen."""
    said = text[:_WALLED_CHARS].casefold()
    return ("walled",) if len(text) < _WALLED_CHARS and any(words in said for words in _WALLS) else ()


def _as_page(row: EvidenceRow) -> EvidenceRow:
    # The path is the store's own; a page is known by its address.
    return replace(row, note_path=None)


@dataclass(frozen=True, slots=True)
class Web:
    """What reaches the web under the fetch guard for one run, and where pages are kept."""

    guard: Guard
    readers: MakesText
    searcher: WebSearcher
    providers: Mapping[str, EnabledProvider]
    pages: Callable[[], PageStore]
    # Keeps a page for as long as the run exists.
    keep: Callable[[PageFacts], None]
    clock: Clock


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
            dict.fromkeys(filter(None, (models.planner, models.writer if models.writes else "", models.judge)))
        )
        note = request.note
        if use is None or not use.providers or (note is not None and not note.web_queries):
            return EgressPreview(request.question, request.profile, models=asked, hosted_models=models.is_hosted)
        pages, most = use.max_reads if use.loops else 0, use.max_queries
        if note is not None and note.web_queries:
            queries = note.web_queries
            pages = ATTEMPTS_A_TOPIC * len(queries) if use.loops and note.depth == "deep" else 0
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
