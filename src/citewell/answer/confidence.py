"""Confidence: how likely the best passages answer the question. One estimate for answer and refusal.

A logistic formula over what the best passage has and lacks, and over how near its block comes in meaning where a model
was asked (`likeness`). By words alone, a passage that lacks words of the question is a poor sign, and the weights come
from the `dev` half of the questions over real notes. With meaning they come from these and from 190 questions over six
other collections, asked in people's own words and not kept here: those who ask about what a note holds often
use other words, those who ask about what it does not hold the same ones, so that shared words tell little and the
estimate is a modest one. Both are strongly shrunk. docs/measurements/real-notes.md has the reliability table.

Example:
    question: How much did the band cost?
    passage:  The band counts steps.
    lacks:    an amount of money, the rarest other word ("cost")
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.evidence import Likeness, Read, Readings
from citewell.answer.passages import Passage
from citewell.answer.question import DECIDING, QuestionPart, QuestionTerms, ValueKind, value_strength
from citewell.answer.score import ASKS, EvidenceView, PassageScore, QuestionEvidence
from citewell.answer.units import AnswerUnit
from citewell.answer.values import denials_in
from citewell.search.query import Concept
from citewell.search.rows import Answerability
from citewell.text.canonical import folded_text
from citewell.text.languages import question_language
from citewell.text.words import index_terms

# Sufficiency: whether the best passage answers the question, or only speaks of its subject. Pure.
#
# The tempting case is a corpus full of the subject that never states the asked attribute; then the right answer is a
# refusal. What must be there, in the sentence or right beside it: a value of the asked kind, the words that name the
# attribute, every number, version and name of the question, no contrary of its words, and about half of the rest by
# weight. Words decide: a fact told in quite other words is refused, and a question that differs from a fact only in who
# did what to whom is answered. The thresholds were chosen on SQuAD 2.0 questions, apart from those they are measured
# on, and on the sample corpus; putting the estimate of `answerability` in their place refused more for no better trade.


LEAST_COVERAGE = 0.45
LEAST_OWN = 0.2
# With an attribute word missing, the rest has to carry this much.
_LEAST_WITHOUT_ATTRIBUTE = 0.55
# With a word missing that nothing in the corpus has, the rest has to carry this much, in this many words.
_LEAST_WITHOUT_UNSEEN = 0.55
_LEAST_OTHER_WORDS = 3
# With what was done missing, the rest has to carry this much.
_LEAST_WITHOUT_DEED = 0.7
_WHO_DID = re.compile(r"(?:who|which [a-z]+|what [a-z]+) (?:else |first |also )?([a-z]+)\b")

_SPOKEN: dict[ValueKind, str] = {
    "money": "an amount of money",
    "length": "a measure of length",
    "frequency": "how often",
    "duration": "how long",
}


def what_is_missing(asked: QuestionPart, best: PassageScore, topic: QuestionTerms, concepts: Sequence[Concept]) -> str:
    """Why the best passage is no answer, in a few words; empty where it is one."""
    return (
        _missing_value(asked, best)
        or missing_names(best, topic, concepts)
        or contrary_said(asked, best)
        or _missing_attribute(asked, best)
        or _missing_deed(asked, best)
        or _missing_unseen(best, topic)
        or _missing_words(best)
    )


def _missing_value(asked: QuestionPart, best: PassageScore) -> str:
    if asked.value in DECIDING and best.value == 0:
        return f"no passage states {_SPOKEN.get(asked.value, f'a {asked.value}')} for this"
    if asked.value == "name" and not asked.defines and best.value < (0.5 if asked.attributes else 0.3):
        return "no passage gives the name asked for"
    if asked.value == "reason" and best.value < 1.0:
        return "no passage gives a reason for this"
    return ""


def missing_names(best: PassageScore, topic: QuestionTerms, concepts: Sequence[Concept]) -> str:
    """A number, version, tag, name or quoted phrase of the question that nothing near the passage mentions."""
    exact = [term.text for term in topic.terms if term.is_exact and term.text in best.missing]
    named = [concept for concept in concepts if concept.role == "anchor" and concept.protected is None]
    # The last word of a name tells whose it is: Martin alone is not Martin Okafor.
    missing = [one.name for one in named if one.terms and one.terms[-1] in best.missing]
    quoted = [one.name for one in concepts if one.protected == "phrase" and not _is_quoted(one.name, best)]
    found = list(dict.fromkeys((*exact, *missing, *quoted)))
    return f"no passage speaks of {', '.join(found)} in this connection" if found else ""


def _is_quoted(phrase: str, best: PassageScore) -> bool:
    """Whether the source has the phrase, word for word, in its text or as its title."""
    source = best.passage.source
    said = index_terms(f"{source.title}\n{source.text}", "en")
    return f" {index_terms(phrase, 'en')} " in f" {said} "


def contrary_said(asked: QuestionPart, best: PassageScore) -> str:
    """Where the passage says the contrary of what is asked, or the question denies what the passage does not."""
    if best.opposed and asked.kind != "yes_no":
        return f"the nearest passage says the contrary of {', '.join(best.opposed)}"
    if asked.kind != "yes_no" and denials_in(asked.text) and not denials_in(best.passage.shown):
        return "no passage denies what the question denies"
    return ""


def _missing_attribute(asked: QuestionPart, best: PassageScore) -> str:
    words = [word for word in asked.attributes if word in best.missing]
    counted = asked.kind == "how_many" and len(words) == len(asked.attributes)
    if words and (best.coverage < _LEAST_WITHOUT_ATTRIBUTE or counted):
        return f"no passage states the {' '.join(words)}"
    return ""


def _missing_deed(asked: QuestionPart, best: PassageScore) -> str:
    """What somebody is asked to have done, in a question that says little else: who, or which firm, *owns* the shed."""
    found = _WHO_DID.match(folded_text(asked.text))
    if asked.value == "name" and found and found[1] in best.missing and best.coverage < _LEAST_WITHOUT_DEED:
        return f"no passage says who {found[1]} it"
    return ""


def _missing_unseen(best: PassageScore, topic: QuestionTerms) -> str:
    """A word of the question that the whole corpus does not have, nor anything that means the same.

    With it goes what was asked: a shed that was built says nothing of when it was demolished.
    """
    unseen = [term.text for term in topic.terms if term.is_unseen and term.text in best.missing]
    others = len(topic.terms) - len(best.missing)
    if unseen and (best.coverage < _LEAST_WITHOUT_UNSEEN or others < _LEAST_OTHER_WORDS):
        return f"no passage speaks of {', '.join(unseen)} in this connection"
    return ""


def _missing_words(best: PassageScore) -> str:
    if best.coverage >= LEAST_COVERAGE and best.own >= LEAST_OWN:
        return ""
    return f"the nearest passages do not mention {', '.join(best.missing) or 'this'}"


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
        "near": 1.25,
        "unseen": -2.0,
        "no_reason": -0.9,
    },
)
CHOSEN = frozenset({"unseen", "no_reason"})
# How the estimate by rules and what a reader says come together: chosen so that it takes no right answer away from 149
# questions of `dev` and 30 others, of whose 41 that nothing answers 27 are refused with it and 21 without. That it
# finds no answer counts for more than that it finds one.
READ_INTERCEPT, READ_RULES, READ_ANSWERS = -0.6, 1.5, 0.6
_LEAST_ODDS, _MOST_ODDS = -6.0, 1.5
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
    near: float  # in meaning; 0 without vectors


def confidence(
    part: QuestionPart, ranked: Sequence[PassageScore], reading: EvidenceView, answers: float | None = None
) -> Answerability:
    """The estimate for one part of a question, by its passages, best first, and by what a reader says of them."""
    if not ranked:
        return Answerability(0.0, ("no sentence has a word of the question",))
    features = confidence_features(part, ranked, reading)
    formula = BY_WORDS if ranked[0].near is None else BY_MEANING
    logit = formula.intercept + math.fsum(weight * getattr(features, name) for name, weight in formula.weights.items())
    if answers is not None:
        logit = READ_INTERCEPT + READ_RULES * logit + READ_ANSWERS * _odds(answers)
    probability = round(1.0 / (1.0 + math.exp(-max(-_SURE, min(_SURE, logit)))), 3)
    if ranked[0].opposed and part.kind != "yes_no":
        probability = min(probability, _CONTRARY)
    reason = what_is_missing(part, ranked[0], reading.topic, reading.concepts)
    return Answerability(probability, (reason,) if reason else ())


def _odds(chance: float) -> float:
    """The logarithm of the odds, as far as it counts."""
    return max(_LEAST_ODDS, min(_MOST_ODDS, math.log(max(chance, 1e-9) / max(1.0 - chance, 1e-9))))


def confidence_features(
    part: QuestionPart, ranked: Sequence[PassageScore], reading: EvidenceView
) -> ConfidenceFeatures:
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
        near=best.near or 0.0,
    )


def _is_unstated(part: QuestionPart, best: PassageScore) -> bool:
    """Whether the passage lacks a number of the question, the name that is asked for, or what is to be counted."""
    if best.features["exact_missing"]:
        return True
    if part.names and best.value < _NAMES:
        return True
    missing = [word for word in part.attributes if word in best.missing]
    return part.kind == "how_many" and bool(missing) and len(missing) == len(part.attributes)


def _gives_reason(part: QuestionPart, best: PassageScore, reading: EvidenceView) -> bool:
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


# Likeness: how near the parts of the evidence come to the question, by the vectors of an embedding model. Pure.
#
# The vectors are those the corpus is searched by, one for every few paragraphs; they are read outside
# (`flows/outside.py`) and put on record. They decide with the words which passage is best, and whether it answers: a
# passage may have every word of a question and speak of something else.
#
# Example:
#     question: Which dentist do I go to?
#     passage:  Each visit to the dentist is expensive.
#     likeness: 0.59, where passages that answer have 0.7 and more


# How much of the score is meaning: of 1.2, 2 and 3 chosen on `dev`. Vectors of single passages, made while the question
# waits, gave as many right answers there and refused no better, for a third of the processor time.
LIKENESS_WEIGHT = 2.0


def windows_to_compare(evidence: QuestionEvidence) -> tuple[tuple[str, int, int], ...]:
    """Where vectors are to be read: the evidence, each window by its document, start and end.

    Nowhere for a question in another language: the model has learned English, and calls everything else alike.
    """
    if question_language(evidence.plan.text_query) not in (None, "en"):
        return ()
    return tuple((one.source_key, one.span.start, one.span.end) for one in evidence.prepared.sources)


def by_meaning_too(ranked: Sequence[PassageScore], likeness: Likeness) -> list[PassageScore]:
    """The same passages with their likeness, in the order of words and meaning together.

    What has no vector, like a page that was just read, counts as much as the mean of what has one.
    """
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for key, start, end, near in likeness.parts:
        parts.setdefault(key, []).append((start, end, near))
    found = [_near(one.passage, parts) for one in ranked]
    known = [near for near in found if near is not None]
    if not known:
        return list(ranked)
    mean = math.fsum(known) / len(known)
    nearer = [_nearer(one, mean if near is None else near) for one, near in zip(ranked, found, strict=True)]
    return sorted(nearer, key=lambda one: one.order)


def _near(passage: Passage, parts: Mapping[str, Sequence[tuple[int, int, float]]]) -> float | None:
    """How near the nearest part comes that the passage begins in."""
    at = passage.source.span.start + passage.start
    inside = (near for start, end, near in parts.get(passage.source.source_key, ()) if start <= at < end)
    return max(inside, default=None)


def _nearer(one: PassageScore, near: float) -> PassageScore:
    return replace(one, score=round(one.score + LIKENESS_WEIGHT * near, 6), near=near)


def _under(passage: Passage) -> str:
    return f"{passage.source.title}. {passage.heading}:"


# What a reader makes of the passages: a model that marks where in a text the answer to a question stands. Pure.
#
# Words and meaning choose the candidates; a reader, asked outside (`flows/outside.py`) and put on record, reads each
# among its neighbours, and says how likely the answer stands there, and in which words. The words are marked, and how
# likely counts in the estimate: where it is sure that nothing it read answers, nothing is answered. It does not change
# the order: that cost two right answers of `dev` and gained none.
#
# Example:
#     question: When was the lamp first lit?
#     passages: The lamp was lit on 14 November 1859. | The lamp is lit at dusk.
#     answers:  0.93, "14 November 1859" | 0.11


# Windows a reader is asked about, and words of a window: a fiftieth of a second each.
MAX_READ = 12
READ_WORDS = 60
# The answer is hardly ever further down.
_BEST = 24
_WORD = re.compile(r"\S+")


def texts_to_read(evidence: QuestionEvidence, likeness: Likeness) -> tuple[str, ...]:
    """What a reader is asked about: the best passages of each part of the question, each among its neighbours."""
    found: dict[str, None] = {}
    for _, _, ranked in evidence.parts:
        texts = dict.fromkeys(window_text(one.passage) for one in by_meaning_too(ranked, likeness)[:_BEST])
        found |= dict.fromkeys(list(texts)[: max(1, MAX_READ // len(evidence.parts))])
    return tuple(found)


def window_text(passage: Passage) -> str:
    """A passage as it is read: under its title and heading, among what stands around it in its block."""
    start, end = window_of(passage)
    return f"{_under(passage)} {passage.shown if passage.kind == 'row' else passage.source.text[start:end]}"


def window_of(passage: Passage) -> tuple[int, int]:
    """Where that text lies in the source: whole words of the block, as many before the passage as behind it."""
    text = passage.source.text
    block = AnswerUnit(passage, (passage,)).block
    before = [word.start() for word in _WORD.finditer(text, min(block[0], passage.start), passage.start)]
    after = [word.end() for word in _WORD.finditer(text, passage.end, max(block[1], passage.end))]
    room = max(0, READ_WORDS - len(text[passage.start : passage.end].split()))
    first = min(len(before), max(room // 2, room - len(after)))
    last = min(len(after), room - first)
    return before[-first] if first else passage.start, after[last - 1] if last else passage.end


def best_answer(ranked: Sequence[PassageScore], readings: Readings) -> float | None:
    """How likely one of the best windows answers, as the reader says; None where none was read.

    Of the first few, as words and meaning rank them: among many there is always one that seems to answer.
    """
    known = readings.by_text
    texts = dict.fromkeys(window_text(one.passage) for one in ranked[:_BEST]) if known else {}
    return max([known[text].answers for text in texts if text in known][:_LOOKED_AT], default=None)


def decisive_place(passage: Passage, text: str, said: Read) -> tuple[int, int]:
    """Where the words a reader found in the window of a passage stand in the source; of a row, the row."""
    if passage.kind == "row":
        return passage.start, passage.end
    start, end = window_of(passage)
    lead = len(text) - (end - start)
    return max(start, start + said.start - lead), max(start, start + said.end - lead)
