"""`cw.corpus`: what can be done with documents. Added, encoded, searched, read, forgotten, backed up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from citewell.ask import Ask, check_between, checked_topic
from citewell.errors import NotFound
from citewell.search.lanes import EncodeProgress, EncodeReport, SemanticUse, encode_corpus
from citewell.search.lookup import DocumentEntries, DocumentList, RelatedResult, Searcher, SearchMode, SearchResult
from citewell.search.query import check_question
from citewell.store.port import (
    AddReport,
    CollectionList,
    CorpusStatus,
    Filters,
    Problem,
    RemoveReport,
    Stats,
    SyncProgress,
)
from citewell.text.canonical import canonicalize
from citewell.text.documents import ContentMode, SourceType
from citewell.wiring import Parts

if TYPE_CHECKING:
    from citewell.backup import AcceptSettings, BackupReport, RestoreReport
    from citewell.search.entities import EntityMap
    from citewell.search.topics import TopicBrief
    from citewell.search.views import DocumentViews
    from citewell.store.port import SummaryProgress, SummaryReport


Place = str | Path


class Corpus:
    """What can be done with documents."""

    def __init__(self, parts: Parts, forget_runs: Callable[[Sequence[str]], None]) -> None:
        self._parts = parts
        self._forget_runs = forget_runs

    def add(self, path: Place, **options: Any) -> AddReport:
        """Bring the corpus up to date with a file or folder; options as for `sync`."""
        for event in self.sync(path, **options):
            if isinstance(event, AddReport):
                return event
        raise AssertionError("a sync ends with its report")

    def sync(
        self,
        path: Place,
        *,
        collection: str | None = None,
        source_type: SourceType | None = None,
        excludes: Sequence[str] = (),
    ) -> Iterator[SyncProgress | AddReport]:
        """The same with its progress; the report comes last."""
        # Readers are the heaviest imports: only adding needs them.
        from citewell.ingest.sync import AddRequest, Sync

        check_between("max_file_mb", self._parts.settings.max_file_mb, 1, 1_000)
        limit = self._parts.settings.max_file_mb * 1_000_000
        request = AddRequest(Path(path), collection, source_type, tuple(excludes), limit)
        return Sync(self._parts.store, self._parts.clock, request, private=(self._parts.settings.data_dir,)).events()

    def watch(
        self,
        path: Place,
        stop: Event,
        *,
        collection: str | None = None,
        source_type: SourceType | None = None,
        excludes: Sequence[str] = (),
    ) -> Iterator[SyncProgress | AddReport]:
        """Add a path, then follow it until told to stop; a report each time it has changed."""
        from citewell.ingest.watch import announced, changes

        yield from self.sync(path, collection=collection, source_type=source_type, excludes=excludes)
        followed = Path(path).expanduser().resolve()
        with announced(self._parts.settings.data_dir, followed):
            for _ in changes(followed, stop):
                yield from self.sync(path, source_type=source_type)

    def encode(self, most_seconds: float | None = None) -> Iterator[EncodeProgress | EncodeReport]:
        """Give every passage that lacks one its vector, for search by meaning; it goes on where it stopped."""
        return encode_corpus(self._parts.store.vectors, self._parts.embedder, self._parts.clock, most_seconds)

    def summarize(
        self, *keys: str, model: str = "", max_cost_usd: float | None = None
    ) -> Iterator[SummaryProgress | SummaryReport]:
        """Store summaries of these documents, without keys of all that lack one; it goes on where it stopped."""
        from citewell.flows.summaries import SummaryModel, check_ceiling, summarize_documents
        from citewell.model_choice import model_use

        for key in keys:
            if self._parts.store.find(key) is None:
                raise self._parts.views.missing(key)
        writer = None
        if model:
            alone = replace(self._parts.settings, judge="off")
            use = model_use(alone, self._parts.chat, Ask("", model=model, planner=False, max_cost=max_cost_usd))
            check_ceiling(use)
            writer = SummaryModel(use.writer, self._parts.chat(use.writer), use, self._parts.masker.mask)
        return summarize_documents(self._parts.store, keys or None, writer, self._parts.clock)

    def vectors_left(self) -> int:
        """How many passages have no vector yet."""
        return self._parts.store.vectors.coverage().left

    def remove(self, *names: str, purge: bool = False) -> RemoveReport:
        """Forget documents by key or path, with everything derived from them; `purge` also the runs that hold them.

        Runs that cite them are named; what they quote is kept unless it is purged.
        """
        keys: list[str] = []
        paths: list[Path] = []
        for name in names:
            found, path = self._keys_named(name)
            keys += found
            paths += [path] if path else []
        unique = tuple(dict.fromkeys(keys))
        recorded = self._parts.has_runs()
        # Runs know a key that holds a secret by its masked form.
        known_as = tuple(dict.fromkeys((*unique, *map(self._parts.masker.mask, unique))))
        citing = tuple(self._parts.run_store.citing(known_as)) if recorded else ()
        purged = tuple(self._parts.run_store.mentioning(known_as)) if recorded and purge else ()
        if purged:
            self._forget_runs(purged)
            self._parts.research_rows.delete(purged)
            self._parts.store.release_texts(purged)
            self._parts.web.release(purged)
        self._parts.store.remove(unique)
        self._parts.store.erase_removed()
        if purged:
            self._parts.run_store.shrink()
        dropped = tuple(name for path in paths for name in self._parts.store.drop_empty_collections(str(path)))
        return RemoveReport(unique, len(unique), dropped, citing, purged)

    def _keys_named(self, name: str) -> tuple[list[str], Path | None]:
        if self._parts.store.find(name) is not None:
            return [name], None
        path = Path(name).expanduser().resolve()
        keys = self._parts.store.keys_under(str(path))
        if not keys:
            raise self._parts.views.missing(name)
        return keys, path

    def status(self, *, with_secrets: bool = False) -> CorpusStatus:
        """What is in the corpus, file by file, and why anything was left out."""
        with self._parts.store.snapshot():
            return CorpusStatus(
                self._parts.store.document_count(),
                self._parts.store.chunk_count(),
                self._parts.store.by_source_type(),
                self._parts.store.files(),
                self._parts.store.exclusions(),
                self._parts.store.secrets() if with_secrets else (),
                self._parts.store.vectors.coverage(),
            )

    def check_collections(self, filters: Filters) -> Filters:
        """The filters, if every collection they name is there."""
        known = [one.name for one in self.collections().collections] if filters.collections else []
        for name in filters.collections:
            if name not in known:
                import difflib

                near = difflib.get_close_matches(name, known, n=1)
                listed = f"There are: {', '.join(known[:8])}." if known else "Add one with 'citewell add FOLDER'."
                raise NotFound(
                    f"There is no collection named {name}.", fix=f"Did you mean {near[0]}?" if near else listed
                )
        return filters

    def collections(self) -> CollectionList:
        """The folders that were added, and how many documents each has."""
        from citewell.ingest.watch import watched_by_root, watched_paths

        found = self._parts.store.collections()
        watched = watched_by_root([one.root for one in found], watched_paths(self._parts.settings.data_dir))
        return CollectionList(tuple(replace(one, watched=watched.get(one.root, ())) for one in found))

    def stats(self) -> Stats:
        """How much of what is in the corpus."""
        return self._parts.store.stats()

    def search(
        self,
        query: str,
        *,
        limit: int = 8,
        filters: Filters | None = None,
        max_chars: int | None = None,
        mode: SearchMode | None = None,
    ) -> SearchResult:
        """Documents that match a query, best first, each with the passage that matches.

        Without a mode the lanes are as the settings say. Meaning that cannot be asked leaves the words, with a
        warning; only a search by meaning alone fails.
        """
        check_between("limit", limit, 1, 1_000)
        use: SemanticUse = "off" if mode == "lexical" else "on" if mode == "hybrid" else self._parts.semantic_use()
        searcher = Searcher(self._parts.store, self._parts.semantic_lane, self._parts.reranker, self._parts.clock)
        window = self._parts.settings.max_chars_per_doc if max_chars is None else max_chars
        return searcher.search(query, filters or Filters(), limit, window, use, by_meaning_alone=mode == "semantic")

    def get(
        self,
        *lookups: str,
        query: str | None = None,
        content_mode: ContentMode = "evidence",
        max_chars: int = 4_000,
    ) -> DocumentList:
        """Documents by key, or `KEY@CONTENT_HASH` for an earlier text; an unknown key is an error."""
        check_between("max_chars", max_chars, 50, 10_000_000)
        with self._parts.store.snapshot():
            views = ((self._views_at(lookup), lookup) for lookup in lookups)
            return DocumentList(tuple(view.view(lookup, query, content_mode, max_chars) for view, lookup in views))

    def get_many(
        self,
        *lookups: str,
        query: str | None = None,
        content_mode: ContentMode = "evidence",
        max_chars: int = 4_000,
    ) -> DocumentEntries:
        """The same, but an unknown key is an entry that says so."""
        check_between("max_chars", max_chars, 50, 10_000_000)
        with self._parts.store.snapshot():
            views = ((self._views_at(lookup), lookup) for lookup in lookups)
            return DocumentEntries(tuple(view.entry(lookup, query, content_mode, max_chars) for view, lookup in views))

    def _views_at(self, lookup: str) -> DocumentViews:
        """What shows a document: of the corpus, or of the pages that runs have read."""
        # Only a key of the web's own makes the web worth loading.
        return self._parts.views_of(self._parts.web.store_of(lookup)) if ":online/" in lookup else self._parts.views

    def related(self, key: str, *, limit: int = 8, max_chars: int | None = None) -> RelatedResult:
        """What a document links to and what links to it."""
        from citewell.search.related import related_rows

        check_between("limit", limit, 1, 200)
        window = self._parts.settings.max_chars_per_doc if max_chars is None else max_chars
        with self._parts.store.snapshot():
            if self._parts.store.find(key) is None:
                raise self._parts.views.missing(key)
            rows = related_rows(self._parts.store, key, window, limit)
            return RelatedResult(
                key, tuple(rows), self._parts.store.unresolved_links(key), self._parts.store.attachments(key)
            )

    def topic_brief(
        self,
        topic: str,
        *,
        seed_limit: int | None = None,
        related_limit: int | None = None,
        filters: Filters | None = None,
    ) -> TopicBrief:
        """How a topic is connected in the corpus: documents, tags, entities, and what connects them."""
        from citewell.search import topic_brief as briefs

        seeds = briefs.SEED_LIMIT if seed_limit is None else seed_limit
        related = briefs.RELATED_LIMIT if related_limit is None else related_limit
        check_between("limit", seeds, 1, briefs.MAX_SEEDS)
        check_between("related_limit", related, 0, briefs.MAX_RELATED)
        named = checked_topic(check_question(topic)) or ""
        with self._parts.store.snapshot():
            return briefs.TopicBriefs(self._parts.store).brief(named, filters or Filters(), seeds, related)

    def entity_map(self, name: str, *, limit: int | None = None, filters: Filters | None = None) -> EntityMap:
        """What a name means, its other names, and where it is mentioned; several meanings are listed."""
        from citewell.search import entity_map as maps

        most = maps.DOCUMENT_LIMIT if limit is None else limit
        check_between("limit", most, 1, maps.MAX_DOCUMENTS)
        with self._parts.store.snapshot():
            return maps.EntityMaps(self._parts.store).map(canonicalize(name), filters or Filters(), most)

    def backup(self, target: Place, *, force: bool = False) -> BackupReport:
        """Everything of the data folder in one file, without secrets; others may write meanwhile."""
        from citewell.backup import make_backup

        gather = self._gather_runs if self._parts.settings.database_url else None
        return make_backup(self._parts.settings.data_dir, Path(target), self._parts.clock, force=force, gather=gather)

    def _gather_runs(self, path: Path) -> tuple[Problem, ...]:
        """Put the runs that are kept in PostgreSQL into a file; those that could not be read are told."""
        from citewell.runs.store import open_runs
        from citewell.runs.transfer import move_runs

        with (
            closing(open_runs(self._parts.settings.database_url, self._parts.clock)) as shared,
            closing(open_runs(path, self._parts.clock)) as gathered,
        ):
            report = move_runs(shared, gathered, self._parts.clock, with_executed=True)
        return tuple(Problem(f"run {left.run_id}", left.reason) for left in report.left)

    def restore(
        self, archive: Place, *, force: bool = False, accept_settings: bool | AcceptSettings = False
    ) -> RestoreReport:
        """Put what a backup holds in the place of the data folder; what was there is kept aside.

        Settings that send data elsewhere or permit more than now are left out unless they are accepted:
        `accept_settings` is True, or a function that is given them and says so.
        """
        from citewell.backup import restore_backup

        accept = accept_settings if callable(accept_settings) else lambda changes: bool(accept_settings)
        self._parts.close()
        return restore_backup(
            Path(archive), self._parts.settings.data_dir, self._parts.clock, force=force, accept=accept
        )
