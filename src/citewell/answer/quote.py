"""The model-free answer: passages of the evidence that answer the question, each bound to its exact quote. Pure.

Nothing is reworded: markup is cleaned, table rows are read out under their header, and the engine's few fixed words
(`lead_ins`) are told apart from claims. It picks and orders; it does not infer, add up or translate. Up to three blocks
are quoted, best first, and of each what decides is shown (`answer_units`). Where it is not likely that the evidence
answers (`confidence`), it refuses and names what comes nearest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from citewell.answer.confidence import (
    best_answer,
    by_meaning_too,
    confidence,
    decisive_place,
    window_text,
)
from citewell.answer.evidence import Likeness, NearestPassage, Readings, prepare_synthesis
from citewell.answer.passages import (
    NOT_FOUND,
    OUTDATED,
    Passage,
    are_copies,
    dated_lead_in,
    quote_at,
    shingles,
    titled_lead_in,
)
from citewell.answer.question import QuestionPart, speaks_of_its_day
from citewell.answer.score import EvidenceView, PassageScore, QuestionEvidence
from citewell.answer.units import AnswerUnit, UnitPiece, named_above, pieces_of, unit_of
from citewell.answer.values import dates_in, denials_in, quantities_in
from citewell.check.tokens import content_stems
from citewell.check.verdict import Draft, DraftSentence
from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan
from citewell.search.rows import LIKELY, Answerability, Context
from citewell.text.canonical import folded_text
from citewell.text.documents import Span
from citewell.text.languages import LANGUAGE_NAMES, detect_language, is_stop_word, question_language
from citewell.text.words import index_terms

# Corrections: which statement says that another one is wrong. Pure.
#
# A correction says so ("Correction:", "was wrong", "superseded"), in its own words or in the sentence before it, is not
# older than what it corrects, and names the statement it corrects: by its title, or by denying the value it gives. Two
# statements that merely differ are a disagreement (`disagreements`), not a correction.


_CUE = re.compile(
    r"\b(?:correction|corrections|corrected|corrects|correcting|erratum|errata|(?:was|were|is|got it) wrong|mistaken"
    r"|supersedes?|superseded|retracts?|retracted|turned out|in fact|contrary to)\b"
)
_LEAST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Replacement:
    """One statement and the older one it replaces."""

    by: Passage
    of: Passage


def is_correcting(passage: Passage) -> bool:
    """Whether a passage, or the sentence that leads into it, says that it corrects something."""
    tagged = any("correction" in tag for tag in passage.source.user_tags)
    said = folded_text(f"{passage.before} {passage.shown}")
    return bool(_CUE.search(said)) or (tagged and bool(denials_in(passage.shown)))


def corrections_among(passages: Sequence[Passage]) -> list[Replacement]:
    """Every correction within these passages; each statement is corrected by the first that does."""
    found: list[Replacement] = []
    correcting = [passage for passage in passages if is_correcting(passage)]
    for passage in passages:
        by = next((one for one in correcting if _corrects(one, passage)), None)
        if by is not None:
            found.append(Replacement(by, passage))
    return found


def _corrects(by: Passage, of: Passage) -> bool:
    if by.source.source_key == of.source.source_key or is_correcting(of) or _is_older(by, of):
        return False
    shared = _content(by.shown) & _content(of.shown)
    said = f"{by.before} {by.shown}"
    denied = _denied(said)
    repeated = bool(denied & _replaced_values(of.shown)) and not _replaced_values(of.shown) & (
        _replaced_values(by.shown) - denied
    )
    return (repeated and len(shared) >= _LEAST_SHARED) or (_names_title(by, of) and bool(denied & _content(of.shown)))


def _is_older(by: Passage, of: Passage) -> bool:
    """Whether the first is known to be older; a note whose date is unknown may still be corrected."""
    return bool(by.source.dated and of.source.dated and by.source.dated[:10] < of.source.dated[:10])


def _denied(text: str) -> frozenset[str]:
    """Every value and content word that a text denies."""
    stretches = (text[denial.start : denial.end] for denial in denials_in(text))
    return frozenset(value for stretch in stretches for value in (*_replaced_values(stretch), *_content(stretch)))


def _replaced_values(text: str) -> frozenset[str]:
    """Numbers, dates and names that a text gives."""
    stated: Iterable[str] = (
        *(quantity.value for quantity in quantities_in(text)),
        *(date.stated for date in dates_in(text)),
    )
    return frozenset(stated)


def _content(text: str) -> frozenset[str]:
    return frozenset(form for form in index_terms(text, "en").split() if not is_stop_word(form) and len(form) > 2)


def _names_title(by: Passage, of: Passage) -> bool:
    title = folded_text(of.source.title).strip()
    return len(title) > 3 and title in folded_text(f"{by.before} {by.shown} {by.after}")


# Lists of notes: which of them have the property that is asked for. Pure.
#
# A vault of property notes holds its lists in no one place: "Which books are on my to-read list?" is answered by every
# note with `tags: to-read`. Where the best passage is a property, all notes are named whose properties have most of
# what is asked, each by its title.
#
# Example:
#     question: Which places in Kyoto did I save?
#     notes:    "Fushimi Inari" with `loc: Kyoto`, "Nishiki Market" with `loc: Kyoto`
#     answer:   both, each with its property


MOST_NOTES = 12
_NUMBER = re.compile(r"\b\d+\b")
# Notes that others are made from say nothing of their own.
_TEMPLATES = re.compile(r"(?:^|/)_?templates?/", re.IGNORECASE)


def notes_alike(asked: QuestionPart, ranked: Sequence[PassageScore], every: Sequence[PassageScore]) -> list[AnswerUnit]:
    """The notes with the property that is asked for, best first; none where it is not a matter of properties."""
    if not (asked.plural or asked.kind == "list") or not ranked:
        return []
    if ranked[0].passage.kind != "property":
        return []
    said = _words(asked.text)
    notes: dict[str, list[Passage]] = {}
    for one in every:
        if _tells(one.passage, said):
            notes.setdefault(one.passage.source.source_key, []).append(one.passage)
    met = {key: frozenset().union(*(_values(one) & said for one in listed)) for key, listed in notes.items()}
    whole = max(met.values(), key=len, default=frozenset())
    # Of those that have something of what is asked, the ones that have all that any of them has.
    kept = [key for key, words in met.items() if words >= whole]
    others = frozenset().union(*(words for key, words in met.items() if key not in kept))
    return [_unit(notes[key], said, others) for key in kept[:MOST_NOTES]]


def _unit(listed: Sequence[Passage], said: frozenset[str], others: frozenset[str]) -> AnswerUnit:
    """A note by the property that tells it from the notes that are left out, if one does."""
    passage = next((one for one in listed if not _values(one) & said <= others), listed[0])
    return AnswerUnit(passage, (passage,))


def _tells(passage: Passage, said: frozenset[str]) -> bool:
    """Whether a note has a property with a word of the question, and a title that the question does not have."""
    if passage.kind != "property" or not _values(passage) & said or _is_template(passage):
        return False
    return not content_stems(passage.source.title) <= said


def _is_template(passage: Passage) -> bool:
    return bool(_TEMPLATES.search(passage.source.note_path or ""))


def _values(passage: Passage) -> frozenset[str]:
    return _words(passage.shown.partition(":")[2])


def _words(text: str) -> frozenset[str]:
    """What a text says: its stems, and its numbers."""
    return content_stems(text) | frozenset(_NUMBER.findall(text))


# An overview by quotation: how the document that bears the topic's name opens, and what the others say of it. Pure.
#
# A single best sentence tells little of a topic, and the titles of documents, which name it most plainly of all, tell
# nothing. So the document named after the topic is quoted from its beginning, and of every other one sentence.


MOST_SOURCES = 4
# How much of what the topic is called a document's title must have to be named after it.
_NAMED = 0.75
_OPENING_PASSAGES, _OPENING_CHARS = 4, 600
# Of a document that is named, so many parts are told; how likely it is that this is what was asked.
_PARTS_TOLD, _NAMED_ANSWERS = 4, 0.9
# Shorter ones are labels: "Contents", "See also".
_LEAST_WORDS = 5
_WORD = re.compile(r"[^\W_]+")


def overview_units(ranked: Sequence[PassageScore], passages: Sequence[Passage]) -> list[AnswerUnit]:
    """What is shown of a topic: the opening of the document named after it, then a sentence of each other one."""
    titles = frozenset(_bare(one.source.title) for one in passages)
    telling = [one for one in ranked if _tells_of(one.passage, titles)]
    after_it = [one for one in telling if one.features["titled"] >= _NAMED]
    units: list[AnswerUnit] = []
    if after_it:
        # The shorter the title, the less it is about anything else.
        named = min(after_it, key=lambda one: (_size(one.passage.source.title), -one.score))
        own = [one for one in passages if one.source.n == named.passage.source.n and _tells_of(one, titles)]
        opening = tuple(_opening(own))
        units.append(AnswerUnit(opening[0], opening))
    quoted = {unit.best.source.source_key for unit in units}
    for one in telling:
        if one.own and not one.missing and one.passage.source.source_key not in quoted and len(units) < MOST_SOURCES:
            quoted.add(one.passage.source.source_key)
            units.append(AnswerUnit(one.passage, (one.passage,)))
    return units


def named_units(passages: Sequence[Passage]) -> list[AnswerUnit]:
    """What is told of documents that are only named: of one the opening and how its parts begin, of several the opening
    of each."""
    titles = frozenset(_bare(one.source.title) for one in passages)
    own: dict[str, list[Passage]] = {}
    for one in passages:
        own.setdefault(one.source.source_key, []).append(one)
    units: list[AnswerUnit] = []
    for every in own.values():
        said = [one for one in every if _tells_of(one, titles)] or every[:1]
        opening = tuple(_opening(said))
        units.append(AnswerUnit(opening[0], opening if len(own) == 1 else opening[:1]))
        parts = {one.heading: one for one in reversed(said) if one.heading != said[0].heading} if len(own) == 1 else {}
        units += [AnswerUnit(one, (one,)) for one in list(parts.values())[::-1][:_PARTS_TOLD]]
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


def _tells_of(passage: Passage, titles: frozenset[str]) -> bool:
    """Whether a passage says something: no title of a document, no heading, property, code or label."""
    if passage.kind not in ("sentence", "item", "line") or _bare(passage.shown) in titles:
        return False
    return len(passage.shown.split()) >= _LEAST_WORDS or not passage.shown.isascii()


def _size(title: str) -> int:
    """How many different words a title has: `driftlog/driftlog` has one."""
    return len(set(_WORD.findall(folded_text(title))))


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, folded_text(text)))


MAX_BLOCKS = 3
MAX_NEAREST = 3
MAX_ANSWER_CHARS = 1_150
_CONSIDERED = 40
# How near to the best a further passage must come to be worth showing: by words, and with meaning, which all have.
_WORTH_A_BLOCK, _WORTH_BY_MEANING = 0.75, 0.8
# The same for one of another source that lacks a word of the question, where the best has them all.
_AS_GOOD = 0.88
# A value of the kind that is asked for, and not only something like it.
_STATED = 0.5
# A correction that hardly speaks of the question does not take the place of what it corrects.
_ANSWERS_TOO = 0.7


@dataclass(frozen=True, slots=True)
class _Choice:
    unit: AnswerUnit
    is_outdated: bool = False
    # The engine's words that name what it is about, where it does not do so itself.
    about: str = ""


@dataclass(frozen=True, slots=True)
class _Opinions:
    """What models outside said of the passages: how near they come in meaning, and which of them answer."""

    likeness: Likeness = field(default_factory=Likeness)
    readings: Readings = field(default_factory=Readings)


@dataclass(frozen=True, slots=True)
class _PartAnswer:
    """What one part of the question comes to."""

    chosen: tuple[_Choice, ...]
    ranked: tuple[PassageScore, ...]
    likely: Answerability


def extract(evidence: QuestionEvidence, likeness: Likeness | None = None, readings: Readings | None = None) -> Draft:
    """The answer the evidence itself gives, or a refusal with the terms tried and what comes nearest."""
    told = _Opinions(likeness or Likeness(), readings or Readings())
    plan, languages = evidence.plan, evidence.prepared.other_languages
    if not _names_something(plan):
        return _refusal(plan, _NAMES_NOTHING, ())
    if not evidence.prepared.sources:
        return _refusal(plan, Answerability(0.0, ("no evidence",)), (), languages)
    if plan.only_names and (told_of := named_units(evidence.parts[0][1].passages)):
        several = len({unit.best.source.source_key for unit in told_of}) > 1
        choices = [_Choice(unit, about=titled_lead_in(unit.best.source) if several else "") for unit in told_of]
        return Draft(
            tuple(_sentences(choices, told.readings)),
            refused=False,
            answerability=Answerability(_NAMED_ANSWERS),
        )
    alone = len(evidence.parts) == 1
    found = [_answer(part, view, scored, told, alone=alone) for part, view, scored in evidence.parts]
    if plan.family == "overview" and alone:
        found = [_as_overview(part, evidence.parts[0][1]) for part in found]
    likely = max((one.likely for one in found), key=lambda one: one.probability)
    chosen = [one for part in found for one in part.chosen]
    if not chosen:
        return _refusal(plan, likely, [scored for part in found for scored in part.ranked], languages)
    return Draft(tuple(_sentences(chosen, told.readings)), refused=False, answerability=likely)


def nearest_passages(evidence: QuestionEvidence) -> tuple[NearestPassage, ...]:
    """What comes nearest to an answer, whether or not it is likely that it answers."""
    if not evidence.prepared.sources:
        return ()
    alone = len(evidence.parts) == 1
    found = [_answer(part, view, scored, _Opinions(), alone=alone) for part, view, scored in evidence.parts]
    return tuple(_nearest([scored for part in found for scored in part.ranked]))


def _answer(
    part: QuestionPart, reading: EvidenceView, scored: Sequence[PassageScore], told: _Opinions, *, alone: bool
) -> _PartAnswer:
    """The blocks that answer one part of the question, where it is likely that they do."""
    every, ranked, outdated, likely = _ranked(part, reading, scored, told)
    if likely.probability < LIKELY:
        return _PartAnswer((), tuple(ranked), likely)
    notes = notes_alike(part, ranked, every)
    chosen = [_Choice(unit) for unit in notes] or _blocks(part, reading, every, ranked, outdated, alone=alone)
    return _PartAnswer(tuple(chosen), tuple(ranked), likely)


class _Ranked(NamedTuple):
    every: list[PassageScore]
    # Each statement once, and what corrections replace.
    ranked: list[PassageScore]
    outdated: Mapping[tuple[int, int], PassageScore]
    likely: Answerability


def _ranked(part: QuestionPart, reading: EvidenceView, scored: Sequence[PassageScore], told: _Opinions) -> _Ranked:
    """The passages in the order of words and meaning, and how likely they answer this part of the question."""
    every = by_meaning_too(scored, told.likeness)
    ranked, outdated = _corrected(_without_copies(every[:_CONSIDERED]))
    return _Ranked(every, ranked, outdated, confidence(part, ranked, reading, best_answer(every, told.readings)))


def _blocks(
    part: QuestionPart,
    reading: EvidenceView,
    every: Sequence[PassageScore],
    ranked: Sequence[PassageScore],
    outdated: Mapping[tuple[int, int], PassageScore],
    *,
    alone: bool,
) -> list[_Choice]:
    """What is shown of the best passages: different blocks, and below a correction what it corrects."""
    sources: dict[int, list[Passage]] = {}
    for passage in reading.passages:
        sources.setdefault(passage.source.n, []).append(passage)
    own: dict[int, dict[int, float]] = {}
    for one in every:
        own.setdefault(one.passage.source.n, {})[one.passage.start] = one.own
    chosen: list[_Choice] = []
    for one in _worth_showing(ranked):
        n = one.passage.source.n
        unit = unit_of(one.passage, sources[n], part, own[n], says_all=_says_all(one, part))
        is_listed = part.kind == "list" and bool(chosen) and len(chosen[0].unit.passages) > 1
        if is_listed and one.passage.kind not in ("item", "row"):
            continue  # beside the list that is asked for, a sentence is something else
        _add(chosen, unit, part)
        old = outdated.get(_place(one.passage))
        if old is not None and one is ranked[0]:
            earlier = unit_of(old.passage, sources[old.passage.source.n], part, says_all=True)
            chosen.append(_Choice(earlier, is_outdated=True))
        if len(chosen) >= (MAX_BLOCKS if alone else 2):
            break
    return chosen


def _add(chosen: list[_Choice], unit: AnswerUnit, part: QuestionPart) -> None:
    """Add a unit, or join it to the one of the same block; what is shown already is not shown twice."""
    at = next((at for at, other in enumerate(chosen) if _is_same_block(unit, other.unit)), None)
    if at is None:
        chosen.append(_Choice(unit, about=named_above(part, unit)))
    elif not _overlap(unit, chosen[at].unit) and not chosen[at].is_outdated:
        chosen[at] = replace(chosen[at], unit=_together(chosen[at].unit, unit))


def _says_all(one: PassageScore, part: QuestionPart) -> bool:
    """Whether a passage has every word of the question, and the value that is asked for, which stands for its kind."""
    if part.value is None:
        return not one.missing
    return one.value >= _STATED and all(word in part.attributes for word in one.missing)


def _as_overview(found: _PartAnswer, reading: EvidenceView) -> _PartAnswer:
    """What is found, told as an overview; as it was where there is too little for one."""
    units = overview_units(found.ranked, reading.passages) if found.chosen else []
    return replace(found, chosen=tuple(_Choice(unit) for unit in units)) if units else found


def _worth_showing(ranked: Sequence[PassageScore]) -> Iterator[PassageScore]:
    """The best passage, and those that come near it and contradict nothing that is asked."""
    best = ranked[0]
    worth = _WORTH_A_BLOCK if best.near is None else _WORTH_BY_MEANING
    yield best
    yield from (one for one in ranked[1:] if one.score >= worth * best.score and _may_stand_beside(one, best))


def _may_stand_beside(one: PassageScore, best: PassageScore) -> bool:
    """Beside a passage that has every name and number of the question, one that lacks them speaks of something else."""
    if one.passage.kind in ("sentence", "line") and not one.own and not one.features["asked_by_heading"]:
        return False  # under the right title, without a word of the question
    elsewhere = one.passage.source.source_key != best.passage.source.source_key
    if elsewhere and one.missing and not best.missing and one.score < _AS_GOOD * best.score:
        return False
    lacks = [
        name for name in ("exact_missing", "names_missing", "no_value") if one.features[name] > best.features[name]
    ]
    return not one.opposed and not lacks


def _is_same_block(one: AnswerUnit, other: AnswerUnit) -> bool:
    is_prose = {one.best.kind, other.best.kind} <= {"sentence", "line", "item"}
    return _overlap(one, other) or (is_prose and one.best.source.n == other.best.source.n and one.block == other.block)


def _together(one: AnswerUnit, other: AnswerUnit) -> AnswerUnit:
    """Two units of one block as one, in the order of the text: "Yes." before what explains it."""
    passages = {passage.start: passage for passage in (*one.passages, *other.passages)}
    return AnswerUnit(one.best, tuple(passages[start] for start in sorted(passages)))


def _overlap(one: AnswerUnit, other: AnswerUnit) -> bool:
    if one.best.source.n != other.best.source.n:
        return False
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _without_copies(ranked: Sequence[PassageScore]) -> list[PassageScore]:
    """Each statement once: of near-duplicates the older one, and at equal age the better placed."""
    kept: list[tuple[PassageScore, frozenset[str]]] = []
    for one in ranked:
        own = shingles(one.passage.stated)
        copy = next((at for at, (_, other) in enumerate(kept) if are_copies(own, other)), None)
        if copy is None:
            kept.append((one, own))
        elif _is_original(one.passage, kept[copy][0].passage):
            kept[copy] = (one, own)
    return [one for one, _ in kept]


def _is_original(one: Passage, other: Passage) -> bool:
    if one.source.source_key == other.source.source_key:
        return False
    return bool(one.source.dated and other.source.dated and one.source.dated[:10] < other.source.dated[:10])


def _corrected(ranked: Sequence[PassageScore]) -> tuple[list[PassageScore], dict[tuple[int, int], PassageScore]]:
    """Corrections before what they correct, and the best outdated statement of each."""
    places = {_place(one.passage): one for one in ranked}
    outdated: dict[tuple[int, int], PassageScore] = {}
    replaced: set[tuple[int, int]] = set()
    for correction in corrections_among([one.passage for one in ranked]):
        by, of = places[_place(correction.by)], places[_place(correction.of)]
        if by.score >= _ANSWERS_TOO * of.score and by.value >= min(of.value, 0.7):
            replaced.add(_place(of.passage))
            outdated.setdefault(_place(by.passage), of)
    current = [one for one in ranked if _place(one.passage) not in replaced]
    return sorted(current, key=lambda one: _order(one, outdated)), outdated


def _order(one: PassageScore, outdated: dict[tuple[int, int], PassageScore]) -> tuple[float, int, int]:
    """A correction takes the place of what it corrects, where that was the better match."""
    old = outdated.get(_place(one.passage))
    return min(one.order, old.order) if old else one.order


def _place(passage: Passage) -> tuple[int, int]:
    return passage.source.n, passage.start


def _sentences(chosen: Sequence[_Choice], readings: Readings) -> Iterator[DraftSentence]:
    """The pieces of the chosen units, each once, as far as an answer may be long."""
    room = MAX_ANSWER_CHARS
    seen: set[tuple[int, int]] = set()
    for one in chosen:
        found = _decisive(one.unit.best, readings)
        for at, piece in enumerate(pieces_of(one.unit)):
            place = (one.unit.best.source.n, piece.start)
            if place in seen:
                continue
            sentence = _sentence(one, piece, found, is_first=at == 0)
            room -= len(sentence.text) + 6
            if room < 0:
                return
            seen.add(place)
            yield sentence


def _decisive(passage: Passage, readings: Readings) -> tuple[int, int]:
    """Where the words that answer stand by a reader that is more sure of them than not; else nowhere."""
    text = window_text(passage)
    said = readings.by_text.get(text)
    return decisive_place(passage, text, said) if said is not None and said.answers > 0.5 else (0, 0)


def _sentence(one: _Choice, piece: UnitPiece, found: tuple[int, int], *, is_first: bool) -> DraftSentence:
    source = one.unit.best.source
    outdated = OUTDATED if one.is_outdated and is_first else ""
    dated = dated_lead_in(source) if speaks_of_its_day(piece.text) else ""
    block = quote_at(source, *one.unit.block)
    quotes = (quote_at(source, piece.start, piece.end), *([piece.header] if piece.header else []))
    context = tuple(
        Context("table_header", quote.text, Span(source.span.chunk_id, quote.start, quote.end, quote.content_hash))
        for quote in quotes[1:]
        if not block.start <= quote.start <= quote.end <= block.end
    )
    about = one.about if is_first and not dated else ""
    decides = quote_at(source, *found) if piece.start <= found[0] < found[1] <= piece.end else None
    text = f"{outdated}{dated}{about}{piece.text}"
    return DraftSentence(text, "claim", quotes, block=block, context=context, decides=decides)


def _refusal(
    plan: QueryPlan, likely: Answerability, ranked: Sequence[PassageScore], languages: Sequence[str] = ()
) -> Draft:
    """Nothing answers: what was looked for, and the passages that come nearest."""
    tried = ", ".join(plan.terms) or plan.text_query
    reason = likely.reasons[0] if likely.reasons else "no passage answers the question"
    # Where passages come near they are shown, and the reader sees what they lack.
    why = "" if ranked else f" {reason[0].upper()}{reason[1:]}."
    text = f"{NOT_FOUND}{why}{_in_another_language(plan, ranked, languages)} Terms tried: {tried}."
    nearest = tuple(_nearest(ranked))
    return Draft((DraftSentence(text, "refusal"),), refused=True, reason=reason, answerability=likely, nearest=nearest)


def _in_another_language(plan: QueryPlan, ranked: Sequence[PassageScore], languages: Sequence[str]) -> str:
    """That a question is asked in another language than what was found, or all that was saved, is written in."""
    asked_in = question_language(plan.text_query)
    told = [detect_language(one.passage.source.text) for one in ranked] or languages
    written = {language for language in told if language in LANGUAGE_NAMES and language is not None}
    if asked_in is None or not written or asked_in in written:
        return ""
    found = " and ".join(LANGUAGE_NAMES[language] for language in sorted(written))
    return f" The question is in {LANGUAGE_NAMES[asked_in]}, what {'was found' if ranked else 'you saved'} in {found}."


def _nearest(ranked: Sequence[PassageScore]) -> Iterator[NearestPassage]:
    """The best passages, of different blocks: each has a word of the question, or was compared with it in meaning."""
    seen: set[tuple[str, int]] = set()
    for one in sorted(ranked, key=lambda scored: scored.order):
        source = one.passage.source
        # Of a table the row, which would be lost among the others.
        is_row = one.passage.kind == "row"
        place = (one.passage.start, one.passage.end) if is_row else AnswerUnit(one.passage, (one.passage,)).block
        block = quote_at(source, *place)
        if (one.coverage <= 0 and one.near is None) or (block.source_key, block.start) in seen:
            continue
        seen.add((block.source_key, block.start))
        span = Span(source.span.chunk_id, block.start, block.end, block.content_hash)
        yield NearestPassage(block.source_key, source.title, block.text, span)
        if len(seen) == MAX_NEAREST:
            return


# Answerability of a pack: the estimate that an answer without a model rests on, before there is one. Pure.
#
# The same estimate (`confidence`) goes with a pack, is what the judge of a run looks at, and decides whether an answer
# is given; a run that compares passages by meaning knows more at its end than at its beginning.


_NOTHING = Answerability(0.0, ("nothing in the corpus matches the question",))
_NAMES_NOTHING = Answerability(0.0, ("the question names nothing to look for",))


def _names_something(plan: QueryPlan) -> bool:
    return any(concept.role in ("anchor", "content") for concept in plan.concepts)


def direct_evidence(pack: ResearchPack) -> QuestionEvidence:
    """The rows a pack found itself, without their neighbours, made ready to be read."""
    primary = tuple(row for row in pack.evidence if row.related_to is None)
    prepared = prepare_synthesis(replace(pack, evidence=primary, exact_tag_evidence=(), topic_brief=None))
    return QuestionEvidence(prepared, pack.query_plan)


def estimate(evidence: QuestionEvidence, likeness: Likeness | None = None) -> Answerability:
    """How likely the evidence answers, as `extract` finds it."""
    if not evidence.prepared.sources:
        return _NOTHING
    if not _names_something(evidence.plan):
        return _NAMES_NOTHING
    if evidence.plan.only_names and named_units(evidence.parts[0][1].passages):
        return Answerability(_NAMED_ANSWERS)
    ranked = (_ranked(part, view, scored, _Opinions(likeness or Likeness())) for part, view, scored in evidence.parts)
    return max((one.likely for one in ranked), key=lambda one: one.probability)


def with_estimate(pack: ResearchPack, likeness: Likeness | None = None) -> ResearchPack:
    return replace(pack, coverage=replace(pack.coverage, answerability=estimate(direct_evidence(pack), likeness)))
