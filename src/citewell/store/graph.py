"""Names and links of many documents at once, for topics and entities. Every query is bounded and goes by an index."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from citewell.store.fulltext import quoted, tags_of
from citewell.store.links import fold_name
from citewell.store.port import Filters, GraphLink, KnownName, RelatedDocument, WrittenLink
from citewell.store.read import DOCUMENT_COLUMNS, FROM_DOCUMENTS, condition, document_from, documents_by_ids
from citewell.store.sqlite import fetch_rows
from citewell.text.documents import Attachment, Document

_TITLED = 200
_LINKS_AROUND = 600
_LINKS_WRITTEN = 3_000
_NEAR_NAMES = 4_000

_AROUND = """
SELECT s.source_key, t.source_key, l.kind, count(*) AS links FROM links l
JOIN documents s ON s.id = l.document_id JOIN documents t ON t.id = l.target_id
WHERE l.document_id IN (SELECT id FROM documents WHERE source_key IN (SELECT value FROM json_each(?1)))
AND l.target_id IS NOT NULL AND l.target_id != l.document_id GROUP BY 1, 2, 3
UNION
SELECT s.source_key, t.source_key, l.kind, count(*) AS links FROM links l
JOIN documents s ON s.id = l.document_id JOIN documents t ON t.id = l.target_id
WHERE l.target_id IN (SELECT id FROM documents WHERE source_key IN (SELECT value FROM json_each(?1)))
AND l.target_id IS NOT NULL AND l.target_id != l.document_id GROUP BY 1, 2, 3
ORDER BY 4 DESC, 1, 2, 3 LIMIT ?2
"""


def documents_by_keys(connection: apsw.Connection, keys: Sequence[str], filters: Filters) -> list[Document]:
    """The documents with these keys that the filters let through, in the order of the keys."""
    where = condition(filters)
    rows = fetch_rows(
        connection,
        f"SELECT {DOCUMENT_COLUMNS} {FROM_DOCUMENTS} WHERE d.source_key IN (SELECT value FROM json_each(?))"
        f" AND {where.sql}",
        (json.dumps(list(keys)), *where.bindings),
    )
    tags = tags_of(connection, [int(row[0]) for row in rows])
    found = {str(row[1]): document_from(row, tags.get(int(row[0]), ())) for row in rows}
    return [found[key] for key in dict.fromkeys(keys) if key in found]


def documents_named(connection: apsw.Connection, name: str, forms: Sequence[str]) -> list[Document]:
    """Documents whose title or aliases hold this name; `forms` are the stems of the whole name in each language."""
    keys = [
        str(key)
        for (key,) in fetch_rows(
            connection,
            "SELECT d.source_key FROM link_names n JOIN documents d ON d.id = n.document_id WHERE n.name = ?"
            " ORDER BY 1 LIMIT ?",
            (fold_name(name.strip()), _TITLED),
        )
    ]
    expression = " OR ".join(quoted(form) for form in forms if form)
    if expression:
        rows = fetch_rows(
            connection,
            "SELECT d.source_key FROM chunk_terms t JOIN chunks c ON c.id = t.rowid"
            " JOIN documents d ON d.id = c.document_id WHERE t.chunk_terms MATCH ? AND c.ordinal = 0"
            " ORDER BY t.rank, c.id LIMIT ?",
            (f"title : ({expression})", _TITLED),
        )
        keys += [str(key) for (key,) in rows]
    return documents_by_keys(connection, keys, Filters())


def documents_called(connection: apsw.Connection, names: Sequence[str]) -> list[tuple[str, Document]]:
    """Documents by the names a link may use for them, each with the name it was found by."""
    rows = fetch_rows(
        connection,
        "SELECT n.name, d.source_key FROM link_names n JOIN documents d ON d.id = n.document_id"
        " WHERE n.name IN (SELECT value FROM json_each(?)) ORDER BY 1, 2 LIMIT ?",
        (json.dumps([fold_name(name) for name in names]), _TITLED),
    )
    found = {one.source_key: one for one in documents_by_keys(connection, [str(key) for _, key in rows], Filters())}
    return [(str(name), found[str(key)]) for name, key in rows]


def near_names(connection: apsw.Connection, name: str) -> list[KnownName]:
    """Names to choose a suggestion from: all of a small corpus, those that begin alike of a large one."""
    start = fold_name(name.strip())[:1]
    columns = "SELECT n.name, d.title, n.is_alias FROM link_names n JOIN documents d ON d.id = n.document_id"
    rows = fetch_rows(
        connection,
        f"SELECT * FROM ({columns} WHERE n.name >= ?1 AND n.name < ?2 AND n.name NOT GLOB 'url:*' LIMIT ?3)"
        f" UNION SELECT * FROM ({columns} WHERE n.name NOT GLOB 'url:*' ORDER BY n.document_id DESC LIMIT ?3)"
        " ORDER BY 1, 2",
        (start, start + "\U0010ffff", _NEAR_NAMES),
    )
    return [KnownName(str(found), str(title), bool(is_alias)) for found, title, is_alias in rows]


def near_terms(connection: apsw.Connection, word: str) -> list[str]:
    """Indexed words that begin with the same two letters."""
    start = word[:2]
    sql = "SELECT term FROM chunk_vocabulary WHERE term >= ? AND term < ? LIMIT ?"
    rows = fetch_rows(connection, sql, (start, start + "\U0010ffff", _NEAR_NAMES))
    return [str(term) for (term,) in rows]


def links_around(connection: apsw.Connection, keys: Sequence[str]) -> list[GraphLink]:
    """Links from and to any of these documents, the most frequent first."""
    rows = fetch_rows(connection, _AROUND, (json.dumps(list(keys)), _LINKS_AROUND))
    return [GraphLink(str(source), str(target), str(kind), int(links)) for source, target, kind, links in rows]


def links_written(connection: apsw.Connection, keys: Sequence[str]) -> dict[str, tuple[WrittenLink, ...]]:
    """The links in each of these documents, in the order they stand."""
    rows = fetch_rows(
        connection,
        "SELECT d.source_key, l.kind, l.target, l.alias, l.start, l.end, t.source_key, t.title,"
        " t.note_path FROM documents d"
        " JOIN links l ON l.document_id = d.id LEFT JOIN documents t ON t.id = l.target_id"
        " WHERE d.source_key IN (SELECT value FROM json_each(?)) ORDER BY d.source_key, l.start LIMIT ?",
        (json.dumps(list(keys)), _LINKS_WRITTEN),
    )
    found: dict[str, list[WrittenLink]] = {}
    for key, *link in rows:
        found.setdefault(str(key), []).append(WrittenLink(*link))
    return {key: tuple(links) for key, links in found.items()}


# The link graph: what a document links to and what links to it.


_NEIGHBOURS = """
SELECT l.target_id AS other, CASE WHEN l.kind = 'embed' THEN 'embeds'
         WHEN l.kind = 'url' AND t.canonical_url = d.canonical_url THEN 'has_source'
         ELSE 'links_to' END AS relationship,
       min(l.start), min(l.end), count(*) AS links
FROM links l JOIN documents d ON d.id = l.document_id JOIN documents t ON t.id = l.target_id
WHERE d.source_key = ?1 AND l.target_id IS NOT NULL AND l.target_id != d.id GROUP BY other, relationship
UNION ALL
SELECT l.document_id AS other, CASE WHEN l.kind = 'embed' THEN 'embedded_in'
         WHEN l.kind = 'url' AND s.canonical_url = d.canonical_url THEN 'source_of'
         ELSE 'linked_from' END AS relationship,
       min(l.start), min(l.end), count(*) AS links
FROM links l JOIN documents d ON d.id = l.target_id JOIN documents s ON s.id = l.document_id
WHERE d.source_key = ?1 AND l.document_id != d.id GROUP BY other, relationship
ORDER BY links DESC, relationship, other LIMIT ?2
"""


def related_documents(connection: apsw.Connection, key: str, limit: int) -> list[RelatedDocument]:
    """Neighbours of a document, both ways, the most linked first."""
    rows = fetch_rows(connection, _NEIGHBOURS, (key, limit))
    documents = documents_by_ids(connection, [int(row[0]) for row in rows])
    return [
        RelatedDocument(documents[int(other)], relationship, int(start), int(end), int(links))
        for other, relationship, start, end, links in rows
    ]


def links_out(connection: apsw.Connection, key: str) -> tuple[str, ...]:
    """Where a document links to: a key, the path of a file that is no document, or the target as written."""
    rows = fetch_rows(
        connection,
        "SELECT coalesce(t.source_key, f.path, l.target) FROM links l JOIN documents d ON d.id = l.document_id"
        " LEFT JOIN documents t ON t.id = l.target_id LEFT JOIN files f ON f.id = l.target_file_id"
        " WHERE d.source_key = ? AND l.target != '' ORDER BY l.start",
        (key,),
    )
    return tuple(dict.fromkeys(str(target) for (target,) in rows))


def unresolved(connection: apsw.Connection, key: str) -> tuple[str, ...]:
    """Internal links of a document that lead to no file the corpus knows."""
    rows = fetch_rows(
        connection,
        "SELECT l.target FROM links l JOIN documents d ON d.id = l.document_id"
        " WHERE d.source_key = ? AND l.target_id IS NULL AND l.target_file_id IS NULL AND l.kind != 'url'"
        " ORDER BY l.start",
        (key,),
    )
    return tuple(dict.fromkeys(str(target) for (target,) in rows))


def attachments(connection: apsw.Connection, key: str) -> tuple[Attachment, ...]:
    """Files a document carries: what it embeds that is no note, and what it links to that is no document."""
    rows = fetch_rows(
        connection,
        "SELECT f.path, max(l.kind = 'embed'), t.source_key, CASE WHEN t.id IS NOT NULL THEN ''"
        " WHEN f.reason = '' THEN 'holds many documents' ELSE f.reason END"
        " FROM links l JOIN documents d ON d.id = l.document_id LEFT JOIN documents t ON t.id = l.target_id"
        " JOIN files f ON f.id = coalesce(t.file_id, l.target_file_id) WHERE d.source_key = ?"
        " AND (t.id IS NULL OR (l.kind = 'embed' AND t.source_type != 'vault_note' AND t.id != d.id))"
        " GROUP BY f.id, t.id ORDER BY min(l.start)",
        (key,),
    )
    return tuple(Attachment(str(path), bool(embedded), found, str(why)) for path, embedded, found, why in rows)


# The words of the full-text index in order: a stretch of them, for finding what a misspelled word was meant to be.


# A stretch longer than this is looked at in part: a search must not wait for a vocabulary of millions.
MOST_WORDS = 100_000


def words_beginning(
    connection: apsw.Connection, start: str, shortest: int, longest: int, most: int = MOST_WORDS
) -> list[tuple[str, int]]:
    """Indexed words that begin so, of a length between two, each with the number of chunks that have it."""
    rows = fetch_rows(
        connection,
        "SELECT term, doc FROM (SELECT term, doc FROM chunk_vocabulary WHERE term >= ? AND term < ? LIMIT ?)"
        " WHERE length(term) BETWEEN ? AND ?",
        (start, start + "\U0010ffff", most, shortest, longest),
    )
    return [(str(term), int(count)) for term, count in rows if term.isalpha()]
