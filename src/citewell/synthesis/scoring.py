"""Scoring: how well each passage answers what is asked. Pure; the same passages always give the same order.

A weighted sum, so that every part can be read and argued with: how much of the question the passage covers, with its
surroundings and in its own words; whether it states a value of the asked kind; where its source ranks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.documents import DERIVED_ROLES
from citewell.synthesis.answer_values import DECIDING, value_strength
from citewell.synthesis.asking import Asked
from citewell.synthesis.passages import Passage
from citewell.synthesis.reading import Reading, ReadPassage
from citewell.synthesis.topic import Topic, TopicTerm, bag_of, leans_back
from citewell.synthesis.values import quantities_in
from citewell.text.folding import folded_text

_DEFINES = re.compile(
    r"\b(?:is|was|are|were|became|known as|called|means|refers to|stands for)\b|^[^,]{3,60}, (?:an?|the) "
)
_WIKILINK = re.compile(r"\[\[[^\[\]\n]{1,200}\]\],?")
_POINTER = re.compile(r"^(?:see|cf\.?|interview|source|background|more|link)\b|https?://\S+$")


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage with what speaks for it; `missing` and `opposed` name terms it lacks, and terms it contradicts."""

    passage: Passage
    score: float
    coverage: float
    own: float
    value: float
    missing: tuple[str, ...]
    opposed: tuple[str, ...]

    @property
    def order(self) -> tuple[float, int, int]:
        return -self.score, self.passage.source.n, self.passage.start


def score_passages(asked: Asked, reading: Reading) -> list[Scored]:
    """Every passage that can answer, best first."""
    scored = [_scored(asked, reading, one) for one in reading.read if _can_answer(one.passage)]
    return sorted(scored, key=lambda one: one.order)


def _can_answer(passage: Passage) -> bool:
    """Questions, headings and mere pointers answer nothing."""
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


def _scored(asked: Asked, reading: Reading, one: ReadPassage) -> Scored:
    terms, passage = reading.topic.terms, one.passage
    value = value_strength(asked, passage.stated, reading.given, reading.spelling)
    support = _with_value(asked, terms, one.support, value)
    coverage = _share(terms, support)
    own = _share(terms, one.own)
    missing = tuple(term for term, part in zip(terms, support, strict=True) if part < 0.5)
    lost = sum(term.is_exact for term in missing)
    score = coverage + 0.5 * own - 0.25 * lost + _fit(asked, reading, passage, value)
    return Scored(
        passage=passage,
        score=round(score + _standing(passage, reading.top_score), 6),
        coverage=round(coverage, 6),
        own=round(own, 6),
        value=value,
        missing=tuple(term.text for term in missing),
        opposed=tuple(
            term.text for term, part in zip(terms, one.own, strict=True) if part < 0.5 and _contradicts(term, passage)
        ),
    )


def _with_value(asked: Asked, terms: Sequence[TopicTerm], support: Sequence[float], value: float) -> Sequence[float]:
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
