"""Features of answerability: of a question, what the nearest sentences have and what they lack. Pure.

Everything is looked for in one sentence, with a discount for its title and its neighbours: words of the question that
are spread over a page answer nothing. It reads words, names, numbers and their order; it does not understand grammar.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from citewell.domain.queries import Concept
from citewell.synthesis.answer_values import DECIDING, Given, value_strength
from citewell.synthesis.asking import Asked
from citewell.synthesis.names import Spelling
from citewell.synthesis.topic import Topic, TopicTerm, bag_of
from citewell.synthesis.values import denials_in
from citewell.text.folding import folded_text
from citewell.text.sentences import sentences
from citewell.text.words import index_terms

MAX_ROWS = 8
MAX_SENTENCES = 160
_LOOKED_AT = 3
_TITLE, _BEFORE, _LEANING, _AFTER, _DOCUMENT = 0.7, 0.5, 0.8, 0.35, 0.25
_LEANS = frozenset("it he she they this that these those his her its their him them both".split())
_MOST_WEIGHT = 60.0
_LONG = 60
_FAR = 40


class EvidenceText(Protocol):
    """A row of evidence, or a source made ready for an answer."""

    @property
    def title(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def user_tags(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class AnswerabilityFeatures:
    """What one sentence has of the question, each between 0 and 1 unless it says otherwise."""

    around: float  # the share of the question's words, by rarity, that it or what surrounds it has
    names_missing: float
    exact_missing: float
    unseen: float  # the share of words it lacks that nothing in the corpus has
    matched: float  # how much it has of the question, in rare words: from 0, about 1 for each
    document_matched: float
    no_value: float
    reversed: float
    spread: float
    opposed: float
    denied: float
    denies: float
    length: float
    missing: tuple[str, ...]
    contrary: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    stems: tuple[str, ...]
    support: tuple[float, ...]
    own: tuple[float, ...]
    document: frozenset[str]
    share: float


def read_answerability_features(
    asked: Asked, topic: Topic, concepts: Sequence[Concept], rows: Sequence[EvidenceText], chunks: int
) -> list[AnswerabilityFeatures]:
    """The features of the sentences that come nearest to the question, nearest first."""
    if not topic.terms:
        return []
    found = [sentence for row in rows[:MAX_ROWS] for sentence in _sentences(row, topic.terms)]
    nearest = sorted(found, key=lambda one: -one.share)[:_LOOKED_AT]
    given = Given.by(asked.text)
    text = "\n".join(one.text for one in nearest)
    spelling = Spelling.of(text, " ".join(row.title for row in rows[:MAX_ROWS]))
    named = {word for concept in concepts if concept.role == "anchor" for word in concept.terms}
    named |= {term.text for term in topic.terms if term.is_exact}
    rare = math.log(2 + max(chunks, 1))
    return [
        _features(asked, topic.terms, named, one, value_strength(asked, one.text, given, spelling), rare)
        for one in nearest
    ]


def _sentences(row: EvidenceText, terms: Sequence[TopicTerm]) -> Iterator[_Sentence]:
    """The sentences of a row that have a word of the question, with what each has of it."""
    texts = [row.text[start:end] for start, end in sentences(row.text)][:MAX_SENTENCES]
    stems = [tuple(index_terms(text, "en").split()) for text in texts]
    bags = [frozenset(one) for one in stems]
    title = bag_of(f"{row.title} {' '.join(row.user_tags)}", "en")
    document = bag_of(row.text, "en") | title
    weights = [term.weight for term in terms]
    total = sum(weights) or 1.0
    titled = [_TITLE * term.support(title, meanings=False) for term in terms]
    anywhere = [_DOCUMENT * term.support(document, meanings=False) for term in terms]
    nothing: list[float] = [0.0] * len(terms)
    quick = [[term.support(bag) for term in terms] for bag in bags]
    for at, text in enumerate(texts):
        own = quick[at]
        if not any(own) or text.rstrip("\"'”’)*").endswith("?"):
            continue
        leaning = stems[at] and folded_text(text[:12]).lstrip("\"'“‘(").partition(" ")[0] in _LEANS
        before = quick[at - 1] if at else nothing
        after = quick[at + 1] if at + 1 < len(quick) else nothing
        worth = _LEANING if leaning else _BEFORE
        support = tuple(
            max(mine, worth * earlier, _AFTER * later, in_title, somewhere)
            for mine, earlier, later, in_title, somewhere in zip(own, before, after, titled, anywhere, strict=True)
        )
        share = math.fsum(w * (s + 0.5 * o) for w, s, o in zip(weights, support, own, strict=True)) / total
        yield _Sentence(text, stems[at], support, tuple(own), document, share)


def _features(
    asked: Asked, terms: Sequence[TopicTerm], named: Set[str], one: _Sentence, value: float, rare: float
) -> AnswerabilityFeatures:
    lacks = [(term, 1.0 - part) for term, part in zip(terms, one.support, strict=True)]
    missing = [term for term, lack in lacks if lack > 0.5]
    document = [(term, term.support(one.document)) for term in terms]
    places = [_places(term, one.stems) for term in terms]
    stems = frozenset(one.stems)
    contrary = tuple(term.text for term, own in zip(terms, one.own, strict=True) if own < 0.5 and term.opposed & stems)
    denies = bool(denials_in(asked.text))
    return AnswerabilityFeatures(
        around=_share(zip(terms, one.support, strict=True)),
        names_missing=_share((term, lack) for term, lack in lacks if term.text in named),
        exact_missing=float(any(term.is_exact for term in missing)),
        unseen=_share((term, float(term.is_unseen and term in missing)) for term in terms),
        matched=_rare_words(zip(terms, one.support, strict=True), rare),
        document_matched=_rare_words(document, rare),
        no_value=float(asked.value in DECIDING and value == 0.0),
        reversed=_reversed(places),
        spread=_spread(places),
        opposed=float(bool(contrary)),
        denied=float(denies != bool(denials_in(one.text))),
        denies=float(denies),
        length=min(len(one.stems), _LONG) / _LONG,
        missing=tuple(term.text for term in missing),
        contrary=contrary,
    )


def _rare_words(parts: Iterable[tuple[TopicTerm, float]], rare: float) -> float:
    """What was met, by weight, in units of the rarest word there can be; more of it counts less and less."""
    return math.log1p(min(math.fsum(min(term.weight, rare) * part for term, part in parts), _MOST_WEIGHT) / rare)


def _share(parts: Iterable[tuple[TopicTerm, float]]) -> float:
    """The weighted mean; 0 where there is nothing to weigh."""
    weighed = [(term.weight, part) for term, part in parts]
    total = math.fsum(weight for weight, _ in weighed)
    return math.fsum(weight * part for weight, part in weighed) / total if total else 0.0


def _places(term: TopicTerm, stems: Sequence[str]) -> list[int]:
    forms = frozenset().union(term.wholes, *term.parts)
    return [at for at, form in enumerate(stems) if form in forms] or [
        at for at, form in enumerate(stems) if form in term.near
    ]


def _gap(first: Sequence[int], second: Sequence[int]) -> int | None:
    return min((b - a for a in first for b in second), key=abs, default=None)


def _reversed(places: Sequence[Sequence[int]]) -> float:
    """The share of neighbouring words of the question that stand in the other order."""
    gaps = [gap for first, second in pairwise(places) if (gap := _gap(first, second)) is not None]
    return sum(gap < 0 for gap in gaps) / len(gaps) if gaps else 0.0


def _spread(places: Sequence[Sequence[int]]) -> float:
    """How far apart the first and the last word of the question stand, up to 40."""
    found = [at[0] for at in places if at]
    return min(max(found) - min(found), _FAR) / _FAR if found else 1.0
