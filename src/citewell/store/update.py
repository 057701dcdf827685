"""Writing to `corpus.db`: each function is one step inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import apsw
import msgspec

from citewell.store import fulltext
from citewell.store.bm25 import IndexBatch
from citewell.store.links import url_name
from citewell.store.port import (
    Candidate,
    FileFacts,
    FileStatus,
    Filters,
    LexicalQuery,
    MissingSummary,
    PreparedChunk,
    PreparedDocument,
    Summary,
    SummaryKind,
)
from citewell.store.read import TEXT_BLOCK_CHARS, condition, documents_by_ids, find_document
from citewell.store.sqlite import Database, fetch_one, fetch_rows, fetch_value
from citewell.text.documents import Chunk, Section, mint_key
from citewell.text.words import index_terms

# Summaries in `corpus.db`: which documents lack one, storing them, and finding documents by them.


# What the best summary adds to a document, as a share of what the best passage is worth by its words.
WEIGHT = 0.25
_HITS_A_DOCUMENT = 6
_WHOLE = "s.role != 'chunk_summary'"
# A summary of any kind will do where the text's own sentences are asked for; a model's only where it is of that model.
_LACKING = (
    "NOT EXISTS (SELECT 1 FROM summaries s WHERE s.document_id = d.id AND s.content_hash = x.content_hash"
    f" AND {_WHOLE} AND (?1 = 'extractive' OR s.model = ?2))"
)


class SummaryStore:
    """Summaries beside the documents they were made from."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count_lacking(self, kind: SummaryKind, model: str, keys: Sequence[str] | None) -> int:
        """How many of these documents (None: of all) lack a summary of this kind."""
        chosen, bindings = _chosen(keys)
        sql = f"SELECT count(*) FROM documents d JOIN texts x ON x.id = d.text_id WHERE {_LACKING}{chosen}"
        with self._database.read() as connection:
            return int(fetch_value(connection, sql, (kind, model, *bindings)))

    def next_lacking(
        self, kind: SummaryKind, model: str, keys: Sequence[str] | None, after: int
    ) -> MissingSummary | None:
        """The next document that lacks one, behind the place where the last stood."""
        chosen, bindings = _chosen(keys)
        sql = (
            f"SELECT d.id FROM documents d JOIN texts x ON x.id = d.text_id WHERE {_LACKING}{chosen}"
            f" AND d.id > {int(after)} ORDER BY d.id LIMIT 1"
        )
        with self._database.read() as connection:
            found = fetch_one(connection, sql, (kind, model, *bindings))
            if found is None:
                return None
            place = int(found[0])
            document = documents_by_ids(connection, [place])[place]
            return MissingSummary(place, document, _chunks(connection, place, document.content_hash))

    def put(self, key: str, summaries: Sequence[Summary], at: str) -> bool:
        """Store the summaries of one document in place of those it has; False where it has another text by now."""
        with self._database.write() as connection:
            document = find_document(connection, key)
            if document is None or any(one.content_hash != document.content_hash for one in summaries):
                return False
            document_id = int(fetch_value(connection, "SELECT id FROM documents WHERE source_key = ?", (key,)))
            clear(connection, document_id)
            title = index_terms(document.title, document.language)
            for one in summaries:
                connection.execute(
                    "INSERT INTO summaries(document_id, role, start, end, content_hash, summary_kind, model, body,"
                    " made_at) VALUES (?,?,?,?,?,?,?,?,?)",
                    (
                        *(document_id, one.role, one.start, one.end, one.content_hash),
                        *(one.summary_kind, one.model, one.text, at),
                    ),
                )
                terms = (connection.last_insert_rowid(), title, index_terms(one.text, document.language))
                connection.execute("INSERT INTO summary_terms(rowid, title, body) VALUES (?,?,?)", terms)
        return True


def summaries_of(connection: apsw.Connection, key: str, content_hash: str) -> tuple[Summary, ...]:
    """What is stored of one text of a document: of the whole first, then chunk by chunk."""
    rows = fetch_rows(
        connection,
        "SELECT s.role, s.summary_kind, s.body, s.start, s.end, s.content_hash, s.model FROM summaries s"
        " JOIN documents d ON d.id = s.document_id WHERE d.source_key = ? AND s.content_hash = ?"
        f" ORDER BY {_WHOLE} DESC, s.start",
        (key, content_hash),
    )
    return tuple(Summary(*row) for row in rows)


def clear(connection: apsw.Connection, document_id: int) -> None:
    """Forget the summaries of a document: they tell of a text it no longer has."""
    ids = fetch_rows(connection, "SELECT id FROM summaries WHERE document_id = ?", (document_id,))
    if ids:
        connection.executemany("DELETE FROM summary_terms WHERE rowid = ?", ids)
        connection.execute("DELETE FROM summaries WHERE document_id = ?", (document_id,))


def with_summaries(
    connection: apsw.Connection, found: Sequence[Candidate], query: LexicalQuery, filters: Filters, limit: int
) -> list[Candidate]:
    """What words found, and what they find in summaries: a summary points to its chunk and is never shown for it."""
    hits = _hits(connection, query, filters, limit)
    if not hits:
        return list(found)
    best = found[0].score if found else 1.0
    added = {
        one.document.source_key: replace(one, score=round(WEIGHT * best * one.score / hits[0].score, 6)) for one in hits
    }
    merged = [
        replace(one, score=one.score + more.score, summary_score=more.score)
        if (more := added.pop(one.document.source_key, None))
        else one
        for one in found
    ]
    merged += [replace(one, summary_score=one.score) for one in added.values()]
    return sorted(merged, key=lambda one: (-one.score, one.document.source_key))[:limit]


def _hits(connection: apsw.Connection, query: LexicalQuery, filters: Filters, limit: int) -> list[Candidate]:
    """The chunk of the best summary of each of the best documents that the filters let through."""
    expression = fulltext.match_expression(query)
    if not expression:
        return []
    where = condition(filters)
    rows = fetch_rows(
        connection,
        "SELECT s.document_id, t.rank, (SELECT c.id FROM chunks c WHERE c.document_id = s.document_id"
        " AND c.start >= s.start ORDER BY c.ordinal LIMIT 1)"
        " FROM summary_terms t JOIN summaries s ON s.id = t.rowid JOIN documents d ON d.id = s.document_id"
        f" WHERE t.summary_terms MATCH ? AND {where.sql} ORDER BY t.rank, s.id LIMIT ?",
        (expression, *where.bindings, limit * _HITS_A_DOCUMENT),
    )
    best: dict[int, tuple[int, float]] = {}
    for document_id, rank, chunk_id in rows:
        if chunk_id is not None:
            best.setdefault(int(document_id), (int(chunk_id), -float(rank)))
    return fulltext.candidates(connection, list(best.values())[:limit])


def _chosen(keys: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    if keys is None:
        return "", ()
    return " AND d.source_key IN (SELECT value FROM json_each(?3))", (json.dumps(list(keys)),)


def _chunks(connection: apsw.Connection, document_id: int, content_hash: str) -> tuple[Chunk, ...]:
    sql = "SELECT ordinal, start, end, role, heading_path, page FROM chunks WHERE document_id = ? ORDER BY ordinal"
    return tuple(
        Chunk(f"{content_hash[:12]}:{start}-{end}", ordinal, start, end, role, tuple(json.loads(path)), page)
        for ordinal, start, end, role, path, page in fetch_rows(connection, sql, (document_id,))
    )


def put_file(
    connection: apsw.Connection,
    collection_id: int,
    facts: FileFacts,
    status: FileStatus,
    reason: str,
    at: str,
    reader_version: int,
) -> int:
    """Record how a file fared; its id."""
    file_id = fetch_value(
        connection,
        "INSERT INTO files(collection_id, path, size, mtime_ns, file_hash, status, reason, at, reader_version)"
        " VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT(collection_id, path) DO UPDATE SET size=excluded.size,"
        " mtime_ns=excluded.mtime_ns, file_hash=excluded.file_hash, status=excluded.status, reason=excluded.reason,"
        " at=excluded.at, reader_version=excluded.reader_version RETURNING id",
        (collection_id, facts.path, facts.size, facts.mtime_ns, facts.file_hash, status, reason, at, reader_version),
    )
    return int(file_id)


def move_file(
    connection: apsw.Connection, collection_id: int, old_path: str, new_path: str, at: str, batch: IndexBatch
) -> None:
    """A renamed file keeps its record, its documents and their keys."""
    at_new_path = "SELECT id FROM files WHERE collection_id = ? AND path = ?"
    for (file_id,) in fetch_rows(connection, at_new_path, (collection_id, new_path)):
        delete_file(connection, int(file_id), batch)
    connection.execute(
        "UPDATE files SET path = ? WHERE collection_id = ? AND path = ?", (new_path, collection_id, old_path)
    )
    connection.execute(
        "INSERT INTO key_history SELECT d.source_key, ?, ? FROM documents d JOIN files f ON f.id = d.file_id"
        " WHERE f.collection_id = ? AND f.path = ?",
        (new_path, at, collection_id, new_path),
    )


def put_document(
    connection: apsw.Connection,
    collection_id: int,
    collection: str,
    file_id: int,
    path: str,
    prepared: PreparedDocument,
    at: str,
    batch: IndexBatch,
) -> str:
    """Insert or replace one document of a file, with its chunks, index entries, tags and links; its key."""
    text_id = _put_text(connection, prepared.content_hash, prepared.read.text)
    existing = fetch_one(
        connection, "SELECT id, source_key FROM documents WHERE file_id = ? AND part = ?", (file_id, prepared.part)
    )
    if existing is None:
        place = f"{path}#{prepared.part}" if prepared.part else path
        key = mint_key(
            prepared.source_type, collection, path, prepared.part, lambda key: _is_taken(connection, key, place)
        )
        document_id = _insert_document(connection, key, collection_id, file_id, text_id, path, prepared, at)
        connection.execute("INSERT INTO key_history VALUES (?,?,?)", (key, place, at))
    else:
        document_id, key = int(existing[0]), str(existing[1])
        _clear_derived(connection, document_id, batch)
        _update_document(connection, document_id, text_id, path, prepared)
    connection.execute(
        "INSERT INTO versions VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET sections=excluded.sections",
        (document_id, text_id, at, sections_json(prepared.read.sections)),
    )
    first = batch.take(document_id, prepared.source_type, prepared.kind, [chunk.terms for chunk in prepared.chunks])
    _put_chunks(connection, document_id, prepared.chunks, first)
    _put_names(connection, document_id, prepared)
    return key


def sections_json(sections: Iterable[Section]) -> str:
    listed = [{"role": s.role, "start": s.start, "end": s.end, "heading": s.heading, "page": s.page} for s in sections]
    return _json(listed)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _put_text(connection: apsw.Connection, digest: str, text: str) -> int:
    found = fetch_one(connection, "SELECT id FROM texts WHERE content_hash = ?", (digest,))
    if found is not None:
        return int(found[0])
    connection.execute("INSERT INTO texts(content_hash, length) VALUES (?,?)", (digest, len(text)))
    text_id = connection.last_insert_rowid()
    blocks = ((text_id, at, text[at : at + TEXT_BLOCK_CHARS]) for at in range(0, len(text), TEXT_BLOCK_CHARS))
    connection.executemany("INSERT INTO text_blocks VALUES (?,?,?)", blocks)
    return text_id


def _is_taken(connection: apsw.Connection, key: str, path: str) -> bool:
    """A key is never given to another document, since past runs cite it; a file that comes back gets its own again."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM documents WHERE source_key = ?1)"
        " OR EXISTS (SELECT 1 FROM key_history WHERE source_key = ?1 AND path != ?2)"
    )
    return bool(fetch_value(connection, sql, (key, path)))


def _insert_document(
    connection: apsw.Connection,
    key: str,
    collection_id: int,
    file_id: int,
    text_id: int,
    path: str,
    prepared: PreparedDocument,
    at: str,
) -> int:
    read = prepared.read
    connection.execute(
        "INSERT INTO documents(source_key, file_id, part, collection_id, kind, source_type, title, text_id,"
        " note_path, url, canonical_url, author, language, aliases, created, saved, modified, dated, meta_text)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            key,
            file_id,
            prepared.part,
            collection_id,
            prepared.kind,
            prepared.source_type,
            prepared.title,
            text_id,
            path,
            read.url,
            prepared.canonical_url,
            read.author,
            prepared.language,
            _json(prepared.aliases),
            read.created,
            prepared.saved or at,
            read.modified,
            read.modified or read.created or prepared.saved or at,
            read.meta_text,
        ),
    )
    return connection.last_insert_rowid()


def _update_document(
    connection: apsw.Connection, document_id: int, text_id: int, path: str, prepared: PreparedDocument
) -> None:
    read = prepared.read
    connection.execute(
        "UPDATE documents SET title=?, text_id=?, note_path=?, url=?, canonical_url=?, author=?, language=?, aliases=?,"
        " created=?, modified=?, dated=coalesce(?, ?, saved), meta_text=? WHERE id=?",
        (
            prepared.title,
            text_id,
            path,
            read.url,
            prepared.canonical_url,
            read.author,
            prepared.language,
            _json(prepared.aliases),
            read.created,
            read.modified,
            read.modified,
            read.created,
            read.meta_text,
            document_id,
        ),
    )


def _clear_derived(connection: apsw.Connection, document_id: int, batch: IndexBatch) -> None:
    ids = [int(row[0]) for row in fetch_rows(connection, "SELECT id FROM chunks WHERE document_id = ?", (document_id,))]
    batch.gone.extend(ids)
    clear(connection, document_id)
    for table in ("chunks", "tags", "link_names", "links"):
        connection.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))


def _put_chunks(connection: apsw.Connection, document_id: int, chunks: tuple[PreparedChunk, ...], first: int) -> None:
    connection.executemany(
        "INSERT INTO chunks(id, document_id, ordinal, start, end, role, heading_path, page, content_hash)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        (
            (
                *(number, document_id, chunk.ordinal, chunk.start, chunk.end, chunk.role),
                *(_json(chunk.heading_path), chunk.page, prepared.content_hash),
            )
            for number, prepared, chunk in ((n, p, p.chunk) for n, p in enumerate(chunks, start=first))
        ),
    )


def _put_names(connection: apsw.Connection, document_id: int, prepared: PreparedDocument) -> None:
    connection.executemany(
        "INSERT INTO tags VALUES (?,?,?)", ((document_id, written, folded) for written, folded in prepared.tags)
    )
    names = [(document_id, name, int(is_alias)) for name, is_alias in prepared.names]
    # A bookmark or a star points at a page; only the page itself is what a link to that address means.
    if prepared.canonical_url and not prepared.part and (name := url_name(prepared.canonical_url)):
        names.append((document_id, name, 0))
    connection.executemany("INSERT OR IGNORE INTO link_names VALUES (?,?,?)", names)
    connection.executemany(
        "INSERT INTO links(document_id, kind, target, name, heading, block, alias, start, end)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        (
            (document_id, link.kind, link.target, name, link.heading, link.block, link.alias, link.start, link.end)
            for link, name in ((entry.link, entry.name) for entry in prepared.links)
        ),
    )


def put_exclusions(
    connection: apsw.Connection, collection_id: int, scope: str, excluded: Iterable[tuple[str, str]]
) -> None:
    """Replace what rules keep out at or below the scope of a sync."""
    connection.execute(
        "DELETE FROM exclusions WHERE collection_id = ?1"
        " AND (?2 = '' OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/')",
        (collection_id, scope),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO exclusions VALUES (?,?,?)", ((collection_id, path, rule) for path, rule in excluded)
    )


def delete_file(connection: apsw.Connection, file_id: int, batch: IndexBatch) -> list[str]:
    """Forget a file, its documents and everything derived from them; the keys that are gone."""
    gone: list[str] = []
    rows = fetch_rows(connection, "SELECT id, source_key FROM documents WHERE file_id = ?", (file_id,))
    for document_id, key in rows:
        delete_document(connection, int(document_id), batch)
        gone.append(str(key))
    connection.execute("DELETE FROM files WHERE id = ?", (file_id,))
    return gone


def drop_parts(connection: apsw.Connection, file_id: int, kept: Iterable[str], batch: IndexBatch) -> None:
    """Forget documents that a file no longer holds."""
    staying = set(kept)
    for document_id, part in fetch_rows(connection, "SELECT id, part FROM documents WHERE file_id = ?", (file_id,)):
        if part not in staying:
            delete_document(connection, int(document_id), batch)


def delete_document(connection: apsw.Connection, document_id: int, batch: IndexBatch) -> None:
    """Forget one document with its texts, unless another document has the same text."""
    texts = [
        text_id
        for (text_id,) in fetch_rows(connection, "SELECT text_id FROM versions WHERE document_id = ?", (document_id,))
    ]
    _clear_derived(connection, document_id, batch)
    connection.execute("DELETE FROM versions WHERE document_id = ?", (document_id,))
    connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
    _drop_texts(connection, texts)


def _drop_texts(connection: apsw.Connection, text_ids: Iterable[int]) -> None:
    """Forget texts that no document has and no run cites any more."""
    for text_id in text_ids:
        connection.execute(
            "DELETE FROM texts WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM versions WHERE text_id = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM kept_texts WHERE text_id = ?1)",
            (text_id,),
        )


def keep_text(connection: apsw.Connection, run_id: str, key: str, content_hash: str) -> bool:
    """Keep a text for as long as a run exists; False where it is no longer there."""
    row = fetch_one(
        connection,
        "SELECT x.id, json_object('kind', d.kind, 'source_type', d.source_type, 'collection', o.name, 'title', d.title,"
        " 'note_path', d.note_path, 'url', d.url, 'author', d.author, 'language', d.language)"
        " FROM versions v JOIN texts x ON x.id = v.text_id JOIN documents d ON d.id = v.document_id"
        " JOIN collections o ON o.id = d.collection_id WHERE d.source_key = ? AND x.content_hash = ?",
        (key, content_hash),
    )
    if row is None:
        return False
    connection.execute("INSERT OR IGNORE INTO kept_texts VALUES (?,?,?,?)", (row[0], key, run_id, row[1]))
    return True


def release_texts(connection: apsw.Connection, run_id: str) -> None:
    """A run is forgotten: the texts it kept go with it, unless something else needs them."""
    ids = [int(row[0]) for row in fetch_rows(connection, "SELECT text_id FROM kept_texts WHERE run_id = ?", (run_id,))]
    connection.execute("DELETE FROM kept_texts WHERE run_id = ?", (run_id,))
    _drop_texts(connection, ids)
