"""Which documents of `corpus.db` seem to hold a secret: where and of what kind, never the value."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from citewell.domain.library import SecretFinding
from citewell.text.secrets import LONGEST, kinds_of_secrets

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
