"""Pointing links at what they mean: a document, or a file that is none but is known to the coverage report."""

from __future__ import annotations

import json

import apsw

from citewell.corpus.links import Candidate, choose_target, names_of
from citewell.database.sqlite import fetch_rows


def ways_into(connection: apsw.Connection, file_id: int) -> set[tuple[str, int | None]]:
    """The names by which links reach a file, each with the document it stands for, if it is one."""
    sql = (
        "SELECT name, document_id FROM link_names WHERE document_id IN (SELECT id FROM documents WHERE file_id = ?1)"
        " UNION ALL SELECT name, NULL FROM file_names WHERE file_id = ?1"
    )
    return {(name, document_id) for name, document_id in fetch_rows(connection, sql, (file_id,))}


def names_in_file(connection: apsw.Connection, file_id: int) -> set[str]:
    """The names by which links reach a file or the documents in it."""
    return {name for name, _ in ways_into(connection, file_id)}


def put_file_names(connection: apsw.Connection, file_id: int, path: str) -> None:
    """Let links reach a file that is no document: it could not be read, or it holds many."""
    connection.execute("DELETE FROM file_names WHERE file_id = ?", (file_id,))
    if fetch_rows(connection, "SELECT 1 FROM documents WHERE file_id = ? AND part = ''", (file_id,)):
        return
    names = ((file_id, name) for name, _ in names_of(path, ()))
    connection.executemany("INSERT INTO file_names VALUES (?,?)", names)


def resolve_links(connection: apsw.Connection, collection_id: int, names: set[str], file_ids: set[int]) -> None:
    """Point links at their targets: those written in these files, and those that use one of these names."""
    if not names and not file_ids:
        return
    columns = "l.id, l.kind, l.target, l.name, coalesce(d.note_path, ''), l.target_id, l.target_file_id, d.id"
    links = fetch_rows(
        connection,
        f"SELECT {columns} FROM links l JOIN documents d ON d.id = l.document_id"
        " WHERE d.collection_id = ?1 AND d.file_id IN (SELECT value FROM json_each(?2))"
        f" UNION SELECT {columns} FROM links l"
        " JOIN documents d ON d.id = l.document_id WHERE l.name IN (SELECT value FROM json_each(?3))",
        (collection_id, json.dumps(sorted(file_ids)), json.dumps(sorted(names))),
    )
    candidates = _candidates(connection, collection_id, {link[3] for link in links})
    changed = [
        (*chosen, link_id)
        for link_id, kind, target, name, source_path, document_id, file_id, own_id in links
        if (chosen := _resolve(kind, target, name, source_path, own_id, candidates)) != (document_id, file_id)
    ]
    connection.executemany("UPDATE links SET target_id = ?, target_file_id = ? WHERE id = ?", changed)


def _candidates(connection: apsw.Connection, collection_id: int, names: set[str]) -> dict[str, list[Candidate]]:
    """What answers to each name: of this collection, or anywhere for a web address; pages before notes on them."""
    found: dict[str, list[Candidate]] = {}
    rows = fetch_rows(
        connection,
        # CROSS JOIN keeps the order of the tables: SQLite cannot know that the list of names is short.
        "SELECT n.name, d.id, coalesce(d.note_path, ''), n.is_alias, NULL, d.kind != 'source' FROM json_each(?1) j"
        " CROSS JOIN link_names n ON n.name = j.value CROSS JOIN documents d ON d.id = n.document_id"
        " WHERE d.collection_id = ?2 OR n.name GLOB 'url:*'"
        " UNION ALL SELECT n.name, NULL, f.path, 0, f.id, 1 FROM json_each(?1) j"
        " CROSS JOIN file_names n ON n.name = j.value CROSS JOIN files f ON f.id = n.file_id"
        " WHERE f.collection_id = ?2 ORDER BY 6, 2, 5",
        (json.dumps(sorted(names)), collection_id),
    )
    for name, document_id, path, is_alias, file_id, _ in rows:
        found.setdefault(name, []).append(Candidate(document_id, path, bool(is_alias), file_id))
    return found


def _resolve(
    kind: str, target: str, name: str, source_path: str, own_id: int, candidates: dict[str, list[Candidate]]
) -> tuple[int | None, int | None]:
    """The document or the file a link leads to, as their numbers."""
    if not name:
        return (own_id if kind != "url" else None), None
    fitting = candidates.get(name, [])
    chosen = next(iter(fitting), None) if kind == "url" else choose_target(target, source_path, fitting)
    return (None, None) if chosen is None else (chosen.document_id, chosen.file_id)
