"""Implementations of the corpus port, and how tests write to them: through the port alone.

Another store joins by one entry in `STORES`; every test of this folder then runs on it too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from citewell import Filters
from citewell.readers.importers.registry import documents_in
from citewell.search.query import lexical_query
from citewell.store.corpus import SqliteCorpus
from citewell.store.port import CorpusStore, FileFacts, FileOutcome
from citewell.store.prepare import prepare_document

# Opens the store whose data lives in this folder; each call is a further connection, as another process has it.
STORES: dict[str, Callable[[Path], CorpusStore]] = {
    "sqlite": lambda folder: SqliteCorpus(folder / "corpus.db"),
}

OpenStore = Callable[[], CorpusStore]
ROOT = "/home/ada/notes"
AT = "2026-01-02T03:04:05.000Z"


def outcome(path: str, text: str | bytes) -> FileOutcome:
    """A file as reading it gives it."""
    data = text.encode("utf-8") if isinstance(text, str) else text
    facts = FileFacts(path, len(data), 1, hashlib.sha256(data).hexdigest())
    documents = tuple(prepare_document(imported, path) for imported in documents_in(data, path))
    return FileOutcome(facts, "indexed", "", documents)


def write(store: CorpusStore, files: Mapping[str, str | bytes], root: str = ROOT) -> None:
    """Add files below a root as one batch, and say that the collection is in step."""
    collection = store.open_collection(root, True, None, ())
    store.write_batch(collection, [outcome(path, text) for path, text in files.items()], AT, 1)
    store.finish_sync(collection, (), (), AT)


def ranked(store: CorpusStore, words: str, filters: Filters | None = None, limit: int = 10) -> list[str]:
    """The keys that a query by words finds, best first."""
    query = lexical_query(words, store.languages())
    return [found.document.source_key for found in store.rank(query, filters or Filters(), limit)]


def whole_text(store: CorpusStore, key: str) -> str:
    document = store.find(key)
    assert document is not None
    return store.slice(document.content_hash, 0, document.length)
