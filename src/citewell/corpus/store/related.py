"""The link graph: what a document links to and what links to it."""

from __future__ import annotations

import apsw

from citewell.corpus.store.reading import documents_by_ids
from citewell.database.sqlite import fetch_rows
from citewell.domain.documents import Attachment
from citewell.domain.ports import RelatedDocument

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
