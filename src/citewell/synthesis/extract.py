"""The model-free answer: sentences of the evidence that answer the question, each bound to its exact quote. Pure.

Nothing is reworded: markup is cleaned, table rows are read out under their header, and the engine's few fixed words
(`lead_ins`) are told apart from claims. It picks and orders; it does not infer, add up or translate. Where the evidence
speaks of the subject without answering, it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.answers import Draft, DraftSentence, PreparedSynthesis
from citewell.domain.queries import QueryPlan
from citewell.synthesis.answer_values import speaks_of_its_day
from citewell.synthesis.asking import Asked, asked
from citewell.synthesis.corrections import corrections_among
from citewell.synthesis.lead_ins import NOT_FOUND, OUTDATED, dated_lead_in
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.synthesis.passages import Passage
from citewell.synthesis.reading import Reading, read_evidence
from citewell.synthesis.scoring import Scored, score_passages
from citewell.synthesis.sufficiency import contrary_said, missing_names, what_is_missing
from citewell.synthesis.topic import bag_of, leans_back

MAX_SENTENCES = 3
MAX_LISTED = 6
_CONSIDERED = 40
_TRIED = 2
# How near to the best a passage must come to answer in its place.
_NEAR_BEST = 0.85
# How near to the best a further passage must come to be worth a sentence.
_WORTH_A_SENTENCE = 0.75
# The same for the next sentence, where it goes on with "It" or "They" and so cannot repeat the words of the question.
_WORTH_GOING_ON = 0.6
_STATES_THE_VALUE = 0.7
# A correction that hardly speaks of the question does not take the place of what it corrects.
_ANSWERS_TOO = 0.7


@dataclass(frozen=True, slots=True)
class _Chosen:
    passage: Passage
    is_outdated: bool = False


def extract(prepared: PreparedSynthesis, plan: QueryPlan) -> Draft:
    """The answer the evidence itself gives, or a refusal that names the terms tried."""
    if not any(concept.role in ("anchor", "content") for concept in plan.concepts):
        return _refusal(plan, "the question names nothing to look for")
    if not prepared.sources:
        return _refusal(plan, "no evidence")
    reading = read_evidence(prepared, plan)
    chosen: list[_Chosen] = []
    reasons: list[str] = []
    parts = asked(plan.text_query)
    for part in parts:
        alone = len(parts) == 1
        found, reason = _answer(part, reading if alone else reading.about(part.text), alone=alone)
        chosen += found
        reasons += [reason] if reason else []
    if not chosen:
        return _refusal(plan, reasons[0] if reasons else "no passage answers the question")
    return Draft(tuple(_sentence(one) for one in _once_each(chosen)[: _limit(parts, chosen)]), refused=False)


def _limit(parts: Sequence[Asked], chosen: Sequence[_Chosen]) -> int:
    """How many sentences the answer may have: few, but a list is not cut short."""
    listed = any(part.kind in ("list", "compare") for part in parts) or any(_opens_list(one.passage) for one in chosen)
    return MAX_LISTED if listed else MAX_SENTENCES + len(parts) - 1


def _opens_list(passage: Passage) -> bool:
    return passage.shown.endswith(":")


def _answer(part: Asked, reading: Reading, *, alone: bool) -> tuple[list[_Chosen], str]:
    """The passages that answer one part of the question, or the reason why none does."""
    ranked = _without_copies(score_passages(part, reading)[:_CONSIDERED])
    if not ranked:
        return [], "no passage answers the question"
    ranked, outdated = _corrected(ranked)
    best = _first_sufficient(part, ranked, reading)
    if best is None:
        return [], what_is_missing(part, ranked[0], reading.topic, reading.concepts)
    if part.kind in ("list", "compare") and (listed := _siblings(best, ranked)):
        return listed, ""
    further = [one.passage for one in ranked if one is not best and _adds(part, best, one, reading)]
    more = further[: MAX_SENTENCES - 1 if alone else 1]
    old = outdated.get(_place(best.passage))
    replaced = [_Chosen(old.passage, is_outdated=True)] if old else []
    return [*_led_into(best.passage, reading), *replaced, *map(_Chosen, more)], ""


def _first_sufficient(part: Asked, ranked: Sequence[Scored], reading: Reading) -> Scored | None:
    """The best passage that answers; a runner-up only where it is nearly as good, and the best says no contrary."""
    if contrary_said(part, ranked[0]):
        return None
    tried = [one for one in ranked[:_TRIED] if one.score >= _NEAR_BEST * ranked[0].score]
    return next((one for one in tried if not what_is_missing(part, one, reading.topic, reading.concepts)), None)


def _adds(part: Asked, best: Scored, one: Scored, reading: Reading) -> bool:
    """Whether a further passage is worth showing: another count of the same thing, or nearly as good as the best."""
    if one.opposed or any(term.is_exact and term.text in one.missing for term in reading.topic.terms):
        return False
    if part.kind == "how_many" and part.attributes and one.value == best.value == 1.0:
        elsewhere = one.passage.source.source_key != best.passage.source.source_key
        return elsewhere and not what_is_missing(part, one, reading.topic, reading.concepts)
    if one.score < (_WORTH_GOING_ON if _goes_on(best.passage, one.passage) else _WORTH_A_SENTENCE) * best.score:
        return False
    # A sentence need not repeat the name its neighbour gives; a row of a table speaks of its own.
    if one.passage.source.source_key == best.passage.source.source_key and one.passage.kind == "sentence":
        return True
    # Beside a full answer, another source that lacks a word of the question speaks of something else.
    aside = one.missing and not best.missing and best.value >= _STATES_THE_VALUE
    said = bag_of(one.passage.shown, None)
    exact = all(term.support(said) for term in reading.topic.terms if term.is_exact)
    return exact and not aside and not missing_names(one, reading.topic, reading.concepts)


def _goes_on(passage: Passage, one: Passage) -> bool:
    return _is_just_before(passage, one) and leans_back(one)


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


def _siblings(best: Scored, ranked: Sequence[Scored]) -> list[_Chosen]:
    """The items or rows that stand beside the best one and answer as well, in their own order."""
    if best.passage.kind not in ("item", "row"):
        return []
    beside = [
        one.passage
        for one in ranked
        if one.passage.source == best.passage.source
        and one.passage.block == best.passage.block
        and one.passage.kind == best.passage.kind
        and one.own >= 0.95 * best.own
    ]
    ordered = sorted(beside, key=lambda passage: passage.start)
    return [_Chosen(passage) for passage in ordered[:MAX_LISTED]] if len(ordered) > 1 else []


def _led_into(passage: Passage, reading: Reading) -> list[_Chosen]:
    """A passage, after the sentence it leans on where it opens with "It" or "They"; a lead with its list."""
    if _opens_list(passage):
        items = [one for one in reading.passages if one.lead == passage.shown and one.source == passage.source]
        return [_Chosen(passage), *(_Chosen(one) for one in items[: MAX_LISTED - 1])]
    before = next((one for one in reading.passages if _is_just_before(one, passage)), None)
    if before is not None and leans_back(passage) and _completes(before, passage, reading):
        return [_Chosen(before), _Chosen(passage)]
    return [_Chosen(passage)]


def _completes(before: Passage, passage: Passage, reading: Reading) -> bool:
    """Whether the sentence before names something of the question that the passage itself leaves out."""
    if before.shown.endswith("?"):
        return False
    said, lacking = bag_of(before.shown, None), bag_of(passage.shown, None)
    return any(term.support(said) and not term.support(lacking) for term in reading.topic.terms)


def _is_just_before(one: Passage, passage: Passage) -> bool:
    return one.source == passage.source and one.ordinal == passage.ordinal - 1 and one.shown == passage.before


def _place(passage: Passage) -> tuple[int, int]:
    return passage.source.n, passage.start


def _once_each(chosen: Sequence[_Chosen]) -> list[_Chosen]:
    return list({_place(one.passage): one for one in reversed(chosen)}.values())[::-1]


def _sentence(one: _Chosen) -> DraftSentence:
    outdated = OUTDATED if one.is_outdated else ""
    dated = dated_lead_in(one.passage.source) if speaks_of_its_day(one.passage.shown) else ""
    return DraftSentence(f"{outdated}{dated}{one.passage.shown}", "claim", one.passage.quotes)


def _refusal(plan: QueryPlan, reason: str) -> Draft:
    tried = ", ".join(plan.terms) or plan.text_query
    text = f"{NOT_FOUND}{reason}. Terms tried: {tried}."
    return Draft((DraftSentence(text, "refusal"),), refused=True, reason=reason)
