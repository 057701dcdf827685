"""A second look at the best candidates: do the words of the query stand together, and is this about the same thing?

*Nearness*: neighbouring words of the query that stand close together in the text say more than the same words far
apart. *Kinship*: what resembles the best candidates in the rest of its words is likely to be about what was asked, also
where it says less of the query itself. Both only reorder what was found. This is the reranker there is without any
model; another fits the same port (`domain/ports.py`). Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from citewell.domain.evidence import Signal
from citewell.domain.ports import Commonness, RerankQuery, RerankText
from citewell.domain.values import dataclass
from citewell.text.words import index_terms

CANDIDATES = 20
_NEAR_WORDS = 8
_NEARNESS = 0.8
_SATURATION = 1.2
_KINSHIP = 1.1
_BEST = 5
_TITLE = 2
# A copy is not another source that is about the same thing.
_COPY = 0.95
_MOST = 1_000
_REPEATED = (0.0, *(1.0 + math.log(count) for count in range(1, _MOST + 1)))


class ProximityReranker:
    """The second look as a reranker."""

    name = "second look"

    def rerank(self, query: RerankQuery, texts: Sequence[RerankText]) -> list[tuple[Signal, ...]]:
        words = [
            Words(index_terms(text.title, text.language).split(), index_terms(text.body, text.language).split())
            for text in texts
        ]
        return [
            (
                Signal("nearness", round(look.nearness, 6), "words of the query stand close together"),
                Signal("kinship", round(look.kinship, 6), "about the same as the best rows"),
            )
            for look in look_again([text.score for text in texts], words, query.words, query.commonness)
        ]


@dataclass(frozen=True, slots=True)
class Looked:
    """What the second look adds to the score of one candidate."""

    nearness: float
    kinship: float


@dataclass(frozen=True, slots=True)
class Words:
    """A candidate as its terms: those of its title, then those of its text in order."""

    title: Sequence[str]
    body: Sequence[str]


def look_again(
    scores: Sequence[float],
    candidates: Sequence[Words],
    query: Sequence[tuple[Sequence[str], float]],
    commonness: Commonness,
) -> list[Looked]:
    """What to add to each score. `query` holds the forms of each word in the order asked, with its weight."""
    near = [_NEARNESS * _nearness(words, query) for words in candidates]
    sums = [score + gain for score, gain in zip(scores, near, strict=True)]
    kin = _kinship(sums, [_vector(words, commonness) for words in candidates])
    return [Looked(nearness, kinship) for nearness, kinship in zip(near, kin, strict=True)]


def _nearness(words: Words, query: Sequence[tuple[Sequence[str], float]]) -> float:
    """How often neighbouring words of the query stand close together, the rarer ones heavier."""
    wanted = {form: number for number, (forms, _) in enumerate(query) for form in forms}
    places: dict[int, list[int]] = {}
    # One empty place between title and text, so that the last word of one is no neighbour of the first of the other.
    hits = [(at, wanted[term]) for at, term in enumerate((*words.title, "", *words.body)) if term in wanted]
    for at, number in hits:
        places.setdefault(number, []).append(at)
    total = 0.0
    seen: set[tuple[int, int]] = set()
    for (first, first_weight), (second, second_weight) in pairwise(query):
        if not first or not second:
            continue
        pair = (wanted[first[0]], wanted[second[0]])
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        together = _close(places.get(pair[0], ()), places.get(pair[1], ()))
        total += (first_weight + second_weight) / 2 * together / (together + _SATURATION)
    return total


def _close(first: Sequence[int], second: Sequence[int]) -> int:
    """How many of the first places have one of the second nearby; both are in rising order."""
    found = at = 0
    for place in first:
        while at < len(second) and second[at] < place - _NEAR_WORDS:
            at += 1
        if at < len(second) and second[at] <= place + _NEAR_WORDS:
            found += 1
    return found


def _vector(words: Words, commonness: Commonness) -> dict[str, float]:
    """The terms of a candidate as a vector of length one; what it repeats and what is rare in the corpus is heavier."""
    counts = Counter(words.body)
    for term in words.title:
        counts[term] += _TITLE
    weights, rare = commonness.weights, commonness.rare
    vector = {term: _REPEATED[min(count, _MOST)] * weights.get(term, rare) for term, count in counts.items()}
    size = math.sqrt(sum([weight * weight for weight in vector.values()])) or 1.0
    return {term: weight / size for term, weight in vector.items()}


def _kinship(sums: Sequence[float], vectors: Sequence[Mapping[str, float]]) -> list[float]:
    """How much each resembles one of the best, by how good that one is; the best resemble themselves."""
    if not sums:
        return []
    top = max(sums)
    if top <= 0.0:
        return [0.0] * len(sums)
    best = sorted(range(len(sums)), key=lambda index: (-sums[index], index))[:_BEST]
    gains: list[float] = []
    for index, vector in enumerate(vectors):
        gain = 0.0
        for other in best:
            likeness = 1.0 if other == index else _likeness(vector, vectors[other])
            if other != index and likeness > _COPY:
                continue
            gain = max(gain, math.sqrt(likeness) * sums[other] / top)
        gains.append(_KINSHIP * top * gain)
    return gains


def _likeness(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    # A sum without rounding on the way: the terms come in no particular order.
    return math.fsum([first[term] * second[term] for term in first.keys() & second.keys()])
