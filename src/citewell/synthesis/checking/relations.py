"""Right words in a wrong relation: another name in a place, the contrary of a word, subject and object swapped. Pure.

It compares a claim with the one sentence that says nearly the same, word against word (`word_alignment`). A claim in
quite other words cannot be compared so and passes; so does "A sold B" for "B sold A" where the sentence is much
rearranged.

Example:
    claim:   The hull is 24 metres long.
    passage: The hull is 24 metres long and 6 metres wide.
    verdict: supported

Example:
    claim:   The hull is 24 metres wide.
    passage: The hull is 24 metres long and 6 metres wide.
    verdict: contradicted
    reason:  the quote has 'long' where this has 'wide'

Example:
    claim:   All of the boats returned to port.
    passage: Some of the boats returned to port.
    verdict: contradicted
    reason:  the quote has 'some' where this has 'all'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from citewell.synthesis.checking.agents import other_agent
from citewell.synthesis.checking.claim_alignment import (
    ClaimAlignment,
    align_to_nearest,
    align_without_names,
    is_anchored,
    substitution,
)
from citewell.synthesis.checking.directions import denies
from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.name_places import other_filler, other_name, swapped, voice_changed
from citewell.synthesis.checking.stated_values import ROUNDED, read_values
from citewell.synthesis.checking.tokens import Token
from citewell.synthesis.lexicon.word_families import contraries, denies_by_prefix, moves_against
from citewell.synthesis.values import UNITS

_UNIVERSAL = frozenset("all both every always entirely exclusively solely".split())
_PARTIAL = frozenset(
    "some most many several few often usually sometimes partly mostly generally mainly half about nearly".split()
)
_DIMENSIONS = frozenset("long wide high tall deep thick broad old away".split())
_NEARER = 3
_NONE = frozenset("no none neither few rarely never hardly".split())


def wrong_relation(matched: EvidenceMatch) -> str:
    """In words, what the claim puts in a wrong place; empty where nothing is seen."""
    return _wrong_place(matched) or other_agent(matched)


def _wrong_place(matched: EvidenceMatch) -> str:
    apart = align_without_names(matched)
    if apart is not None and (said := other_name(apart) or other_filler(apart)):
        return said
    alignment = align_to_nearest(matched)
    if alignment is None:
        return ""
    checks: tuple[Callable[[ClaimAlignment], str], ...] = (
        *(denial_moved, contrary_word, nearer_contrary, other_name, other_filler, other_number, other_unit),
        *(swapped, voice_changed, other_quantifier, other_dimension),
    )
    return next((said for check in checks if (said := check(alignment))), "")


def denied_otherwise(matched: EvidenceMatch) -> str:
    """Whether the two differ in a denial between the same words."""
    alignment = align_to_nearest(matched)
    return denial_moved(alignment) if alignment else ""


def denial_moved(alignment: ClaimAlignment) -> str:
    """A denial that stands between the same words on one side only."""
    tokens, told, on = alignment.claim.tokens, alignment.sentence.tokens, alignment.words.counterpart
    for at, token in enumerate(tokens):
        if denies(token) and not alignment.words.is_same[at] and 0 < at < len(tokens) - 1:
            before, after = on[at - 1], on[at + 1]
            meets = (
                before is not None
                and after is not None
                and after - before <= 2
                and alignment.words.is_matched_around(at, at)
            )
            if meets and not any(denies(one) for one in told[before : (after or 0) + 1]):
                return f"the quote does not deny this ('{token.folded} {tokens[at + 1].folded}')"
    for at in range(len(tokens) - 1):
        before, after = on[at], on[at + 1]
        if before is None or after is None or not (alignment.words.is_same[at] or alignment.words.is_same[at + 1]):
            continue
        skipped = told[before + 1 : after]
        dropped = 0 < len(skipped) <= 2 and any(denies(one) for one in skipped) and not _denies_nothing(skipped)
        if dropped and not denies(tokens[at]) and not denies(tokens[at + 1]):
            return f"the quote denies this ('{' '.join(one.folded for one in told[before + 1 : after + 1])}')"
    return ""


def _denies_nothing(tokens: Sequence[Token]) -> bool:
    """`Not only`, `not just`."""
    return any(token.folded in ("only", "just", "merely", "simply") for token in tokens)


def contrary_word(alignment: ClaimAlignment) -> str:
    """A word of the claim whose contrary stands in its place."""
    for at, token in enumerate(alignment.claim.tokens):
        opposed = contraries(token.stem)
        if token.stem in alignment.sentence.stems and alignment.words.is_same[at]:
            continue
        if at and alignment.claim.tokens[at - 1].folded in ("un", "non", "in", "dis"):
            continue  # a prefix written apart: `un-elected`
        on = alignment.words.counterpart[at]
        facing = alignment.sentence.tokens[on] if on is not None else None
        if facing is not None and _is_contrary(token, facing, opposed) and is_anchored(alignment, at, at):
            if _is_turned(alignment, at, on):
                continue
            return substitution(facing.folded, token.folded)
        if token.is_content and token.stem not in alignment.sentence.stems:
            for place, other in enumerate(alignment.sentence.tokens):
                contrary = _is_contrary(token, other, opposed) and not _is_said(alignment, other)
                if contrary and _shares_neighbour(alignment, at, place) and not _is_turned(alignment, at, place):
                    return substitution(other.folded, token.folded)
    return ""


def nearer_contrary(alignment: ClaimAlignment) -> str:
    """A word that stands in the sentence, but farther from its neighbour in the claim than its contrary does."""
    content = [at for at, token in enumerate(alignment.claim.tokens) if token.is_content]
    for nth, at in enumerate(content):
        token = alignment.claim.tokens[at]
        against = [place for place, other in enumerate(alignment.sentence.tokens) if _points_against(token, other)]
        own = [place for place, other in enumerate(alignment.sentence.tokens) if other.stem == token.stem]
        beside = [content[near] for near in (nth - 1, nth + 1) if 0 <= near < len(content)]
        for near in beside:
            forms = alignment.close.get(alignment.claim.tokens[near].stem, {})
            places = [place for place, other in enumerate(alignment.sentence.tokens) if other.stem in forms]
            if not (against and own and places) or _is_said(alignment, alignment.sentence.tokens[against[0]]):
                continue
            far = min(abs(place - other) for place in places for other in own)
            close, facing = min((abs(place - other), other) for place in places for other in against)
            if close + _NEARER < far and close <= _NEARER and not _is_turned(alignment, at, facing):
                return substitution(alignment.sentence.tokens[facing].folded, token.folded)
    return ""


def _points_against(token: Token, other: Token) -> bool:
    return _is_contrary(token, other, contraries(token.stem))


def other_dimension(alignment: ClaimAlignment) -> str:
    """`24 metres long` where the sentence has 24 metres wide."""
    for at in range(2, len(alignment.claim.tokens)):
        token = alignment.claim.tokens[at]
        if token.folded not in _DIMENSIONS or not alignment.claim.tokens[at - 2].stem[0].isdigit():
            continue
        measured = [one.stem for one in alignment.claim.tokens[at - 2 : at]]
        for place in range(2, len(alignment.sentence.tokens)):
            facing = alignment.sentence.tokens[place]
            same = [one.stem for one in alignment.sentence.tokens[place - 2 : place]] == measured
            if same and facing.folded in _DIMENSIONS and facing.folded != token.folded:
                return substitution(facing.folded, token.folded)
    return ""


def _is_contrary(token: Token, other: Token, opposed: frozenset[str]) -> bool:
    return other.stem in opposed or denies_by_prefix(token.stem, other.stem) or moves_against(token.stem, other.stem)


def _is_said(alignment: ClaimAlignment, other: Token) -> bool:
    return any(token.stem == other.stem for token in alignment.claim.tokens)


def _is_turned(alignment: ClaimAlignment, at: int, on: int | None) -> bool:
    """Whether a denial before one of the two, and not before the other, makes them agree after all."""
    here = any(denies(token) for token in alignment.claim.tokens[max(0, at - 3) : at])
    there = on is not None and any(denies(token) for token in alignment.sentence.tokens[max(0, on - 3) : on])
    return here != there


def _shares_neighbour(alignment: ClaimAlignment, at: int, place: int) -> bool:
    """Whether a word of meaning beside the one in the claim stands beside the other in the sentence."""
    near = alignment.sentence.tokens[max(0, place - 3) : place + 4]
    stems = frozenset(token.stem for token in near)
    content = [n for n, token in enumerate(alignment.claim.tokens) if token.is_content]
    beside = [n for n in content if n != at and abs(content.index(n) - content.index(at)) == 1]
    return any(alignment.close.get(alignment.claim.tokens[n].stem, {}).keys() & stems for n in beside)


def other_number(alignment: ClaimAlignment) -> str:
    """A number in whose place the sentence has another, though it stands elsewhere."""
    for at, token in enumerate(alignment.claim.tokens):
        on = alignment.words.counterpart[at]
        if not token.stem[0].isdigit() or alignment.words.is_same[at] or on is None:
            continue
        facing = alignment.sentence.tokens[on]
        if not facing.stem[0].isdigit() or not is_anchored(alignment, at, at) or _is_rounded(alignment, at):
            continue
        # The same number may be written with a scale: 5 million for 5,000,000.
        if token.stem in alignment.sentence.stems or token.stem not in read_values(alignment.sentence.text).bare:
            return substitution(facing.folded, token.folded)
    return ""


def _is_rounded(alignment: ClaimAlignment, at: int) -> bool:
    before = " ".join(token.folded for token in alignment.claim.tokens[max(0, at - 3) : at])
    return bool(ROUNDED.search(before))


def other_unit(alignment: ClaimAlignment) -> str:
    """A unit in whose place, after the same number, the sentence has another of its kind."""
    for at, token in enumerate(alignment.claim.tokens):
        on = alignment.words.counterpart[at]
        if on is None or alignment.words.is_same[at] or not at or not alignment.words.is_same[at - 1]:
            continue
        name, measure = UNITS.get(token.folded, (token.folded, ""))
        other, kind = UNITS.get(alignment.sentence.tokens[on].folded, (name, ""))
        if alignment.claim.tokens[at - 1].stem[0].isdigit() and name != other and measure == kind != "":
            return substitution(alignment.sentence.tokens[on].folded, token.folded)
    return ""


def other_quantifier(alignment: ClaimAlignment) -> str:
    """`All` where the sentence says some; `none` where it says all."""
    for at, token in enumerate(alignment.claim.tokens):
        on = alignment.words.counterpart[at]
        if on is None or alignment.words.is_same[at]:
            continue
        facing = alignment.sentence.tokens[on].folded
        wider = token.folded in _UNIVERSAL and facing in _PARTIAL
        emptied = token.folded in _NONE and facing in (_UNIVERSAL | _PARTIAL) - _NONE
        filled = facing in _NONE and token.folded in (_UNIVERSAL | _PARTIAL) - _NONE
        if (wider or emptied or filled) and (alignment.words.is_matched(at + 1) or alignment.words.is_matched(at + 2)):
            return substitution(facing, token.folded)
    return ""
