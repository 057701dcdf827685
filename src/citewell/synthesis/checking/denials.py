"""Denial: whether one of claim and quotes denies what the other states. Pure.

A denial belongs to the next word that carries meaning ("was not founded", "no effect", "failed to win"). The same word
is looked up on the other side: it must be denied there too. "Not only" denies nothing. What a sentence denies about
things the claim leaves out does not matter.

Example:
    claim:   The bridge is not only old but narrow.
    passage: The bridge is old but narrow.
    verdict: supported

Example:
    claim:   The bridge was repaired after the flood.
    passage: The bridge was not repaired after the flood.
    verdict: contradicted
    reason:  the quote denies this ('not repaired')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.synthesis.checking.claim_alignment import ClaimAlignment
from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.lexicon.word_families import contraries, denies_by_prefix
from citewell.synthesis.values import dates_in, denials_in, quantities_in

_PLAIN = frozenset("not never no none neither nor cannot nobody nothing hardly scarcely".split())
_SOFT = frozenset(
    """without lack lacks lacked lacking fail fails failed failing unable refuse refused refuses deny denied denies
    absence absent prevent prevented few little rarely seldom""".split()
)
_PAUSE = re.compile(r"[,;:.!?—–()]|\b(?:but|although|though|because|which|who|whereas|while)\b")
_REACH = 6
_LEAST_SHARED = 0.45
_NEARLY_AS_GOOD = 0.75
_NO_DENIAL = ("only", "just", "merely", "least", "longer than")


@dataclass(frozen=True, slots=True)
class Negation:
    """A word that denies, by its place, and the place of what it denies."""

    at: int
    target: int | None
    is_plain: bool


def denies(token: Token) -> bool:
    """Whether a word denies by itself: not, never, n't."""
    return token.folded in _PLAIN or token.folded.endswith("n't")


def negations_in(sentence: Sentence) -> list[Negation]:
    """The denials of a sentence."""
    found: list[Negation] = []
    for at, token in enumerate(sentence.tokens):
        plain = denies(token)
        if not plain and token.folded not in _SOFT:
            continue
        if at + 1 < len(sentence.tokens) and sentence.tokens[at + 1].folded in _NO_DENIAL:
            continue
        if token.folded == "no" and token.is_capital and _is_number_sign(sentence, at):
            continue
        found.append(Negation(at, _target(sentence, at), plain))
    return found


def _is_number_sign(sentence: Sentence, at: int) -> bool:
    following = sentence.tokens[at + 1] if at + 1 < len(sentence.tokens) else None
    return at > 0 and following is not None and following.folded[0].isdigit()


def _target(sentence: Sentence, at: int) -> int | None:
    """The next word that carries meaning, up to a pause."""
    for place in range(at + 1, min(len(sentence.tokens), at + 1 + _REACH)):
        if _pauses(sentence, sentence.tokens[place - 1], sentence.tokens[place]):
            return None
        if sentence.tokens[place].is_content or sentence.tokens[place].folded[0].isdigit():
            return place
    return None


def _pauses(sentence: Sentence, one: Token, other: Token) -> bool:
    between = sentence.text[one.end - sentence.start : other.start - sentence.start]
    return bool(_PAUSE.search(between)) or other.folded in ("but", "although", "because", "which", "whereas")


def differs(matched: EvidenceMatch, alignment: ClaimAlignment | None) -> str:
    """In words, how claim and quotes differ in what they deny; empty where they do not."""
    best = matched.sentence
    if best is None or matched.share(matched.around) < _LEAST_SHARED:
        return ""
    if alignment is not None and (moved := _denied_between(alignment)):
        return moved
    spoken = [one for one in _near(matched) if one is not best]
    claimed = [one for one in negations_in(matched.claim) if one.is_plain]
    told = {id(one): negations_in(one) for one in (best, *spoken)}
    for denial in claimed:
        if not _is_denied_there(denial, matched, best, spoken, told):
            return f"the quote does not deny this ({_shown(matched.claim, denial)!r})"
    for one in (best, *spoken):
        if denial_there := _denied_only_there(matched, one, spoken, told, claimed):
            return denial_there
    return _value_denied(matched, best, claimed)


def _denied_between(alignment: ClaimAlignment) -> str:
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


def _near(matched: EvidenceMatch) -> list[Sentence]:
    """The sentences that speak of the claim nearly as much as the nearest."""
    sentences = matched.evidence.sentences
    shares = [matched.share([word.in_stems(one.stems) for word in matched.words]) for one in sentences]
    most = max(shares, default=0.0)
    return [one for one, share in zip(sentences, shares, strict=True) if share >= _NEARLY_AS_GOOD * most]


def _is_denied_there(
    denial: Negation,
    matched: EvidenceMatch,
    best: Sentence,
    spoken: Sequence[Sentence],
    told: dict[int, list[Negation]],
) -> bool:
    if denial.target is None:
        return any(told[id(one)] for one in (best, *spoken))
    token = matched.claim.tokens[denial.target]
    word = next((one for one in matched.words if one.token.stem == token.stem), None)
    forms = frozenset(word.stems) if word else frozenset({token.stem})
    for one in (best, *spoken):
        if any(_covers(one, other, forms) for other in told[id(one)]):
            return True
        opposed = contraries(token.stem)
        if not forms & one.stems and any(
            other.stem in opposed or denies_by_prefix(other.stem, token.stem) for other in one.tokens
        ):
            return True
    if forms & best.stems:
        return False
    return bool(told[id(best)])


def _covers(sentence: Sentence, denial: Negation, forms: frozenset[str]) -> bool:
    """Whether one of these stems stands in what is denied."""
    reach = sentence.tokens[denial.at + 1 : denial.at + 1 + 2 * _REACH]
    return any(token.stem in forms for token in reach)


def _denied_only_there(
    matched: EvidenceMatch,
    best: Sentence,
    spoken: Sequence[Sentence],
    told: dict[int, list[Negation]],
    claimed: Sequence[Negation],
) -> str:
    denied_here = {matched.claim.tokens[one.target].stem for one in claimed if one.target is not None}
    for denial in told[id(best)]:
        if denial.target is None or not denial.is_plain:
            continue
        target = best.tokens[denial.target].stem
        word = next((one for one in matched.words if target in one.stems), None)
        if word is None or word.token.stem in denied_here or claimed:
            continue
        elsewhere = [at for at in word.places(best) if at != denial.target]
        if elsewhere or any(_states(one, word.stems, told[id(one)]) for one in spoken):
            continue
        if any(denies_by_prefix(word.token.stem, form) or form in contraries(word.token.stem) for form in best.stems):
            continue
        return f"the quote denies this ({_shown(best, denial)!r})"
    return ""


def _states(sentence: Sentence, forms: dict[str, float], denials: Sequence[Negation]) -> bool:
    """Whether a sentence has one of these stems without denying it."""
    denied = {one.target for one in denials}
    return any(token.stem in forms and at not in denied for at, token in enumerate(sentence.tokens))


def _value_denied(matched: EvidenceMatch, best: Sentence, claimed: Sequence[Negation]) -> str:
    """A value that the quote names only to deny it: `3.241 m, not 3.214 m`."""
    if claimed:
        return ""
    denied = [one for one in denials_in(best.text) if one.is_plain]
    inside = "\n".join(best.text[one.start : one.end] for one in denied)
    if not inside or not (values := _values(inside)):
        return ""
    outside = matched.evidence.text
    for one in denied:
        outside = outside.replace(best.text[one.start : one.end], " ")
    if _values(matched.claim.text) & (values - _values(outside)):
        return f"the quote denies this ({denied[0].word!r})"
    return ""


def _values(text: str) -> frozenset[str]:
    return frozenset([one.value for one in quantities_in(text)] + [date.stated for date in dates_in(text)])


def _shown(sentence: Sentence, denial: Negation) -> str:
    last = denial.target if denial.target is not None else denial.at
    start, end = sentence.tokens[denial.at].start, sentence.tokens[last].end
    return sentence.text[start - sentence.start : end - sentence.start]
