"""Bringing `corpus.db` into step with the disk: collections, batches of files, what is gone. Within a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from citewell.errors import BadInput, WorkFailed
from citewell.store import bm25_write, fulltext, read, update
from citewell.store.links import LinkTarget, choose_target, names_of
from citewell.store.port import FileOutcome, KnownFile, OpenCollection
from citewell.store.sqlite import fetch_one, fetch_rows
from citewell.text.documents import slug

# Pointing links at what they mean: a document, or a file that is none but is known to the coverage report.


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


def _candidates(connection: apsw.Connection, collection_id: int, names: set[str]) -> dict[str, list[LinkTarget]]:
    """What answers to each name: of this collection, or anywhere for a web address; pages before notes on them."""
    found: dict[str, list[LinkTarget]] = {}
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
        found.setdefault(name, []).append(LinkTarget(document_id, path, bool(is_alias), file_id))
    return found


def _resolve(
    kind: str, target: str, name: str, source_path: str, own_id: int, candidates: dict[str, list[LinkTarget]]
) -> tuple[int | None, int | None]:
    """The document or the file a link leads to, as their numbers."""
    if not name:
        return (own_id if kind != "url" else None), None
    fitting = candidates.get(name, [])
    chosen = next(iter(fitting), None) if kind == "url" else choose_target(target, source_path, fitting)
    return (None, None) if chosen is None else (chosen.document_id, chosen.file_id)


def open_collection(
    connection: apsw.Connection, path: Path, is_folder: bool, name: str | None, excludes: Sequence[str]
) -> OpenCollection:
    """The collection a path belongs to; a new one, rooted at the path or at its folder, where there is none."""
    home = collection_holding(connection, path)
    if home is not None:
        return _reopen(connection, home, path, name, excludes)
    root = path if is_folder else path.parent
    chosen = _free_name(connection, name, root)
    connection.execute(
        "INSERT INTO collections(name, root, excludes, created_at) VALUES (?,?,?, strftime('%FT%TZ'))",
        (chosen, str(root), json.dumps(list(excludes), ensure_ascii=False)),
    )
    scope = "" if is_folder else path.name
    return OpenCollection(connection.last_insert_rowid(), chosen, str(root), scope, tuple(excludes))


def known_files(connection: apsw.Connection, collection_id: int, scope: str) -> dict[str, KnownFile]:
    """Every file of a collection at or below the scope, by path."""
    rows = fetch_rows(
        connection,
        "SELECT f.id, f.path, f.size, f.mtime_ns, f.file_hash, f.status, f.reason, f.reader_version,"
        " (SELECT min(source_key) FROM documents WHERE file_id = f.id) FROM files f WHERE f.collection_id = ?1"
        " AND (?2 = '' OR f.path = ?2 OR substr(f.path, 1, length(?2) + 1) = ?2 || '/')",
        (collection_id, scope),
    )
    return {file.path: file for file in (KnownFile(*row) for row in rows)}


def write_files(
    connection: apsw.Connection,
    collection: OpenCollection,
    outcomes: Iterable[FileOutcome],
    at: str,
    reader_version: int,
) -> None:
    """Write a batch of files, links resolved and indexes in step."""
    _check_still_there(connection, collection)
    batch = bm25_write.open_batch(connection)
    names: set[str] = set()
    file_ids: set[int] = set()
    for outcome in outcomes:
        path = outcome.facts.path
        # Another process may have moved or forgotten the file meanwhile: then there is nothing left to move.
        old_id = _file_at(connection, collection.id, outcome.renamed_from) if outcome.renamed_from else None
        if outcome.renamed_from and old_id is not None:
            names |= names_in_file(connection, old_id)
            update.move_file(connection, collection.id, outcome.renamed_from, path, at, batch)
        file_id = update.put_file(
            connection, collection.id, outcome.facts, outcome.status, outcome.reason, at, reader_version
        )
        before = ways_into(connection, file_id)
        if not outcome.keeps_document:
            update.drop_parts(connection, file_id, [document.part for document in outcome.documents], batch)
        home = (collection.id, collection.name, file_id, path)
        for document in outcome.documents:
            update.put_document(connection, *home, document, at, batch)
        put_file_names(connection, file_id, path)
        names |= {name for name, _ in before ^ ways_into(connection, file_id)}
        file_ids.add(file_id)
    resolve_links(connection, collection.id, names, file_ids)
    fulltext.write_batch(connection, batch)
    bm25_write.write_batch(connection, batch)


def finish(
    connection: apsw.Connection,
    collection: OpenCollection,
    gone: Sequence[KnownFile],
    excluded: Sequence[tuple[str, str]],
    at: str,
) -> None:
    """Forget files that are no longer there; note what rules kept out and when the collection was in step."""
    batch = bm25_write.open_batch(connection)
    names: set[str] = set()
    for file in gone:
        # Another process may have forgotten it, and its number may be another file's by now.
        if _file_at(connection, collection.id, file.path) == file.file_id:
            names |= names_in_file(connection, file.file_id)
            update.delete_file(connection, file.file_id, batch)
    resolve_links(connection, collection.id, names, set())
    update.put_exclusions(connection, collection.id, collection.scope, excluded)
    fulltext.write_batch(connection, batch)
    bm25_write.write_batch(connection, batch)
    bm25_write.tidy(connection)
    connection.execute("UPDATE collections SET last_sync = ? WHERE id = ?", (at, collection.id))


def forget(connection: apsw.Connection, keys: Sequence[str]) -> None:
    """Forget documents with their texts and derived data; no word of them stays in the indexes that rank."""
    batch = bm25_write.open_batch(connection)
    names: dict[int, set[str]] = {}
    for key in keys:
        row = fetch_one(connection, "SELECT file_id, collection_id, id FROM documents WHERE source_key = ?", (key,))
        if row is None:
            continue
        file_id, collection_id = int(row[0]), int(row[1])
        names.setdefault(collection_id, set()).update(names_in_file(connection, file_id))
        update.delete_document(connection, int(row[2]), batch)
        if not fetch_rows(connection, "SELECT 1 FROM documents WHERE file_id = ?", (file_id,)):
            update.delete_file(connection, file_id, batch)
    for collection_id, gone in names.items():
        resolve_links(connection, collection_id, gone, set())
    fulltext.write_batch(connection, batch)
    bm25_write.write_batch(connection, batch)
    bm25_write.forget(connection, batch.gone)


def drop_empty_collections(connection: apsw.Connection, under: Path | None) -> tuple[str, ...]:
    """Forget collections that hold nothing any more."""
    dropped: list[str] = []
    for info in read.collections(connection):
        if info.documents == 0 and (under is None or Path(info.root).is_relative_to(under)):
            connection.execute(
                "DELETE FROM files WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", (info.name,)
            )
            connection.execute("DELETE FROM collections WHERE name = ?", (info.name,))
            dropped.append(info.name)
    return tuple(dropped)


@dataclass(frozen=True, slots=True)
class _Home:
    id: int
    name: str
    root: Path
    excludes: tuple[str, ...]


def collection_holding(connection: apsw.Connection, path: Path) -> _Home | None:
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
    return OpenCollection(home.id, home.name, str(home.root), "" if scope == "." else scope, merged)


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
