"""Scoring: how well each passage answers what is asked. Pure; the same passages always give the same order.

A weighted sum, so that every part can be read and argued with: how much of the question the passage covers, with its
surroundings, in its own words and by its headings; whether it states a value of the asked kind, or is of the kind that
answers (a list, code under its sentence); where its source ranks. The weights were fitted on the `dev` half of the
questions over real notes (`bench/real_answers.py`), drawn towards round ones chosen before, and hold for collections
that were left out of the fit: the answer is first for 73 of 114 questions and among the first three for 100, against 72
and 93 with the round ones. What moved no figure, there nor over 120 questions in other words, was taken out again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from citewell.answer.evidence import PreparedSource, PreparedSynthesis, as_meant
from citewell.answer.passages import Passage, passages_of
from citewell.answer.question import (
    DECIDING,
    QuestionPart,
    QuestionTerms,
    QuestionValues,
    TopicTerm,
    bag_of,
    leans_back,
    surroundings_of,
    topic_of,
    value_strength,
)
from citewell.answer.question import asked as asked_parts
from citewell.answer.values import WordCase, denials_in, quantities_in
from citewell.check.tokens import content_stems
from citewell.search.names import introduced_names
from citewell.search.query import Concept, QueryPlan
from citewell.text.canonical import folded_text
from citewell.text.languages import detect_language

# Aliases: other names a document gives to what it is about ("posts as @kelpwife", "formerly Limpet"). Pure.
#
# A note about a person speaks of them by one name; a question may use another. Only names the text itself introduces by
# such a turn of phrase count, and they count for every passage of that document.


def aliases_in(text: str) -> str:
    """The names a text introduces for its subject, separated by spaces."""
    return " ".join(dict.fromkeys(introduced_names(text)))


# The evidence taken apart once: its passages, and how far each speaks of each term of the question. Pure.


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage and, for each term of the topic, its support: with its surroundings, in its own words, in its headings.

    `follows` is what stands right below it and belongs to it; `place` counts the passages since the heading above.
    """

    passage: Passage
    support: tuple[float, ...]
    own: tuple[float, ...]
    headed: tuple[float, ...] = ()
    titled: tuple[float, ...] = ()
    follows: Literal["", "code", "list"] = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """Everything scoring needs to know about a question and its evidence."""

    topic: QuestionTerms
    concepts: tuple[Concept, ...]
    given: QuestionValues
    spelling: WordCase
    read: tuple[ReadPassage, ...]
    top_score: float
    # In which place, from 1 on, each document comes first.
    places: Mapping[str, int]

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(one.passage for one in self.read)

    def about(self, part: str) -> EvidenceView:
        """The same evidence for one part of the question: what only its other parts mention weighs less."""
        said = bag_of(part, None)
        concepts = tuple(one for one in self.concepts if any(bag_of(term, None) & said for term in one.terms))
        return replace(self, topic=self.topic.about(said), concepts=concepts)


class QuestionEvidence:
    """Prepared evidence and a planned question, taken apart once: estimating, comparing and quoting share it."""

    def __init__(self, prepared: PreparedSynthesis, plan: QueryPlan) -> None:
        self.prepared = prepared
        self.given = plan
        self.plan = as_meant(plan, prepared.read_as)

    @cached_property
    def parts(self) -> list[tuple[QuestionPart, EvidenceView, list[PassageScore]]]:
        """Each part of the question with the evidence as it concerns that part, and its passages, best first."""
        parts, whole = asked_parts(self.plan.text_query), read_evidence(self.prepared, self.plan)
        views = [whole if len(parts) == 1 else whole.about(part.text) for part in parts]
        return [(part, view, score_passages(part, view)) for part, view in zip(parts, views, strict=True)]


def read_evidence(prepared: PreparedSynthesis, plan: QueryPlan) -> EvidenceView:
    """Take the evidence apart for a planned question."""
    languages = [detect_language(source.text) for source in prepared.sources]
    spoken = sorted({language for language in languages if language})
    documents = [bag_of(source.text, language) for source, language in zip(prepared.sources, languages, strict=True)]
    text = "\n".join(source.text for source in prepared.sources)
    topic = topic_of(plan, prepared.term_weights, prepared.unseen_terms, spoken)
    topic = topic.among(frozenset().union(*documents))
    titles = " ".join(source.title for source in prepared.sources)
    return EvidenceView(
        topic=topic,
        concepts=plan.concepts,
        given=QuestionValues.by(plan.text_query),
        spelling=WordCase.of(text, titles),
        read=tuple(_read(prepared.sources, languages, documents, topic)),
        top_score=max((source.score for source in prepared.sources), default=0.0),
        places={key: at for at, key in enumerate(dict.fromkeys(one.source_key for one in prepared.sources), start=1)},
    )


def _read(
    sources: Sequence[PreparedSource],
    languages: Sequence[str | None],
    documents: Sequence[frozenset[str]],
    topic: QuestionTerms,
) -> Iterator[ReadPassage]:
    for source, language, document in zip(sources, languages, documents, strict=True):
        found = passages_of(source)
        aliases = f"{aliases_in(source.text)} {' '.join(one.shown for one in found if _gives_names(one))}".strip()
        titled = _support(topic, bag_of(source.title, language))
        place = 0
        for at, passage in enumerate(found):
            around = surroundings_of(passage, language, document, aliases)
            support = tuple(around.support(term) for term in topic.terms)
            headed = _support(topic, bag_of(f"{source.title} {passage.heading}", language))
            place = 0 if passage.kind == "heading" else place + 1
            follows = _follows(passage, found[at + 1] if at + 1 < len(found) else None)
            yield ReadPassage(passage, support, _support(topic, around.own), headed, titled, follows, place)


def _gives_names(passage: Passage) -> bool:
    """Whether a property gives other names of its note."""
    return passage.kind == "property" and passage.shown.partition(":")[0].casefold() in ("alias", "aliases")


def _support(topic: QuestionTerms, bag: frozenset[str]) -> tuple[float, ...]:
    return tuple(term.support(bag) for term in topic.terms)


def _follows(passage: Passage, following: Passage | None) -> Literal["", "code", "list"]:
    """What a passage leads into."""
    if following is None or passage.kind == "heading":
        return ""
    if following.kind == "code" and following.lead == passage.shown:
        return "code"
    opens = passage.kind in ("sentence", "line") and following.kind == "item" and following.lead == passage.shown
    return "list" if opens else ""


_DEFINES = re.compile(
    r"\b(?:is|was|are|were|became|known as|called|means|refers to|stands for)\b|^[^,]{3,60}, (?:an?|the) "
)
_WIKILINK = re.compile(r"\[\[[^\[\]\n]{1,200}\]\],?")
_FIGURES = re.compile(r"\d+")
_POINTER = re.compile(r"^(?:see|cf\.?|interview|source|background|more|link)\b|https?://\S+$")


# A heading that has this share of the question asks it itself.
ASKS = 0.75
WEIGHTS: dict[str, float] = {
    "coverage": 1.22,
    "own": 0.29,
    "headed": 0.15,
    "asked_by_heading": 0.25,
    "value": 0.38,
    "no_value": -0.38,
    "no_name": -0.37,
    "defines": 0.21,
    "denies": 0.19,
    "compares": 0.2,
    "listed": 0.43,
    "leads_to_code": 0.48,
    "leads_to_list": 0.32,
    "step": 0.14,
    "stray_property": -0.4,
    "asked_property": 0.6,
    "item": -0.04,
    "rank": 0.34,
    "first_source": 0.3,
    "long": -0.17,
    "opening": -0.06,
    "early": 0.06,
    "leans_back": 0.1,
}


@dataclass(frozen=True, slots=True)
class PassageScore:
    """A passage with what speaks for it; `missing` and `opposed` name terms it lacks, and terms it contradicts."""

    passage: Passage
    score: float
    by_words: float  # the part of the score that is not meaning
    coverage: float
    own: float
    value: float
    missing: tuple[str, ...]
    opposed: tuple[str, ...]
    features: Mapping[str, float] = field(default_factory=dict, compare=False)
    # How near its part of the document comes to the question in meaning, where there are vectors (`Likeness`).
    near: float | None = None

    @property
    def order(self) -> tuple[float, int, int]:
        return -self.score, self.passage.source.n, self.passage.start


def score_passages(asked: QuestionPart, reading: EvidenceView) -> list[PassageScore]:
    """Every passage that can answer, best first."""
    said = content_stems(asked.text)
    passages = (one for one in reading.read if _can_answer(one.passage) and not _echoes(asked, said, one.passage))
    return sorted((_scored(asked, reading, one) for one in passages), key=lambda one: one.order)


def _can_answer(passage: Passage) -> bool:
    """Questions, headings and mere pointers answer nothing; an item that is a link may be what a list is asked for."""
    if passage.kind == "heading" or passage.shown.rstrip("\"'”’)*").endswith("?"):
        return False
    if (len(passage.shown) <= 3 and passage.kind != "code") or _POINTER.search(folded_text(passage.shown)):
        return False
    return passage.kind in ("property", "code", "item") or not _is_index(passage)


def _echoes(asked: QuestionPart, said: Set[str], passage: Passage) -> bool:
    """Whether a property only says again what is asked: `categories: Places` in "Kyoto", asked for places in Kyoto.

    For yes or no, and for a definition, that may be the answer.
    """
    if asked.kind == "yes_no" or asked.defines or passage.kind != "property":
        return False
    stated = passage.shown.partition(":")[2]
    if not set(_FIGURES.findall(stated)) <= set(_FIGURES.findall(asked.text)):
        return False
    return content_stems(f"{passage.source.title} {stated}") <= said


def _is_index(passage: Passage) -> bool:
    """A line made of links points to answers."""
    raw = passage.source.text[passage.start : passage.end]
    linked = sum(end - start for start, end in (match.span() for match in _WIKILINK.finditer(raw)))
    return linked > 0.6 * len(raw)


def _scored(asked: QuestionPart, reading: EvidenceView, one: ReadPassage) -> PassageScore:
    terms, passage = reading.topic.terms, one.passage
    value = value_strength(asked, passage.stated, reading.given, reading.spelling)
    if asked.value == "name" and _names_its_key(passage, reading.topic):
        value = 1.0  # `author: elias` names the author, capital or not
    support = _with_value(asked, terms, one.support, value)
    coverage = _share(terms, support)
    own = _share(terms, one.own)
    missing = tuple(term for term, part in zip(terms, support, strict=True) if part < 0.5)
    features = _features(asked, reading, one, value) | {
        "coverage": coverage,
        "own": own,
        "exact_missing": float(sum(term.is_exact for term in missing)),
        "names_missing": _names_missing(reading, {term.text for term in missing}),
    }
    score = round(math.fsum(weight * features[name] for name, weight in WEIGHTS.items()), 6)
    return PassageScore(
        passage=passage,
        score=score,
        by_words=score,
        coverage=round(coverage, 6),
        own=round(own, 6),
        value=value,
        missing=tuple(term.text for term in missing),
        opposed=tuple(
            term.text for term, part in zip(terms, one.own, strict=True) if part < 0.5 and _contradicts(term, passage)
        ),
        features=features,
    )


def _with_value(
    asked: QuestionPart, terms: Sequence[TopicTerm], support: Sequence[float], value: float
) -> Sequence[float]:
    """A value of the asked kind stands for the word that names the kind: "painted green" needs no "colour"."""
    if value < 0.7 or asked.value is None:
        return support
    if asked.kind == "how_many" and asked.value == "number" and value < 1.0:
        return support  # a number of something else: fourteen goats are no sheep
    worth = 0.5 if asked.value == "name" else 0.8
    return [
        max(part, worth) if term.text in asked.attributes else part for term, part in zip(terms, support, strict=True)
    ]


def _share(terms: Sequence[TopicTerm], parts: Sequence[float]) -> float:
    total = sum(term.weight for term in terms)
    return sum(term.weight * part for term, part in zip(terms, parts, strict=True)) / total if total else 0.0


def _contradicts(term: TopicTerm, passage: Passage) -> bool:
    """Whether a passage says the contrary of a word it does not have: minority for majority."""
    return bool(term.opposed) and bool(term.opposed & bag_of(passage.stated, None))


def _features(asked: QuestionPart, reading: EvidenceView, one: ReadPassage, value: float) -> dict[str, float]:
    """What speaks for a passage and against it, beside the words it has: each between 0 and 1, and 0 for most."""
    passage, shown = one.passage, one.passage.shown
    words = len(shown.split())
    headed = _share(reading.topic.terms, one.headed)
    # In code and properties every word is one; nobody writes sentences there.
    prose = passage.kind in ("sentence", "line")
    procedure = asked.kind == "how" or (asked.kind == "what" and asked.is_bare)
    listed = asked.kind == "list" or asked.plural
    return {
        "headed": headed,
        "titled": _share(reading.topic.terms, one.titled),
        "asked_by_heading": float(headed >= ASKS and one.place <= 3),
        "value": value if asked.value is not None else 0.0,
        "no_value": float(asked.value in DECIDING and value == 0),
        "no_name": float(asked.value == "name" and value == 0 and not asked.defines),
        "defines": float(asked.defines and prose and _DEFINES.search(shown) is not None),
        "denies": float(asked.kind == "yes_no" and bool(denials_in(shown))),
        "compares": float(asked.kind == "compare" and prose and len(quantities_in(shown)) > 1),
        "listed": float(listed and (passage.kind in ("item", "row") or one.follows == "list")),
        "leads_to_code": float(procedure and one.follows == "code"),
        "leads_to_list": float(asked.kind == "how" and one.follows == "list"),
        "step": float(asked.kind == "how" and passage.kind == "item"),
        "stray_property": float(
            passage.kind == "property"
            and asked.value is None
            and not (any(one.own) and (asked.kind != "how" or _names_its_key(passage, reading.topic)))
        ),
        "asked_property": float(_is_asked_for(asked, passage)),
        "item": float(passage.kind == "item"),
        "rank": passage.source.score / reading.top_score if reading.top_score > 0 else 0.0,
        "first_source": 1.0 / reading.places[passage.source.source_key],
        "long": min(max(0, words - 10), 40) / 40,
        "opening": float(passage.ordinal < 2),
        "early": 1.0 / (1 + one.place),
        "leans_back": float(leans_back(passage)),
    }


def _names_missing(reading: EvidenceView, missing: Set[str]) -> float:
    """The share of the names a question is about that neither a passage nor what surrounds it has.

    The last word of a name tells whose it is: Martin alone is not Martin Okafor.
    """
    names = [one for one in reading.concepts if one.role == "anchor" and one.terms]
    return sum(one.terms[-1] in missing for one in names) / len(names) if names else 0.0


def _names_its_key(passage: Passage, topic: QuestionTerms) -> bool:
    """Whether the key of a property is a word of the question."""
    if passage.kind != "property":
        return False
    key = bag_of(passage.shown.partition(":")[0], None)
    return any(term.support(key) for term in topic.terms)


def _is_asked_for(asked: QuestionPart, passage: Passage) -> bool:
    """Whether a property has the name of what is asked for: which *tags*, what *rating*."""
    wanted = content_stems(" ".join(asked.attributes)) if passage.kind == "property" else frozenset()
    return bool(wanted) and content_stems(passage.shown.partition(":")[0]) == wanted
