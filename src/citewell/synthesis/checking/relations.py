"""Right words in a wrong relation: another name in a place, the contrary of a word, subject and object swapped. Pure.

It compares a claim with the one sentence that says nearly the same, word against word (`slots`). A claim in quite other
words cannot be compared so and passes; so does "A sold B" for "B sold A" where the sentence is much rearranged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewell.synthesis.checking.alignment import Aligned
from citewell.synthesis.checking.directions import denies
from citewell.synthesis.checking.naming import Name, names_of
from citewell.synthesis.checking.slots import Overlay, overlay
from citewell.synthesis.checking.stated_values import ROUNDED, read_values
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.checking.word_families import contraries, denies_by_prefix
from citewell.synthesis.values import UNITS

_LEAST_SHARED = 0.5
_CLOSELY_SHARED = 0.7
_UNIVERSAL = frozenset("all both every always entirely exclusively solely".split())
_PARTIAL = frozenset("some most many several few often usually sometimes partly mostly generally mainly".split())
_NONE = frozenset("no none neither few rarely never hardly".split())
_LISTING = frozenset("and or nor with between".split())
_LINKING = frozenset("is was are were be been being as called named known".split())


@dataclass(frozen=True)
class Laid:
    """A claim laid on its nearest sentence."""

    aligned: Aligned
    sentence: Sentence
    over: Overlay
    close: Mapping[str, Mapping[str, float]]

    @property
    def claim(self) -> Sentence:
        return self.aligned.claim


def lay(aligned: Aligned) -> Laid | None:
    sentence = aligned.sentence
    if sentence is None or aligned.share(aligned.own) < _LEAST_SHARED:
        return None
    close = {word.token.stem: word.stems for word in aligned.words}
    if "(" not in aligned.claim.text:
        sentence = without_brackets(sentence)
    over = overlay(aligned.claim.tokens, sentence.tokens, close)
    return Laid(aligned, sentence, over, close) if over else None


def without_brackets(sentence: Sentence) -> Sentence:
    """The sentence without the words in brackets: a claim that has none leaves them out."""
    kept: list[Token] = []
    depth = at = 0
    for token in sentence.tokens:
        between = sentence.text[at : token.start - sentence.start]
        depth = max(0, depth + between.count("(") - between.count(")"))
        at = token.end - sentence.start
        if not depth:
            kept.append(token)
    return Sentence(sentence.text, sentence.start, tuple(kept))


def wrong_relation(aligned: Aligned) -> str:
    """In words, what the claim puts in a wrong place; empty where nothing is seen."""
    laid = lay(aligned)
    if laid is None:
        return ""
    checks: tuple[Callable[[Laid], str], ...] = (
        *(denial_moved, contrary_word, other_name, other_filler, other_number, other_unit),
        *(swapped, other_quantifier),
    )
    return next((said for check in checks if (said := check(laid))), "")


def denied_otherwise(aligned: Aligned) -> str:
    """Whether the two differ in a denial between the same words."""
    laid = lay(aligned)
    return denial_moved(laid) if laid else ""


def denial_moved(laid: Laid) -> str:
    """A denial that stands between the same words on one side only."""
    tokens, told, on = laid.claim.tokens, laid.sentence.tokens, laid.over.on
    for at, token in enumerate(tokens):
        if denies(token) and not laid.over.is_same[at] and 0 < at < len(tokens) - 1:
            before, after = on[at - 1], on[at + 1]
            meets = before is not None and after is not None and after - before <= 2 and laid.over.meets_around(at, at)
            if meets and not any(denies(one) for one in told[before : (after or 0) + 1]):
                return f"the quote does not deny this ('{token.folded} {tokens[at + 1].folded}')"
    for at in range(len(tokens) - 1):
        before, after = on[at], on[at + 1]
        if before is None or after is None or not (laid.over.is_same[at] or laid.over.is_same[at + 1]):
            continue
        skipped = told[before + 1 : after]
        dropped = 0 < len(skipped) <= 2 and any(denies(one) for one in skipped) and not _denies_nothing(skipped)
        if dropped and not denies(tokens[at]) and not denies(tokens[at + 1]):
            return f"the quote denies this ('{' '.join(one.folded for one in told[before + 1 : after + 1])}')"
    return ""


def _denies_nothing(tokens: Sequence[Token]) -> bool:
    """`Not only`, `not just`."""
    return any(token.folded in ("only", "just", "merely", "simply") for token in tokens)


def contrary_word(laid: Laid) -> str:
    """A word of the claim whose contrary stands in its place."""
    for at, token in enumerate(laid.claim.tokens):
        opposed = contraries(token.stem)
        if token.stem in laid.sentence.stems and laid.over.is_same[at]:
            continue
        if at and laid.claim.tokens[at - 1].folded in ("un", "non", "in", "dis"):
            continue  # a prefix written apart: `un-elected`
        on = laid.over.on[at]
        facing = laid.sentence.tokens[on] if on is not None else None
        if facing is not None and _is_contrary(token, facing, opposed) and _is_anchored(laid, at, at):
            if _is_turned(laid, at, on):
                continue
            return _instead(laid, facing.folded, token.folded)
        if token.is_content and token.stem not in laid.sentence.stems:
            for place, other in enumerate(laid.sentence.tokens):
                contrary = _is_contrary(token, other, opposed) and not _is_said(laid, other)
                if contrary and _shares_neighbour(laid, at, place) and not _is_turned(laid, at, place):
                    return _instead(laid, other.folded, token.folded)
    return ""


def _is_contrary(token: Token, other: Token, opposed: frozenset[str]) -> bool:
    return other.stem in opposed or denies_by_prefix(token.stem, other.stem)


def _is_said(laid: Laid, other: Token) -> bool:
    return any(token.stem == other.stem for token in laid.claim.tokens)


def _is_turned(laid: Laid, at: int, on: int | None) -> bool:
    """Whether a denial before one of the two, and not before the other, makes them agree after all."""
    here = any(denies(token) for token in laid.claim.tokens[max(0, at - 3) : at])
    there = on is not None and any(denies(token) for token in laid.sentence.tokens[max(0, on - 3) : on])
    return here != there


def _shares_neighbour(laid: Laid, at: int, place: int) -> bool:
    """Whether a word of meaning beside the one in the claim stands beside the other in the sentence."""
    near = laid.sentence.tokens[max(0, place - 3) : place + 4]
    stems = frozenset(token.stem for token in near)
    content = [n for n, token in enumerate(laid.claim.tokens) if token.is_content]
    beside = [n for n in content if n != at and abs(content.index(n) - content.index(at)) == 1]
    return any(laid.close.get(laid.claim.tokens[n].stem, {}).keys() & stems for n in beside)


def _is_anchored(laid: Laid, first: int, last: int) -> bool:
    """Whether the words on both sides met, one of them a word of meaning not far off."""
    if not laid.over.meets_around(first, last):
        return False
    around = [*range(first - 3, first), *range(last + 1, last + 4)]
    tokens = laid.claim.tokens
    return any(0 <= at < len(tokens) and laid.over.is_same[at] and _weighs(tokens[at]) for at in around)


def _weighs(token: Token) -> bool:
    return token.is_content or token.folded[0].isdigit()


def other_name(laid: Laid) -> str:
    """A name in whose place the sentence has another."""
    there = names_of(laid.sentence)
    for name in names_of(laid.claim):
        places = range(name.first, name.last + 1)
        if any(laid.over.is_same[at] for at in places):
            continue
        facing = _facing(laid, name, there)
        if facing is None or not _is_anchored(laid, name.first, name.last):
            continue
        if _stands_alike(laid, name) or _in_brackets(laid, name):
            continue
        said = {form for token in name.tokens for form in laid.close.get(token.stem, {token.stem: 1.0})}
        if (
            said & {token.stem for token in facing.tokens}
            or _initials(name) in _joined(facing)
            or _initials(facing) in _joined(name)
        ):
            continue
        return _instead(laid, facing.text(laid.sentence.text, laid.sentence.start), name.text(laid.claim.text))
    return ""


def _facing(laid: Laid, name: Name, there: Sequence[Name]) -> Name | None:
    """The name of the sentence that stands between what is laid on the words around the claim's name."""
    left = laid.over.on[name.first - 1] if name.first else -1
    right = laid.over.on[name.last + 1] if name.last + 1 < len(laid.over.on) else None
    for at in range(name.first, name.last + 1):
        on = laid.over.on[at]
        if on is not None:
            return next((one for one in there if one.first <= on <= one.last), None)
    if left is None:
        return None
    last = right if right is not None else left + 4
    return next((one for one in there if left < one.first and one.last < last and one.first - left <= 2), None)


def _stands_alike(laid: Laid, name: Name) -> bool:
    """Whether the name stands elsewhere in the sentence beside the same word as in the claim."""
    head = name.tokens[0].stem
    places = [at for at, token in enumerate(laid.sentence.tokens) if token.stem == head]
    return any(_keeps_neighbours(laid, name, place) for place in places)


def other_filler(laid: Laid) -> str:
    """A name after (or before) two words which in the quotes are followed by (or follow) another name, and never it."""
    sentence = laid.sentence
    if laid.aligned.share(laid.aligned.own) < _CLOSELY_SHARED:
        return ""
    there = {name.first: name for name in names_of(sentence)}
    claimed = {token.stem for token in laid.claim.tokens}
    ends = {name.last: name for name in there.values()}
    for name in names_of(laid.claim):
        said = {form for token in name.tokens for form in laid.close.get(token.stem, {token.stem: 1.0})}
        before = _context(laid.claim.tokens[: name.first][::-1])
        after = _context(laid.claim.tokens[name.last + 1 :])
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
        if any(_is_listed_with(laid, filler, name) for filler in found) or _in_brackets(laid, name):
            continue
        same = any(said & {token.stem for token in filler.tokens} for filler in found)
        short = _initials(name) in map(_joined, found) or _joined(name) in map(_initials, found)
        if found and not same and not short:
            facing = found[0].text(sentence.text, sentence.start)
            return _instead(laid, facing, name.text(laid.claim.text))
    return ""


def _has(name: Name, stems: set[str]) -> bool:
    return any(token.stem in stems for token in name.tokens)


def _is_listed_with(laid: Laid, filler: Name, name: Name) -> bool:
    """Whether the sentence names both in one list: `Poland and East-Central Europe`."""
    head = name.tokens[0].stem
    for at in range(filler.last + 1, min(len(laid.sentence.tokens), filler.last + 12)):
        token = laid.sentence.tokens[at]
        if token.stem == head:
            return True
        if not token.is_capital and token.folded not in ("and", "or", "the", "of", "as", "well"):
            return False
    return False


def _in_brackets(laid: Laid, name: Name) -> bool:
    """Whether the sentence gives the name in brackets, as another name of what stands before them."""
    whole = laid.aligned.sentence
    outside = {token.start for token in laid.sentence.tokens}
    return whole is not None and any(
        token.stem == name.tokens[-1].stem and token.start not in outside for token in whole.tokens
    )


def _context(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The two nearest words, articles left out, where one of them carries meaning."""
    near = [token for token in tokens[:4] if token.folded not in ("the", "a", "an")][:2]
    if len(near) < 2 or not any(_weighs(token) for token in near):
        return ()
    return tuple(token.stem for token in near)


def _initials(name: Name) -> str:
    return "".join(token.folded[0] for token in name.tokens) if len(name.tokens) > 1 else "?"


def _joined(name: Name) -> str:
    return "".join(token.folded for token in name.tokens)


def other_number(laid: Laid) -> str:
    """A number in whose place the sentence has another, though it stands elsewhere."""
    for at, token in enumerate(laid.claim.tokens):
        on = laid.over.on[at]
        if not token.stem[0].isdigit() or laid.over.is_same[at] or on is None:
            continue
        facing = laid.sentence.tokens[on]
        if not facing.stem[0].isdigit() or not _is_anchored(laid, at, at) or _is_rounded(laid, at):
            continue
        # The same number may be written with a scale: 5 million for 5,000,000.
        if token.stem in laid.sentence.stems or token.stem not in read_values(laid.sentence.text).bare:
            return _instead(laid, facing.folded, token.folded)
    return ""


def _is_rounded(laid: Laid, at: int) -> bool:
    before = " ".join(token.folded for token in laid.claim.tokens[max(0, at - 3) : at])
    return bool(ROUNDED.search(before))


def other_unit(laid: Laid) -> str:
    """A unit in whose place, after the same number, the sentence has another of its kind."""
    for at, token in enumerate(laid.claim.tokens):
        on = laid.over.on[at]
        if on is None or laid.over.is_same[at] or not at or not laid.over.is_same[at - 1]:
            continue
        name, measure = UNITS.get(token.folded, (token.folded, ""))
        other, kind = UNITS.get(laid.sentence.tokens[on].folded, (name, ""))
        if laid.claim.tokens[at - 1].stem[0].isdigit() and name != other and measure == kind != "":
            return _instead(laid, laid.sentence.tokens[on].folded, token.folded)
    return ""


def other_quantifier(laid: Laid) -> str:
    """`All` where the sentence says some; `none` where it says all."""
    for at, token in enumerate(laid.claim.tokens):
        on = laid.over.on[at]
        if on is None or laid.over.is_same[at]:
            continue
        facing = laid.sentence.tokens[on].folded
        wider = token.folded in _UNIVERSAL and facing in _PARTIAL
        emptied = token.folded in _NONE and facing in (_UNIVERSAL | _PARTIAL) - _NONE
        filled = facing in _NONE and token.folded in (_UNIVERSAL | _PARTIAL) - _NONE
        if (wider or emptied or filled) and (laid.over.held(at + 1) or laid.over.held(at + 2)):
            return _instead(laid, facing, token.folded)
    return ""


def swapped(laid: Laid) -> str:
    """Two names or things whose order about the same word is the other way round, and not by a change of voice."""
    if laid.aligned.share(laid.aligned.own) < _CLOSELY_SHARED:
        return ""
    names = _placed(laid)
    for (one, first), (other, second) in _pairs(names):
        if first < second or abs(first - second) > 25:
            continue
        here = laid.claim.tokens[one.last + 1 : other.first]
        there = laid.sentence.tokens[second + len(other.tokens) : first]
        if not _acts_between(here, there, laid) or _is_voice_changed(here, there):
            continue
        if _keeps_neighbours(laid, one, first) and _keeps_neighbours(laid, other, second):
            continue
        text = laid.claim.text
        return f"the quote has '{one.text(text)}' and '{other.text(text)}' the other way round"
    return ""


def _placed(laid: Laid) -> list[tuple[Name, int]]:
    """The names of the claim that stand once in the sentence, with their place there."""
    found: list[tuple[Name, int]] = []
    for name in names_of(laid.claim):
        head = name.tokens[0].stem
        places = [at for at, token in enumerate(laid.sentence.tokens) if token.stem == head]
        if len(places) == 1:
            found.append((name, places[0]))
    return found


def _pairs(names: Sequence[tuple[Name, int]]) -> Iterator[tuple[tuple[Name, int], tuple[Name, int]]]:
    for at, one in enumerate(names):
        for other in names[at + 1 : at + 4]:
            yield one, other


def _acts_between(here: Sequence[Token], there: Sequence[Token], laid: Laid) -> bool:
    """Whether a shared word of meaning stands between the two on both sides, and they are not a list or an equation."""
    if not here or not there or here[0].folded in _LISTING or there[0].folded in _LISTING:
        return False
    if all(token.folded in _LINKING or not token.is_content for token in here):
        return False
    stems = frozenset(token.stem for token in there)
    return any(token.is_content and laid.close.get(token.stem, {}).keys() & stems for token in here)


def _is_voice_changed(here: Sequence[Token], there: Sequence[Token]) -> bool:
    """Whether exactly one side says it in the passive: `bought by`."""
    return ("by" in (token.folded for token in here)) != ("by" in (token.folded for token in there))


def _keeps_neighbours(laid: Laid, name: Name, place: int) -> bool:
    """Whether a name stands between the same words as in the sentence: it was moved together with them."""
    tokens, sentence = laid.claim.tokens, laid.sentence.tokens
    before = tokens[name.first - 1].stem if name.first else ""
    after = tokens[name.last + 1].stem if name.last + 1 < len(tokens) else ""
    end = place + len(name.tokens)
    told_before = sentence[place - 1].stem if place else ""
    told_after = sentence[end].stem if end < len(sentence) else ""
    return (bool(before) and before == told_before) or (bool(after) and after == told_after)


def _instead(laid: Laid, there: str, here: str) -> str:
    return f"the quote has '{there}' where this has '{here}'"
