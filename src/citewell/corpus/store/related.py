"""The link graph: what a document links to and what links to it."""

from __future__ import annotations

import apsw

from citewell.corpus.store.reading import documents_by_ids
from citewell.database.sqlite import fetch_rows
from citewell.domain.ports import RelatedDocument

_NEIGHBOURS = """
SELECT l.target_id AS other, CASE l.kind WHEN 'embed' THEN 'embeds' ELSE 'links_to' END AS relationship,
       min(l.start), min(l.end), count(*) AS links
FROM links l JOIN documents d ON d.id = l.document_id
WHERE d.source_key = ?1 AND l.target_id IS NOT NULL AND l.target_id != d.id GROUP BY other, relationship
UNION ALL
SELECT l.document_id AS other, CASE l.kind WHEN 'embed' THEN 'embedded_in' ELSE 'linked_from' END AS relationship,
       min(l.start), min(l.end), count(*) AS links
FROM links l JOIN documents d ON d.id = l.target_id
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
    """Where a document links to: keys where the target is in the corpus, the target as written elsewhere."""
    rows = fetch_rows(
        connection,
        "SELECT coalesce(t.source_key, l.target) FROM links l JOIN documents d ON d.id = l.document_id"
        " LEFT JOIN documents t ON t.id = l.target_id WHERE d.source_key = ? AND l.target != '' ORDER BY l.start",
        (key,),
    )
    return tuple(dict.fromkeys(str(target) for (target,) in rows))


def unresolved(connection: apsw.Connection, key: str) -> tuple[str, ...]:
    """Internal links of a document that lead nowhere in the corpus."""
    rows = fetch_rows(
        connection,
        "SELECT l.target FROM links l JOIN documents d ON d.id = l.document_id"
        " WHERE d.source_key = ? AND l.target_id IS NULL AND l.kind != 'url' ORDER BY l.start",
        (key,),
    )
    return tuple(dict.fromkeys(str(target) for (target,) in rows))
