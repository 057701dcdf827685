"""Scoring: how well each passage answers what is asked. Pure; the same passages always give the same order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.domain.answers import PreparedSynthesis
from citewell.domain.documents import DERIVED_ROLES
from citewell.domain.queries import Concept, QueryPlan
from citewell.synthesis.answer_values import DECIDING, Given, value_strength
from citewell.synthesis.asking import Asked
from citewell.synthesis.names import Spelling
from citewell.synthesis.passages import Passage, passages_of
from citewell.synthesis.topic import Topic, TopicTerm, bag_of, leans_back, surroundings_of, topic_of
from citewell.synthesis.values import quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import detect_language

_DEFINES = re.compile(
    r"\b(?:is|was|are|were|became|known as|called|means|refers to|stands for)\b|^[^,]{3,60}, (?:an?|the) "
)
_WIKILINK = re.compile(r"\[\[[^\[\]\n]{1,200}\]\],?")
_POINTER = re.compile(r"^(?:see|cf\.?|interview|source|background|more|link)\b|https?://\S+$")


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with what speaks for it. `missing` names the terms nothing near it mentions."""

    passage: Passage
    score: float
    coverage: float
    own: float
    value: float
    matched: frozenset[str]
    opposed: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def order(self) -> tuple[float, int, int]:
        return -self.score, self.passage.source.n, self.passage.start


@dataclass(frozen=True, slots=True)
class Reading:
    """All passages of the evidence, taken apart once for every part of a question."""

    topic: Topic
    concepts: tuple[Concept, ...]
    given: Given
    spelling: Spelling
    passages: tuple[Passage, ...]
    supports: tuple[tuple[float, ...], ...]
    owns: tuple[tuple[float, ...], ...]

    def about(self, part: str) -> Reading:
        """The same evidence for one part of the question: what only its other parts mention weighs less."""
        said = bag_of(part, None)
        concepts = tuple(one for one in self.concepts if any(bag_of(term, None) & said for term in one.terms))
        return replace(self, topic=self.topic.about(said), concepts=concepts)


def read_evidence(prepared: PreparedSynthesis, plan: QueryPlan) -> Reading:
    """Take the evidence apart: passages, and how far each speaks of each term of the question."""
    languages = {source.n: detect_language(source.text) for source in prepared.sources}
    topic = topic_of(plan, prepared, sorted({language for language in languages.values() if language}))
    found: list[Passage] = []
    supports: list[tuple[float, ...]] = []
    owns: list[tuple[float, ...]] = []
    for source in prepared.sources:
        language = languages[source.n]
        document = bag_of(source.text, language)
        for passage in passages_of(source):
            around = surroundings_of(passage, language, document)
            found.append(passage)
            supports.append(tuple(around.support(term) for term in topic.terms))
            owns.append(tuple(term.support(around.own) for term in topic.terms))
    titles = " ".join(source.title for source in prepared.sources)
    spelling = Spelling.of("\n".join(source.text for source in prepared.sources), titles)
    return Reading(
        topic, plan.concepts, Given.by(plan.text_query), spelling, tuple(found), tuple(supports), tuple(owns)
    )


def score_passages(asked: Asked, reading: Reading, top_score: float) -> list[Scored]:
    """Every passage that can answer, best first."""
    scored = [
        _scored(asked, reading, passage, support, own, top_score)
        for passage, support, own in zip(reading.passages, reading.supports, reading.owns, strict=True)
        if _can_answer(passage, own)
    ]
    return sorted(scored, key=lambda one: one.order)


def _can_answer(passage: Passage, own: Sequence[float]) -> bool:
    """Questions, headings and mere pointers answer nothing, nor does what shares no word with the question."""
    if passage.kind == "heading" or passage.shown.rstrip("\"'”’)*").endswith("?"):
        return False
    if len(passage.shown) <= 3 or _POINTER.search(folded_text(passage.shown)):
        return False
    return not _is_index(passage)


def _is_index(passage: Passage) -> bool:
    """A line made of links points to answers."""
    raw = passage.source.text[passage.start : passage.end]
    linked = sum(end - start for start, end in (match.span() for match in _WIKILINK.finditer(raw)))
    return linked > 0.6 * len(raw)


def _scored(
    asked: Asked, reading: Reading, passage: Passage, support: Sequence[float], own: Sequence[float], top_score: float
) -> Scored:
    terms = reading.topic.terms
    total = reading.topic.weight or 1.0
    value = value_strength(asked, passage.stated, reading.given, reading.spelling)
    if value >= 0.7:
        # A value of the asked kind stands for the word that names the kind: "painted green" needs no "colour".
        worth = 0.5 if asked.value == "name" else 0.8
        support = [
            max(part, worth) if asked.value and term.text in asked.attributes else part
            for term, part in zip(terms, support, strict=True)
        ]
    coverage = sum(term.weight * part for term, part in zip(terms, support, strict=True)) / total
    own_part = sum(term.weight * part for term, part in zip(terms, own, strict=True)) / total
    lost = sum(1 for term, part in zip(terms, support, strict=True) if term.is_exact and part < 0.5)
    score = (
        coverage + 0.5 * own_part - 0.25 * lost + _fit(asked, reading, passage, value) + _standing(passage, top_score)
    )
    return Scored(
        passage,
        round(score, 6),
        round(coverage, 6),
        round(own_part, 6),
        value,
        frozenset(term.text for term, part in zip(terms, support, strict=True) if part >= 0.5),
        tuple(term.text for term, part in zip(terms, own, strict=True) if part < 0.5 and _contradicts(term, passage)),
        tuple(term.text for term, part in zip(terms, support, strict=True) if part < 0.5),
    )


def _contradicts(term: TopicTerm, passage: Passage) -> bool:
    """Whether a passage says the contrary of a word it does not have: minority for majority."""
    return bool(term.opposed) and bool(term.opposed & bag_of(passage.stated, None))


def _fit(asked: Asked, reading: Reading, passage: Passage, value: float) -> float:
    """What the kind of answer adds or takes away."""
    fit = 0.5 * value
    if asked.kind == "compare" and passage.kind == "sentence" and len(quantities_in(passage.shown)) > 1:
        fit += 0.2
    if asked.kind == "list" and passage.kind in ("item", "row"):
        fit += 0.6
    if passage.kind == "row" and not _names_its_row(passage, reading.topic):
        fit -= 0.3
    if asked.value in DECIDING and value == 0:
        fit -= 0.5
    if asked.value == "name" and value == 0 and not asked.defines:
        fit -= 0.3
    if asked.defines and _DEFINES.search(passage.shown):
        fit += 0.2
    return fit


def _names_its_row(passage: Passage, topic: Topic) -> bool:
    """Whether a cell of the row itself, not only the table's header, speaks of the question."""
    cells = bag_of(passage.stated, None)
    return any(term.support(cells) for term in topic.terms)


def _standing(passage: Passage, top_score: float) -> float:
    """Rank of the source, and how well the passage stands on its own."""
    rank = passage.source.score / top_score if top_score > 0 else 0.0
    standing = 0.25 * rank + 0.1 / passage.source.n
    words = len(passage.shown.split())
    # Of two that say the same, the shorter says it better.
    standing -= min(0.002 * max(0, words - 10), 0.08)
    if words < 5 and passage.kind in ("sentence", "line"):
        standing -= 0.15
    if passage.ordinal < 2:
        standing += 0.03
    if leans_back(passage):
        standing -= 0.05
    if passage.source.role in DERIVED_ROLES:
        standing -= 0.15
    return standing
