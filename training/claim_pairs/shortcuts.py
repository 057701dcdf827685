"""How far one gets without reading: `python -m claim_pairs.shortcuts PAIRS.jsonl.gz`.

For each kind a logistic model is fitted on half of the pairs and measured on the other half: once on shared wording and
length alone, once on the words of the claim alone.
An AUROC near .5 means that the kind cannot be solved by that shortcut.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from claim_pairs.pair import Pair, kept_couples, overlap, words_of
from claim_pairs.passages import read_rows

Numbers = npt.NDArray[np.float64]
_WORD_BINS, _STEPS, _FEWEST = 512, 150, 60


def wording(pair: Pair) -> list[float]:
    claim, passage = words_of(pair.claim), words_of(pair.passage)
    kept = kept_couples(pair)
    shared = overlap(pair)
    return [
        shared,
        shared**2,
        float(shared == 1),
        kept,
        math.log(len(claim)),
        math.log(len(passage)),
        len(claim) / len(passage),
    ]


def claim_words(pair: Pair) -> list[float]:
    row = [0.0] * _WORD_BINS
    for word in set(words_of(pair.claim)):
        row[int.from_bytes(hashlib.md5(word.encode()).digest()[:3], "big") % _WORD_BINS] = 1.0
    return row


def fitted_auroc(rows: Numbers, true: npt.NDArray[np.bool_]) -> float:
    """Fitted on the even rows, measured on the odd ones."""
    scale = rows.std(0) + 1e-9
    rows = np.hstack([(rows - rows.mean(0)) / scale, np.ones((len(rows), 1))])
    train, test = rows[::2], rows[1::2]
    wanted = true[::2].astype(float)
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(train @ weights, -30, 30)))
        weights -= 0.5 * (train.T @ (guess - wanted) / len(train) + 1e-3 * weights)
    return auroc(test @ weights, true[1::2])


def auroc(scores: Numbers, true: npt.NDArray[np.bool_]) -> float:
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    yes, no = int(true.sum()), int((~true).sum())
    return float((ranks[true].sum() - yes * (yes + 1) / 2) / max(1, yes * no))


def measured(pairs: list[Pair]) -> tuple[float, float]:
    true = np.array([pair.label == "supported" for pair in pairs])
    return fitted_auroc(np.array([wording(pair) for pair in pairs]), true), fitted_auroc(
        np.array([claim_words(pair) for pair in pairs]), true
    )


def read_pairs(path: Path) -> list[Pair]:
    return [Pair(row["kind"], row["claim"], row["passage"], row["label"]) for row in read_rows([path])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--most", type=int, default=3000, help="pairs of a kind that are looked at")
    given = parser.parse_args()
    kinds: dict[str, list[Pair]] = defaultdict(list)
    everything = read_pairs(given.pairs)
    for pair in everything:
        kinds[pair.kind].append(pair)
    print(f"{'kind':18}{'pairs':>8}{'wording':>9}{'claim':>9}")
    for kind, pairs in sorted(kinds.items()):
        if len(pairs) >= _FEWEST:
            by_wording, by_claim = measured(pairs[: given.most])
            print(f"{kind:18}{len(pairs):8}{by_wording:9.2f}{by_claim:9.2f}")
    by_wording, by_claim = measured(everything[: 5 * given.most])
    print(f"{'all':18}{len(everything):8}{by_wording:9.2f}{by_claim:9.2f}")


if __name__ == "__main__":
    main()
