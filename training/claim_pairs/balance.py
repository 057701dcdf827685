"""Takes as many supported as other pairs of each kind, at every degree of shared wording.

Within a kind, pairs are sorted into bins by how many words of the claim the passage has, how many of them side by side,
and by how long the claim is beside it. From each bin as many supported as not supported ones are taken. What is left
cannot be told apart by wording: only reading helps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random

from claim_pairs.pair import Pair, kept_couples, overlap, words_of

_BINS = 8


def without_doubles(pairs: Iterable[Pair], per_claim: int = 4) -> list[Pair]:
    """Every pair once, and no claim more often than a few times."""
    seen: set[tuple[str, str]] = set()
    claims: Counter[str] = Counter()
    kept = []
    for pair in pairs:
        key = (pair.claim, pair.passage)
        if key in seen or claims[pair.claim] >= per_claim:
            continue
        seen.add(key)
        claims[pair.claim] += 1
        kept.append(pair)
    return kept


def evened(random: Random, pairs: Iterable[Pair], per_kind: int) -> list[Pair]:
    """At most so many pairs of each kind, half of them supported in every bin of wording."""
    by_kind: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_kind[pair.kind].append(pair)
    chosen: list[Pair] = []
    for kind in sorted(by_kind):
        chosen += _even_kind(random, by_kind[kind], per_kind)
    random.shuffle(chosen)
    return chosen


def _even_kind(random: Random, pairs: list[Pair], limit: int) -> list[Pair]:
    bins: dict[tuple[int, ...], tuple[list[Pair], list[Pair]]] = defaultdict(lambda: ([], []))
    for pair in pairs:
        bins[_bin(pair)][pair.label != "supported"].append(pair)
    kept: list[Pair] = []
    for key in sorted(bins):
        true, false = bins[key]
        size = min(len(true), len(false))
        kept += random.sample(true, size) + _mixed(random, false, size)
    if len(kept) <= limit:
        return kept
    random.shuffle(kept)
    true, false = ([pair for pair in kept if (pair.label == "supported") == yes][: limit // 2] for yes in (True, False))
    return true + false


def _bin(pair: Pair) -> tuple[int, ...]:
    share = overlap(pair)
    length = len(words_of(pair.claim)) / len(words_of(pair.passage))
    return (int(share * _BINS) if share < 1 else _BINS + 1, min(4, int(length * 4)), int(kept_couples(pair) * 6))


def _mixed(random: Random, pairs: list[Pair], size: int) -> list[Pair]:
    """Refuted and unsupported ones in turn, as far as there are both."""
    refuted = [pair for pair in pairs if pair.label == "refuted"]
    unsupported = [pair for pair in pairs if pair.label == "unsupported"]
    few, many = sorted((refuted, unsupported), key=len)
    first = random.sample(few, min(len(few), size // 2))
    return first + random.sample(many, size - len(first))
