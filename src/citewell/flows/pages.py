"""Pages of the web as documents of a store of their own: with keys, windows, spans and versions like any other.

The store is a corpus beside the user's (`web.db`): what is read on the web is never mixed into what the user saved,
unless they say so (`save_pages`). A page has one key for ever; what a run read of it is kept with the run.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from citewell.answer.passages import injections_in, oddities_of
from citewell.ingest.sync import READER_VERSION
from citewell.readers.importers.entries import ImportedDocument
from citewell.search.pack import PackBuilder, ResearchPack
from citewell.search.query import QueryPlan
from citewell.search.rows import EvidenceRow
from citewell.store.port import CorpusStore, FileFacts, FileOutcome, Filters, PreparedDocument
from citewell.store.prepare import prepare_document
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Section
from citewell.text.urls import canonical_url
from citewell.web.credibility import sketch
from citewell.web.facts import PageFacts, SearchHit
from citewell.web.fetch import ReadPage

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
