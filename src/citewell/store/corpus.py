"""`corpus.db` on SQLite: the corpus as the rest of the engine sees it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from citewell.store import fulltext, graph, read
from citewell.store.bm25 import PostingsIndex, is_complete, read_common, read_state
from citewell.store.port import Candidate, Commonness, CorpusMatches, Filters, LexicalQuery, RelatedDocument, TagCount
from citewell.store.sqlite import Database, connect, fetch_rows, fetch_value, load_schema
from citewell.text.documents import Attachment, Document, SectionView
from citewell.text.languages import LANGUAGES

if TYPE_CHECKING:
    from citewell.store.port import (
        CollectionInfo,
        Exclusion,
        FileOutcome,
        FileRecord,
        GraphLink,
        KnownFile,
        KnownName,
        OpenCollection,
        SecretFinding,
        Stats,
        Summary,
        WrittenLink,
    )
    from citewell.store.update import SummaryStore
    from citewell.store.vectors import VectorStore


T = TypeVar("T")
_REMEMBERED = 32

APPLICATION_ID = 0x43574331  # "CWC1"


class SqliteCorpus:
    """The store of the corpus, as `CorpusStore` asks for it; it looks into summaries too where that is set."""

    def __init__(self, path: Path, *, searches_summaries: bool = False) -> None:
        self._searches_summaries = searches_summaries
        self.database = Database(path, load_schema("corpus", APPLICATION_ID, "citewell.store.migrations"))
        self._postings = PostingsIndex()
        self._counts: dict[Hashable, tuple[int, Any]] = {}

    def close(self) -> None:
        self.database.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the corpus for everything this thread reads inside."""
        with self.database.read():
            yield

    @cached_property
    def vectors(self) -> VectorStore:
        """The vectors of the semantic lane."""
        from citewell.store.vectors import VectorStore

        return VectorStore(self.database, self._postings)

    @cached_property
    def summaries(self) -> SummaryStore:
        """Text derived from the documents."""
        from citewell.store.update import SummaryStore

        return SummaryStore(self.database)

    def summaries_of(self, key: str, content_hash: str) -> tuple[Summary, ...]:
        from citewell.store import update

        with self.database.read() as connection:
            return update.summaries_of(connection, key, content_hash)

    # Collections and files: what only syncing or reporting needs is imported where it is used

    def open_collection(self, path: str, is_folder: bool, name: str | None, excludes: Sequence[str]) -> OpenCollection:
        """The collection a path belongs to; a new one, rooted at the path or at its folder, where there is none."""
        from citewell.store import collections

        with self.database.write() as connection:
            return collections.open_collection(connection, Path(path), is_folder, name, excludes)

    def known_files(self, collection_id: int, scope: str) -> dict[str, KnownFile]:
        """Every file of a collection at or below the scope, by path."""
        from citewell.store import collections

        with self.database.read() as connection:
            return collections.known_files(connection, collection_id, scope)

    def write_batch(
        self, collection: OpenCollection, outcomes: Iterable[FileOutcome], at: str, reader_version: int
    ) -> None:
        """Write a batch of files in one transaction, links resolved."""
        from citewell.store import collections

        with self.database.write() as connection:
            collections.write_files(connection, collection, outcomes, at, reader_version)

    def finish_sync(
        self, collection: OpenCollection, gone: Sequence[KnownFile], excluded: Sequence[tuple[str, str]], at: str
    ) -> None:
        """Forget files that are no longer there; note what rules kept out and when the collection was in step."""
        from citewell.store import collections

        with self.database.write() as connection:
            collections.finish(connection, collection, gone, excluded, at)

    def remove(self, keys: Sequence[str]) -> None:
        """Forget documents with their texts and derived data; their files are read again by the next `add`."""
        from citewell.store import collections

        with self.database.write() as connection:
            collections.forget(connection, keys)

    def drop_empty_collections(self, under: str | None) -> tuple[str, ...]:
        """Forget collections that hold nothing any more, so that their folders are not synced again."""
        from citewell.store import collections

        with self.database.write() as connection:
            return collections.drop_empty_collections(connection, Path(under) if under else None)

    def erase_removed(self) -> None:
        """Leave nothing readable of what was removed in the write-ahead log."""
        self.database.fold_log()

    def roots_below(self, root: str) -> tuple[str, ...]:
        """Roots of other collections inside this one: each file belongs to one collection only."""
        roots = (info.root for info in self.collections())
        return tuple(other for other in roots if other != root and Path(other).is_relative_to(root))

    def paths_tagged(self, collection_id: int, folded: Sequence[str]) -> set[str]:
        """The files of a collection with a document that carries one of these tags, or one nested in it."""
        with self.database.read() as connection:
            return read.paths_tagged(connection, collection_id, folded) if folded else set()

    def collections(self) -> tuple[CollectionInfo, ...]:
        with self.database.read() as connection:
            return read.collections(connection)

    def files(self) -> tuple[FileRecord, ...]:
        with self.database.read() as connection:
            return read.files(connection)

    def secrets(self) -> tuple[SecretFinding, ...]:
        """Documents that seem to hold a secret; every text is looked through, so this takes as long as that takes."""
        with self.database.read() as connection:
            return tuple(read.find_secrets(connection))

    def exclusions(self) -> tuple[Exclusion, ...]:
        with self.database.read() as connection:
            return read.exclusions(connection)

    # Documents

    def find(self, key: str) -> Document | None:
        with self.database.read() as connection:
            return read.find_document(connection, key)

    def similar_keys(self, fragment: str) -> list[str]:
        with self.database.read() as connection:
            return read.similar_keys(connection, fragment)

    def keys_under(self, path: str) -> list[str]:
        """Keys of every document at or below a path of the disk."""
        from citewell.store.collections import collection_holding

        with self.database.read() as connection:
            home = collection_holding(connection, Path(path))
            if home is None:
                below = [info.root for info in self.collections() if Path(info.root).is_relative_to(path)]
                return [key for root in below for key in read.keys_under(connection, root, "")]
            scope = Path(path).relative_to(home.root).as_posix()
            return read.keys_under(connection, str(home.root), "" if scope == "." else scope)

    def text_length(self, key: str, content_hash: str) -> int | None:
        with self.database.read() as connection:
            return read.text_length(connection, key, content_hash)

    def find_kept(self, key: str, content_hash: str) -> Document | None:
        with self.database.read() as connection:
            return read.find_kept(connection, key, content_hash)

    def keep_texts(self, run_id: str, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Keep what a run cites; the keys whose text is no longer there."""
        from citewell.store import update

        with self.database.write() as connection:
            return tuple(key for key, digest in texts if not update.keep_text(connection, run_id, key, digest))

    def release_texts(self, run_ids: Sequence[str]) -> None:
        from citewell.store import update

        with self.database.write() as connection:
            for run_id in run_ids:
                update.release_texts(connection, run_id)

    def slice(self, content_hash: str, start: int, end: int) -> str:
        with self.database.read() as connection:
            return read.text_slice(connection, content_hash, start, end)

    def slices(self, spans: Sequence[tuple[str, int, int]]) -> list[str]:
        with self.database.read() as connection:
            return read.text_slices(connection, spans)

    def sections_between(self, source_key: str, content_hash: str, start: int, end: int) -> tuple[SectionView, ...]:
        with self.database.read() as connection:
            return read.sections_between(connection, source_key, content_hash, start, end)

    def sections_of(self, spans: Sequence[tuple[str, str, int, int]]) -> list[tuple[SectionView, ...]]:
        with self.database.read() as connection:
            return read.sections_of(connection, spans)

    def links_out(self, key: str) -> tuple[str, ...]:
        with self.database.read() as connection:
            return graph.links_out(connection, key)

    def related(self, key: str, limit: int) -> list[RelatedDocument]:
        with self.database.read() as connection:
            return graph.related_documents(connection, key, limit)

    def attachments(self, key: str) -> tuple[Attachment, ...]:
        with self.database.read() as connection:
            return graph.attachments(connection, key)

    def unresolved_links(self, key: str) -> tuple[str, ...]:
        with self.database.read() as connection:
            return graph.unresolved(connection, key)

    # Names and the graph

    def documents_by_keys(self, keys: Sequence[str], filters: Filters) -> list[Document]:
        with self.database.read() as connection:
            return graph.documents_by_keys(connection, keys, filters)

    def documents_named(self, name: str, forms: Sequence[str]) -> list[Document]:
        with self.database.read() as connection:
            return graph.documents_named(connection, name, forms)

    def documents_called(self, names: Sequence[str]) -> list[tuple[str, Document]]:
        with self.database.read() as connection:
            return graph.documents_called(connection, names)

    def near_names(self, name: str) -> list[KnownName]:
        with self.database.read() as connection:
            return graph.near_names(connection, name)

    def near_terms(self, word: str) -> list[str]:
        with self.database.read() as connection:
            return graph.near_terms(connection, word)

    def links_around(self, keys: Sequence[str]) -> list[GraphLink]:
        with self.database.read() as connection:
            return graph.links_around(connection, keys)

    def links_written(self, keys: Sequence[str]) -> dict[str, tuple[WrittenLink, ...]]:
        with self.database.read() as connection:
            return graph.links_written(connection, keys)

    # Search

    def rank(self, query: LexicalQuery, filters: Filters, limit: int) -> Sequence[Candidate]:
        """The best chunk of each of the best documents. An index that lags behind is passed over, not trusted."""
        with self.database.read() as connection:
            phrases = [fulltext.chunks_with(connection, phrase) for phrase in query.phrases]
            scored = self._postings.rank(connection, query, phrases, filters, limit)
            if scored is None:
                found = fulltext.rank(connection, query, filters, limit)
            else:
                found = fulltext.candidates(connection, scored)
            if not self._searches_summaries:
                return found
            from citewell.store import update

            return update.with_summaries(connection, found, query, filters, limit)

    def count_matches(self, query: LexicalQuery, filters: Filters) -> CorpusMatches:
        with self.database.read() as connection:
            counted = self._postings.count(connection, query, filters)
            return fulltext.count_matches(connection, query, filters) if counted is None else counted

    def frequencies(self, forms: Sequence[str]) -> dict[str, int]:
        with self.database.read() as connection:
            counted = self._postings.frequencies(connection, forms)
            return fulltext.frequencies(connection, forms) if counted is None else counted

    def words_beginning(self, start: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words that begin so, of a length between two, with the number of chunks that have each."""
        with self.database.read() as connection:
            return graph.words_beginning(connection, start, shortest, longest)

    def heal_index(self) -> bool:
        """Make the index that ranks anew where it lags behind the corpus; whether that was needed."""
        with self.database.read() as connection:
            if is_complete(connection, read_state(connection)):
                return False
        from citewell.store import bm25_write

        with self.database.write() as connection:
            bm25_write.rebuild(connection)
        return True

    def languages(self) -> tuple[str, ...]:
        with self.database.read() as connection:
            return self._remembered(connection, "languages", lambda: read.languages(connection, frozenset(LANGUAGES)))

    def chunk_count(self) -> int:
        with self.database.read() as connection:
            state = read_state(connection)
            return state.chunks if is_complete(connection, state) else read.chunk_count(connection)

    def eligible_documents(self, filters: Filters) -> int:
        with self.database.read() as connection:
            return self._remembered(connection, filters, lambda: read.eligible_documents(connection, filters))

    def commonness(self) -> Commonness:
        with self.database.read() as connection:
            return self._remembered(connection, "common", lambda: Commonness.of(*read_common(connection)))

    def _remembered(self, connection: apsw.Connection, name: Hashable, count: Callable[[], T]) -> T:
        """What a count over all documents said, for as long as nothing is written."""
        change = read_state(connection).change
        known = self._counts.get(name)
        if known is None or known[0] != change:
            known = self._counts[name] = (change, count())
            while len(self._counts) > _REMEMBERED:
                del self._counts[next(iter(self._counts))]
        value: T = known[1]
        return value

    def exact_tags(self, folded: Sequence[str], filters: Filters) -> list[TagCount]:
        with self.database.read() as connection:
            return read.exact_tags(connection, folded, filters)

    def tagged(self, folded: Sequence[str], filters: Filters, limit: int) -> list[Document]:
        """Documents that carry any of these tags, the most and newest first."""
        with self.database.read() as connection:
            ids = read.tagged_documents(connection, folded, filters, limit)
            found = read.documents_by_ids(connection, ids)
        return [found[document_id] for document_id in ids if document_id in found]

    # Counts

    def document_count(self) -> int:
        with self.database.read() as connection:
            return int(fetch_value(connection, "SELECT count(*) FROM documents"))

    def by_source_type(self) -> dict[str, int]:
        with self.database.read() as connection:
            return read.count_by(connection, "documents", "source_type")

    def stats(self) -> Stats:
        size = self.database.path.stat().st_size
        with self.database.read() as connection:
            return read.stats(connection, size, self.database.schema.version)

    def check_integrity(self) -> list[str]:
        """Problems SQLite or the index finds in the file; empty when it is sound."""
        # Anew, because a connection that has searched checks the index by the list of segments it saw then, and takes
        # segments that another connection has merged since for damage.
        connection = connect(self.database.path)
        try:
            problems = [str(row[0]) for row in fetch_rows(connection, "PRAGMA quick_check(5)") if row[0] != "ok"]
            chunks = read.chunk_count(connection)
            indexed = int(fetch_value(connection, "SELECT count(*) FROM chunk_terms"))
            state = read_state(connection)
            is_whole = is_complete(connection, state)
        finally:
            connection.close()
        if chunks != indexed:
            problems.append(f"{chunks} chunks but {indexed} index entries")
        if not is_whole or state.chunks != chunks:
            problems.append("the ranking index lags behind: 'citewell add' on any folder makes it anew")
        return problems
