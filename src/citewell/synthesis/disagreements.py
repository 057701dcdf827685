"""Disagreements: cited sentences that give different values for what was asked. Pure.

Only what can be compared: one number with the asked unit or noun, or one date, in each of two sentences from different
documents that speak of the question in the same words. A corrected statement no longer disagrees, and a sentence that
gives several such values is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from citewell.domain.answers import CheckedSentence, Contradiction
from citewell.synthesis.asking import Asked, asked
from citewell.synthesis.claims import content_stems
from citewell.synthesis.lead_ins import OUTDATED
from citewell.synthesis.values import Date, Quantity, dates_in, quantities_in
from citewell.text.words import stem

_SAME_WORDS = 0.5


@dataclass(frozen=True, slots=True)
class _Stated:
    sentence: CheckedSentence
    value: Date | Quantity
    is_counted: bool
    written: str
    shared: frozenset[str]


def disagreements(question: str, sentences: Sequence[CheckedSentence]) -> tuple[Contradiction, ...]:
    """The disagreements among the sentences of an answer about what the question asks."""
    found: list[Contradiction] = []
    for part in asked(question):
        stated = [one for sentence in sentences if (one := _stated(part, question, sentence))]
        for one, other in combinations(stated, 2):
            if _disagree(one, other):
                numbers = tuple(dict.fromkeys((*one.sentence.citations[:1], *other.sentence.citations[:1])))
                found.append(Contradiction(part.text, (one.written, other.written), numbers, "2 independent sources"))
    return tuple(found)


def _stated(part: Asked, question: str, sentence: CheckedSentence) -> _Stated | None:
    if sentence.quote is None or sentence.verdict == "unsupported" or sentence.text.startswith(OUTDATED):
        return None
    values = _values(part, question, sentence.text)
    if len(values) != 1:
        return None
    shared = content_stems(question) & content_stems(sentence.text)
    counted = isinstance(values[0], Quantity) and values[0].measure is None
    return _Stated(sentence, values[0], counted, sentence.text[values[0].start : values[0].end], shared)


def _values(part: Asked, question: str, text: str) -> list[Date] | list[Quantity]:
    if part.value == "date":
        given = {date.stated for date in dates_in(question)}
        return [date for date in dates_in(text) if date.stated not in given]
    nouns = {stem(noun, "en") for noun in part.attributes}
    return [one for one in quantities_in(text) if one.measure == part.value or stem(one.unit, "en") in nouns]


def _disagree(one: _Stated, other: _Stated) -> bool:
    if one.sentence.quote is None or other.sentence.quote is None:
        return False
    if one.sentence.quote.source_key == other.sentence.quote.source_key:
        return False
    # Two counts of the very thing that was asked for need no further words in common.
    if not (one.is_counted and other.is_counted) and _likeness(one.shared, other.shared) < _SAME_WORDS:
        return False
    if isinstance(one.value, Date) and isinstance(other.value, Date):
        return not one.value.agrees_with(other.value)
    if isinstance(one.value, Quantity) and isinstance(other.value, Quantity):
        return one.value.value != other.value.value and one.value.unit == other.value.unit
    return False


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 0.0
