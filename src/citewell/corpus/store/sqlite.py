"""`corpus.db` on SQLite: the corpus as the rest of the engine sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import apsw

from citewell.corpus.indexing import PreparedDocument
from citewell.corpus.keys import slug
from citewell.corpus.store import lexical, linking, reading, related, secrets, writing
from citewell.corpus.store.postings_layout import is_complete, read_common, read_state
from citewell.corpus.store.postings_reading import PostingsIndex
from citewell.corpus.store.writing import FileFacts
from citewell.database.sqlite import Database, connect, fetch_one, fetch_rows, fetch_value, load_schema
from citewell.domain.documents import Attachment, Document, SectionView
from citewell.domain.errors import BadInput, WorkFailed
from citewell.domain.library import CollectionInfo, Exclusion, FileRecord, FileStatus, SecretFinding, Stats
from citewell.domain.packs import CorpusMatches, TagCount
from citewell.domain.ports import Candidate, Commonness, RelatedDocument
from citewell.domain.queries import Filters, LexicalQuery
from citewell.text.language import LANGUAGES

T = TypeVar("T")
_REMEMBERED = 32
# A search from a cold shell must not wait for what only topics and entities need: the methods import it themselves.
if TYPE_CHECKING:
    from citewell.corpus.entities import WrittenLink
    from citewell.corpus.store.graph import KnownName
    from citewell.corpus.store.vectors import VectorStore
    from citewell.corpus.topics import GraphLink

APPLICATION_ID = 0x43574331  # "CWC1"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as the corpus last saw it."""

    file_id: int
    path: str
    size: int
    mtime_ns: int
    file_hash: str | None
    status: FileStatus
    reason: str
    reader_version: int
    source_key: str | None


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection about to be synced; `scope` is the part of it the user named."""

    id: int
    name: str
    root: Path
    scope: str
    excludes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    documents: int
    chunks: int


class Outcome(Protocol):
    """What a batch holds for each file."""

    facts: FileFacts
    status: FileStatus
    reason: str
    documents: tuple[PreparedDocument, ...]
    renamed_from: str | None
    keeps_document: bool


class SqliteCorpus:
    """The store of the corpus; it fits the `LexicalIndex` and `TextSource` ports."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, load_schema("corpus", APPLICATION_ID, "citewell.corpus.store.migrations"))
        self._postings = PostingsIndex()
        self._counts: dict[Hashable, tuple[int, Any]] = {}

    def close(self) -> None:
        self.database.close()

    @cached_property
    def vectors(self) -> VectorStore:
        """The vectors of the semantic lane."""
        from citewell.corpus.store.vectors import VectorStore

        return VectorStore(self.database, self._postings)

    # Collections and files

    def open_collection(self, path: Path, name: str | None, excludes: Sequence[str]) -> OpenCollection:
        """The collection a path belongs to; a new one, rooted at the path, where there is none."""
        with self.database.write() as connection:
            home = _collection_holding(connection, path)
            if home is not None:
                return _reopen(connection, home, path, name, excludes)
            root = path if path.is_dir() else path.parent
            chosen = _free_name(connection, name, root)
            connection.execute(
                "INSERT INTO collections(name, root, excludes, created_at) VALUES (?,?,?, strftime('%FT%TZ'))",
                (chosen, str(root), json.dumps(list(excludes), ensure_ascii=False)),
            )
            scope = "" if path.is_dir() else path.name
            return OpenCollection(connection.last_insert_rowid(), chosen, root, scope, tuple(excludes))

    def roots_below(self, root: Path) -> tuple[Path, ...]:
        """Roots of other collections inside this one: each file belongs to one collection only."""
        roots = (Path(info.root) for info in self.collections())
        return tuple(other for other in roots if other != root and other.is_relative_to(root))

    def known_files(self, collection_id: int, scope: str) -> dict[str, KnownFile]:
        """Every file of a collection at or below the scope, by path."""
        rows = fetch_rows(
            self.database.reader(),
            "SELECT f.id, f.path, f.size, f.mtime_ns, f.file_hash, f.status, f.reason, f.reader_version,"
            " (SELECT min(source_key) FROM documents WHERE file_id = f.id) FROM files f WHERE f.collection_id = ?1"
            " AND (?2 = '' OR f.path = ?2 OR substr(f.path, 1, length(?2) + 1) = ?2 || '/')",
            (collection_id, scope),
        )
        return {file.path: file for file in (KnownFile(*row) for row in rows)}

    def write_batch(
        self, collection: OpenCollection, outcomes: Iterable[Outcome], at: str, reader_version: int
    ) -> None:
        """Write a batch of files in one transaction, links resolved."""
        with self.database.write() as connection:
            _check_still_there(connection, collection)
            from citewell.corpus.store import postings_writing

            batch = postings_writing.open_batch(connection)
            names: set[str] = set()
            file_ids: set[int] = set()
            for outcome in outcomes:
                # Another process may have moved or forgotten the file meanwhile: then there is nothing left to move.
                old_id = _file_at(connection, collection.id, outcome.renamed_from) if outcome.renamed_from else None
                if outcome.renamed_from and old_id is not None:
                    names |= linking.names_in_file(connection, old_id)
                    writing.move_file(connection, collection.id, outcome.renamed_from, outcome.facts.path, at, batch)
                file_id = writing.put_file(
                    connection, collection.id, outcome.facts, outcome.status, outcome.reason, at, reader_version
                )
                before = linking.ways_into(connection, file_id)
                path = outcome.facts.path
                if not outcome.keeps_document:
                    writing.drop_parts(connection, file_id, [document.part for document in outcome.documents], batch)
                home = (collection.id, collection.name, file_id, path)
                for document in outcome.documents:
                    writing.put_document(connection, *home, document, at, batch)
                linking.put_file_names(connection, file_id, path)
                names |= {name for name, _ in before ^ linking.ways_into(connection, file_id)}
                file_ids.add(file_id)
            linking.resolve_links(connection, collection.id, names, file_ids)
            lexical.write_batch(connection, batch)
            postings_writing.write_batch(connection, batch)

    def paths_tagged(self, collection_id: int, folded: Sequence[str]) -> set[str]:
        """The files of a collection with a document that carries one of these tags, or one nested in it."""
        return reading.paths_tagged(self.database.reader(), collection_id, folded) if folded else set()

    def finish_sync(
        self, collection: OpenCollection, gone: Sequence[KnownFile], excluded: Sequence[tuple[str, str]], at: str
    ) -> None:
        """Forget files that are no longer there; note what rules kept out and when the collection was in step."""
        with self.database.write() as connection:
            from citewell.corpus.store import postings_writing

            batch = postings_writing.open_batch(connection)
            names: set[str] = set()
            for file in gone:
                # Another process may have forgotten it, and its number may be another file's by now.
                if _file_at(connection, collection.id, file.path) == file.file_id:
                    names |= linking.names_in_file(connection, file.file_id)
                    writing.delete_file(connection, file.file_id, batch)
            linking.resolve_links(connection, collection.id, names, set())
            writing.put_exclusions(connection, collection.id, collection.scope, excluded)
            lexical.write_batch(connection, batch)
            postings_writing.write_batch(connection, batch)
            postings_writing.tidy(connection)
            connection.execute("UPDATE collections SET last_sync = ? WHERE id = ?", (at, collection.id))

    def collections(self) -> tuple[CollectionInfo, ...]:
        return reading.collections(self.database.reader())

    def files(self) -> tuple[FileRecord, ...]:
        return reading.files(self.database.reader())

    def secrets(self) -> tuple[SecretFinding, ...]:
        """Documents that seem to hold a secret; every text is looked through, so this takes as long as that takes."""
        with self.database.read() as connection:
            return tuple(secrets.find_secrets(connection))

    def exclusions(self) -> tuple[Exclusion, ...]:
        return reading.exclusions(self.database.reader())

    # Documents

    def find(self, key: str) -> Document | None:
        return reading.find_document(self.database.reader(), key)

    def similar_keys(self, fragment: str) -> list[str]:
        return reading.similar_keys(self.database.reader(), fragment)

    def keys_under(self, path: Path) -> list[str]:
        """Keys of every document at or below a path of the disk."""
        home = _collection_holding(self.database.reader(), path)
        if home is None:
            below = [info.root for info in self.collections() if Path(info.root).is_relative_to(path)]
            return [key for root in below for key in reading.keys_under(self.database.reader(), root, "")]
        scope = path.relative_to(home.root).as_posix()
        return reading.keys_under(self.database.reader(), str(home.root), "" if scope == "." else scope)

    def text_length(self, key: str, content_hash: str) -> int | None:
        return reading.text_length(self.database.reader(), key, content_hash)

    def find_kept(self, key: str, content_hash: str) -> Document | None:
        return reading.find_kept(self.database.reader(), key, content_hash)

    def keep_texts(self, run_id: str, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Keep what a run cites; the keys whose text is no longer there."""
        with self.database.write() as connection:
            return tuple(key for key, digest in texts if not writing.keep_text(connection, run_id, key, digest))

    def release_texts(self, run_ids: Sequence[str]) -> None:
        with self.database.write() as connection:
            for run_id in run_ids:
                writing.release_texts(connection, run_id)

    def slice(self, content_hash: str, start: int, end: int) -> str:
        return reading.text_slice(self.database.reader(), content_hash, start, end)

    def slices(self, spans: Sequence[tuple[str, int, int]]) -> list[str]:
        with self.database.read() as connection:
            return reading.text_slices(connection, spans)

    def sections_between(self, source_key: str, content_hash: str, start: int, end: int) -> tuple[SectionView, ...]:
        return reading.sections_between(self.database.reader(), source_key, content_hash, start, end)

    def links_out(self, key: str) -> tuple[str, ...]:
        return related.links_out(self.database.reader(), key)

    def related(self, key: str, limit: int) -> list[RelatedDocument]:
        return related.related_documents(self.database.reader(), key, limit)

    def attachments(self, key: str) -> tuple[Attachment, ...]:
        return related.attachments(self.database.reader(), key)

    def unresolved_links(self, key: str) -> tuple[str, ...]:
        return related.unresolved(self.database.reader(), key)

    # Names and the graph

    def documents_by_keys(self, keys: Sequence[str], filters: Filters) -> list[Document]:
        from citewell.corpus.store import graph

        return graph.documents_by_keys(self.database.reader(), keys, filters)

    def documents_named(self, name: str, forms: Sequence[str]) -> list[Document]:
        from citewell.corpus.store import graph

        return graph.documents_named(self.database.reader(), name, forms)

    def near_names(self, name: str) -> list[KnownName]:
        from citewell.corpus.store import graph

        return graph.near_names(self.database.reader(), name)

    def near_terms(self, word: str) -> list[str]:
        from citewell.corpus.store import graph

        return graph.near_terms(self.database.reader(), word)

    def links_around(self, keys: Sequence[str]) -> list[GraphLink]:
        from citewell.corpus.store import graph

        return graph.links_around(self.database.reader(), keys)

    def links_written(self, keys: Sequence[str]) -> dict[str, tuple[WrittenLink, ...]]:
        from citewell.corpus.store import graph

        return graph.links_written(self.database.reader(), keys)

    def remove(self, keys: Sequence[str]) -> None:
        """Forget documents with their texts and derived data; their files are read again by the next `add`."""
        with self.database.write() as connection:
            from citewell.corpus.store import postings_writing

            batch = postings_writing.open_batch(connection)
            names: dict[int, set[str]] = {}
            for key in keys:
                row = fetch_one(
                    connection, "SELECT file_id, collection_id, id FROM documents WHERE source_key = ?", (key,)
                )
                if row is None:
                    continue
                file_id, collection_id = int(row[0]), int(row[1])
                names.setdefault(collection_id, set()).update(linking.names_in_file(connection, file_id))
                writing.delete_document(connection, int(row[2]), batch)
                if not fetch_rows(connection, "SELECT 1 FROM documents WHERE file_id = ?", (file_id,)):
                    writing.delete_file(connection, file_id, batch)
            for collection_id, gone in names.items():
                linking.resolve_links(connection, collection_id, gone, set())
            lexical.write_batch(connection, batch)
            postings_writing.write_batch(connection, batch)
            postings_writing.forget(connection, batch.gone)

    def drop_empty_collections(self, under: Path | None) -> tuple[str, ...]:
        """Forget collections that hold nothing any more, so that their folders are not synced again."""
        dropped: list[str] = []
        with self.database.write() as connection:
            for info in reading.collections(connection):
                if info.documents == 0 and (under is None or Path(info.root).is_relative_to(under)):
                    connection.execute(
                        "DELETE FROM files WHERE collection_id = (SELECT id FROM collections WHERE name = ?)",
                        (info.name,),
                    )
                    connection.execute("DELETE FROM collections WHERE name = ?", (info.name,))
                    dropped.append(info.name)
        return tuple(dropped)

    # Search

    def rank(self, query: LexicalQuery, filters: Filters, limit: int) -> Sequence[Candidate]:
        """The best chunk of each of the best documents. An index that lags behind is passed over, not trusted."""
        with self.database.read() as connection:
            phrases = [lexical.chunks_with(connection, phrase) for phrase in query.phrases]
            scored = self._postings.rank(connection, query, phrases, filters, limit)
            if scored is None:
                return lexical.rank(connection, query, filters, limit)
            return lexical.candidates(connection, scored)

    def count_matches(self, query: LexicalQuery, filters: Filters) -> CorpusMatches:
        with self.database.read() as connection:
            counted = self._postings.count(connection, query, filters)
            return lexical.count_matches(connection, query, filters) if counted is None else counted

    def frequencies(self, forms: Sequence[str]) -> dict[str, int]:
        with self.database.read() as connection:
            counted = self._postings.frequencies(connection, forms)
            return lexical.frequencies(connection, forms) if counted is None else counted

    def heal_index(self) -> bool:
        """Make the index that ranks anew where it lags behind the corpus; whether that was needed."""
        with self.database.read() as connection:
            if is_complete(connection, read_state(connection)):
                return False
        from citewell.corpus.store import postings_writing

        with self.database.write() as connection:
            postings_writing.rebuild(connection)
        return True

    def languages(self) -> tuple[str, ...]:
        with self.database.read() as connection:
            return self._remembered(
                connection, "languages", lambda: reading.languages(connection, frozenset(LANGUAGES))
            )

    def chunk_count(self) -> int:
        connection = self.database.reader()
        state = read_state(connection)
        return state.chunks if is_complete(connection, state) else reading.chunk_count(connection)

    def eligible_documents(self, filters: Filters) -> int:
        with self.database.read() as connection:
            return self._remembered(connection, filters, lambda: reading.eligible_documents(connection, filters))

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
        return reading.exact_tags(self.database.reader(), folded, filters)

    def tagged(self, folded: Sequence[str], filters: Filters, limit: int) -> list[Document]:
        """Documents that carry any of these tags, the most and newest first."""
        connection = self.database.reader()
        ids = reading.tagged_documents(connection, folded, filters, limit)
        found = reading.documents_by_ids(connection, ids)
        return [found[document_id] for document_id in ids if document_id in found]

    # Counts

    def totals(self) -> Totals:
        connection = self.database.reader()
        documents = fetch_value(connection, "SELECT count(*) FROM documents")
        return Totals(int(documents), reading.chunk_count(connection))

    def by_source_type(self) -> dict[str, int]:
        return reading.count_by(self.database.reader(), "documents", "source_type")

    def stats(self) -> Stats:
        size = self.database.path.stat().st_size
        return reading.stats(self.database.reader(), size, self.database.schema.version)

    def check_integrity(self) -> list[str]:
        """Problems SQLite or the index finds in the file; empty when it is sound."""
        # Anew, because a connection that has searched checks the index by the list of segments it saw then, and takes
        # segments that another connection has merged since for damage.
        connection = connect(self.database.path)
        try:
            problems = [str(row[0]) for row in fetch_rows(connection, "PRAGMA quick_check(5)") if row[0] != "ok"]
            chunks = reading.chunk_count(connection)
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


@dataclass(frozen=True, slots=True)
class _Home:
    id: int
    name: str
    root: Path
    excludes: tuple[str, ...]


def _collection_holding(connection: apsw.Connection, path: Path) -> _Home | None:
    """The collection with the deepest root that holds this path."""
    rows = fetch_rows(connection, "SELECT id, name, root, excludes FROM collections")
    homes = [_Home(int(i), str(n), Path(str(r)), tuple(json.loads(str(e)))) for i, n, r, e in rows]
    holding = [home for home in homes if path == home.root or path.is_relative_to(home.root)]
    return max(holding, key=lambda home: len(home.root.parts), default=None)


def _reopen(
    connection: apsw.Connection, home: _Home, path: Path, name: str | None, excludes: Sequence[str]
) -> OpenCollection:
    if name is not None and slug(name) != home.name:
        raise BadInput(
            f"{path} already belongs to the collection '{home.name}'.",
            fix=f"Leave out --collection, or run 'citewell remove {home.root}' first.",
        )
    merged = tuple(dict.fromkeys((*home.excludes, *excludes)))
    if merged != home.excludes:
        connection.execute(
            "UPDATE collections SET excludes = ? WHERE id = ?", (json.dumps(merged, ensure_ascii=False), home.id)
        )
    scope = path.relative_to(home.root).as_posix()
    return OpenCollection(home.id, home.name, home.root, "" if scope == "." else scope, merged)


def _free_name(connection: apsw.Connection, name: str | None, root: Path) -> str:
    wanted = slug(name or root.name or "files").replace("/", "-")
    taken = {str(row[0]) for row in fetch_rows(connection, "SELECT name FROM collections")}
    if name is not None and wanted in taken:
        raise BadInput(
            f"The collection '{wanted}' exists already, with another folder.",
            fix="Choose another name with --collection, or see 'citewell collections'.",
        )
    number, candidate = 2, wanted
    while candidate in taken:
        candidate, number = f"{wanted}-{number}", number + 1
    return candidate


def _check_still_there(connection: apsw.Connection, collection: OpenCollection) -> None:
    if fetch_one(connection, "SELECT 1 FROM collections WHERE id = ? AND name = ?", (collection.id, collection.name)):
        return
    raise WorkFailed(
        f"The collection '{collection.name}' was removed while it was being added.",
        fix=f"To add it after all, run 'citewell add {collection.root}' again.",
    )


def _file_at(connection: apsw.Connection, collection_id: int, path: str) -> int | None:
    row = fetch_one(connection, "SELECT id FROM files WHERE collection_id = ? AND path = ?", (collection_id, path))
    return None if row is None else int(row[0])
