"""An overview by quotation: how the document that bears the topic's name opens, and what the others say of it. Pure.

A single best sentence tells little of a topic, and the titles of documents, which name it most plainly of all, tell
nothing. So the document named after the topic is quoted from its beginning, and of every other one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.synthesis.answer_units import AnswerUnit
from citewell.synthesis.passages import Passage
from citewell.synthesis.scoring import Scored
from citewell.text.folding import folded_text

MOST_SOURCES = 4
# How much of what the topic is called a document's title must have to be named after it.
_NAMED = 0.75
_OPENING_PASSAGES, _OPENING_CHARS = 4, 600
# Shorter ones are labels: "Contents", "See also".
_LEAST_WORDS = 5
_WORD = re.compile(r"[^\W_]+")


def overview_units(ranked: Sequence[Scored], passages: Sequence[Passage]) -> list[AnswerUnit]:
    """What is shown of a topic: the opening of the document named after it, then a sentence of each other one."""
    titles = frozenset(_bare(one.source.title) for one in passages)
    telling = [one for one in ranked if _tells(one.passage, titles)]
    after_it = [one for one in telling if one.features["titled"] >= _NAMED]
    units: list[AnswerUnit] = []
    if after_it:
        # The shorter the title, the less it is about anything else.
        named = min(after_it, key=lambda one: (_size(one.passage.source.title), -one.score))
        own = [one for one in passages if one.source.n == named.passage.source.n and _tells(one, titles)]
        opening = tuple(_opening(own))
        units.append(AnswerUnit(opening[0], opening))
    quoted = {unit.best.source.source_key for unit in units}
    for one in telling:
        if one.own and not one.missing and one.passage.source.source_key not in quoted and len(units) < MOST_SOURCES:
            quoted.add(one.passage.source.source_key)
            units.append(AnswerUnit(one.passage, (one.passage,)))
    return units


def _opening(own: Sequence[Passage]) -> Iterator[Passage]:
    """The first passages of a document that are read at a glance."""
    room = _OPENING_CHARS
    for number, passage in enumerate(own[:_OPENING_PASSAGES]):
        room -= len(passage.shown)
        # What stands under another heading, or begins a list, is not how a document opens.
        if number and (room < 0 or passage.heading != own[0].heading or _is_item(passage) != _is_item(own[0])):
            return
        yield passage


def _is_item(passage: Passage) -> bool:
    return passage.kind == "item"


def _tells(passage: Passage, titles: frozenset[str]) -> bool:
    """Whether a passage says something: no title of a document, no heading, property, code or label."""
    if passage.kind not in ("sentence", "item", "line") or _bare(passage.shown) in titles:
        return False
    return len(passage.shown.split()) >= _LEAST_WORDS or not passage.shown.isascii()


def _size(title: str) -> int:
    """How many different words a title has: `driftlog/driftlog` has one."""
    return len(set(_WORD.findall(folded_text(title))))


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, folded_text(text)))
