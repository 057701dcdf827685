"""What the evidence says of a topic, without a model: the best passage of each source, word for word. Pure.

A question is answered as `research` would answer it. For a claim or a concept the passages that speak of it most are
taken, one a source and the best first; what shares only a word with it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from citewell.domain.answers import Draft, DraftSentence, PreparedSynthesis
from citewell.domain.notes import NoteDepth, NoteDisagreement, NoteText, NoteTopic
from citewell.domain.queries import QueryPlan
from citewell.notes.keepable import (
    begins_with,
    is_keepable,
    is_whole,
    links_only,
    names_another,
    says_something,
    without_asides,
)
from citewell.notes.topics import note_passages, numbered_as
from citewell.synthesis.asking import asked
from citewell.synthesis.checking.claim import check_text, is_claim
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.extract import extract
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.synthesis.passages import Passage, passages_of
from citewell.synthesis.reading import read_evidence
from citewell.synthesis.scoring import Scored, score_passages
from citewell.synthesis.values import NUMBER_WORDS, dates_in, quantities_in
from citewell.text.folding import folded_text
from citewell.text.language import is_function_word_anywhere
from citewell.text.words import index_terms, stem

MOST_FINDINGS: dict[NoteDepth, int] = {"shallow": 3, "deep": 5}
MAX_DISAGREEMENTS = 5
# How much of a topic a passage must have in its own words, and of a claim with its surroundings.
_OWN = 0.6
_OF_A_CLAIM = 0.55
_OWN_OF_A_CLAIM = 0.4
_NEAR_BEST = 0.6
# How much of a statement another must share to be about the same.
_SAME = 0.6
_OF_LONGER = 0.4
_BOUND = re.compile(
    r"\b(?:at least|at most|up to|more than|less than|fewer than|under|over|below|above|about|around|nearly|almost"
    r"|minimum|maximum|mindestens|höchstens|etwa|au moins|au plus|environ)\b|[<>≤≥~≈]"
)
# How many words a passage must share with a claim.
_SHARED = 3
_OF_A_QUESTION = 3
_OTHER = re.compile(r"\b(?:other|another|autres?|andere[mnrs]?|otr[oa]s?)\s+(\w+)", re.IGNORECASE)
_BOX = re.compile(r"^\[[ xX]\] ")
_NUMERALS = frozenset(stem(word, "en") for word in NUMBER_WORDS.values())
_PROSE = ("sentence", "item", "row", "line")


def find_passages(
    topic: NoteTopic, prepared: PreparedSynthesis, plan: QueryPlan, depth: NoteDepth, known: NoteText
) -> Draft:
    """A draft of quotations for a topic; refused where nothing speaks of it."""
    if topic.type == "question":
        return _readable_answer(topic, extract(prepared, plan), MOST_FINDINGS[depth])
    chosen = list(_chosen(topic, prepared, plan, MOST_FINDINGS[depth], known))
    sentences = tuple(_sentence(one.passage) for one in chosen)
    return Draft(sentences, refused=not sentences, reason="" if sentences else "nothing speaks of it")


def _readable_answer(topic: NoteTopic, draft: Draft, most: int) -> Draft:
    """Of an answer what reads as a finding: sentences, not lists or markup that only its own page can show."""
    kept = [one for one in draft.sentences if one.kind == "claim" and _answers(one.text, topic)][:most]
    if draft.refused or not kept:
        return Draft((), refused=True, reason="nothing answers it")
    return replace(draft, sentences=tuple(kept))


def _answers(text: str, topic: NoteTopic) -> bool:
    """Whether a sentence can stand in the note, and speaks of what is asked in some of its own words."""
    asked_for = frozenset(word for word in content_stems(topic.topic) if not is_function_word_anywhere(word))
    shared = len(content_stems(text) & asked_for)
    wanted = max(1, min(_OF_A_QUESTION, -(-len(asked_for) // 2)))
    return shared >= wanted and is_keepable(text) and says_something(text)


def _chosen(
    topic: NoteTopic, prepared: PreparedSynthesis, plan: QueryPlan, most: int, known: NoteText
) -> Iterator[Scored]:
    if not prepared.sources:
        return
    reading = read_evidence(prepared, plan)
    scored = [one for part in asked(plan.text_query)[:1] for one in score_passages(part, reading)]
    own = [shingles(passage.shown) for passage in note_passages(known)]
    best = max((one.score for one in scored if _speaks_of(one, topic, known)), default=0.0)
    taken: set[str] = set()
    seen: list[frozenset[str]] = []
    for one in scored:
        said = shingles(one.passage.stated)
        if one.passage.source.source_key in taken or not _speaks_of(one, topic, known):
            continue
        if topic.type == "claim" and one.score < _NEAR_BEST * best:
            continue
        if any(are_copies(said, other) for other in (*seen, *own)):
            continue  # the note says so itself, or another source did
        taken.add(one.passage.source.source_key)
        seen.append(said)
        yield one
        if len(taken) == most:
            return


def _speaks_of(one: Scored, topic: NoteTopic, known: NoteText) -> bool:
    passage = one.passage
    is_own = passage.source.note_path is not None
    if is_own and content_stems(passage.source.title) == content_stems(topic.topic) and topic.type == "concept":
        return False  # the note of that name is found by its name
    if passage.kind not in _PROSE or one.opposed or one.features["index"]:
        return False
    if not is_keepable(_BOX.sub("", passage.shown)) or not is_whole(passage):
        return False
    shown = without_asides(passage.shown)
    topical = without_asides(topic.topic)
    said, asked_for = content_stems(shown), content_stems(topical) or content_stems(topic.topic)
    if len(said - asked_for) < 2 or names_another(shown, f"{known.title} {known.expanded}"):
        return False
    if any(content_stems(found[1]) & asked_for for found in _OTHER.finditer(shown)):
        return False  # "as for other types of leave": it is about something beside the topic
    if topic.type == "claim":
        shared = len(said & asked_for)
        return one.coverage >= _OF_A_CLAIM and shared >= max(_SHARED, _OWN_OF_A_CLAIM * len(asked_for))
    if len(asked_for) > 1 and folded_text(topical).strip() in folded_text(shown):
        return True
    if len(asked_for) == 2 and not _stand_together(topical, shown):
        return False
    # Else the passage has most of the topic's words, what it lacks stands above it, and it speaks of what the note is
    # about: many notes have a heading "Installation".
    above = content_stems(f"{passage.source.title} {passage.heading}")
    if len(asked_for) == 1 and not above & asked_for and not begins_with(shown, asked_for):
        return False
    is_about = _is_about(asked_for, said, above, content_stems(known.title))
    return is_about and asked_for <= said | above and len(said & asked_for) >= _OWN * len(asked_for)


def _is_about(asked_for: frozenset[str], said: frozenset[str], above: frozenset[str], titled: frozenset[str]) -> bool:
    """Whether it speaks of what the note is about: a heading of one word says little without the note's title."""
    if len(asked_for) > 1:
        return bool((said | above) & titled)
    if asked_for <= titled:
        return bool(above & asked_for)
    return 2 * len((said | above) & titled) >= len(titled)


def _stand_together(topic: str, shown: str) -> bool:
    """Whether the two words of a topic belong together in a sentence: side by side, or turned round and nearly so.

    "the inbox and the action manager" is about action management; "we need time to manage food" not about time
    management.
    """
    named = [word for word in index_terms(topic, "en").split() if word in content_stems(topic)]
    if len(named) < 2:
        return True
    first, second = named[0], named[-1]
    spoken = index_terms(shown, "en").split()
    for at, word in enumerate(spoken):
        if word == first and spoken[at + 1 : at + 2] == [second]:
            return True
        if word == second and first in spoken[at + 1 : at + 3]:
            return True
    return False


def _sentence(passage: Passage) -> DraftSentence:
    return DraftSentence(_BOX.sub("", passage.shown), "claim", tuple(passage.quotes))


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence with its words and bounds, read once."""

    passage: Passage
    words: frozenset[str]
    bounds: frozenset[str]

    @classmethod
    def of(cls, passage: Passage) -> _Statement:
        bounds = frozenset(_BOUND.findall(passage.shown.casefold()))
        return cls(passage, _words(passage.shown), bounds)


def _statements(passages: Sequence[Passage]) -> list[_Statement]:
    # A line that only links, or that is numbered as a chapter, states nothing that another could deny.
    kept = (one for one in passages if not links_only(one) and not numbered_as(one.shown))
    found = (_Statement.of(one) for one in kept if one.kind in ("sentence", "item") and is_claim(one.shown))
    return [one for one in found if len(one.words) >= _SHARED]


def disagreements_with(note: NoteText, evidence: Sequence[PreparedSynthesis]) -> tuple[NoteDisagreement, ...]:
    """Where a source gives another number or date for what the note states, or denies it.

    Both sentences must share most of their words: a different number about something else is no disagreement.
    """
    stated = _statements(note_passages(note))
    sources = {
        (source.source_key, source.span.start, source.span.end): (source, Rarity.of(prepared))
        for prepared in evidence
        for source in prepared.sources
    }
    found: dict[tuple[str, str], NoteDisagreement] = {}
    for source, rarity in sources.values():
        for other in _statements(passages_of(source)):
            for claim in stated:
                if _disagree(claim, other, rarity):
                    ours, theirs = (_BOX.sub("", one.passage.shown) for one in (claim, other))
                    found.setdefault((ours, source.source_key), NoteDisagreement(ours, source.source_key, theirs))
    return tuple(found.values())[:MAX_DISAGREEMENTS]


def _disagree(claim: _Statement, other: _Statement, rarity: Rarity) -> bool:
    shared = len(claim.words & other.words)
    sizes = sorted((len(claim.words), len(other.words)))
    if shared < _SHARED or shared < _SAME * sizes[0] or shared < _OF_LONGER * sizes[1]:
        return False
    # Each has a word the other lacks: hours of annual leave, and hours of sick leave.
    if _spoken_of(claim) - _spoken_of(other) and _spoken_of(other) - _spoken_of(claim):
        return False
    # At least 5 mm and 6 mm agree: only like bounds are compared.
    if claim.bounds != other.bounds:
        return False
    ours, theirs = claim.passage.shown, other.passage.shown
    if _other_value(ours, theirs):
        return True
    return check_text(ours, theirs, rarity, other.passage.source.title).verdict == "contradicted"


def _spoken_of(statement: _Statement) -> frozenset[str]:
    """What a statement is about: its words without numbers, also those that are written out."""
    return statement.words - _NUMERALS


def _words(text: str) -> frozenset[str]:
    return frozenset(stem for stem in content_stems(text) if not any(map(str.isdigit, stem)))


def _other_value(claim: str, other: str) -> bool:
    """One date or one quantity of the same unit in each, and not the same."""
    dates = dates_in(claim), dates_in(other)
    if len(dates[0]) == len(dates[1]) == 1 and not _quantities(claim) and not _quantities(other):
        return not dates[0][0].agrees_with(dates[1][0])
    numbers = _quantities(claim), _quantities(other)
    if len(numbers[0]) == len(numbers[1]) == 1 and [d.stated for d in dates[0]] == [d.stated for d in dates[1]]:
        one, two = numbers[0][0], numbers[1][0]
        return one[1] == two[1] and one[0] != two[0]
    return False


def _quantities(text: str) -> list[tuple[str, str]]:
    """The quantities of a sentence that are no part of a date, as value and unit."""
    dates = dates_in(text)
    return [
        (one.value, stem(one.unit, "en"))
        for one in quantities_in(text)
        if not any(date.start <= one.start < date.end for date in dates)
    ]
