"""Summaries in `corpus.db`: which documents lack one, storing them, and finding documents by them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import apsw

from citewell.corpus.store import lexical
from citewell.corpus.store.filters import condition
from citewell.corpus.store.reading import documents_by_ids, find_document
from citewell.database.sqlite import Database, fetch_one, fetch_rows, fetch_value
from citewell.domain.documents import Chunk
from citewell.domain.ports import Candidate
from citewell.domain.queries import Filters, LexicalQuery
from citewell.domain.summaries import Summary, SummaryKind, Unsummarized
from citewell.text.words import index_terms

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
    ) -> Unsummarized | None:
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
            return Unsummarized(place, document, _chunks(connection, place, document.content_hash))

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
    expression = lexical.match_expression(query)
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
    return lexical.candidates(connection, list(best.values())[:limit])


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
