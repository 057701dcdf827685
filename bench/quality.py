"""Part `quality`: nDCG@10 and latency on the judged collections, peers in the same run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tables import Part, Ratio

from citewell.evals.bench import (
    PACK,
    BenchRow,
    bench_collection,
    is_collection,
    load_collection,
    mean,
    missing_peers,
    thinned,
)
from citewell.settings import Settings

_BEST = "the best lexical peer of each"
_GOAL = {_BEST: 1.03}


def measure_quality(data: Path, chosen: list[str], most_queries: int) -> Part:
    rows: list[BenchRow] = []
    for folder in sorted(path for path in data.iterdir() if is_collection(path)):
        if chosen and folder.name not in chosen:
            continue
        print(f"  {folder.name} …", file=sys.stderr, flush=True)
        collection = thinned(load_collection(folder), most_queries)
        with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
            events = bench_collection(
                collection,
                Settings(data_dir=Path(temporary), embeddings="off"),
                mode=None,
                with_peers=True,
                with_packs=True,
            )
            rows += [event for event in events if isinstance(event, BenchRow)]
    compared = _ratios(rows)
    ratios = tuple(
        Ratio(f"nDCG@10 / {peer}, mean of {len(values)} collections", mean(values), _GOAL.get(peer, 1.0), "higher")
        for peer, values in compared.items()
    )
    if _BEST in compared:
        ratios += (Ratio(f"nDCG@10 / {_BEST}, the lowest", min(compared[_BEST]), 0.98, "higher"),)
    packs = pack_ratios(rows)
    if packs:
        ratios += (
            Ratio(f"nDCG@10, pack / search, mean of {len(packs)} collections", mean(packs), 1.0, "higher"),
            Ratio("nDCG@10, pack / search, the lowest", min(packs), 1.0, "higher"),
        )
    columns = (
        "collection",
        "docs",
        "queries",
        "system",
        "mode",
        "nDCG@10",
        "R@10",
        "R@100",
        "MRR@10",
        "p50 ms",
        "p95 ms",
    )
    notes = [f"At most {most_queries} queries of a collection, evenly drawn."]
    notes += [f"{peer.system} is not installed and was not measured: {peer.fix}" for peer in missing_peers()]
    return Part("quality", ratios, columns, tuple(_cells(row) for row in rows), tuple(notes))


def _ratios(rows: list[BenchRow]) -> dict[str, list[float]]:
    """nDCG of each of our lanes against each peer of the same mode, collection by collection."""
    ours = {(row.name, row.mode): row for row in rows if row.system == "citewell"}
    ratios: dict[str, list[float]] = {}
    best: dict[str, float] = {}
    for row in rows:
        if row.system not in ("citewell", PACK) and row.ndcg_10 and (row.name, row.mode) in ours:
            ratios.setdefault(row.system, []).append(ours[row.name, row.mode].ndcg_10 / row.ndcg_10)
            if row.mode == "lexical":
                best[row.name] = max(best.get(row.name, 0.0), row.ndcg_10)
    if best:
        ratios[_BEST] = [ours[name, "lexical"].ndcg_10 / value for name, value in best.items()]
    return ratios


def pack_ratios(rows: list[BenchRow]) -> list[float]:
    """nDCG of the evidence of packs against a search for the same question, collection by collection."""
    searched = {row.name: row.ndcg_10 for row in rows if (row.system, row.mode) == ("citewell", "lexical")}
    packed = {row.name: row.ndcg_10 for row in rows if row.system == PACK}
    return [packed[name] / value for name, value in searched.items() if value and name in packed]


def _cells(row: BenchRow) -> tuple[str, ...]:
    return (
        *(row.name, f"{row.docs:,}", str(row.queries), row.system, row.mode),
        *(f"{value:.3f}" for value in (row.ndcg_10, row.recall_10, row.recall_100, row.mrr_10)),
        *(f"{value:.2f}" for value in (row.p50_ms, row.p95_ms)),
    )
