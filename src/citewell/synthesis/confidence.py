"""Confidence: how likely the best passages answer the question. One estimate for answer and refusal.

A logistic formula over what the best passage has and lacks, and over how near its block comes in meaning where a model
was asked (`likeness`). By words alone, a passage that lacks words of the question is a poor sign, and the weights come
from the `dev` half of the questions over real notes. With meaning they come from these and from 190 questions over six
other collections, asked in people's own words and not kept here: those who ask about what a note holds often
use other words, those who ask about what it does not hold the same ones, so that shared words tell little and the
estimate is a modest one. Both are strongly shrunk. docs/real-notes.md has the reliability table.

Example:
    question: How much did the band cost?
    passage:  The band counts steps.
    lacks:    an amount of money, the rarest other word ("cost")
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.evidence import Answerability
from citewell.synthesis.answer_units import AnswerUnit
from citewell.synthesis.answer_values import value_strength
from citewell.synthesis.asking import Asked
from citewell.synthesis.passages import Passage
from citewell.synthesis.reading import Reading
from citewell.synthesis.scoring import ASKS, Scored
from citewell.synthesis.sufficiency import LEAST_OWN, what_is_missing
from citewell.text.folding import folded_text


@dataclass(frozen=True, slots=True)
class Formula:
    """A logistic formula: intercept and the weight of each feature."""

    intercept: float
    weights: dict[str, float]


# Chosen, not fitted: hardly a question of the collections has these two; the sample corpus and SQuAD 2.0 are full of
# them. Meaning finds what other words say.
BY_WORDS = Formula(
    1.18,
    {
        "score": 0.73,
        "rarest_missing": -0.54,
        "no_value": -2.22,
        "names_missing": -1.48,
        "asks_value": -0.32,
        "insufficient": -0.47,
        "unstated": -1.61,
        "off_topic": -1.42,
        "impersonal": -1.94,
        "unseen": -2.0,
        "no_reason": -1.4,
    },
)
BY_MEANING = Formula(
    1.27,
    {
        "score": 0.2,
        "no_value": -1.97,
        "names_missing": -1.29,
        "asks_value": -0.45,
        "insufficient": -0.09,
        "unstated": -1.05,
        "impersonal": -0.63,
        "near_block": 1.25,
        "unseen": -2.0,
        "no_reason": -0.9,
    },
)
CHOSEN = frozenset({"unseen", "no_reason"})
_LOOKED_AT = 3
_NAMES = 0.5
# No estimate goes beyond 2% and 98%: nothing measured bears out more.
_SURE = 3.9
_PERSONAL = re.compile(r"\bmy\b|\b(?:did|have|was|am) i\b|^(?:which|what|who|when|where)\b.*\bdo i\b(?! need)")
_ADVICE = re.compile(r"\b(?:should|can|may|must) (?:i|others|we|you)\b|\bwhat do i do\b")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i’m|i’ve|i’d|my|me|mine|we|our|us|discussed|bought)\b")
# A passage that says the contrary of what is asked does not answer it, whatever else it has.
_CONTRARY = 0.3


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """What the best passage has and lacks; all but `score` between 0 and 1."""

    score: float  # by words
    rarest_missing: float
    no_value: float
    names_missing: float
    asks_value: float
    insufficient: float
    unseen: float  # the share of words it lacks that nothing in the corpus has
    unstated: float  # another number or name than the one asked for, or no name, or no count of what is counted
    no_reason: float
    off_topic: float  # a sentence without a word of the question, under headings that hardly have one
    impersonal: float  # asked of the writer's own life, and the passage speaks of nobody's
    near_block: float  # in meaning, with its headings; 0 where no model was asked


def confidence(part: Asked, ranked: Sequence[Scored], reading: Reading) -> Answerability:
    """The estimate for one part of a question, by its passages, best first."""
    if not ranked:
        return Answerability(0.0, ("no sentence has a word of the question",))
    features = confidence_features(part, ranked, reading)
    formula = BY_WORDS if ranked[0].near is None else BY_MEANING
    logit = formula.intercept + math.fsum(weight * getattr(features, name) for name, weight in formula.weights.items())
    probability = round(1.0 / (1.0 + math.exp(-max(-_SURE, min(_SURE, logit)))), 3)
    if ranked[0].opposed and part.kind != "yes_no":
        probability = min(probability, _CONTRARY)
    reason = what_is_missing(part, ranked[0], reading.topic, reading.concepts)
    return Answerability(probability, (reason,) if reason else ())


def confidence_features(part: Asked, ranked: Sequence[Scored], reading: Reading) -> ConfidenceFeatures:
    """The features of the best passages for one part of a question."""
    best = ranked[0]
    weights = {term.text: term.weight for term in reading.topic.terms}
    rarest = max(weights.values(), default=0.0)
    missing = max((weights[text] for text in best.missing), default=0.0)
    total = math.fsum(weights.values())
    unseen = math.fsum(one.weight for one in reading.topic.terms if one.is_unseen and one.text in best.missing)
    tried = ranked[:_LOOKED_AT]
    insufficient = all(what_is_missing(part, one, reading.topic, reading.concepts) for one in tried)
    return ConfidenceFeatures(
        score=best.by_words,
        rarest_missing=round(missing / rarest, 6) if rarest else 0.0,
        no_value=best.features["no_value"],
        names_missing=best.features["names_missing"],
        asks_value=float(part.value is not None),
        insufficient=float(insufficient),
        unseen=round(unseen / total, 6) if total else 0.0,
        unstated=float(all(_is_unstated(part, one) for one in tried)),
        no_reason=float(part.value == "reason" and not _gives_reason(part, best, reading)),
        off_topic=float(
            best.passage.kind in ("sentence", "line") and best.own < LEAST_OWN and best.features["headed"] < ASKS
        ),
        impersonal=float(_is_personal(part.text) and not _speaks_of_the_writer(best.passage)),
        near_block=best.near_block or 0.0,
    )


def _is_unstated(part: Asked, best: Scored) -> bool:
    """Whether the passage lacks a number of the question, the name that is asked for, or what is to be counted."""
    if best.features["exact_missing"]:
        return True
    if part.names and best.value < _NAMES:
        return True
    missing = [word for word in part.attributes if word in best.missing]
    return part.kind == "how_many" and bool(missing) and len(missing) == len(part.attributes)


def _gives_reason(part: Asked, best: Scored, reading: Reading) -> bool:
    """Whether the passage, or the block it stands in, gives a reason."""
    source = best.passage.source
    start, end = AnswerUnit(best.passage, (best.passage,)).block
    return best.value >= 1.0 or value_strength(part, source.text[start:end], reading.given, reading.spelling) >= 1.0


def _is_personal(question: str) -> bool:
    """Whether a question is about the writer: "my dentist", "did I walk"; "how do I", "should I" are anyone's."""
    spoken = folded_text(question)
    return _PERSONAL.search(spoken) is not None and _ADVICE.search(spoken) is None


def _speaks_of_the_writer(passage: Passage) -> bool:
    """Whether a passage or what stands around it says I, my, we; a property of a note is the writer's own record."""
    around = f"{passage.lead} {passage.before} {passage.shown} {passage.after} {passage.heading}"
    return passage.kind == "property" or _FIRST_PERSON.search(folded_text(around)) is not None
