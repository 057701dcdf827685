"""Part `hybrid`: words and meaning together, beside either alone and reciprocal rank fusion; what the bit scan misses.

Every passage is encoded once in the run, by one model, and nothing of it is kept. The vectors of all collections
together, and as many again with noise until there are 131,000, are searched exactly and by their signs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tables import Part, Ratio

from citewell.engine import Citewell
from citewell.evals.bench import BenchRow, bench_collection, find_collections, load_collection, mean, thinned
from citewell.models.embeddings import Embedder
from citewell.settings import Settings
from citewell.store.vectors import RESCORED
from citewell.store.vectors_write import best_rows, nearest_signs, quantized, signs, similarities

Floats = npt.NDArray[np.float32]

_RRF = "rrf60(sqlite-fts5, semantic)"
_SYSTEMS = {("citewell", "lexical"), ("citewell", "semantic"), ("citewell", "hybrid"), (_RRF, "hybrid")}
_MANY = 131_000
_NOISE = 0.02
_ASKED = 200
_TOP = 10


class RecordingEmbedder:
    """A model that keeps what it made, so that the scan can be measured on real vectors."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self.model_id, self.dimension, self.unrelated = model.model_id, model.dimension, model.unrelated
        self.related, self.tells_answers = model.related, model.tells_answers
        self.passages: list[Floats] = []
        self.queries: dict[str, Floats] = {}
        self.seconds = 0.0

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        started = time.perf_counter()
        vectors = self._model.encode_passages(texts)
        self.seconds += time.perf_counter() - started
        self.passages.append(vectors)
        return vectors

    def encode_query(self, text: str) -> Floats:
        vector = self._model.encode_query(text)
        self.queries[text] = vector
        return vector


def measure_hybrid(data: Path, chosen: list[str], most_queries: int) -> Part:
    """Our lanes and the usual fusion on every collection, each query asked of all of them."""
    rows: list[BenchRow] = []
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        settings = Settings(data_dir=Path(temporary), embeddings="on")
        model = RecordingEmbedder(Citewell(settings).embedder)
        for folder in find_collections(data):
            if chosen and folder.name not in chosen:
                continue
            print(f"  {folder.name} …", file=sys.stderr, flush=True)
            collection = thinned(load_collection(folder), most_queries)
            events = bench_collection(collection, settings, mode=None, with_peers=True, open_embedder=lambda: model)
            rows += [event for event in events if isinstance(event, BenchRow)]
            print(f"  {model.seconds:.0f} s spent on encoding so far", file=sys.stderr, flush=True)
    kept = [row for row in rows if (row.system, row.mode) in _SYSTEMS]
    vectors = np.concatenate(model.passages)
    recalls = scan_recalls(vectors, np.concatenate(list(model.queries.values())))
    columns = ("collection", "docs", "queries", "system", "mode", "nDCG@10", "R@10", "R@100", "MRR@10", "p50 ms")
    notes = [
        f"At most {most_queries} queries of a collection, evenly drawn. {len(vectors):,} passages were encoded at"
        f" {len(vectors) / model.seconds:.0f} a second.",
        *(f"Of the ten nearest of {count:,} vectors the scan by signs finds {found:.1%}." for count, found in recalls),
    ]
    ratios = (*_ratios(kept), *(_recall(count, found) for count, found in recalls))
    return Part("hybrid", ratios, columns, tuple(_cells(row) for row in kept), tuple(notes))


def _ratios(rows: Sequence[BenchRow]) -> list[Ratio]:
    by_name: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        by_name.setdefault(row.name, {})[row.system, row.mode] = row.ndcg_10
    ours, words, fused = ("citewell", "hybrid"), ("citewell", "lexical"), (_RRF, "hybrid")
    beside = {name: one[ours] / one[words] for name, one in by_name.items()}
    over = [one[ours] / one[fused] for one in by_name.values()]
    ratios = [
        Ratio(f"nDCG@10, hybrid / {_RRF}, mean of {len(over)} collections", mean(over), 1.05, "higher"),
        Ratio(f"nDCG@10, hybrid / {_RRF}, the lowest", min(over), 1.0, "higher"),
        Ratio("nDCG@10, hybrid / our lexical, mean", mean(list(beside.values())), 1.0, "higher"),
    ]
    ratios += [Ratio(f"nDCG@10, hybrid / our lexical, {name}", one, 1.0, "higher") for name, one in beside.items()]
    if "scifact" in by_name:
        ratios.append(Ratio("nDCG@10, hybrid on scifact", by_name["scifact"][ours], 0.74, "higher"))
    return ratios


def _recall(count: int, found: float) -> Ratio:
    return Ratio(f"ten nearest of {count:,} vectors, by signs / exactly", found, 0.98, "higher")


def scan_recalls(vectors: Floats, queries: Floats) -> list[tuple[int, float]]:
    """How many of the exactly nearest ten the scan finds, of the real vectors and of many times as many."""
    asked = queries[:: max(1, len(queries) // _ASKED)][:_ASKED]
    noise = np.random.default_rng(7)
    times = -(-_MANY // len(vectors))
    copies = [vectors, *(_noisy(vectors, noise) for _ in range(times - 1))]
    many = np.concatenate(copies)[: max(_MANY, len(vectors))]
    return [(len(some), recall_of(some, asked)) for some in (vectors, many)]


def _noisy(vectors: Floats, noise: np.random.Generator) -> Floats:
    moved = vectors + noise.normal(0.0, _NOISE, vectors.shape).astype(np.float32)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(moved / lengths, np.float32)


def recall_of(vectors: Floats, queries: Floats) -> float:
    """As the store scans: signs first, the best of them in 8 bits."""
    small, scales = quantized(vectors)
    bits = np.ascontiguousarray(signs(vectors).view(np.uint64).T)
    everything = np.ones(len(vectors), bool)
    found: list[float] = []
    for query in queries:
        exact = best_rows(vectors @ query, everything, _TOP)
        rows = np.sort(nearest_signs(query, bits, everything, RESCORED))
        scores = similarities(query, small[rows], scales[rows])
        scanned = rows[np.lexsort((rows, -scores))][:_TOP]
        found.append(len(np.intersect1d(exact, scanned)) / len(exact))
    return mean(found)


def _cells(row: BenchRow) -> tuple[str, ...]:
    return (
        *(row.name, f"{row.docs:,}", str(row.queries), row.system, row.mode),
        *(f"{value:.3f}" for value in (row.ndcg_10, row.recall_10, row.recall_100, row.mrr_10)),
        f"{row.p50_ms:.2f}",
    )
