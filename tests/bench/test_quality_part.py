"""What part `quality` says of packs: each collection's pack against the search of the same collection."""

from __future__ import annotations

import pytest
from quality import pack_ratios

from citewell.evals.bench import PACK, BenchRow


def row(name: str, system: str, ndcg: float) -> BenchRow:
    return BenchRow(
        name=name,
        system=system,
        mode="lexical",
        ndcg_10=ndcg,
        recall_10=0.0,
        recall_100=0.0,
        mrr_10=0.0,
        p50_ms=0.0,
        p95_ms=0.0,
        docs=1,
        queries=1,
        index_seconds=0.0,
    )


def test_a_pack_is_compared_with_the_search_of_its_own_collection() -> None:
    rows = [row("a", "citewell", 0.5), row("a", PACK, 0.6), row("a", "bm25s", 0.4), row("b", "citewell", 0.8)]
    assert pack_ratios([*rows, row("b", PACK, 0.4)]) == pytest.approx([1.2, 0.5])
    assert pack_ratios(rows) == pytest.approx([1.2])
