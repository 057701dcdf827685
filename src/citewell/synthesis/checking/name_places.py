"""Names in a wrong place: another name where the quotes have this one, or two of them the other way round. Pure.

Seen only where the words around a name are those of the quotes. Names of a list or an equation may change places, and
so may a subject and its object where the voice changes with them.

Example:
    claim:   Dunmore was bought by Kilbride in 1901.
    passage: Kilbride bought Dunmore in 1901.
    verdict: supported

Example:
    claim:   Dunmore bought Kilbride in 1901.
    passage: Kilbride bought Dunmore in 1901.
    verdict: unsupported
    reason:  the quote has 'Dunmore' and 'Kilbride' the other way round
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning, is_anchored, substitution
from citewell.synthesis.checking.naming import Name, names_of
from citewell.synthesis.checking.tokens import Token

_CLOSELY_SHARED = 0.7
_LISTING = frozenset("and or nor with between".split())
_LINKING = frozenset("is was are were be been being as called named known".split())
_BE = frozenset("is was are were be been being".split())


def other_name(alignment: ClaimAlignment) -> str:
    """A name in whose place the sentence has another."""
    there = names_of(alignment.sentence)
    for name in names_of(alignment.claim):
        places = range(name.first, name.last + 1)
        if any(alignment.words.is_same[at] for at in places):
            continue
        facing = _facing(alignment, name, there)
        if facing is None or not is_anchored(alignment, name.first, name.last):
            continue
        if _stands_alike(alignment, name) or _in_brackets(alignment, name):
            continue
        if _is_named_too(alignment, facing):
            continue
        said = {form for token in name.tokens for form in alignment.close.get(token.stem, {token.stem: 1.0})}
        if (
            said & {token.stem for token in facing.tokens}
            or _initials(name) in _joined(facing)
            or _initials(facing) in _joined(name)
        ):
            continue
        return substitution(
            facing.text(alignment.sentence.text, alignment.sentence.start), name.text(alignment.claim.text)
        )
    return ""


def _is_named_too(alignment: ClaimAlignment, facing: Name) -> bool:
    """Whether the claim names the other one as well: then none was put in the place of the other (`swapped` looks)."""
    return {token.stem for token in facing.tokens[-1:]} <= {token.stem for token in alignment.claim.tokens}


def _facing(alignment: ClaimAlignment, name: Name, there: Sequence[Name]) -> Name | None:
    """The name of the sentence that stands between what is aligned with the words around the claim's name."""
    left = alignment.words.counterpart[name.first - 1] if name.first else -1
    right = alignment.words.counterpart[name.last + 1] if name.last + 1 < len(alignment.words.counterpart) else None
    for at in range(name.first, name.last + 1):
        on = alignment.words.counterpart[at]
        if on is not None:
            return next((one for one in there if one.first <= on <= one.last), None)
    if left is None:
        return None
    last = right if right is not None else left + 4
    return next((one for one in there if left < one.first and one.last < last and one.first - left <= 2), None)


def _stands_alike(alignment: ClaimAlignment, name: Name) -> bool:
    """Whether the name stands elsewhere in the sentence beside the same word as in the claim."""
    head = name.tokens[0].stem
    places = [at for at, token in enumerate(alignment.sentence.tokens) if token.stem == head]
    return any(_keeps_neighbours(alignment, name, place) for place in places)


def other_filler(alignment: ClaimAlignment) -> str:
    """A name after (or before) two words which in the quotes are followed by (or follow) another name, and never it."""
    sentence = alignment.sentence
    if not alignment.is_close:
        return ""
    there = {name.first: name for name in names_of(sentence)}
    claimed = {token.stem for token in alignment.claim.tokens}
    ends = {name.last: name for name in there.values()}
    for name in names_of(alignment.claim):
        said = {form for token in name.tokens for form in alignment.close.get(token.stem, {token.stem: 1.0})}
        before = _context(alignment.claim.tokens[: name.first][::-1])
        after = _context(alignment.claim.tokens[name.last + 1 :])
        told = sentence.tokens
        fillers = [
            *((there.get(at), _context(told[:at][::-1]) == before) for at in there if before),
            *(
                (ends.get(at), _context(told[at + 1 :]) == after and not _has(ends[at], claimed))
                for at in ends
                if after
            ),
        ]
        found = [filler for filler, alike in fillers if alike and filler is not None]
        if any(_is_listed_with(alignment, filler, name) for filler in found) or _in_brackets(alignment, name):
            continue
        same = any(said & {token.stem for token in filler.tokens} for filler in found)
        short = _initials(name) in map(_joined, found) or _joined(name) in map(_initials, found)
        if found and not same and not short:
            facing = found[0].text(sentence.text, sentence.start)
            return substitution(facing, name.text(alignment.claim.text))
    return ""


def _has(name: Name, stems: set[str]) -> bool:
    return any(token.stem in stems for token in name.tokens)


def _is_listed_with(alignment: ClaimAlignment, filler: Name, name: Name) -> bool:
    """Whether the sentence names both in one list: `Poland and East-Central Europe`."""
    head = name.tokens[0].stem
    for at in range(filler.last + 1, min(len(alignment.sentence.tokens), filler.last + 12)):
        token = alignment.sentence.tokens[at]
        if token.stem == head:
            return True
        if not token.is_capital and token.folded not in ("and", "or", "the", "of", "as", "well"):
            return False
    return False


def _in_brackets(alignment: ClaimAlignment, name: Name) -> bool:
    """Whether the sentence gives the name in brackets, as another name of what stands before them."""
    outside = {token.start for token in alignment.sentence.tokens}
    return any(token.stem == name.tokens[-1].stem and token.start not in outside for token in alignment.whole.tokens)


def _context(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The two nearest words, articles left out, where one of them carries meaning."""
    near = [token for token in tokens[:4] if token.folded not in ("the", "a", "an")][:2]
    if len(near) < 2 or not any(carries_meaning(token) for token in near):
        return ()
    return tuple(token.stem for token in near)


def _initials(name: Name) -> str:
    return "".join(token.folded[0] for token in name.tokens) if len(name.tokens) > 1 else "?"


def _joined(name: Name) -> str:
    return "".join(token.folded for token in name.tokens)


def swapped(alignment: ClaimAlignment) -> str:
    """Two names or things whose order about the same word is the other way round, and not by a change of voice."""
    if alignment.matched.share(alignment.matched.own) < _CLOSELY_SHARED:
        return ""
    names = _placed(alignment)
    for (one, first), (other, second) in _pairs(names):
        if first < second or abs(first - second) > 25:
            continue
        here = alignment.claim.tokens[one.last + 1 : other.first]
        there = alignment.sentence.tokens[second + len(other.tokens) : first]
        if not _acts_between(here, there, alignment) or _is_voice_changed(here, there):
            continue
        if _keeps_neighbours(alignment, one, first) and _keeps_neighbours(alignment, other, second):
            continue
        text = alignment.claim.text
        return f"the quote has '{one.text(text)}' and '{other.text(text)}' the other way round"
    return ""


def voice_changed(alignment: ClaimAlignment) -> str:
    """Two names in the same order about a verb that is active on one side and passive on the other."""
    for (one, first), (other, second) in _pairs(_placed(alignment)):
        end = first + len(one.tokens)
        if second <= first or second - end > 8 or other.first - one.last > 9:
            continue
        here, there = alignment.claim.tokens[one.last + 1 : other.first], alignment.sentence.tokens[end:second]
        verbs = [token.stem for token in here if token.is_content]
        for verb in verbs:
            forms = alignment.close.get(verb, {}).keys() | {verb}
            mine, told = _voice(here, frozenset({verb})), _voice(there, frozenset(forms))
            if {mine, told} == {"active", "passive"}:
                text = alignment.claim.text
                return f"the quote has '{one.text(text)}' and '{other.text(text)}' the other way round"
    return ""


def _voice(between: Sequence[Token], verb: frozenset[str]) -> str:
    """How a verb stands between two names: `bought`, `was bought by`, or neither."""
    for at, token in enumerate(between):
        if token.stem not in verb:
            continue
        is_by = at + 1 < len(between) and between[at + 1].folded == "by"
        is_be = any(before.folded in _BE for before in between[max(0, at - 2) : at])
        if is_by and is_be:
            return "passive"
        if at == 0 and at + 1 >= len(between) and not is_by:
            return "active"
    return ""


def _placed(alignment: ClaimAlignment) -> list[tuple[Name, int]]:
    """The names of the claim that stand once in the sentence, with their place there."""
    found: list[tuple[Name, int]] = []
    for name in names_of(alignment.claim):
        head = name.tokens[0].stem
        places = [at for at, token in enumerate(alignment.sentence.tokens) if token.stem == head]
        if len(places) == 1:
            found.append((name, places[0]))
    return found


def _pairs(names: Sequence[tuple[Name, int]]) -> Iterator[tuple[tuple[Name, int], tuple[Name, int]]]:
    for at, one in enumerate(names):
        for other in names[at + 1 : at + 4]:
            yield one, other


def _acts_between(here: Sequence[Token], there: Sequence[Token], alignment: ClaimAlignment) -> bool:
    """Whether a shared word of meaning stands between the two on both sides, and they are not a list or an equation."""
    if not here or not there or here[0].folded in _LISTING or there[0].folded in _LISTING:
        return False
    if all(token.folded in _LINKING or not token.is_content for token in here):
        return False
    stems = frozenset(token.stem for token in there)
    return any(token.is_content and alignment.close.get(token.stem, {}).keys() & stems for token in here)


def _is_voice_changed(here: Sequence[Token], there: Sequence[Token]) -> bool:
    """Whether exactly one side says it in the passive: `bought by`."""
    return ("by" in (token.folded for token in here)) != ("by" in (token.folded for token in there))


def _keeps_neighbours(alignment: ClaimAlignment, name: Name, place: int) -> bool:
    """Whether a name stands between the same words as in the sentence: it was moved together with them."""
    tokens, sentence = alignment.claim.tokens, alignment.sentence.tokens
    before = tokens[name.first - 1].stem if name.first else ""
    after = tokens[name.last + 1].stem if name.last + 1 < len(tokens) else ""
    end = place + len(name.tokens)
    told_before = sentence[place - 1].stem if place else ""
    told_after = sentence[end].stem if end < len(sentence) else ""
    return (bool(before) and before == told_before) or (bool(after) and after == told_after)
