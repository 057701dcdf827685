"""Disagreements: sources that give different values for what was asked, or that deny what another states. Pure.

Only what can be compared: one number with the asked unit or noun, or one date, in each of two sentences from different
documents that speak of the question in the same words; or two cited sentences that say the same and differ in a denial.
A corrected statement no longer disagrees, and a sentence that gives several such values is left alone. Copies of one
another and pages of one site count as one source, and the newest side is named where the sources are dated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from citewell.answer.evidence import PreparedSynthesis, Quote
from citewell.answer.passages import OUTDATED, are_copies, shingles
from citewell.answer.question import QuestionPart, asked
from citewell.answer.values import Date, Quantity, dates_in, quantities_in
from citewell.check.claim import check_text
from citewell.check.tokens import content_stems, read_sentences
from citewell.check.verdict import CheckedSentence, Contradiction, DisagreementKind, Draft, DraftSentence, StatedValue
from citewell.text.urls import site_of
from citewell.text.words import stem

_SAME_WORDS = 0.5
_SAME_STATEMENT = 0.55
_LEAST_WORDS = 3
_MOST_ABOUT = 160
_ASKING = frozenset(("mani", "much", "doe", "did", "long", "often"))
_FIGURED = re.compile(r"\b(?:\d+[A-Za-z]\w*|[A-Za-z]+\d\w*)\b")


@dataclass(frozen=True, slots=True)
class _ValueClaim:
    """A sentence that gives one value: where it stands, and which words of the question it has."""

    text: str
    source_key: str
    citations: tuple[int, ...]
    value: Date | Quantity
    shared: frozenset[str]
    asked: int  # how many words the question has

    @property
    def written(self) -> str:
        return self.text[self.value.start : self.value.end]


def disagreements(
    question: str, sentences: Sequence[CheckedSentence], prepared: PreparedSynthesis
) -> tuple[Contradiction, ...]:
    """The disagreements among the sentences of an answer about what the question asks."""
    dated = {source.source_key: source.dated for source in prepared.sources}
    sites = {source.source_key: site_of(source.url) if source.url else source.source_key for source in prepared.sources}
    found: list[Contradiction] = []
    for part in asked(question):
        stated = [one for sentence in sentences if (one := _of_sentence(part, question, sentence))]
        sides = _sides(stated)
        if len(sides) > 1 and (kept := _disagreeing(sides)):
            others = list(_of_sources(part, question, prepared, kept))
            kind: DisagreementKind = "date" if isinstance(kept[0][0].value, Date) else "number"
            found.append(_tabled(part.text, kind, [_side(side, others, dated, sites) for side in kept]))
    return (*found, *_denied(sentences, dated))


def _of_sentence(part: QuestionPart, question: str, sentence: CheckedSentence) -> _ValueClaim | None:
    if sentence.quote is None or sentence.verdict not in ("supported", "partial") or sentence.text.startswith(OUTDATED):
        return None
    return _stated(part, question, sentence.text, sentence.quote.source_key, sentence.citations)


def _stated(part: QuestionPart, question: str, text: str, key: str, citations: tuple[int, ...]) -> _ValueClaim | None:
    values = _values(part, question, text)
    if len(values) != 1:
        return None
    words = _words(question)
    return _ValueClaim(text, key, citations, values[0], words & _words(text), len(words))


def _words(text: str) -> frozenset[str]:
    """The stems that say what a text is about, and names with a figure in them: 18F."""
    return (content_stems(text) - _ASKING) | {name.casefold() for name in _FIGURED.findall(text)}


def _values(part: QuestionPart, question: str, text: str) -> list[Date] | list[Quantity]:
    if part.value == "date":
        given = {date.stated for date in dates_in(question)}
        return [date for date in dates_in(text) if date.stated not in given]
    nouns = {stem(noun, "en") for noun in part.attributes}
    return [one for one in quantities_in(text) if one.measure == part.value or stem(one.unit, "en") in nouns]


def _sides(stated: Sequence[_ValueClaim]) -> list[list[_ValueClaim]]:
    """The sentences grouped by the value they give, in order of first mention."""
    sides: list[list[_ValueClaim]] = []
    for one in stated:
        side = next((side for side in sides if _agree(side[0], one)), None)
        if side is None:
            sides.append([one])
        else:
            side.append(one)
    return sides


def _disagreeing(sides: Sequence[list[_ValueClaim]]) -> list[list[_ValueClaim]]:
    """The sides of which some sentence disagrees with one of another side."""
    kept = {
        at
        for (at, one), (place, other) in combinations(enumerate(sides), 2)
        if any(_disagree(first, second) for first in one for second in other)
        for at in (at, place)
    }
    return [sides[at] for at in sorted(kept)]


def _agree(one: _ValueClaim, other: _ValueClaim) -> bool:
    if isinstance(one.value, Date) and isinstance(other.value, Date):
        return one.value.agrees_with(other.value)
    if isinstance(one.value, Quantity) and isinstance(other.value, Quantity):
        return one.value.value == other.value.value and one.value.unit == other.value.unit
    return False


def _disagree(one: _ValueClaim, other: _ValueClaim) -> bool:
    if one.source_key == other.source_key or not _are_about_the_same(one, other):
        return False
    if isinstance(one.value, Quantity) and isinstance(other.value, Quantity) and one.value.unit != other.value.unit:
        return False
    return type(one.value) is type(other.value) and not _agree(one, other)


def _are_about_the_same(one: _ValueClaim, other: _ValueClaim) -> bool:
    """Both speak of the question in the same words, and of most of it: 300 tweets in 3 hours, and 2 by each user."""
    both = len(one.shared & other.shared)
    return _likeness(one.shared, other.shared) > _SAME_WORDS and both >= _SAME_WORDS * one.asked


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def _of_sources(
    part: QuestionPart, question: str, prepared: PreparedSynthesis, sides: Sequence[list[_ValueClaim]]
) -> Iterator[_ValueClaim]:
    """Sentences of the evidence, cited or not, that give one of these values for the same thing."""
    for source in prepared.sources:
        for sentence in read_sentences(source.text):
            one = _stated(part, question, sentence.text, source.source_key, ())
            if one and any(_agree(side[0], one) and _are_about_the_same(side[0], one) for side in sides):
                yield one


def _side(
    side: Sequence[_ValueClaim],
    others: Sequence[_ValueClaim],
    dated: dict[str, str | None],
    sites: dict[str, str],
) -> StatedValue:
    of_value = [*side, *(one for one in others if _agree(side[0], one) and _are_about_the_same(side[0], one))]
    keys = tuple(dict.fromkeys(one.source_key for one in of_value))
    citations = tuple(dict.fromkeys(n for one in side for n in one.citations[:1]))
    newest = max((day for key in keys if (day := dated.get(key))), default=None)
    return StatedValue(side[0].written, citations, _independent(keys, of_value, sites), keys, newest)


def _independent(keys: Sequence[str], stated: Sequence[_ValueClaim], sites: dict[str, str]) -> int:
    """How many of the sources do not copy another of them; pages of one site are one source."""
    kept: list[frozenset[str]] = []
    heard: set[str] = set()
    for key in keys:
        if sites.get(key, key) in heard:
            continue
        heard.add(sites.get(key, key))
        own = [shingles(one.text) for one in stated if one.source_key == key]
        if not any(are_copies(mine, other) for mine in own for other in kept):
            kept.extend(own[:1])
    return len(kept)


def _tabled(about: str, kind: DisagreementKind, sides: Sequence[StatedValue]) -> Contradiction:
    newer = _newest(sides)
    total = sum(side.independent_sources for side in sides)
    note = f"{total} independent sources"
    if newer is not None and newer.dated:
        note += f"; the newest ({newer.dated[:10]}) says {newer.value}"
    citations = tuple(dict.fromkeys(n for side in sides for n in side.citations))
    values = tuple(side.value for side in sides)
    return Contradiction(about, values, citations, note, kind, tuple(sides), newer.value if newer else None)


def _newest(sides: Sequence[StatedValue]) -> StatedValue | None:
    """The side whose newest source is newer than that of every other; nothing where a date is not known."""
    days = [side.dated[:10] for side in sides if side.dated]
    if len(days) != len(sides) or days.count(max(days)) != 1:
        return None
    return max(sides, key=lambda side: (side.dated or "")[:10])


def _denied(sentences: Sequence[CheckedSentence], dated: dict[str, str | None]) -> Iterator[Contradiction]:
    """Two cited sentences of different sources that say the same, but for a denial."""
    stating = [
        one for one in sentences if one.quote and one.verdict == "supported" and not one.text.startswith(OUTDATED)
    ]
    for one, other in combinations(stating, 2):
        if one.quote and other.quote and one.quote.source_key != other.quote.source_key and _denies(one, other):
            yield _tabled(
                one.text[:_MOST_ABOUT], "polarity", [_said(one, one.quote, dated), _said(other, other.quote, dated)]
            )


def _said(sentence: CheckedSentence, quote: Quote, dated: dict[str, str | None]) -> StatedValue:
    key = quote.source_key
    return StatedValue(sentence.text[:_MOST_ABOUT], sentence.citations[:1], 1, (key,), dated.get(key))


def _denies(one: CheckedSentence, other: CheckedSentence) -> bool:
    first, second = content_stems(one.text), content_stems(other.text)
    if min(len(first), len(second)) < _LEAST_WORDS or _likeness(first, second) < _SAME_STATEMENT:
        return False
    return check_text(one.text, other.text).verdict == "contradicted"


# A quoted answer under headings, for questions that were looked into deeply. Pure.
#
# 1871, 1871 and 1874 from three sources
#     ->   ## Direct answer: 1871 … ## Key evidence: 1871 … ## Conflicting signals: 1874 …


DIRECT, KEY, CONFLICTING = "Direct answer", "Key evidence", "Conflicting signals"


def in_sections(draft: Draft, prepared: PreparedSynthesis) -> Draft:
    """The same sentences, ordered under headings; a refusal needs none."""
    if draft.refused or not draft.sentences:
        return draft
    first, *rest = _blocks(draft.sentences)
    otherwise = _other_sides(draft, prepared, first)
    conflicting = [block for block in rest if _keys(block) & otherwise]
    agreeing = [block for block in rest if block not in conflicting]
    ordered = [*_section(DIRECT, [first]), *_section(KEY, agreeing), *_section(CONFLICTING, conflicting)]
    return replace(draft, sentences=tuple(ordered))


def _section(heading: str, blocks: Sequence[Sequence[DraftSentence]]) -> list[DraftSentence]:
    said = [sentence for block in blocks for sentence in block]
    return [DraftSentence(heading, "heading"), *said] if said else []


def _other_sides(draft: Draft, prepared: PreparedSynthesis, first: Sequence[DraftSentence]) -> set[str]:
    """The sources that state another value than the direct answer does."""
    stated = [
        CheckedSentence(one.text, "supported", (n,), one.quotes[0])
        for n, one in enumerate(draft.sentences, start=1)
        if one.quotes
    ]
    own = _keys(first)
    sides = [side for one in disagreements(prepared.question, stated, prepared) for side in one.stated]
    return {key for side in sides if not own & set(side.source_keys) for key in side.source_keys}


def _keys(block: Sequence[DraftSentence]) -> set[str]:
    return {quote.source_key for sentence in block for quote in sentence.quotes}


def _blocks(sentences: Sequence[DraftSentence]) -> list[list[DraftSentence]]:
    """Sentences that belong together: each that cites, with what introduces it."""
    blocks: list[list[DraftSentence]] = []
    waiting: list[DraftSentence] = []
    for sentence in sentences:
        waiting.append(sentence)
        if sentence.quotes:
            blocks.append(waiting)
            waiting = []
    if waiting and blocks:
        blocks[-1].extend(waiting)
    return blocks or [waiting]
