"""Likeness: how near the best passages come to the question in meaning, by an embedding model. Pure.

Words choose a few candidates; a model, asked outside (`flows/outside.py`) and put on record, says how near each comes
with its title, heading and lead-in, and how near the block it stands in. Both decide with the words which passage is
best, and whether it answers: a passage may have every word of a question and speak of something else.

Example:
    question: Which dentist do I go to?
    passage:  Each visit to the dentist is expensive.
    likeness: 0.59, where passages that answer have 0.7 and more
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from citewell.domain.answers import Likeness, PreparedSynthesis
from citewell.domain.queries import QueryPlan
from citewell.synthesis.answer_units import AnswerUnit
from citewell.synthesis.asking import asked
from citewell.synthesis.meant import as_meant
from citewell.synthesis.passages import Passage
from citewell.synthesis.reading import read_evidence
from citewell.synthesis.scoring import Scored, score_passages
from citewell.text.question_language import question_language

# The answer is hardly ever further down; each costs a hundredth of a second.
MAX_PASSAGES = 24
MAX_BLOCKS = 8
_PASSAGE_CHARS, _BLOCK_CHARS = 600, 1_200
# How much of the score is meaning. People ask in other words than they wrote: over six collections that nothing was
# chosen on, the answer comes first for 68 of 140 questions with these, for 55 with 0.6 and 0; over `dev` for 81 and 86
# of 123, and among the first three for as many with both.
WEIGHT, BLOCK_WEIGHT = 2.0, 1.0


def texts_to_compare(prepared: PreparedSynthesis, plan: QueryPlan) -> tuple[str, ...]:
    """What a model is asked about: the best passages of each part of the question, and their blocks.

    Nothing for a question in another language: the model has learned English, and calls everything else alike.
    """
    if not prepared.sources:
        return ()
    plan = as_meant(plan, prepared.read_as)
    if question_language(plan.text_query) not in (None, "en"):
        return ()
    reading = read_evidence(prepared, plan)
    parts = asked(plan.text_query)
    texts: dict[str, None] = {}
    for part in parts:
        ranked = score_passages(part, reading if len(parts) == 1 else reading.about(part.text))
        texts |= dict.fromkeys(_texts(ranked))
    return tuple(texts)


def _texts(ranked: Sequence[Scored]) -> Iterator[str]:
    for one in ranked[:MAX_PASSAGES]:
        yield passage_text(one.passage)
    yield from list(dict.fromkeys(block_text(one.passage) for one in ranked[:MAX_PASSAGES]))[:MAX_BLOCKS]


def passage_text(passage: Passage) -> str:
    """A passage as it is compared: it may lean on its title, its heading and what leads into it."""
    return f"{_under(passage)} {passage.lead} {passage.shown}"[:_PASSAGE_CHARS]


def block_text(passage: Passage) -> str:
    """The block of a passage as it is compared."""
    start, end = AnswerUnit(passage, (passage,)).block
    return f"{_under(passage)} {passage.source.text[start:end]}"[:_BLOCK_CHARS]


def _under(passage: Passage) -> str:
    return f"{passage.source.title}. {passage.heading}:"


def by_meaning_too(ranked: Sequence[Scored], likeness: Likeness) -> list[Scored]:
    """The same passages with their likeness, in the order of words and meaning together.

    What was not compared counts as no nearer than the farthest of what was.
    """
    known = likeness.by_text
    if not known:
        return list(ranked)
    texts = [passage_text(one.passage) for one in ranked]
    least = min((known[text] for text in texts if text in known), default=0.0)
    nearer = [_nearer(one, known.get(text, least), known) for one, text in zip(ranked, texts, strict=True)]
    return sorted(nearer, key=lambda one: one.order)


def _nearer(one: Scored, near: float, known: Mapping[str, float]) -> Scored:
    block = known.get(block_text(one.passage), near)
    return replace(one, score=round(one.score + WEIGHT * near + BLOCK_WEIGHT * block, 6), near=near, near_block=block)
