"""Sections told by their own statements: which sentences and lists of a section stand for it. Pure.

    ## Sick leave                                         You can use sick leave for: Doctor and medical appointments;
    You can use sick leave for:                           Mental health care.
    * Doctor and medical appointments              ->     All employees accrue four hours of sick leave a pay period.
    * Mental health care
    All employees accrue four hours of sick leave a pay period. Ask your supervisor for details.

A statement counts for standing first, for the words it shares with the section's name and the topic, and for what is
said of them often; pointers elsewhere, questions, and sentences that lean on one that is not quoted do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from citewell.briefs.standing import LEAST_WORDS, links_only, stands_alone
from citewell.domain.answers import DraftSentence, PreparedSource, PreparedSynthesis, Quote
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.synthesis.passages import Passage, passages_of, quote_at
from citewell.synthesis.readable import MAX_READABLE_CHARS, is_readable
from citewell.text.language import detect_language
from citewell.text.phrases import is_example, leans, points_elsewhere, states

_MOST_ITEMS, _MOST_LIST_CHARS = 6, MAX_READABLE_CHARS + 60
_LEAST_LEAD = 2
_OF_THE_FIRST = 3
_LONG = 260
# What stands far down and shares no word with the name of its section is not what the section is about.
_LEAST_WORTH = 0.5


@dataclass(frozen=True, slots=True)
class _Statement:
    """What may be quoted of a section: a sentence, or a list under its lead-in."""

    source: PreparedSource
    text: str
    quotes: tuple[Quote, ...]
    place: int
    start: int
    words: frozenset[str]
    # The words of the headings it stands under.
    headed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Telling:
    """What is asked of the statements: how many, in which language, and words of which one must stand in each."""

    most: int
    language: str | None = None
    topics: frozenset[str] = frozenset()
    outdated: frozenset[Quote] = frozenset()


def told_by_sections(prepared: PreparedSynthesis, name: str, telling: Telling) -> list[DraftSentence]:
    """What stands for these sections: most of the first, something of each other, each in the order of its text."""
    named = content_stems(name)
    told: list[_Statement] = []
    for number, source in enumerate(prepared.sources):
        every: Sequence[_Statement] = [one for one in _statements_of(source) if _may_be_told(one, telling)]
        left = telling.most - len(told)
        room = left if len(prepared.sources) == 1 else min(left, _OF_THE_FIRST if number == 0 else 1)
        every = _in_language(every, telling.language)
        told += _chosen(every, named | content_stems(source.title), room, told)
    ranks = {source.n: n for n, source in enumerate(prepared.sources)}
    return [
        DraftSentence(one.text, "claim", one.quotes)
        for one in sorted(told, key=lambda one: (ranks[one.source.n], one.start))
    ]


def _may_be_told(one: _Statement, telling: Telling) -> bool:
    return not telling.outdated & set(one.quotes) and (not telling.topics or bool(one.words & telling.topics))


def _chosen(
    every: Sequence[_Statement], named: frozenset[str], most: int, told: Sequence[_Statement]
) -> list[_Statement]:
    """The statements worth most, none of which says again what another says."""
    common = Counter(word for one in every for word in one.words)
    taken: list[_Statement] = []
    said = [shingles(one.text) for one in told]
    worth = {one.start: _worth(one, named, common, len(every)) for one in every}
    for one in sorted(every, key=lambda one: (-worth[one.start], one.start)):
        own = shingles(one.text)
        if len(taken) >= most or worth[one.start] < _LEAST_WORTH:
            break
        if not any(are_copies(own, other) for other in said):
            taken.append(one)
            said.append(own)
    return taken


def _worth(one: _Statement, named: frozenset[str], common: Counter[str], size: int) -> float:
    central = sum(common[word] for word in one.words) / (max(1, len(one.words)) * max(1, size))
    shared = len(one.words & (named | one.headed))
    return (
        1.0 / (1 + 0.5 * one.place)
        + (0.25 * min(3, shared) or -0.3)
        + 0.6 * central
        + 0.15 * any(map(str.isdigit, one.text))
        + 0.15 * states(one.text)
        - 0.3 * (len(one.text) > _LONG)
    )


def _in_language(every: Sequence[_Statement], language: str | None) -> Sequence[_Statement]:
    """The statements in the language of the question, where there are any."""
    own = [one for one in every if not language or detect_language(one.text) in (language, None)]
    return own or every


def _statements_of(source: PreparedSource) -> Iterator[_Statement]:
    """The statements of a section, in order; `place` counts from the heading above."""
    passages = passages_of(source)
    title = content_stems(source.title)
    place, at, under, example = 0, 0, "", -1
    while at < len(passages):
        passage, listed = passages[at], _listed(passages, at)
        at += 1
        if passage.heading != under:
            place, under = 0, passage.heading
        if is_example(passage.shown):
            example = passage.block
        if passage.block == example:
            found = None  # what is reckoned through in an example holds for the example alone
        elif listed:
            found = _as_list(passage, listed)
        else:
            found = _as_sentence(passage, passages[at - 2] if at > 1 else None, title)
        if found is not None:
            text, quotes = found
            words, headed = content_stems(text), content_stems(passage.heading)
            yield _Statement(source, text, quotes, place, passage.start, words, headed)
        place += passage.kind != "heading"
        at += len(listed)


def _listed(passages: Sequence[Passage], at: int) -> list[Passage]:
    """The items that a line leads into."""
    lead = passages[at]
    if lead.kind not in ("sentence", "line", "item") or not lead.shown.rstrip("*_ ").endswith(":"):
        return []
    return list(takewhile(lambda one: one.kind == "item" and one.lead == lead.shown, passages[at + 1 :]))


def _as_list(lead: Passage, items: Sequence[Passage]) -> tuple[str, tuple[Quote, ...]] | None:
    """A list on one line under the line that leads into it, where all of it is read at a glance."""
    told = [one.shown.rstrip(" .;,") for one in items]
    text = f"{lead.shown.rstrip('*_ ')} {'; '.join(told)}."
    if len(items) > _MOST_ITEMS or len(text) > _MOST_LIST_CHARS or len(items) < 2:
        return None
    if any("\n" in one or one.endswith((":", "?")) for one in told):
        return None
    if not states(lead.shown) and any(map(links_only, items)):
        return None  # a list of links, and what they are called
    if leans(lead.shown) or points_elsewhere(lead.shown) or len(content_stems(lead.shown)) < _LEAST_LEAD:
        return None
    if not all(map(is_readable, (lead.shown.rstrip(":*_ "), *told))):
        return None
    return text, (quote_at(lead.source, lead.start, items[-1].end),)


def _as_sentence(
    passage: Passage, before: Passage | None, title: frozenset[str]
) -> tuple[str, tuple[Quote, ...]] | None:
    """A sentence, or an item that is one, that can be read by itself."""
    shown = passage.shown
    if passage.kind not in ("sentence", "item") or not stands_alone(shown):
        return None
    if links_only(passage) or content_stems(shown) <= title:
        return None
    if passage.kind == "item" and passage.lead and len(content_stems(shown)) < 2 * LEAST_WORDS:
        return None  # half a statement: the other half leads into its list
    if before is not None and before.shown.endswith(":") and before.kind == passage.kind == "sentence":
        return None
    return shown, tuple(passage.quotes)
