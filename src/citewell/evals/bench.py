"""`bench`: test collections through Citewell, lane by lane, and peers over the same documents in the same run.

Every document becomes one note, so what is measured is what a user gets. Each judged query is asked twice: for 10, on
the clock, and for 100. Nothing of the user's own corpus is touched: the index lives in a temporary folder.
"""

from __future__ import annotations

import errno
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import get_args

from citewell.domain.benchmarks import BenchProgress, BenchReport, BenchRow
from citewell.domain.errors import StoreFull
from citewell.domain.library import AddReport, EncodeProgress
from citewell.domain.results import SearchMode
from citewell.engine import Citewell
from citewell.evals.collections import JudgedCollection, load_collection, thinned, write_notes
from citewell.evals.measures import mean, ndcg, percentile, recall, reciprocal_rank
from citewell.evals.peers import PEERS, Search, missing_peers, reciprocal_rank_fusion
from citewell.models.embeddings import OpenEmbedder
from citewell.planning.normalizer import MAX_QUESTION_CHARS
from citewell.settings import Settings

WARM_UP = 3
PACK = "citewell pack"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Events = Iterator[BenchProgress | BenchRow | str]


def run_bench(
    folders: Sequence[Path],
    settings: Settings,
    *,
    mode: SearchMode | None = None,
    with_peers: bool = False,
    max_queries: int | None = None,
) -> Iterator[BenchProgress | BenchReport]:
    """Measure collections one after another; the report comes last. Without a mode, every lane there is."""
    rows: list[BenchRow] = []
    warnings: list[str] = []
    with temporary_folder() as models:
        # One model for all collections: opening it anew would build its graph anew.
        shared = Citewell(replace(settings, data_dir=models, database_url=""))
        for folder in folders:
            collection = load_collection(folder)
            if max_queries is not None:
                collection = thinned(collection, max_queries)
            for event in bench_collection(
                collection, settings, mode=mode, with_peers=with_peers, open_embedder=lambda: shared.embedder
            ):
                if isinstance(event, BenchProgress):
                    yield event
                elif isinstance(event, BenchRow):
                    rows.append(event)
                else:
                    warnings.append(f"{folder.name}: {event}")
    yield BenchReport(tuple(rows), missing_peers() if with_peers else (), tuple(warnings))


def bench_collection(
    collection: JudgedCollection,
    settings: Settings,
    *,
    mode: SearchMode | None,
    with_peers: bool,
    open_embedder: OpenEmbedder | None = None,
    with_packs: bool = False,
) -> Events:
    """One collection: progress, the row of each system, and warnings; packs are asked as the settings say."""
    yield from _doubts(collection)
    with temporary_folder() as folder:
        engine = Citewell(replace(settings, data_dir=folder / "data", database_url=""), open_embedder=open_embedder)
        try:
            modes = _lanes(engine, mode, with_peers=with_peers)
            yield BenchProgress(collection.name, "citewell", "indexing", 0, len(collection.documents))
            names = write_notes(collection, folder / "notes")
            started = time.perf_counter()
            yield from _index(engine, folder / "notes", collection)
            if "semantic" in modes or "hybrid" in modes:
                yield from _encode(engine, collection)
            if engine.settings.summaries == "on":
                for _ in engine.corpus.summarize():
                    pass
            seconds = time.perf_counter() - started
            lanes = {lane: _lane(engine, names, lane) for lane in modes}
            for lane, search in lanes.items():
                if mode in (None, lane):
                    yield from measure(collection, "citewell", lane, search, seconds)
            if with_packs:
                lane = "lexical" if engine.settings.embeddings == "off" else "hybrid"
                yield from measure(collection, PACK, lane, _packs(engine, names), seconds)
            if with_peers:
                yield from _measure_peers(collection, lanes.get("semantic"))
        finally:
            engine.close()


def _doubts(collection: JudgedCollection) -> Iterator[str]:
    """What makes the figures differ from published ones."""
    known = {document.doc_id for document in collection.documents}
    lost = {doc_id for grades in collection.judgements.values() for doc_id in grades} - known
    if lost:
        yield f"{len(lost):,} documents judged relevant are not in corpus.jsonl and count as not found"
    if len(known) < len(collection.documents):
        yield f"{len(collection.documents) - len(known):,} ids in corpus.jsonl are not unique"
    long = sum(len(query) > MAX_QUESTION_CHARS for query in collection.queries.values())
    if long:
        yield f"{long:,} queries were cut to {MAX_QUESTION_CHARS:,} characters"


def _lanes(engine: Citewell, mode: SearchMode | None, *, with_peers: bool) -> list[SearchMode]:
    """The lanes to ask: the one asked for, or each that is switched on; a hybrid's peer needs the semantic lane too."""
    if mode == "lexical" or (mode is None and engine.settings.embeddings == "off"):
        return ["lexical"]
    _ = engine.embedder  # at once: without a model there is nothing to measure
    if mode is None:
        return list(get_args(SearchMode))
    return ["semantic", "hybrid"] if mode == "hybrid" and with_peers else [mode]


def _encode(engine: Citewell, collection: JudgedCollection) -> Events:
    for event in engine.corpus.encode():
        if isinstance(event, EncodeProgress):
            yield BenchProgress(collection.name, "citewell", "encoding", event.done, event.total)


def _index(engine: Citewell, notes: Path, collection: JudgedCollection) -> Events:
    total = len(collection.documents)
    for event in engine.corpus.sync(notes, collection="bench"):
        if not isinstance(event, AddReport):
            yield BenchProgress(collection.name, "citewell", "indexing", event.done, total)
        elif event.documents < total:
            yield f"{total - event.documents:,} of {total:,} documents could not be indexed"


def _lane(engine: Citewell, names: dict[str, str], mode: SearchMode) -> Search:
    def search(query: str, depth: int) -> list[str]:
        rows = engine.search(query, limit=depth, mode=mode).results
        return [names[row.note_path] for row in rows if row.note_path]

    return search


def _packs(engine: Citewell, names: dict[str, str]) -> Search:
    """The evidence of a research pack, as a run without a model would plan it."""

    def search(query: str, depth: int) -> list[str]:
        rows = engine.pack(query, limit=depth, include_related=False, planner=False).evidence
        return [names[row.note_path] for row in rows if row.note_path]

    return search


def _measure_peers(collection: JudgedCollection, semantic: Search | None) -> Events:
    absent = {peer.system for peer in missing_peers()}
    for system, build in PEERS.items():
        if system in absent:
            continue
        yield BenchProgress(collection.name, system, "indexing", 0, len(collection.documents))
        started = time.perf_counter()
        search = build(collection.documents)
        seconds = time.perf_counter() - started
        yield from measure(collection, system, "lexical", search, seconds)
        if system == "sqlite-fts5" and semantic:
            fused = reciprocal_rank_fusion((search, semantic))
            yield from measure(collection, "rrf60(sqlite-fts5, semantic)", "hybrid", fused, seconds)


def measure(
    collection: JudgedCollection, system: str, mode: SearchMode, search: Search, index_seconds: float
) -> Events:
    """Ask every query for 10, on the clock, and for 100; the last event is the row."""
    total = len(collection.queries)
    first_ten: list[list[str]] = []
    first_hundred: list[list[str]] = []
    latencies: list[float] = []
    queries = [query[:MAX_QUESTION_CHARS] for query in collection.queries.values()]
    for query in queries[:WARM_UP]:
        _ask(search, query, 10)
    for number, query in enumerate(queries):
        started = time.perf_counter()
        first_ten.append(_ask(search, query, 10))
        latencies.append((time.perf_counter() - started) * 1000)
        first_hundred.append(_ask(search, query, 100))
        if number % 50 == 0:
            yield BenchProgress(collection.name, system, "asking", number, total)
    grades = [collection.judgements[query_id] for query_id in collection.queries]
    ten = list(zip(first_ten, grades, strict=True))
    yield BenchRow(
        name=collection.name,
        system=system,
        mode=mode,
        ndcg_10=_rounded([ndcg(ranking, graded) for ranking, graded in ten]),
        recall_10=_rounded([recall(ranking, graded, 10) for ranking, graded in ten]),
        recall_100=_rounded([recall(found, graded, 100) for found, graded in zip(first_hundred, grades, strict=True)]),
        mrr_10=_rounded([reciprocal_rank(ranking, graded) for ranking, graded in ten]),
        p50_ms=round(percentile(latencies, 0.5), 3),
        p95_ms=round(percentile(latencies, 0.95), 3),
        docs=len(collection.documents),
        queries=total,
        index_seconds=round(index_seconds, 3),
    )


def _ask(search: Search, query: str, depth: int) -> list[str]:
    return search(query, depth) if query.strip() else []


def _rounded(values: Sequence[float]) -> float:
    return round(mean(values), 5)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; a full disk is said as such."""
    try:
        with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
            yield Path(folder)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise StoreFull(
            "No room left in the temporary folder for the collection.", fix="Free some space, or set TMPDIR elsewhere."
        ) from error
