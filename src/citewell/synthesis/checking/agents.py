"""Who does it: the names that act on a verb, before it or after `by`. Pure.

Seen only where a name stands right before the verb or right after `by`. A pronoun, a title or a relative clause in
between hides the agent, and then nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.synthesis.checking.laid import Laid, instead
from citewell.synthesis.checking.naming import Name, names_of
from citewell.synthesis.checking.tokens import Sentence, Token

_BE = frozenset("is was are were be been being".split())
_PASSED_OVER = frozenset("later also then first soon had has have would will did does do never not once again".split())
_BY_REACH = 8


def other_agent(laid: Laid) -> str:
    """Another name that does what the claim says: in the same voice or the other."""
    theirs = _agents(laid.sentence)
    for verb, names in _agents(laid.claim):
        forms = laid.close.get(verb, {}).keys() | {verb}
        acting = [name for stem, several in theirs if stem in forms for name in several]
        if not acting:
            continue
        said = {form for name in names for token in name.tokens for form in _forms(laid, token)}
        told = {token.stem for name in acting for token in name.tokens}
        if said & told or _abbreviates(names, acting):
            continue
        facing = acting[-1].text(laid.sentence.text, laid.sentence.start)
        return instead(facing, names[-1].text(laid.claim.text))
    return ""


def _forms(laid: Laid, token: Token) -> set[str]:
    return set(laid.close.get(token.stem, {})) | {token.stem}


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
