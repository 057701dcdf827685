"""Scoring: how well each passage answers what is asked. Pure; the same passages always give the same order.

A weighted sum, so that every part can be read and argued with: how much of the question the passage covers, with its
surroundings, in its own words and by its headings; whether it states a value of the asked kind, or is of the kind that
answers (a list, code under its sentence); where its source ranks. The weights were fitted on the `dev` half of the
questions over real notes (`bench/real_answers.py`), drawn towards round ones chosen before, and hold for collections
that were left out of the fit: the answer is first for 73 of 114 questions and among the first three for 100, against 72
and 93 with the round ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from citewell.domain.documents import DERIVED_ROLES
from citewell.synthesis.answer_values import DECIDING, value_strength
from citewell.synthesis.asking import Asked
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.passages import Passage
from citewell.synthesis.reading import Reading, ReadPassage
from citewell.synthesis.topic import Topic, TopicTerm, bag_of, leans_back
from citewell.synthesis.values import denials_in, quantities_in
from citewell.text.folding import folded_text

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
    "exact_missing": -0.3,
    "names_missing": -0.27,
    "headed": 0.15,
    "titled": 0.06,
    "asked_by_heading": 0.25,
    "value": 0.38,
    "no_value": -0.38,
    "no_name": -0.37,
    "defines": 0.21,
    "denies": 0.19,
    "compares": 0.2,
    "listed": 0.43,
    "leads_to_code": 0.48,
    "code": -0.11,
    "code_asked": 0.18,
    "leads_to_list": 0.32,
    "step": 0.14,
    "stray_row": -0.31,
    "property": -0.14,
    "stray_property": -0.4,
    "property_value": -0.05,
    "asked_property": 0.6,
    "index": -0.3,
    "item": -0.04,
    "line": 0.09,
    "rank": 0.34,
    "first_source": 0.3,
    "long": -0.17,
    "short": -0.19,
    "opening": -0.06,
    "early": 0.06,
    "leans_back": 0.1,
    "derived": -0.15,
}


@dataclass(frozen=True, slots=True)
class Scored:
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
    # How near it and its block come to the question in meaning, where a model was asked (`likeness`).
    near: float | None = None
    near_block: float | None = None
    # How likely it answers, where a reader was asked (`read_answers`).
    answers: float | None = None

    @property
    def order(self) -> tuple[float, int, int]:
        return -self.score, self.passage.source.n, self.passage.start


def score_passages(asked: Asked, reading: Reading) -> list[Scored]:
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


def _echoes(asked: Asked, said: Set[str], passage: Passage) -> bool:
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


def _scored(asked: Asked, reading: Reading, one: ReadPassage) -> Scored:
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
    score = round(math.fsum(WEIGHTS[name] * feature for name, feature in features.items()), 6)
    return Scored(
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


def _features(asked: Asked, reading: Reading, one: ReadPassage, value: float) -> dict[str, float]:
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
        "code": float(passage.kind == "code"),
        "code_asked": float(procedure and passage.kind == "code"),
        "leads_to_list": float(asked.kind == "how" and one.follows == "list"),
        "step": float(asked.kind == "how" and passage.kind == "item"),
        "stray_row": float(passage.kind == "row" and not _names_its_row(passage, reading.topic)),
        "property": float(passage.kind == "property"),
        "stray_property": float(passage.kind == "property" and not any(one.own) and asked.value is None),
        "asked_property": float(_is_asked_for(asked, passage)),
        "property_value": value if passage.kind == "property" and asked.value is not None else 0.0,
        "index": float(passage.kind == "item" and _is_index(passage)),
        "item": float(passage.kind == "item"),
        "line": float(passage.kind == "line"),
        "rank": passage.source.score / reading.top_score if reading.top_score > 0 else 0.0,
        "first_source": 1.0 / passage.source.n,
        "long": min(max(0, words - 10), 40) / 40,
        "short": float(words < 5 and prose),
        "opening": float(passage.ordinal < 2),
        "early": 1.0 / (1 + one.place),
        "leans_back": float(leans_back(passage)),
        "derived": float(passage.source.role in DERIVED_ROLES),
    }


def _names_missing(reading: Reading, missing: Set[str]) -> float:
    """The share of the names a question is about that neither a passage nor what surrounds it has.

    The last word of a name tells whose it is: Martin alone is not Martin Okafor.
    """
    names = [one for one in reading.concepts if one.role == "anchor" and one.terms]
    return sum(one.terms[-1] in missing for one in names) / len(names) if names else 0.0


def _names_its_key(passage: Passage, topic: Topic) -> bool:
    """Whether the key of a property is a word of the question."""
    if passage.kind != "property":
        return False
    key = bag_of(passage.shown.partition(":")[0], None)
    return any(term.support(key) for term in topic.terms)


def _is_asked_for(asked: Asked, passage: Passage) -> bool:
    """Whether a property has the name of what is asked for: which *tags*, what *rating*."""
    wanted = content_stems(" ".join(asked.attributes)) if passage.kind == "property" else frozenset()
    return bool(wanted) and content_stems(passage.shown.partition(":")[0]) == wanted


def _names_its_row(passage: Passage, topic: Topic) -> bool:
    """Whether a cell of the row itself, not only the table's header, speaks of the question."""
    cells = bag_of(passage.stated, None)
    return any(term.support(cells) for term in topic.terms)
