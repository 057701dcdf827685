"""The aspects of a topic: which of the sections that a survey found a report goes into, and in which order. Pure.

    Leave types: Annual leave, Sick leave, Resources, …; Paid parental leave: About PPL, …
        ->   "Annual leave", "Sick leave", "Paid parental leave: About PPL"

A section counts that is called after the topic, by its own heading or by what stands above it, or that speaks of it
again and again in a document linked with one that is. Documents and topics take turns: each further section of the same
one must be so much the better. Sections of the same name are one aspect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from citewell.domain.evidence import GivenRow
from citewell.domain.surveys import SurveyedDocument, SurveyedSection, TopicSurvey
from citewell.synthesis.checking.tokens import content_stems
from citewell.text.folding import folded_text
from citewell.text.phrases import furniture

# A section must be called after this much of the topic, and after nearly as much as the one that is most of all.
_LEAST_NAMED, _NEAR_BEST = 0.3, 0.6
_LINKED_SAYS, _LINKED_PLACES = 0.6, 2
# Less to quote than this is a pointer or a label.
_LEAST_PROSE = 40
# A short section is read with what stands below it, where all of that is not long.
_SHORT, _WHOLE = 400, 4_000
_AGAIN, _TOPIC_AGAIN = 0.18, 0.1
_HUB, _HUB_SECTIONS = 0.6, 4
# A heading of which the topic is less than this is about something else too.
_PLAIN = 0.2
# How near a document's title must come to the one that has most of the topic.
_AS_WELL = 0.75
_KNOWN = 0.8
_SAME_NAME = 0.75
_MOST_PLACES = 3
_LONGEST_NAME = 90
# A note that bears the name of a day is about whatever happened.
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing to go into: what it is called, where it stands, and what it was taken from.

    `topics` are set where its sections are about more than the topic: only what speaks of it belongs to the aspect.
    """

    name: str
    places: tuple[GivenRow, ...]
    titles: tuple[str, ...]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    document: SurveyedDocument
    section: SurveyedSection
    start: int
    end: int
    score: float
    is_lead: bool = False

    @property
    def place(self) -> GivenRow:
        return GivenRow(self.document.source_key, self.document.content_hash, self.start, self.end)

    def overlaps(self, other: _Candidate) -> bool:
        same = self.document.source_key == other.document.source_key
        return same and self.start < other.end and other.start < self.end


@dataclass(slots=True)
class _Chosen:
    first: _Candidate
    words: frozenset[str]
    others: list[_Candidate] = field(default_factory=list)

    @property
    def every(self) -> list[_Candidate]:
        return [self.first, *self.others]


def aspects_of(survey: TopicSurvey, most: int) -> tuple[Aspect, ...]:
    """At most so many aspects, those of one document together and in its order."""
    chosen = _choose(list(_candidates(survey)), most)
    rank: dict[str, tuple[float, int]] = {}
    for n, one in enumerate(chosen):
        rank.setdefault(one.first.document.source_key, (-round(one.first.document.titled, 1), n))
    ordered = sorted(chosen, key=lambda one: (rank[one.first.document.source_key], one.first.start))
    alone = len({one.first.document.source_key for one in chosen}) == 1
    return tuple(
        Aspect(
            _name(one.first, alone=alone),
            tuple(place.place for place in one.every),
            tuple(dict.fromkeys(place.document.title for place in one.every)),
            () if all(map(_is_about, one.every)) else survey.topics,
        )
        for one in ordered
    )


def _is_about(one: _Candidate) -> bool:
    """Whether a section is about the topic, and not about many things or something else that the topic touches."""
    plain = one.section.headed / max(1, len(content_stems(one.section.heading)))
    return not _DAY.match(one.document.title) and (one.document.titled >= _HUB or plain >= _PLAIN)


def _candidates(survey: TopicSurvey) -> Iterable[_Candidate]:
    """The sections that are called after the topic, with what is worth reading of each."""
    every = [(document, section) for document in survey.documents for section in document.sections]
    best = max((section.named for _, section in every), default=0.0)
    # Where something is called after all of the topic, what has half of it is about something else.
    least = max(_LEAST_NAMED, (_AS_WELL if best >= _KNOWN else _NEAR_BEST) * best)
    size = max(1, len(survey.documents))
    ranks = {document.source_key: 1 - n / size for n, document in enumerate(survey.documents)}
    titled = max((document.titled for document in survey.documents), default=0.0)
    leads = {document.source_key: _lead(document, titled) for document in survey.documents}
    for document, section in every:
        is_named = section.named >= least and (section.said > 0 or not _DAY.match(document.title))
        leads_here = document.is_linked and section.said >= _LINKED_SAYS and section.mentions >= _LINKED_PLACES
        if not (is_named or leads_here) or _is_furniture(section):
            continue
        end, prose = _extent(document, section)
        if prose >= _LEAST_PROSE:
            is_lead = section is leads[document.source_key]
            score = _score(document, section, prose, is_lead=is_lead) + 0.15 * ranks[document.source_key]
            yield _Candidate(document, section, section.start, end, score, is_lead)


def _is_furniture(section: SurveyedSection) -> bool:
    return section.level > 0 and folded_text(section.heading).strip(" *_:?!.") in furniture()


def _lead(document: SurveyedDocument, titled: float) -> SurveyedSection | None:
    """The section that stands for a document named after the topic: the first with something to read.

    Where the sections below are called after the topic themselves, they stand for it.
    """
    if (
        document.titled < max(_LEAST_NAMED, _AS_WELL * titled)
        or sum(one.headed >= _HUB for one in document.sections) >= _HUB_SECTIONS
    ):
        return None
    told = (one for one in document.sections if not _is_furniture(one))
    first = next((one for one in told if _extent(document, one)[1] >= _LEAST_PROSE), None)
    return first if first is not None and (first.level == 0 or first.headed < _HUB) else None


def _score(document: SurveyedDocument, section: SurveyedSection, prose: int, *, is_lead: bool) -> float:
    """How much a section is about the topic; one that stands for its document as much as the document."""
    headed = document.titled if is_lead else section.headed
    called = document.title if is_lead else section.heading
    dense = min(1.0, 150 * section.mentions / max(prose, 150))
    # The fewer other words a heading has, the more it is about the topic alone; what matters most stands first.
    plain = headed / max(1, len(content_stems(called)))
    late = section.start / max(1, document.sections[-1].end)
    return (
        section.named
        + 0.7 * headed
        + 0.3 * document.titled
        + 0.2 * section.said
        + 0.2 * dense
        + 0.3 * plain
        + 0.3 * min(1.0, prose / 400)
        - 0.1 * late
        - 0.08 * len(section.above)
        - 0.25 * (section.level == 0 and not is_lead)
    )


def _extent(document: SurveyedDocument, section: SurveyedSection) -> tuple[int, int]:
    """Where what is read of a section ends, and how much prose it has: a short one with what stands below it."""
    below = [one for one in document.sections if _is_below(one, section, document)]
    end = max((one.end for one in below), default=section.end)
    if section.prose < _SHORT and below and end - section.start <= _WHOLE:
        return end, section.prose + sum(one.prose for one in below)
    return section.end, section.prose


def _is_below(one: SurveyedSection, section: SurveyedSection, document: SurveyedDocument) -> bool:
    """Whether a section belongs to another; to what a document opens with belongs all of it."""
    if section.level == 0:
        return one is not section
    return section.start in one.above


def _choose(candidates: Sequence[_Candidate], most: int) -> list[_Chosen]:
    """The best one after the other; a document that had its turn waits, and a name that was taken joins it."""
    hubs = Counter(
        one.document.source_key for one in candidates if min(one.document.titled, one.section.headed) >= _HUB
    )
    left = sorted(candidates, key=lambda one: (-one.score, one.document.source_key, one.start))
    chosen: list[_Chosen] = []
    turns: Counter[str] = Counter()
    topics: Counter[int] = Counter()
    while left and len(chosen) < most:
        best = max(left, key=lambda one: one.score - _waits(one, turns, hubs, topics))
        left = [one for one in left if not one.overlaps(best)]
        words = content_stems(_name(best, alone=False)) or frozenset({best.section.heading})
        same = next((one for one in chosen if _is_same(one.words, words)), None)
        if same is not None:
            if len(same.every) < _MOST_PLACES and best.document not in [one.document for one in same.every]:
                same.others.append(best)
            continue
        turns[best.document.source_key] += 1
        topics[best.section.topic] += 1
        chosen.append(_Chosen(best, words))
    return chosen


def _waits(one: _Candidate, turns: Counter[str], hubs: Counter[str], topics: Counter[int]) -> float:
    """What document and topic lose for the turns they had; less where the document goes through the topic."""
    key = one.document.source_key
    return _AGAIN * turns[key] / (1 + hubs[key] / _HUB_SECTIONS) + _TOPIC_AGAIN * topics[one.section.topic]


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME_NAME * len(one | other)


def _name(one: _Candidate, *, alone: bool) -> str:
    """What an aspect is called: its heading, after the title where the heading says too little by itself."""
    title, heading = one.document.title, one.section.heading
    if one.is_lead or one.section.level == 0 or not heading or len(heading) > _LONGEST_NAME:
        return title
    if heading.casefold() == title.casefold():
        return heading
    # A heading that says the topic and nothing else says no more than the question.
    says_it = (
        one.section.headed >= max(_LEAST_NAMED, _NEAR_BEST * one.section.named) and len(content_stems(heading)) > 1
    )
    return heading if alone or says_it else f"{title}: {heading}"
