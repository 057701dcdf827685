"""The full-text index of `corpus.db` as the lexical lane sees it: FTS5 over terms that text/words.py made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from citewell.store.bm25 import IndexBatch
from citewell.store.port import Candidate, CorpusMatches, Filters, LexicalQuery, Phrase
from citewell.store.read import DOCUMENT_COLUMNS, condition, document_from, listed
from citewell.store.sqlite import fetch_one, fetch_rows
from citewell.text.documents import Chunk, Document

# A long document may fill the top with its own chunks; looking deeper keeps room for the others.
_CHUNKS_A_DOCUMENT = 6


def write_batch(connection: apsw.Connection, batch: IndexBatch) -> None:
    """Bring the full-text index into step. At the end of a transaction, because FTS5 writes what it holds in memory to
    disk whenever another statement needs a savepoint."""
    connection.executemany("DELETE FROM chunk_terms WHERE rowid = ?", ((chunk_id,) for chunk_id in batch.gone))
    connection.executemany(
        "INSERT INTO chunk_terms(rowid, title, headings, body, tags, compounds) VALUES (?,?,?,?,?,?)",
        ((number, t.title, t.headings, t.body, t.tags, t.compounds) for number, t in batch.chunks),
    )


def match_expression(query: LexicalQuery) -> str:
    """The query in FTS5's syntax. Every word is quoted, so nothing a user types is an operator."""
    groups = [" OR ".join(quoted(form) for form in term.forms) for term in query.terms]
    groups += [" OR ".join(quoted(form) for form in phrase.forms) for phrase in query.phrases]
    return " OR ".join(f"({group})" for group in groups if group)


def quoted(form: str) -> str:
    return '"' + form.replace('"', '""') + '"'


def rank(connection: apsw.Connection, query: LexicalQuery, filters: Filters, limit: int) -> list[Candidate]:
    """The best chunk of each of the best documents that the filters let through, by FTS5's own ranking."""
    expression = match_expression(query)
    if not expression:
        return []
    where = condition(filters)
    rows = fetch_rows(
        connection,
        f"SELECT t.rank, c.ordinal, c.start, c.end, c.role, c.heading_path, c.page, {DOCUMENT_COLUMNS}"
        " FROM chunk_terms t JOIN chunks c ON c.id = t.rowid JOIN documents d ON d.id = c.document_id"
        " JOIN texts x ON x.id = d.text_id JOIN collections o ON o.id = d.collection_id"
        f" WHERE t.chunk_terms MATCH ? AND {where.sql} ORDER BY t.rank, c.id LIMIT ?",
        (expression, *where.bindings, limit * _CHUNKS_A_DOCUMENT),
    )
    best: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        best.setdefault(int(row[7]), row)
    tags = tags_of(connection, list(best))
    return [_candidate(row, tags) for row in best.values()][:limit]


def candidates(connection: apsw.Connection, scored: Sequence[tuple[int, float]]) -> list[Candidate]:
    """These chunks with their documents, in the order given."""
    rows = fetch_rows(
        connection,
        f"SELECT c.id, c.ordinal, c.start, c.end, c.role, c.heading_path, c.page, {DOCUMENT_COLUMNS}"
        " FROM chunks c JOIN documents d ON d.id = c.document_id"
        " JOIN texts x ON x.id = d.text_id JOIN collections o ON o.id = d.collection_id"
        " WHERE c.id IN (SELECT value FROM json_each(?))",
        (json.dumps([chunk_id for chunk_id, _ in scored]),),
    )
    tags = tags_of(connection, [int(row[7]) for row in rows])
    by_id = {int(row[0]): row for row in rows}
    return [_candidate((-score, *by_id[chunk_id][1:]), tags) for chunk_id, score in scored if chunk_id in by_id]


def chunks_with(connection: apsw.Connection, phrase: Phrase) -> list[int]:
    """The chunks that have a phrase, in rising order."""
    expression = " OR ".join(quoted(form) for form in phrase.forms)
    if not expression:
        return []
    sql = "SELECT rowid FROM chunk_terms WHERE chunk_terms MATCH ? ORDER BY rowid"
    return [int(chunk_id) for (chunk_id,) in fetch_rows(connection, sql, (expression,))]


def _candidate(row: tuple[Any, ...], tags: dict[int, tuple[str, ...]]) -> Candidate:
    score, ordinal, start, end, role, path, page = row[:7]
    document: Document = document_from(row[7:], tags.get(int(row[7]), ()))
    chunk = Chunk(
        chunk_id=f"{document.content_hash[:12]}:{start}-{end}",
        ordinal=int(ordinal),
        start=int(start),
        end=int(end),
        role=role,
        heading_path=listed(str(path)),
        page=page,
    )
    return Candidate(chunk, document, -float(score))


def tags_of(connection: apsw.Connection, document_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The tags of documents, as their authors wrote them."""
    found: dict[int, tuple[str, ...]] = {}
    sql = "SELECT document_id, tag FROM tags WHERE document_id IN (SELECT value FROM json_each(?)) ORDER BY 1, folded"
    for document_id, tag in fetch_rows(connection, sql, (json.dumps(sorted(set(document_ids))),)):
        found[document_id] = (*found.get(document_id, ()), tag)
    return found


def count_matches(connection: apsw.Connection, query: LexicalQuery, filters: Filters) -> CorpusMatches:
    """How many documents match any word of the query, shown or not."""
    expression = match_expression(query)
    if not expression:
        return CorpusMatches(0, 0)
    where = condition(filters)
    rows = fetch_rows(
        connection,
        "SELECT d.kind, count(DISTINCT d.id) FROM chunk_terms t JOIN chunks c ON c.id = t.rowid"
        f" JOIN documents d ON d.id = c.document_id WHERE t.chunk_terms MATCH ? AND {where.sql} GROUP BY d.kind",
        (expression, *where.bindings),
    )
    counts = {str(kind): int(count) for kind, count in rows}
    return CorpusMatches(counts.get("item", 0), counts.get("source", 0))


def frequencies(connection: apsw.Connection, forms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each form occurs; forms that occur nowhere are left out."""
    found: dict[str, int] = {}
    for form in set(forms):
        row = fetch_one(connection, "SELECT doc FROM chunk_vocabulary WHERE term = ?", (form,))
        if row is not None:
            found[form] = int(row[0])
    return found
