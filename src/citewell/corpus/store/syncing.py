"""Bringing `corpus.db` into step with the disk: collections, batches of files, what is gone. Within a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw

from citewell.corpus.keys import slug
from citewell.corpus.store import lexical, linking, postings_writing, reporting, writing
from citewell.database.sqlite import fetch_one, fetch_rows
from citewell.domain.errors import BadInput, WorkFailed
from citewell.domain.sync import FileOutcome, KnownFile, OpenCollection
from citewell.domain.values import dataclass


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
    batch = postings_writing.open_batch(connection)
    names: set[str] = set()
    file_ids: set[int] = set()
    for outcome in outcomes:
        path = outcome.facts.path
        # Another process may have moved or forgotten the file meanwhile: then there is nothing left to move.
        old_id = _file_at(connection, collection.id, outcome.renamed_from) if outcome.renamed_from else None
        if outcome.renamed_from and old_id is not None:
            names |= linking.names_in_file(connection, old_id)
            writing.move_file(connection, collection.id, outcome.renamed_from, path, at, batch)
        file_id = writing.put_file(
            connection, collection.id, outcome.facts, outcome.status, outcome.reason, at, reader_version
        )
        before = linking.ways_into(connection, file_id)
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


def finish(
    connection: apsw.Connection,
    collection: OpenCollection,
    gone: Sequence[KnownFile],
    excluded: Sequence[tuple[str, str]],
    at: str,
) -> None:
    """Forget files that are no longer there; note what rules kept out and when the collection was in step."""
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


def forget(connection: apsw.Connection, keys: Sequence[str]) -> None:
    """Forget documents with their texts and derived data; no word of them stays in the indexes that rank."""
    batch = postings_writing.open_batch(connection)
    names: dict[int, set[str]] = {}
    for key in keys:
        row = fetch_one(connection, "SELECT file_id, collection_id, id FROM documents WHERE source_key = ?", (key,))
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


def drop_empty_collections(connection: apsw.Connection, under: Path | None) -> tuple[str, ...]:
    """Forget collections that hold nothing any more."""
    dropped: list[str] = []
    for info in reporting.collections(connection):
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
