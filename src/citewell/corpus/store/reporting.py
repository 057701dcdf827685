"""Reports from `corpus.db`: collections, every file and how it fared, what was kept out, counts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from citewell.corpus.store.reading import chunk_count
from citewell.database.sqlite import fetch_rows, fetch_value
from citewell.domain.library import CollectionInfo, Exclusion, FileRecord, Stats


def collections(connection: apsw.Connection) -> tuple[CollectionInfo, ...]:
    rows = fetch_rows(
        connection,
        "SELECT o.name, o.root, (SELECT count(*) FROM documents d WHERE d.collection_id = o.id),"
        " (SELECT count(*) FROM files f WHERE f.collection_id = o.id), o.last_sync, o.excludes"
        " FROM collections o ORDER BY o.name",
    )
    return tuple(
        CollectionInfo(str(name), str(root), int(documents), int(files), last, tuple(json.loads(str(excludes))))
        for name, root, documents, files, last, excludes in rows
    )


def files(connection: apsw.Connection) -> tuple[FileRecord, ...]:
    """The coverage report: every file ever seen and how it fared."""
    rows = fetch_rows(
        connection,
        "SELECT f.path, f.status, f.reason, f.at, o.name, (SELECT min(source_key) FROM documents WHERE file_id = f.id)"
        " FROM files f JOIN collections o ON o.id = f.collection_id ORDER BY o.name, f.path",
    )
    return tuple(FileRecord(*row) for row in rows)


def exclusions(connection: apsw.Connection) -> tuple[Exclusion, ...]:
    """What rules kept out at the last sync of each collection."""
    rows = fetch_rows(
        connection,
        "SELECT o.name, e.path, e.rule FROM exclusions e JOIN collections o ON o.id = e.collection_id ORDER BY 1, 2",
    )
    return tuple(Exclusion(str(name), str(path), str(rule)) for name, path, rule in rows)


def paths_tagged(connection: apsw.Connection, collection_id: int, folded: Sequence[str]) -> set[str]:
    rows = fetch_rows(
        connection,
        "SELECT DISTINCT f.path FROM tags t JOIN documents d ON d.id = t.document_id JOIN files f ON f.id = d.file_id"
        " JOIN json_each(?1) w ON t.folded = w.value OR substr(t.folded, 1, length(w.value) + 1) = w.value || '/'"
        " WHERE d.collection_id = ?2",
        (json.dumps(list(folded)), collection_id),
    )
    return {str(path) for (path,) in rows}


def count_by(connection: apsw.Connection, table: str, column: str) -> dict[str, int]:
    rows = fetch_rows(connection, f"SELECT coalesce({column}, 'unknown'), count(*) FROM {table} GROUP BY 1 ORDER BY 1")
    return {str(name): int(count) for name, count in rows}


def stats(connection: apsw.Connection, database_bytes: int, schema_version: int) -> Stats:
    def number(sql: str) -> int:
        return int(fetch_value(connection, sql))

    return Stats(
        documents=number("SELECT count(*) FROM documents"),
        chunks=chunk_count(connection),
        characters=number("SELECT coalesce(sum(x.length), 0) FROM documents d JOIN texts x ON x.id = d.text_id"),
        links=number("SELECT count(*) FROM links"),
        resolved_links=number("SELECT count(*) FROM links WHERE coalesce(target_id, target_file_id) IS NOT NULL"),
        tags=number("SELECT count(DISTINCT folded) FROM tags"),
        collections=number("SELECT count(*) FROM collections"),
        by_source_type=count_by(connection, "documents", "source_type"),
        by_language=count_by(connection, "documents", "language"),
        by_file_status=count_by(connection, "files", "status"),
        database_bytes=database_bytes,
        schema_version=schema_version,
        vectors=number("SELECT count(*) FROM chunks WHERE id <= (SELECT last_chunk FROM vector_state)"),
    )
