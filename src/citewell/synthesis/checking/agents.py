"""Who does it: the names that act on a verb, before it or after `by`. Pure.

Seen only where a name stands right before the verb or right after `by`. A pronoun, a title or a relative clause in
between hides the agent, and then nothing is compared.

Example:
    claim:   Fleming discovered penicillin in 1928.
    passage: Penicillin was discovered in 1928 by Fleming. Florey later purified it.
    verdict: supported

Example:
    claim:   Florey discovered penicillin in 1928.
    passage: Penicillin was discovered in 1928 by Fleming. Florey later purified it.
    verdict: unsupported
    reason:  the quote has 'Fleming' where this has 'Florey'
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from citewell.synthesis.checking.claim_alignment import substitution
from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.naming import Name, names_of
from citewell.synthesis.checking.tokens import Sentence, Token

_BE = frozenset("is was are were be been being".split())
_PASSED_OVER = frozenset("later also then first soon had has have would will did does do never not once again".split())
_BY_REACH = 8
_NEARLY_ALL = 0.8
_MOST_SENTENCES = 100


def other_agent(matched: EvidenceMatch) -> str:
    """Another name that does what the claim says, in the same voice or the other; empty where nothing is seen."""
    close = {word.token.stem: word.stems.keys() | {word.token.stem} for word in matched.words}
    for verb, names in _agents(matched.claim):
        said = {form for name in names for token in name.tokens for form in close.get(token.stem, {token.stem})}
        acting = _acting(matched, close.get(verb, {verb}), {verb, *(t.stem for name in names for t in name.tokens)})
        told = {token.stem for name, _ in acting for token in name.tokens}
        if acting and not said & told and not _abbreviates(names, [name for name, _ in acting]):
            facing, sentence = acting[-1]
            return substitution(facing.text(sentence.text, sentence.start), names[-1].text(matched.claim.text))
    return ""


def _acting(matched: EvidenceMatch, verbs: Container[str], apart: Container[str]) -> list[tuple[Name, Sentence]]:
    """Who acts on the verb in the sentences that have nearly all of the claim's other words."""
    rest = [word for word in matched.words if word.token.stem not in apart]
    total = math.fsum(word.weight for word in rest)
    found: list[tuple[Name, Sentence]] = []
    for sentence in matched.evidence.sentences[:_MOST_SENTENCES]:
        if not any(stem in verbs for stem in sentence.stems):
            continue
        if math.fsum(word.weight * word.in_stems(sentence.stems) for word in rest) < _NEARLY_ALL * total:
            continue
        found += [(name, sentence) for stem, names in _agents(sentence) if stem in verbs for name in names]
    return found


def _abbreviates(names: Sequence[Name], others: Sequence[Name]) -> bool:
    """Whether one of them is the initials of another."""
    short = {"".join(token.folded[0] for token in name.tokens) for name in (*names, *others) if len(name.tokens) > 1}
    return any(name.tokens[0].folded in short for name in (*names, *others) if len(name.tokens) == 1)


def _agents(sentence: Sentence) -> list[tuple[str, tuple[Name, ...]]]:
    """Each verb with the names that act on it, as far as they stand beside it."""
    names = names_of(sentence)
    found: list[tuple[str, tuple[Name, ...]]] = []
    for at, name in enumerate(names):
        listed = _listed_before(sentence, names, at)
        verb = _verb_after(sentence, name.last)
        if verb is not None:
            found.append((verb, listed))
        elif name.first and sentence.tokens[name.first - 1].folded == "by":
            passive = _passive_before(sentence.tokens, name.first - 1)
            if passive is not None:
                found.append((passive, _listed_after(sentence, names, at)))
    return found


def _verb_after(sentence: Sentence, last: int) -> str | None:
    """The word of meaning right behind a name; none where `was` makes the name the one it is done to."""
    before = sentence.tokens[last]
    for token in sentence.tokens[last + 1 : last + 4]:
        between = sentence.text[before.end - sentence.start : token.start - sentence.start]
        before = token
        if between.strip() or token.folded in _BE or token.is_capital or token.stem[0].isdigit():
            return None
        if token.folded in _PASSED_OVER or token.folded.endswith("ly"):
            continue
        return token.stem if token.is_content else None
    return None


def _passive_before(tokens: Sequence[Token], by: int) -> str | None:
    """The verb of `designed by`, or of `was discovered in 1928 by`: the first word behind the nearest `was`."""
    if by and tokens[by - 1].is_content and not tokens[by - 1].is_capital and tokens[by - 1].folded.endswith("ed"):
        return tokens[by - 1].stem
    for at in range(by - 1, max(-1, by - _BY_REACH), -1):
        if tokens[at].folded in _BE:
            rest = [token for token in tokens[at + 1 : by] if token.is_content and not token.folded.endswith("ly")]
            return rest[0].stem if rest else None
    return None


def _listed_before(sentence: Sentence, names: Sequence[Name], at: int) -> tuple[Name, ...]:
    """The name and those it is listed with: `Florey and Chain`, `Fleming, Florey and Chain`."""
    first = at
    while first and _is_list(sentence, names[first - 1], names[first]):
        first -= 1
    return tuple(names[first : at + 1])


def _listed_after(sentence: Sentence, names: Sequence[Name], at: int) -> tuple[Name, ...]:
    last = at
    while last + 1 < len(names) and _is_list(sentence, names[last], names[last + 1]):
        last += 1
    return tuple(names[at : last + 1])


def _is_list(sentence: Sentence, one: Name, other: Name) -> bool:
    between = sentence.tokens[one.last + 1 : other.first]
    return all(token.folded in ("and", "or", "with") for token in between) and len(between) <= 1
