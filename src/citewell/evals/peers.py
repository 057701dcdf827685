"""Peers: other search engines over the same documents, measured in the same run. Citewell runs without any of them.

Each is set up the way its users would for English text, whole and in memory: that favours the peer, which neither
writes to disk nor cuts out passages.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from citewell.domain.benchmarks import MissingPeer
from citewell.domain.errors import Unavailable
from citewell.evals.collections import CollectionDocument
from citewell.text.language import stop_words

INSTALL = "pip install 'citewell[bench]'"
RRF_K = 60
RRF_DEPTH = 100
_WORD = re.compile(r"\w+")
# The long list that our own queries leave out too.
_STOP_WORDS = stop_words("en")

# A query and how many documents to return at most; ids of documents, best first.
Search = Callable[[str, int], list[str]]
Build = Callable[[Sequence[CollectionDocument]], Search]


def bm25s_stemmed(documents: Sequence[CollectionDocument]) -> Search:
    """bm25s: stemmed, stop words out."""
    bm25s = _import("bm25s")
    stemmer = _import("Stemmer").Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords=sorted(_STOP_WORDS), stemmer=stemmer, show_progress=False)

    retriever = bm25s.BM25()
    retriever.index(tokens([f"{entry.title} {entry.text}" for entry in documents]), show_progress=False)
    ids = [entry.doc_id for entry in documents]

    def search(query: str, depth: int) -> list[str]:
        found, scores = retriever.retrieve(tokens([query]), k=min(depth, len(ids)), show_progress=False)
        return [ids[int(index)] for index, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def sqlite_fts5(documents: Sequence[CollectionDocument]) -> Search:
    """SQLite FTS5: porter, any word may match, the title counts twice. In memory, so no file is shared with anyone."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE docs USING fts5(title, body, tokenize = 'porter unicode61')").fetchall()
    with connection:
        connection.executemany(
            "INSERT INTO docs(rowid, title, body) VALUES (?, ?, ?)",
            ((number, plain_text(entry.title), plain_text(entry.text)) for number, entry in enumerate(documents)),
        )
    ids = [entry.doc_id for entry in documents]
    ranked = "SELECT rowid FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 2.0, 1.0) LIMIT ?"

    def search(query: str, depth: int) -> list[str]:
        words = query_words(query)
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        return [ids[row[0]] for row in connection.execute(ranked, (match, depth))]

    return search


def tantivy_stemmed(documents: Sequence[CollectionDocument]) -> Search:
    """tantivy: its English stemmer, any word may match. Title and text are one field, which ranks better than two."""
    tantivy = _import("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", stored=True)
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for number, entry in enumerate(documents):
        writer.add_document(tantivy.Document(number=number, body=plain_text(f"{entry.title} {entry.text}")))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    ids = [entry.doc_id for entry in documents]

    def search(query: str, depth: int) -> list[str]:
        words = query_words(query)
        if not words:
            return []
        hits = searcher.search(index.parse_query(" ".join(words), ["body"]), depth).hits
        return [ids[searcher.doc(address)["number"][0]] for _, address in hits]

    return search


# In the order they are shown.
PEERS: dict[str, Build] = {"bm25s": bm25s_stemmed, "sqlite-fts5": sqlite_fts5, "tantivy": tantivy_stemmed}


def missing_peers() -> tuple[MissingPeer, ...]:
    """The peers that are not installed, each with the way to get it."""
    needed = {"bm25s": "bm25s", "tantivy": "tantivy"}
    return tuple(MissingPeer(system, INSTALL) for system, module in needed.items() if not _is_installed(module))


def reciprocal_rank_fusion(lanes: Sequence[Search]) -> Search:
    """Reciprocal rank fusion: a document's score is Σ 1 / (60 + rank) over the lanes that found it.

    The usual way to combine a keyword and a vector search, hence the peer of a hybrid lane.
    """

    def search(query: str, depth: int) -> list[str]:
        scores: defaultdict[str, float] = defaultdict(float)
        for lane in lanes:
            for rank, doc_id in enumerate(lane(query, max(depth, RRF_DEPTH)), start=1):
                scores[doc_id] += 1 / (RRF_K + rank)
        return sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))[:depth]

    return search


def query_words(query: str) -> list[str]:
    """The words to search for, repeats kept. In lower case: AND, OR and NOT are operators."""
    words = _WORD.findall(query.lower())
    return [word for word in words if word not in _STOP_WORDS] or words


def plain_text(text: str) -> str:
    """Text that UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Unavailable(f"{module} is not installed.", fix=INSTALL) from None
