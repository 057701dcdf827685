"""Reading from `corpus.db`: documents, slices of texts, sections, links, counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import apsw

from citewell.store.port import CollectionInfo, Exclusion, FileRecord, Filters, SecretFinding, Stats, TagCount
from citewell.store.sqlite import fetch_one, fetch_rows, fetch_value
from citewell.text.documents import Document, SectionView, fold_tag
from citewell.text.secrets import LONGEST, kinds_of_secrets
from citewell.text.urls import canonical_url

# Filters as SQL conditions on `documents d`; they narrow what is ranked, they never trim what was.


Binding = str | int


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunction to put behind WHERE, with its bindings."""

    sql: str
    bindings: tuple[Binding, ...]


def condition(filters: Filters) -> Condition:
    """The condition a document has to meet; always true where nothing is filtered."""
    parts: list[Condition] = []
    if filters.source_types:
        parts.append(_any_of("d.source_type", filters.source_types))
    if filters.collections:
        inner = _any_of("name", filters.collections)
        sql = f"d.collection_id IN (SELECT id FROM collections WHERE {inner.sql})"
        parts.append(Condition(sql, inner.bindings))
    for tag in filters.tags:
        parts.append(_tagged(tag))
    if filters.only:
        options = [_under(path) for path in filters.only]
        parts.append(Condition(_either(options), _bindings(options)))
    for path in filters.exclude_paths:
        under = _under(path)
        parts.append(Condition(f"NOT {under.sql}", under.bindings))
    for domain in filters.exclude_domains:
        parts.append(_not_from(domain))
    if filters.since:
        parts.append(Condition("d.dated >= ?", (filters.since,)))
    if filters.until:
        # A day means its whole day: compare as many characters as were given.
        parts.append(Condition("substr(d.dated, 1, ?) <= ?", (len(filters.until), filters.until)))
    return Condition(" AND ".join(part.sql for part in parts) or "1", _bindings(parts))


def _any_of(column: str, values: tuple[str, ...]) -> Condition:
    return Condition(f"{column} IN ({','.join('?' * len(values))})", tuple(values))


def _tagged(tag: str) -> Condition:
    folded = fold_tag(tag)
    sql = "d.id IN (SELECT document_id FROM tags WHERE folded = ? OR (folded > ? AND folded < ?))"
    return Condition(sql, (folded, folded + "/", folded + "0"))  # "0" follows "/": everything nested below


def _under(path: str) -> Condition:
    clean = path.strip().strip("/")
    sql = "(coalesce(d.note_path, '') = ? OR substr(coalesce(d.note_path, ''), 1, ?) = ?)"
    return Condition(sql, (clean, len(clean) + 1, clean + "/"))


def _not_from(domain: str) -> Condition:
    name = (canonical_url(domain if "//" in domain else f"https://{domain}") or "").removeprefix("https://")
    sql = "NOT (coalesce(d.canonical_url, '') || '/' LIKE ? OR coalesce(d.canonical_url, '') || '/' LIKE ?)"
    return Condition(sql, (f"https://{name}/%", f"https://%.{name}/%"))


def _either(parts: list[Condition]) -> str:
    return "(" + " OR ".join(part.sql for part in parts) + ")"


def _bindings(parts: list[Condition]) -> tuple[Binding, ...]:
    return tuple(binding for part in parts for binding in part.bindings)


# A long text is stored in blocks of so many characters.
TEXT_BLOCK_CHARS = 65_536
# In the order that `document_from` reads them.
DOCUMENT_COLUMNS = (
    "d.id, d.source_key, d.kind, d.source_type, o.name, d.title, x.content_hash, x.length, d.note_path, d.url,"
    " d.author, d.language, d.aliases, d.created, d.saved, d.modified"
)
# Every language stems the words of a query anew, so one that few documents are in, perhaps by mistake, does not count.
_ALWAYS, _MOST, _LEAST_SHARE = 4, 12, 0.02
FROM_DOCUMENTS = "FROM documents d JOIN texts x ON x.id = d.text_id JOIN collections o ON o.id = d.collection_id"


@lru_cache(maxsize=4_096)
def listed(text: str) -> tuple[str, ...]:
    """The strings of a stored list; remembered, since most documents have none and chunks share their headings."""
    return tuple(json.loads(text))


def document_from(row: Sequence[Any], tags: tuple[str, ...]) -> Document:
    """A document from a row of `DOCUMENT_COLUMNS`."""
    _, key, kind, source_type, collection, title, digest, length, path, url, author, language, aliases, *times = row
    created, saved, modified = times
    return Document(
        source_key=key,
        kind=kind,
        source_type=source_type,
        collection=collection,
        title=title,
        content_hash=digest,
        length=length,
        note_path=path,
        url=url,
        author=author,
        language=language,
        user_tags=tags,
        aliases=listed(str(aliases)),
        created=created,
        saved=saved,
        modified=modified,
    )


def find_document(connection: apsw.Connection, key: str) -> Document | None:
    """The document with this key."""
    row = fetch_one(connection, f"SELECT {DOCUMENT_COLUMNS} {FROM_DOCUMENTS} WHERE d.source_key = ?", (key,))
    return None if row is None else document_from(row, _tags(connection, int(row[0])))


def documents_by_ids(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, Document]:
    rows = fetch_rows(
        connection,
        f"SELECT {DOCUMENT_COLUMNS} {FROM_DOCUMENTS} WHERE d.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {int(row[0]): document_from(row, _tags(connection, int(row[0]))) for row in rows}


def keys_under(connection: apsw.Connection, root: str, path: str) -> list[str]:
    """The keys of documents at or below a path of the collection with this root."""
    rows = fetch_rows(
        connection,
        "SELECT d.source_key FROM documents d JOIN collections o ON o.id = d.collection_id WHERE o.root = ?1"
        " AND (?2 = '' OR d.note_path = ?2 OR substr(d.note_path, 1, length(?2) + 1) = ?2 || '/') ORDER BY 1",
        (root, path),
    )
    return [str(key) for (key,) in rows]


def similar_keys(connection: apsw.Connection, fragment: str, limit: int = 3) -> list[str]:
    """Keys that contain what the user typed: what they may have meant."""
    wanted = fragment.partition(":")[2] or fragment
    rows = fetch_rows(
        connection,
        "SELECT source_key FROM documents WHERE instr(source_key, ?1) > 0 ORDER BY length(source_key), 1 LIMIT ?2",
        (wanted.lower(), limit),
    )
    return [str(key) for (key,) in rows]


def _tags(connection: apsw.Connection, document_id: int) -> tuple[str, ...]:
    rows = fetch_rows(connection, "SELECT tag FROM tags WHERE document_id = ? ORDER BY folded", (document_id,))
    return tuple(str(tag) for (tag,) in rows)


def text_length(connection: apsw.Connection, key: str, content_hash: str) -> int | None:
    """The length of one of a document's texts, or None where it never had that text."""
    row = fetch_one(
        connection,
        "SELECT x.length FROM versions v JOIN texts x ON x.id = v.text_id JOIN documents d ON d.id = v.document_id"
        " WHERE d.source_key = ? AND x.content_hash = ?",
        (key, content_hash),
    )
    return None if row is None else int(row[0])


def find_kept(connection: apsw.Connection, key: str, content_hash: str) -> Document | None:
    """A document as a run cited it, after it is gone from the corpus."""
    row = fetch_one(
        connection,
        "SELECT k.document, x.length FROM kept_texts k JOIN texts x ON x.id = k.text_id"
        " WHERE k.source_key = ? AND x.content_hash = ? LIMIT 1",
        (key, content_hash),
    )
    if row is None:
        return None
    return Document(source_key=key, content_hash=content_hash, length=int(row[1]), **json.loads(row[0]))


def text_slice(connection: apsw.Connection, content_hash: str, start: int, end: int) -> str:
    """`text[start:end]` of a stored text, reading only the blocks that hold it."""
    if end <= start:
        return ""
    first = start - start % TEXT_BLOCK_CHARS
    rows = fetch_rows(
        connection,
        "SELECT b.body FROM text_blocks b JOIN texts x ON x.id = b.text_id"
        " WHERE x.content_hash = ? AND b.start >= ? AND b.start < ? ORDER BY b.start",
        (content_hash, first, end),
    )
    return "".join(str(body) for (body,) in rows)[start - first : end - first]


def text_slices(connection: apsw.Connection, spans: Sequence[tuple[str, int, int]]) -> list[str]:
    """Several slices at once; those within one block cost one row each."""
    rows = fetch_rows(
        connection,
        "SELECT j.key, substr(b.body, (j.value ->> 1) - b.start + 1, (j.value ->> 2) - (j.value ->> 1)), b.start,"
        " length(b.body) FROM json_each(?) j JOIN texts x ON x.content_hash = j.value ->> 0"
        " JOIN text_blocks b ON b.text_id = x.id AND b.start = (j.value ->> 1) - (j.value ->> 1) % ?",
        (json.dumps([list(span) for span in spans]), TEXT_BLOCK_CHARS),
    )
    found = {int(key): (str(text), int(start) + int(length)) for key, text, start, length in rows}
    slices: list[str] = []
    for number, (digest, start, end) in enumerate(spans):
        text, block_end = found.get(number, ("", 0))
        slices.append(text if end <= block_end else text_slice(connection, digest, start, end))
    return slices


def sections_between(
    connection: apsw.Connection, key: str, content_hash: str, start: int, end: int
) -> tuple[SectionView, ...]:
    """The sections of a document's text that overlap a span."""
    return sections_of(connection, [(key, content_hash, start, end)])[0]


def sections_of(
    connection: apsw.Connection, spans: Sequence[tuple[str, str, int, int]]
) -> list[tuple[SectionView, ...]]:
    """The same for several spans at once."""
    rows = fetch_rows(
        connection,
        "SELECT j.key, v.sections FROM json_each(?) j CROSS JOIN documents d ON d.source_key = j.value ->> 0"
        " CROSS JOIN texts x ON x.content_hash = j.value ->> 1"
        " CROSS JOIN versions v ON v.document_id = d.id AND v.text_id = x.id",
        (json.dumps([span[:2] for span in spans]),),
    )
    stored = {int(number): str(sections) for number, sections in rows}
    return [_overlapping(stored.get(number, "[]"), *span[2:]) for number, span in enumerate(spans)]


def _overlapping(stored: str, start: int, end: int) -> tuple[SectionView, ...]:
    return tuple(SectionView(**one) for one in json.loads(stored) if one["start"] < end and one["end"] > start)


def languages(connection: apsw.Connection, known: frozenset[str]) -> tuple[str, ...]:
    """The languages documents are in, of those known, the most common first."""
    rows = fetch_rows(
        connection,
        "SELECT language, count(*) FROM documents WHERE language IS NOT NULL GROUP BY language ORDER BY 2 DESC, 1",
    )
    total = sum(int(count) for _, count in rows)
    found = [(str(language), int(count)) for language, count in rows if language in known]
    common = (
        language for rank, (language, count) in enumerate(found) if rank < _ALWAYS or count > _LEAST_SHARE * total
    )
    return tuple(common)[:_MOST]


def chunk_count(connection: apsw.Connection) -> int:
    return int(fetch_value(connection, "SELECT count(*) FROM chunks"))


def eligible_documents(connection: apsw.Connection, filters: Filters) -> int:
    """How many documents the filters let through."""
    where = condition(filters)
    return int(fetch_value(connection, f"SELECT count(*) FROM documents d WHERE {where.sql}", where.bindings))


def exact_tags(connection: apsw.Connection, folded: Sequence[str], filters: Filters) -> list[TagCount]:
    """Which of these tags exist, with how many documents carry each."""
    where = condition(filters)
    rows = fetch_rows(
        connection,
        "SELECT min(t.tag), count(*) FROM tags t JOIN documents d ON d.id = t.document_id"
        f" WHERE t.folded IN (SELECT value FROM json_each(?)) AND {where.sql} GROUP BY t.folded ORDER BY 2 DESC, 1",
        (json.dumps(list(folded)), *where.bindings),
    )
    return [TagCount(str(tag), int(count)) for tag, count in rows]


def tagged_documents(connection: apsw.Connection, folded: Sequence[str], filters: Filters, limit: int) -> list[int]:
    """Documents that carry any of these tags: most of the tags first, then the newest."""
    where = condition(filters)
    rows = fetch_rows(
        connection,
        "SELECT d.id FROM tags t JOIN documents d ON d.id = t.document_id WHERE t.folded IN"
        f" (SELECT value FROM json_each(?)) AND {where.sql}"
        " GROUP BY d.id ORDER BY count(*) DESC, d.dated DESC, d.id LIMIT ?",
        (json.dumps(list(folded)), *where.bindings, limit),
    )
    return [int(document_id) for (document_id,) in rows]


# Reports from `corpus.db`: collections, every file and how it fared, what was kept out, counts.


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


# Which documents of `corpus.db` seem to hold a secret: where and of what kind, never the value.


_TEXTS = """
SELECT d.source_key, o.name, coalesce(d.note_path, ''), b.body
FROM documents d JOIN collections o ON o.id = d.collection_id JOIN text_blocks b ON b.text_id = d.text_id
ORDER BY o.name, d.note_path, d.id, b.start
"""


def find_secrets(connection: apsw.Connection) -> Iterator[SecretFinding]:
    """Look through every current text, block by block; a document comes once for each kind it holds."""
    current, before, kinds = "", "", set[str]()
    for key, collection, path, body in connection.execute(_TEXTS):
        if key != current:
            current, before, kinds = str(key), "", set()
        for kind in kinds_of_secrets(before + str(body)):
            if kind not in kinds:
                kinds.add(kind)
                yield SecretFinding(str(collection), str(path), current, kind)
        before = str(body)[-LONGEST:]
