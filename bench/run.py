"""`make bench`: ingest and query on the public collections, with a peer in the same run, as one table.

Every claim is a ratio against the peer (bm25s, stemmed, stop words out) measured on this machine in this run. The
collections lie beside the repository (`../shared/data`), or where `--data` says; without them there is nothing to
measure, and that is said.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewell.app import Engine
from citewell.evals.collections import (
    CollectionDocument,
    JudgedCollection,
    is_collection,
    load_collection,
    read_jsonl,
    write_notes,
)
from citewell.evals.measures import mean, ndcg, percentile, recall, reciprocal_rank
from citewell.settings import Settings

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Search = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Measured:
    """One system on one collection."""

    collection: str
    system: str
    docs: int
    ingest_seconds: float
    queries: int
    p50_ms: float
    p95_ms: float
    ndcg_10: float | None = None
    recall_100: float | None = None
    mrr_10: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of collections")
    parser.add_argument("--only", default="", help="comma list of collections, `scale` for the large one")
    parser.add_argument("--max-queries", type=int, default=500, help="queries a collection, evenly spread")
    parser.add_argument("--scale-pages", type=int, default=3_000, help="pages of the large set; 0: all")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"No collections at {options.data}: nothing to measure. Name their folder with BENCH='--data DIR'.")
        return
    chosen = [name for name in options.only.split(",") if name]
    rows: list[Measured] = []
    for folder in sorted(path for path in options.data.iterdir() if is_collection(path)):
        if not chosen or folder.name in chosen:
            print(f"measuring {folder.name} …", file=sys.stderr, flush=True)
            collection = _thinned(load_collection(folder), options.max_queries)
            rows += [measure_citewell(collection), measure_peer(collection)]
    if not chosen or "scale" in chosen:
        rows += measure_scale(options.data / "scale", options.scale_pages)
    print_table(rows)


def _thinned(collection: JudgedCollection, most: int) -> JudgedCollection:
    ids = sorted(collection.queries)
    kept = ids[:: max(1, -(-len(ids) // most))]
    queries = {query_id: collection.queries[query_id] for query_id in kept}
    return JudgedCollection(collection.name, collection.documents, queries, collection.judgements)


def measure_citewell(collection: JudgedCollection) -> Measured:
    """Ingest the collection as notes and ask every query through the engine."""
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        names = write_notes(collection, Path(folder, "notes"))
        engine = Engine(Settings(data_dir=Path(folder, "data")))
        started = time.perf_counter()
        list(engine.add(Path(folder, "notes")))
        seconds = time.perf_counter() - started

        def search(query: str) -> list[str]:
            return [names[row.note_path or ""] for row in engine.search(query[:8000], limit=100).results]

        def first_ten(query: str) -> list[str]:
            return [row.source_key for row in engine.search(query[:8000], limit=10).results]

        try:
            return _measure(collection, "citewell", seconds, search, first_ten)
        finally:
            engine.close()


def measure_peer(collection: JudgedCollection) -> Measured:
    """bm25s: stemmed, stop words out, the whole index in memory."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    texts = [f"{document.title} {document.text}" for document in collection.documents]
    started = time.perf_counter()
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    seconds = time.perf_counter() - started
    ids = [document.doc_id for document in collection.documents]

    def top(depth: int) -> Search:
        def search(query: str) -> list[str]:
            tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
            found, _ = retriever.retrieve(tokens, k=min(depth, len(ids)), show_progress=False)
            return [ids[int(index)] for index in found[0]]

        return search

    return _measure(collection, "bm25s", seconds, top(100), top(10))


def _measure(collection: JudgedCollection, system: str, seconds: float, search: Search, timed: Search) -> Measured:
    rankings = {query_id: search(query) for query_id, query in collection.queries.items()}
    judged = [(rankings[query_id], collection.judgements[query_id]) for query_id in collection.queries]
    latencies = time_queries(timed, list(collection.queries.values())[:100])
    return Measured(
        collection=collection.name,
        system=system,
        docs=len(collection.documents),
        ingest_seconds=seconds,
        queries=len(rankings),
        p50_ms=percentile(latencies, 0.5),
        p95_ms=percentile(latencies, 0.95),
        ndcg_10=mean([ndcg(ranking, grades) for ranking, grades in judged]),
        recall_100=mean([recall(ranking, grades, 100) for ranking, grades in judged]),
        mrr_10=mean([reciprocal_rank(ranking, grades) for ranking, grades in judged]),
    )


def time_queries(search: Search, queries: Sequence[str]) -> list[float]:
    """Milliseconds of each query, after one pass to warm the caches."""
    latencies: list[float] = []
    for query in queries[:5]:
        search(query)
    for query in queries:
        started = time.perf_counter()
        search(query)
        latencies.append((time.perf_counter() - started) * 1000)
    return latencies


def measure_scale(folder: Path, pages: int) -> list[Measured]:
    """Real documentation pages: first ingest, unchanged ingest, and natural questions."""
    source = folder / "mdn_chunks.jsonl.gz"
    if not source.is_file():
        return []
    texts: dict[str, list[str]] = defaultdict(list)
    titles: dict[str, str] = {}
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            page = entry["_id"].partition("#")[0]
            if page not in texts and pages and len(texts) >= pages:
                break
            texts[page].append(entry["text"])
            titles.setdefault(page, entry["title"].partition(" > ")[0])
    print(f"measuring scale ({len(texts)} pages) …", file=sys.stderr, flush=True)
    documents = tuple(CollectionDocument(page, titles[page], "\n\n".join(parts)) for page, parts in texts.items())
    questions = [entry["text"] for entry in read_jsonl(folder / "mdn_questions.jsonl")][:100]
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        root = Path(temporary, "notes")
        write_notes(JudgedCollection("scale", documents, {}, {}), root)
        engine = Engine(Settings(data_dir=Path(temporary, "data")))
        rows: list[Measured] = []
        for label in ("scale", "scale, unchanged"):
            started = time.perf_counter()
            list(engine.add(root))
            seconds = time.perf_counter() - started
            latencies = time_queries(lambda query: [row.source_key for row in engine.search(query).results], questions)
            row = Measured(
                label, "citewell", len(documents), seconds, 100, percentile(latencies, 0.5), percentile(latencies, 0.95)
            )
            rows.append(row)
        engine.close()
        return rows


def print_table(rows: Sequence[Measured]) -> None:
    """One table, with the ratio against the peer where both were measured."""
    peers = {row.collection: row for row in rows if row.system == "bm25s"}
    header = (
        "collection",
        "system",
        "docs",
        "ingest s",
        "docs/s",
        "queries",
        "p50 ms",
        "p95 ms",
        "nDCG@10",
        "R@100",
        "MRR@10",
        "nDCG ratio",
    )
    lines: list[tuple[str, ...]] = [header]
    for row in rows:
        peer = peers.get(row.collection)
        ratio = f"{row.ndcg_10 / peer.ndcg_10:.3f}x" if row.ndcg_10 and peer and peer.ndcg_10 else "–"
        quality = [f"{value:.3f}" if value is not None else "–" for value in (row.ndcg_10, row.recall_100, row.mrr_10)]
        rate = f"{row.docs / row.ingest_seconds:,.0f}" if row.ingest_seconds else "–"
        lines.append(
            (
                *(row.collection, row.system, f"{row.docs:,}", f"{row.ingest_seconds:.2f}", rate, str(row.queries)),
                *(f"{row.p50_ms:.1f}", f"{row.p95_ms:.1f}", *quality, ratio),
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for number, line in enumerate(lines):
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    ratios = [
        row.ndcg_10 / reference
        for row in rows
        if row.system == "citewell" and row.ndcg_10 and (reference := peers[row.collection].ndcg_10)
    ]
    if ratios:
        print(f"\nmean nDCG@10 ratio against bm25s: {mean(ratios):.3f}x, lowest {min(ratios):.3f}x")


if __name__ == "__main__":
    main()
