"""Searching by several lanes: words, meaning, or both; in shadow, both are asked and the words alone answer.

A semantic lane that does not work never stops a search by words: what went wrong is in the report.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from citewell.clock import Clock
from citewell.errors import CitewellError, Unavailable
from citewell.models.rerank import Reranker, RerankQuery, RerankText, Signal
from citewell.search.query import Variant, VariantKind
from citewell.search.rows import Lane, rarity, term_chunks
from citewell.store.port import Candidate, Commonness, Filters, LexicalQuery, VectorIndex
from citewell.text.words import index_terms

if TYPE_CHECKING:
    from citewell.models.embeddings import Embedder
    from citewell.store.port import CorpusReader


# Lanes: how the semantic lane took part in a search, and what it changed or would have changed.


# Not at all; beside the search, changing nothing; in the search.
SemanticUse = Literal["off", "shadow", "on"]


@dataclass(frozen=True, slots=True)
class RankChange:
    """A document that stands elsewhere with the semantic lane than without it; places count from 1."""

    source_key: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SemanticReport:
    """What the semantic lane changed (`on`) or would change (`shadow`) against the search by words.

    With a `problem` the lane took no part: the result is that of the words.
    """

    use: SemanticUse
    model: str = ""
    weight: float = 0.0
    problem: str = ""
    entered: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: tuple[RankChange, ...] = ()


# A second look at the best candidates: do the words of the query stand together, and is this about the same thing?
#
# *Nearness*: neighbouring words of the query that stand close together in the text say more than the same words far
# apart. *Kinship*: what resembles the best candidates in the rest of its words is likely to be about what was asked,
# also where it says less of the query itself. Both only reorder what was found. This is the reranker there is without
# any model; another fits the same port (`models/rerank.py`). Pure.


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
            CandidateTerms(
                index_terms(text.title, text.language).split(), index_terms(text.body, text.language).split()
            )
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
class ProximityGain:
    """What the second look adds to the score of one candidate."""

    nearness: float
    kinship: float


@dataclass(frozen=True, slots=True)
class CandidateTerms:
    """A candidate as its terms: those of its title, then those of its text in order."""

    title: Sequence[str]
    body: Sequence[str]


def look_again(
    scores: Sequence[float],
    candidates: Sequence[CandidateTerms],
    query: Sequence[tuple[Sequence[str], float]],
    commonness: Commonness,
) -> list[ProximityGain]:
    """What to add to each score. `query` holds the forms of each word in the order asked, with its weight."""
    near = [_NEARNESS * _nearness(words, query) for words in candidates]
    sums = [score + gain for score, gain in zip(scores, near, strict=True)]
    kin = _kinship(sums, [_vector(words, commonness) for words in candidates])
    return [ProximityGain(nearness, kinship) for nearness, kinship in zip(near, kin, strict=True)]


def _nearness(words: CandidateTerms, query: Sequence[tuple[Sequence[str], float]]) -> float:
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


def _vector(words: CandidateTerms, commonness: Commonness) -> dict[str, float]:
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


# The lexical lane: chunks ranked by the words of a query, the best of them looked at twice.


# Which reranker a row's place is due to, where it is not the one that is always there.
UNAVAILABLE = "reranker_unavailable"
PROVENANCE = ("cross_encoder", UNAVAILABLE, "summary")
# A summary of the document has words of the query; what is shown is the document all the same.
SUMMARY = "summary"
_SUMMARY_TOLD = "words of the query stand in a summary of it"
_SHIPPED = ProximityReranker()


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A candidate with the signals its score is the sum of."""

    candidate: Candidate
    score: float
    signals: tuple[Signal, ...]


def rank(
    store: CorpusReader,
    query: LexicalQuery,
    filters: Filters,
    limit: int,
    text: str = "",
    reranker: Reranker | None = None,
) -> list[LexicalHit]:
    """The best chunk of each of the best `limit` documents; a reranker sees the query as the text it was asked in."""
    ranked = store.rank(query, filters, max(limit, CANDIDATES))
    looked = _look(store, query, ranked[:CANDIDATES], text, reranker or _SHIPPED)
    found = [_found(candidate, looked[at] if at < len(looked) else ()) for at, candidate in enumerate(ranked)]
    # Anyone who was not looked at stays behind those who were.
    head = sorted(found[: len(looked)], key=lambda row: (-row.score, row.candidate.document.source_key))
    return (head + found[len(looked) :])[:limit]


def _found(candidate: Candidate, more: Sequence[Signal]) -> LexicalHit:
    by_words = round(candidate.score - candidate.summary_score, 6)
    base = Signal("bm25", by_words, "words of the query, rarer ones heavier, title twice")
    told = (Signal(SUMMARY, candidate.summary_score, _SUMMARY_TOLD),) if candidate.summary_score else ()
    signals = (base, *told, *(signal for signal in more if signal.value or signal.name in PROVENANCE))
    return LexicalHit(candidate, round(sum(signal.value for signal in signals), 6), signals)


def _look(
    store: CorpusReader, query: LexicalQuery, candidates: Sequence[Candidate], text: str, reranker: Reranker
) -> Sequence[tuple[Signal, ...]]:
    if len(candidates) < 2 or not query.terms:
        return [() for _ in candidates]
    weights = rarity(term_chunks(store, query), store.chunk_count())
    words = [(term.forms, weights.get(term.text, 0.0)) for term in query.terms]
    asked = RerankQuery(text or " ".join(term.text for term in query.terms), words, store.commonness())
    bodies = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in candidates])
    texts = [
        RerankText(candidate.document.title, body, candidate.document.language, candidate.score)
        for candidate, body in zip(candidates, bodies, strict=True)
    ]
    try:
        return reranker.rerank(asked, texts)
    except CitewellError as error:
        problem = error.message
    except Exception as error:  # noqa: BLE001 - whatever a model's libraries raise, words still find
        problem = f"The reranker {reranker.name} failed: {type(error).__name__}: {error}"
    said = Signal(UNAVAILABLE, 0.0, problem)
    return [(*signals, said) for signals in _SHIPPED.rerank(asked, texts)]


# Fusing the lanes: what words found and what meaning found become one list, each row with its lanes and reasons. Pure.
#
# A row's score is the sum of its signals: its share of the best score by words, and its place between the worst and the
# best similarity, weighted. A row that has what was asked for exactly (a quoted phrase, a handle, a tag, a version) is
# never passed by a row without it that the words ranked lower. The row nearest in meaning has a place among the first
# five whatever the words say: the best row by words always has the full share, however little it has of the question.


# Both lanes are asked for so many documents, however few are shown: shares depend on them.
DEPTH = 100
# Weights that follow the query (how far the best row leads, how much of it is matched, how far the lanes agree) were no
# better than this one on queries they were not tuned on.
_WEIGHT = 0.4
# The row nearest in meaning stands no lower than this.
RESERVED_PLACE = 5
RESERVED = "semantic_reserved"


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A document that some lane found, with the signals its score is the sum of."""

    candidate: Candidate
    score: float
    signals: tuple[Signal, ...]
    lanes: tuple[Lane, ...]
    # How near it comes in meaning, where that lane found it.
    near: float = 0.0

    @property
    def key(self) -> str:
        return self.candidate.document.source_key

    @property
    def semantic(self) -> float:
        """What meaning contributes to the score."""
        return sum(signal.value for signal in self.signals if signal.name == "semantic")


def semantic_weight(lexical: Sequence[LexicalHit], semantic: Sequence[Candidate]) -> float:
    """How much meaning counts in this search, between 0 and 1."""
    if not lexical or not semantic:
        return 1.0 if semantic else 0.0
    return _WEIGHT


def fuse_lanes(
    lexical: Sequence[LexicalHit], semantic: Sequence[Candidate], weight: float, exact: Collection[str] = ()
) -> list[LaneRow]:
    """Every document once, best first. `exact` names those that have what was asked for exactly."""
    by_words = {found.candidate.document.source_key: found for found in lexical}
    by_meaning = {candidate.document.source_key: candidate for candidate in semantic}
    top = max((found.score for found in lexical), default=0.0)
    shares = _shares(semantic)
    rows = [
        _row(by_words.get(key), top, by_meaning.get(key), shares.get(key, 0.0), weight)
        for key in dict.fromkeys((*by_words, *by_meaning))
    ]
    if exact:
        rows = _with_exact_first(rows, [found.candidate.document.source_key for found in lexical], exact)
    ordered = sorted(rows, key=lambda row: (-row.score, row.key not in exact, row.key))
    return _with_reserved(ordered, nearest_key(semantic), exact)


def nearest_key(semantic: Sequence[Candidate]) -> str | None:
    """The document nearest in meaning; of several as near, the first by its key."""
    best = min(semantic, key=lambda candidate: (-candidate.score, candidate.document.source_key), default=None)
    return best.document.source_key if best else None


def _with_reserved(ordered: list[LaneRow], nearest: str | None, exact: Collection[str]) -> list[LaneRow]:
    """The row nearest in meaning among the first five, or behind the rows that have exactly what was asked for."""
    place = next((number for number, row in enumerate(ordered) if row.key == nearest), 0)
    behind = max((number + 1 for number, row in enumerate(ordered[:place]) if row.key in exact), default=0)
    target = max(RESERVED_PLACE - 1, behind)
    if place <= target:
        return ordered
    lifted = _reserved(ordered[place], ordered[target].score)
    rest = [row for row in ordered if row.key != nearest]
    return [*rest[:target], lifted, *rest[target:]]


def reserved_signal(gain: float) -> Signal:
    """Why a row stands in a place that its score alone would not give it."""
    return Signal(RESERVED, round(max(gain, 0.0), 6), "nearest in meaning, so among the first five")


def _reserved(row: LaneRow, score: float) -> LaneRow:
    signal = reserved_signal(score - row.score)
    return replace(row, score=round(row.score + signal.value, 6), signals=(*row.signals, signal))


def _shares(semantic: Sequence[Candidate]) -> dict[str, float]:
    """Where each similarity stands between the lowest and the highest."""
    if not semantic:
        return {}
    scores = [candidate.score for candidate in semantic]
    low, span = min(scores), max(scores) - min(scores)
    return {c.document.source_key: (c.score - low) / span if span > 0 else 1.0 for c in semantic}


def _row(found: LexicalHit | None, top: float, near: Candidate | None, share: float, weight: float) -> LaneRow:
    signals: list[Signal] = []
    lanes: list[Lane] = []
    if found is not None:
        scale = (1.0 - weight) / top if top > 0 else 0.0
        signals += [replace(signal, value=round(signal.value * scale, 6)) for signal in found.signals]
        lanes.append("lexical")
    by_words = sum(signal.value for signal in signals)
    if near is not None:
        signals.append(Signal("semantic", round(weight * share, 6), f"meaning: similarity {near.score:.3f}"))
        lanes.append("semantic")
    # The passage of the lane that says more for the document.
    candidate = near if found is None or (near is not None and weight * share > by_words) else found.candidate
    assert candidate is not None  # a row comes from one lane at least
    score = round(sum(signal.value for signal in signals), 6)
    return LaneRow(candidate, score, tuple(signals), tuple(lanes), near.score if near is not None else 0.0)


def _with_exact_first(rows: Sequence[LaneRow], by_words: Sequence[str], exact: Collection[str]) -> list[LaneRow]:
    """Lift an exact row to the level of every inexact one that the words ranked below it."""
    place = {key: number for number, key in enumerate(by_words)}
    inexact = [row for row in rows if row.key not in exact]
    lifted: list[LaneRow] = []
    for row in rows:
        if row.key in exact:
            own = place.get(row.key, len(place))
            floor = max((other.score for other in inexact if place.get(other.key, len(place)) >= own), default=0.0)
            row = _lifted(row, floor - row.score)
        lifted.append(row)
    return lifted


def _lifted(row: LaneRow, gain: float) -> LaneRow:
    if gain <= 0:
        return row
    signal = Signal("exact", round(gain, 6), "has exactly what was asked for, so meaning alone passes it by no row")
    return replace(row, score=round(row.score + signal.value, 6), signals=(*row.signals, signal))


def compare(use: SemanticUse, model: str, weight: float, before: Sequence[str], after: Sequence[str]) -> SemanticReport:
    """What the semantic lane makes of a list of documents."""
    old, new = ({key: number for number, key in enumerate(keys, start=1)} for keys in (before, after))
    return SemanticReport(
        use=use,
        model=model,
        weight=round(weight, 4),
        entered=tuple(key for key in after if key not in old),
        left=tuple(key for key in before if key not in new),
        moved=tuple(RankChange(key, old[key], new[key]) for key in after if key in old and old[key] != new[key]),
    )


# Opens the lane when it is first needed; raises a CitewellError where that is not possible.
OpenLane = Callable[[], "SemanticLane"]


def no_lane() -> SemanticLane:
    """For those who search by words only."""
    raise Unavailable("The semantic lane is off.", fix="Set CITEWELL_EMBEDDINGS=on.")


@dataclass(frozen=True, slots=True)
class LaneResult:
    """The rows that count, and what the semantic lane did or would have done."""

    rows: list[LaneRow]
    report: SemanticReport | None = None
    reach: float = 0.0  # the best score that words alone gave
    nearest: str | None = None  # the document nearest in meaning, where that counts
    related: float = 0.0  # how near a row has to come that has no word of what is asked


def by_words(found: Sequence[LexicalHit]) -> list[LaneRow]:
    return [LaneRow(row.candidate, row.score, row.signals, ("lexical",)) for row in found]


def by_meaning(candidates: Sequence[Candidate]) -> list[LaneRow]:
    """Rows of the semantic lane alone."""
    return [
        LaneRow(
            candidate,
            round(candidate.score, 6),
            (Signal("semantic", round(candidate.score, 6), "meaning: similarity to the query"),),
            ("semantic",),
            candidate.score,
        )
        for candidate in candidates
    ]


def search_lanes(
    store: CorpusReader,
    open_lane: OpenLane,
    use: SemanticUse,
    text: str,
    query: LexicalQuery,
    filters: Filters,
    limit: int,
    reranker: Reranker | None = None,
) -> LaneResult:
    """The best documents by words, or by words and meaning; the lane is asked as far as `use` says."""
    if use == "off":
        found = rank(store, query, filters, limit, text, reranker)
        return LaneResult(by_words(found), reach=_reach(found))
    words = rank(store, query, filters, max(limit, DEPTH), text, reranker)
    plain = by_words(words[:limit])
    try:
        lane = open_lane()
        near = lane.rank(text, filters, max(limit, DEPTH))
    except CitewellError as error:
        return LaneResult(plain, SemanticReport(use, problem=error.message), _reach(words))
    except Exception as error:  # noqa: BLE001 - whatever a model's libraries raise, words still find
        problem = f"The model failed: {type(error).__name__}: {error}"
        return LaneResult(plain, SemanticReport(use, problem=problem), _reach(words))
    weight = semantic_weight(words, near)
    exact = exact_keys(store, query, [row.candidate for row in words] + list(near))
    fused = fuse_lanes(words, near, weight, exact)[:limit]
    report = compare(use, lane.model, weight, [row.key for row in plain], [row.key for row in fused])
    if use != "on":
        return LaneResult(plain, report, _reach(words))
    return LaneResult(fused, report, _reach(words), nearest_key(near), lane.embedder.related)


def _reach(found: Sequence[LexicalHit]) -> float:
    return max((row.candidate.score for row in found), default=0.0)


def exact_keys(store: CorpusReader, query: LexicalQuery, candidates: Sequence[Candidate]) -> frozenset[str]:
    """The documents among these whose passage, title or tags have something that was asked for exactly."""
    if not query.phrases:
        return frozenset()
    forms = [f" {form} " for phrase in query.phrases for form in phrase.forms]
    texts = store.slices([(c.document.content_hash, c.chunk.start, c.chunk.end) for c in candidates])
    found: set[str] = set()
    for candidate, text in zip(candidates, texts, strict=True):
        document = candidate.document
        parts = (document.title, *document.aliases, *candidate.chunk.heading_path, " ".join(document.user_tags), text)
        spoken = "  ".join(" ".join(index_terms(part, document.language).split()) for part in parts)
        if any(form in f" {spoken} " for form in forms):
            found.add(document.source_key)
    return frozenset(found)


# The semantic lane: chunks ranked by what they mean, as an embedding model sees it.


NO_VECTORS = "The semantic lane has no vectors yet"


@dataclass(frozen=True, slots=True)
class SemanticLane:
    """A model and the vectors it made. Documents that have none yet are not seen by this lane."""

    index: VectorIndex
    embedder: Embedder

    @property
    def model(self) -> str:
        return self.embedder.model_id

    def rank(self, text: str, filters: Filters, limit: int) -> Sequence[Candidate]:
        """The nearest chunk of each of the nearest documents; the score is the cosine."""
        found = self.index.rank(self.model, self.embedder.encode_query(text), filters, limit)
        if found is None:
            raise Unavailable(
                f"{NO_VECTORS} from {self.model}.", fix="Make them: citewell embed. To search by words: --mode lexical"
            )
        return [candidate for candidate in found if candidate.score >= self.embedder.unrelated]

    def chunks_near(self, text: str, keys: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """How near every encoded chunk of these documents comes: by document and span; nothing without vectors."""
        return self.index.similar_chunks(self.model, self.embedder.encode_query(text), keys)


# Fusion: the results of several queries become one list of documents, each with its best chunk. Pure.


# Some of the question's own words, without the rest; or with other spellings, which the question itself was searched
# with too.
_SAYING_LESS: frozenset[VariantKind] = frozenset({"content", "anchors", "spelling"})
# Searched as a phrase: words that stand together score more than words do, so these say nothing of how far words reach.
AS_PHRASE: frozenset[VariantKind] = frozenset({"title", "phrase"})


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A document's best chunk; `base` is its share of the best score, `variants` are the queries that found it.

    `best` is the query that this chunk and share come from.
    """

    candidate: Candidate
    base: float
    variants: tuple[str, ...]
    best: str


@dataclass(frozen=True, slots=True)
class Results:
    """What one query found, best first; `reach` is the best score its words alone gave.

    Scores by words compare between queries of one index: a query of one word reaches less than one of six, so what it
    finds counts for less. Without this the best row of every query would be as good as the best row of the question.
    """

    variant: Variant
    candidates: Sequence[Candidate]
    reach: float = 1.0


def fuse(results: Sequence[Results]) -> list[FusedHit]:
    """Each document once: its best share of a query's top score, weighted by the query and by how far that reaches.

    A query that only says less than the question does finds what the question missed, and puts it last.
    """
    asked = [found for found in results if found.variant.kind not in _SAYING_LESS] or list(results)
    fused = {row.candidate.document.source_key: row for row in _fused(asked, results)}
    least = min((row.base for row in fused.values()), default=1.0)
    for row in _fused([found for found in results if found not in asked], results):
        key = row.candidate.document.source_key
        known = fused.get(key)
        more = replace(row, base=min(row.base, least)) if known is None else replace(row, base=0.0)
        fused[key] = _better(known, more)
    return sorted(fused.values(), key=lambda row: (-row.base, row.candidate.document.source_key))


def _fused(chosen: Sequence[Results], results: Sequence[Results]) -> list[FusedHit]:
    fused: dict[str, FusedHit] = {}
    answered = [found for found in results if found.candidates]
    by_words = [found for found in answered if found.variant.kind not in AS_PHRASE] or answered
    farthest = max((found.reach for found in by_words), default=0.0)
    for found in chosen:
        if not found.candidates:
            continue
        variant = found.variant
        top = max(found.candidates[0].score, 1e-9)
        weight = variant.weight * (min(1.0, found.reach / farthest) if farthest > 0 else 1.0)
        for candidate in found.candidates:
            key = candidate.document.source_key
            base = weight * max(candidate.score, 0.0) / top
            fused[key] = _better(fused.get(key), FusedHit(candidate, base, (variant.kind,), variant.kind))
    return list(fused.values())


def _better(old: FusedHit | None, new: FusedHit) -> FusedHit:
    if old is None:
        return new
    best = new if new.base > old.base else old
    return FusedHit(best.candidate, best.base, tuple(dict.fromkeys((*old.variants, *new.variants))), best.best)


def near_parts(
    open_lane: OpenLane, question: str, windows: Sequence[tuple[str, int, int]]
) -> tuple[tuple[str, int, int, float], ...]:
    """How near each part of these windows comes that has a vector: document, start, end, to four digits.

    None where nobody measured what the model's similarities are worth. Raises Unavailable.
    """
    try:
        lane = open_lane()
        if not lane.embedder.tells_answers or not windows:
            return ()
        found = lane.chunks_near(question, list(dict.fromkeys(key for key, _, _ in windows)))
    except CitewellError:
        raise
    except Exception as error:
        raise Unavailable(f"The model failed: {type(error).__name__}: {error}", fix="See: citewell doctor") from error
    return tuple(
        (key, start, end, round(near, 4))
        for (key, start, end), near in found.items()
        if any(key == other and start < high and low < end for other, low, high in windows)
    )


@dataclass(frozen=True, slots=True)
class EncodeProgress:
    """How far encoding has come; so many vectors are stored, whatever happens next."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class EncodeReport:
    """What `embed` did."""

    model: str
    encoded: int
    left: int
    chunks: int
    seconds: float


# Encoding: every chunk of the corpus gets its vector, batch by batch; it goes on where it stopped.


# Between two batches a writer next door gets its turn, and a kill loses no more than one of them.
BATCH = 32


def encode_corpus(
    store: VectorIndex, embedder: Embedder, clock: Clock, most_seconds: float | None = None, batch: int = BATCH
) -> Iterator[EncodeProgress | EncodeReport]:
    """Encode what lacks a vector, for so long at most; the last event is the report. No transaction is open while the
    model works."""
    started = clock.monotonic()
    store.begin(embedder.model_id, embedder.dimension)
    total, done = store.coverage().left, 0
    yield EncodeProgress(0, total)
    while most_seconds is None or clock.monotonic() - started < most_seconds:
        waiting = store.next_unencoded(batch)
        if not waiting.chunks:
            break
        vectors = embedder.encode_passages([chunk.text for chunk in waiting.chunks])
        if not store.put(embedder.model_id, waiting.after, [chunk.chunk for chunk in waiting.chunks], vectors):
            # Another process encodes too, or was given another model: what is left is asked for anew.
            store.begin(embedder.model_id, embedder.dimension)
            continue
        done += len(waiting.chunks)
        yield EncodeProgress(done, max(total, done))
    coverage = store.coverage()
    seconds = round(clock.monotonic() - started, 3)
    yield EncodeReport(embedder.model_id, done, coverage.left, coverage.encoded + coverage.left, seconds)
