"""The model-free answer: passages of the evidence that answer the question, each bound to its exact quote. Pure.

Nothing is reworded: markup is cleaned, table rows are read out under their header, and the engine's few fixed words
(`lead_ins`) are told apart from claims. It picks and orders; it does not infer, add up or translate. Up to three blocks
are quoted, best first, and of each what decides is shown (`answer_units`). Where it is not likely that the evidence
answers (`confidence`), it refuses and names what comes nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citewell.domain.answers import Draft, DraftSentence, Likeness, NearestPassage, PreparedSynthesis, Readings
from citewell.domain.documents import Span
from citewell.domain.evidence import LIKELY, Answerability, Context
from citewell.domain.queries import QueryPlan
from citewell.synthesis.answer_units import AnswerUnit, Piece, named_above, pieces_of, unit_of
from citewell.synthesis.answer_values import speaks_of_its_day
from citewell.synthesis.asking import Asked, asked
from citewell.synthesis.confidence import confidence
from citewell.synthesis.corrections import corrections_among
from citewell.synthesis.lead_ins import NOT_FOUND, OUTDATED, dated_lead_in
from citewell.synthesis.likeness import by_meaning_too
from citewell.synthesis.listed_notes import notes_alike
from citewell.synthesis.meant import as_meant
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.synthesis.overviews import overview_units
from citewell.synthesis.passages import Passage, quote_at
from citewell.synthesis.read_answers import by_reading_too
from citewell.synthesis.reading import Reading, read_evidence
from citewell.synthesis.scoring import Scored, score_passages
from citewell.text.language import LANGUAGE_NAMES, detect_language
from citewell.text.question_language import question_language

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
class _Chosen:
    unit: AnswerUnit
    is_outdated: bool = False
    # The engine's words that name what it is about, where it does not do so itself.
    about: str = ""


@dataclass(frozen=True, slots=True)
class _Told:
    """What models outside said of the passages: how near they come in meaning, and which of them answer."""

    likeness: Likeness = field(default_factory=Likeness)
    readings: Readings = field(default_factory=Readings)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one part of the question comes to."""

    chosen: tuple[_Chosen, ...]
    ranked: tuple[Scored, ...]
    likely: Answerability


def extract(
    prepared: PreparedSynthesis,
    plan: QueryPlan,
    likeness: Likeness | None = None,
    readings: Readings | None = None,
) -> Draft:
    """The answer the evidence itself gives, or a refusal with the terms tried and what comes nearest."""
    told = _Told(likeness or Likeness(), readings or Readings())
    plan = as_meant(plan, prepared.read_as)
    if not any(concept.role in ("anchor", "content") for concept in plan.concepts):
        return _refusal(plan, Answerability(0.0, ("the question names nothing to look for",)), ())
    if not prepared.sources:
        return _refusal(plan, Answerability(0.0, ("no evidence",)), (), prepared.other_languages)
    reading = read_evidence(prepared, plan)
    parts = asked(plan.text_query)
    alone = len(parts) == 1
    found = [_answer(part, reading if alone else reading.about(part.text), told, alone=alone) for part in parts]
    if plan.family == "overview" and alone:
        found = [_as_overview(part, reading) for part in found]
    likely = max((one.likely for one in found), key=lambda one: one.probability)
    chosen = [one for part in found for one in part.chosen]
    if not chosen:
        ranked = [scored for part in found for scored in part.ranked]
        return _refusal(plan, likely, ranked, prepared.other_languages)
    return Draft(tuple(_sentences(chosen)), refused=False, answerability=likely)


def nearest_passages(prepared: PreparedSynthesis, plan: QueryPlan) -> tuple[NearestPassage, ...]:
    """What comes nearest to an answer, whether or not it is likely that it answers."""
    if not prepared.sources:
        return ()
    plan = as_meant(plan, prepared.read_as)
    reading = read_evidence(prepared, plan)
    parts = asked(plan.text_query)
    found = [_answer(part, reading, _Told(), alone=len(parts) == 1) for part in parts]
    return tuple(_nearest([scored for part in found for scored in part.ranked]))


def estimate_answer(prepared: PreparedSynthesis, plan: QueryPlan, likeness: Likeness | None = None) -> Answerability:
    """How likely the evidence answers, as `extract` would find it."""
    found = extract(prepared, plan, likeness).answerability
    assert found is not None
    return found


def _answer(part: Asked, reading: Reading, told: _Told, *, alone: bool) -> _Found:
    """The blocks that answer one part of the question, where it is likely that they do."""
    every = by_reading_too(by_meaning_too(score_passages(part, reading), told.likeness), told.readings)
    ranked = _without_copies(every[:_CONSIDERED])
    ranked, outdated = _corrected(ranked)
    likely = confidence(part, ranked, reading)
    if likely.probability < LIKELY:
        return _Found((), tuple(ranked), likely)
    notes = notes_alike(part, ranked, every)
    chosen = [_Chosen(unit) for unit in notes] or _blocks(part, reading, every, ranked, outdated, alone=alone)
    return _Found(tuple(chosen), tuple(ranked), likely)


def _blocks(
    part: Asked,
    reading: Reading,
    every: Sequence[Scored],
    ranked: Sequence[Scored],
    outdated: Mapping[tuple[int, int], Scored],
    *,
    alone: bool,
) -> list[_Chosen]:
    """What is shown of the best passages: different blocks, and below a correction what it corrects."""
    sources: dict[int, list[Passage]] = {}
    for passage in reading.passages:
        sources.setdefault(passage.source.n, []).append(passage)
    own: dict[int, dict[int, float]] = {}
    for one in every:
        own.setdefault(one.passage.source.n, {})[one.passage.start] = one.own
    chosen: list[_Chosen] = []
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
            chosen.append(_Chosen(earlier, is_outdated=True))
        if len(chosen) >= (MAX_BLOCKS if alone else 2):
            break
    return chosen


def _add(chosen: list[_Chosen], unit: AnswerUnit, part: Asked) -> None:
    """Add a unit, or join it to the one of the same block; what is shown already is not shown twice."""
    at = next((at for at, other in enumerate(chosen) if _is_same_block(unit, other.unit)), None)
    if at is None:
        chosen.append(_Chosen(unit, about=named_above(part, unit)))
    elif not _overlap(unit, chosen[at].unit) and not chosen[at].is_outdated:
        chosen[at] = replace(chosen[at], unit=_together(chosen[at].unit, unit))


def _says_all(one: Scored, part: Asked) -> bool:
    """Whether a passage has every word of the question, and the value that is asked for, which stands for its kind."""
    if part.value is None:
        return not one.missing
    return one.value >= _STATED and all(word in part.attributes for word in one.missing)


def _as_overview(found: _Found, reading: Reading) -> _Found:
    """What is found, told as an overview; as it was where there is too little for one."""
    units = overview_units(found.ranked, reading.passages) if found.chosen else []
    return replace(found, chosen=tuple(_Chosen(unit) for unit in units)) if units else found


def _worth_showing(ranked: Sequence[Scored]) -> Iterator[Scored]:
    """The best passage, and those that come near it and contradict nothing that is asked."""
    best = ranked[0]
    worth = _WORTH_A_BLOCK if best.near is None else _WORTH_BY_MEANING
    yield best
    yield from (one for one in ranked[1:] if one.score >= worth * best.score and _may_stand_beside(one, best))


def _may_stand_beside(one: Scored, best: Scored) -> bool:
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


def _without_copies(ranked: Sequence[Scored]) -> list[Scored]:
    """Each statement once: of near-duplicates the older one, and at equal age the better placed."""
    kept: list[tuple[Scored, frozenset[str]]] = []
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


def _corrected(ranked: Sequence[Scored]) -> tuple[list[Scored], dict[tuple[int, int], Scored]]:
    """Corrections before what they correct, and the best outdated statement of each."""
    places = {_place(one.passage): one for one in ranked}
    outdated: dict[tuple[int, int], Scored] = {}
    replaced: set[tuple[int, int]] = set()
    for correction in corrections_among([one.passage for one in ranked]):
        by, of = places[_place(correction.by)], places[_place(correction.of)]
        if by.score >= _ANSWERS_TOO * of.score and by.value >= min(of.value, 0.7):
            replaced.add(_place(of.passage))
            outdated.setdefault(_place(by.passage), of)
    current = [one for one in ranked if _place(one.passage) not in replaced]
    return sorted(current, key=lambda one: _order(one, outdated)), outdated


def _order(one: Scored, outdated: dict[tuple[int, int], Scored]) -> tuple[float, int, int]:
    """A correction takes the place of what it corrects, where that was the better match."""
    old = outdated.get(_place(one.passage))
    return min(one.order, old.order) if old else one.order


def _place(passage: Passage) -> tuple[int, int]:
    return passage.source.n, passage.start


def _sentences(chosen: Sequence[_Chosen]) -> Iterator[DraftSentence]:
    """The pieces of the chosen units, each once, as far as an answer may be long."""
    room = MAX_ANSWER_CHARS
    seen: set[tuple[int, int]] = set()
    for one in chosen:
        for at, piece in enumerate(pieces_of(one.unit)):
            place = (one.unit.best.source.n, piece.start)
            if place in seen:
                continue
            sentence = _sentence(one, piece, is_first=at == 0)
            room -= len(sentence.text) + 6
            if room < 0:
                return
            seen.add(place)
            yield sentence


def _sentence(one: _Chosen, piece: Piece, *, is_first: bool) -> DraftSentence:
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
    return DraftSentence(f"{outdated}{dated}{about}{piece.text}", "claim", quotes, block=block, context=context)


def _refusal(plan: QueryPlan, likely: Answerability, ranked: Sequence[Scored], languages: Sequence[str] = ()) -> Draft:
    """Nothing answers: what was looked for, and the passages that come nearest."""
    tried = ", ".join(plan.terms) or plan.text_query
    reason = likely.reasons[0] if likely.reasons else "no passage answers the question"
    # Where passages come near they are shown, and the reader sees what they lack.
    why = "" if ranked else f" {reason[0].upper()}{reason[1:]}."
    text = f"{NOT_FOUND}{why}{_in_another_language(plan, ranked, languages)} Terms tried: {tried}."
    nearest = tuple(_nearest(ranked))
    return Draft((DraftSentence(text, "refusal"),), refused=True, reason=reason, answerability=likely, nearest=nearest)


def _in_another_language(plan: QueryPlan, ranked: Sequence[Scored], languages: Sequence[str]) -> str:
    """That a question is asked in another language than what was found, or all that was saved, is written in."""
    asked_in = question_language(plan.text_query)
    told = [detect_language(one.passage.source.text) for one in ranked] or languages
    written = {language for language in told if language in LANGUAGE_NAMES and language is not None}
    if asked_in is None or not written or asked_in in written:
        return ""
    found = " and ".join(LANGUAGE_NAMES[language] for language in sorted(written))
    return f" The question is in {LANGUAGE_NAMES[asked_in]}, what {'was found' if ranked else 'you saved'} in {found}."


def _nearest(ranked: Sequence[Scored]) -> Iterator[NearestPassage]:
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
