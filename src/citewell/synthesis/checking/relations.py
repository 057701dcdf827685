"""Right words in a wrong place: another name, number or unit there, the contrary of a word, all for some. Pure.

It compares a claim with the one sentence that says nearly the same, word against word (`word_alignment`); what stands
on which side of a verb is compared by `order`. A claim in quite other words cannot be compared so.

Example:
    claim:   The lamp was lit by the warden of Dunmore.
    passage: The lamp was lit by the warden of Dunmore at dusk.
    verdict: supported

Example:
    claim:   The lamp was lit by the warden of Kilbride.
    passage: The lamp was lit by the warden of Dunmore. Kilbride had no lamp.
    verdict: contradicted
    reason:  the quote has 'Dunmore' where this has 'Kilbride'

Example:
    claim:   All of the boats returned to port.
    passage: Some of the boats returned to port.
    verdict: contradicted
    reason:  the quote has 'some' where this has 'all'
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.synthesis.checking.claim_alignment import (
    ClaimAlignment,
    align_without_names,
    is_anchored,
    substitution,
)
from citewell.synthesis.checking.denials import denies
from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.naming import Name, are_initials, names_of
from citewell.synthesis.checking.stated_values import ROUNDED, read_values
from citewell.synthesis.checking.tokens import Token
from citewell.synthesis.lexicon.word_families import contraries, denies_by_prefix, moves_against
from citewell.synthesis.lexicon.word_lists import word_list
from citewell.synthesis.values import UNITS

_OPENING = 4
_UNIVERSAL = frozenset("all both every always entirely exclusively solely".split())
_PARTIAL = frozenset(
    "some most many several few often usually sometimes partly mostly generally mainly half about nearly".split()
)
_NONE = frozenset("no none neither few rarely never hardly".split())


def wrong_relation(matched: EvidenceMatch, alignment: ClaimAlignment | None) -> str:
    """In words, what the claim puts in a wrong place; empty where nothing is seen."""
    apart = align_without_names(matched)
    if apart is not None and (said := other_name(apart)):
        return said
    if alignment is None:
        return ""
    checks = (contrary_word, other_number, other_unit, other_quantifier)
    return next((said for check in checks if (said := check(alignment))), "")


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


def other_name(alignment: ClaimAlignment) -> str:
    """A name that the sentence does not have, where it says all else of another one.

    A sentence that begins with a pronoun may speak of a name that stands before it.
    """
    told = alignment.whole
    if any(token.folded in word_list("pronouns") for token in told.tokens[:_OPENING]):
        return ""
    said = {form for token in alignment.claim.tokens for form in (token.stem, *alignment.close.get(token.stem, ()))}
    others = [one for one in names_of(told) if not any(token.stem in said for token in one.tokens)]
    for name in names_of(alignment.claim):
        if not others or _stands_in(name, alignment) or any(are_initials(name, one) for one in others):
            continue
        facing = _nearest_place(alignment, name, others)
        return substitution(facing.text(told.text, told.start), name.text(alignment.claim.text))
    return ""


def _stands_in(name: Name, alignment: ClaimAlignment) -> bool:
    forms = {form for token in name.tokens for form in (token.stem, *alignment.close.get(token.stem, ()))}
    return bool(forms & alignment.whole.stems)


def _nearest_place(alignment: ClaimAlignment, name: Name, others: Sequence[Name]) -> Name:
    """Of the names of the sentence, the one nearest to where the words around the claim's name stand."""
    around = alignment.words.counterpart[max(0, name.first - 1) : name.last + 2]
    places = [at for at in around if at is not None] or [0]
    return min(others, key=lambda one: min(abs(one.first - at) for at in places))


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
