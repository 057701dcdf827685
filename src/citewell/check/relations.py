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

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.answer.values import UNITS, dates_in, denials_in, quantities_in
from citewell.check.alignment import ClaimAlignment, align_without_names, carries_meaning, is_anchored, substitution
from citewell.check.lexicon import contraries, denies_by_prefix, moves_against, word_list
from citewell.check.numbers import ROUNDED, read_values
from citewell.check.tokens import EvidenceMatch, Token, TokenSentence
from citewell.text.canonical import folded_text
from citewell.text.languages import is_stop_word
from citewell.text.words import english_stems

# Denial: whether one of claim and quotes denies what the other states. Pure.
#
# A denial belongs to the next word that carries meaning ("was not founded", "no effect", "failed to win"). The same
# word is looked up on the other side: it must be denied there too. "Not only" denies nothing. What a sentence denies
# about things the claim leaves out does not matter.
#
# Example:
#     claim:   The bridge is not only old but narrow.
#     passage: The bridge is old but narrow.
#     verdict: supported
#
# Example:
#     claim:   The bridge was repaired after the flood.
#     passage: The bridge was not repaired after the flood.
#     verdict: contradicted
#     reason:  the quote denies this ('not repaired')


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


def negations_in(sentence: TokenSentence) -> list[Negation]:
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


def _is_number_sign(sentence: TokenSentence, at: int) -> bool:
    following = sentence.tokens[at + 1] if at + 1 < len(sentence.tokens) else None
    return at > 0 and following is not None and following.folded[0].isdigit()


def _target(sentence: TokenSentence, at: int) -> int | None:
    """The next word that carries meaning, up to a pause."""
    for place in range(at + 1, min(len(sentence.tokens), at + 1 + _REACH)):
        if _pauses(sentence, sentence.tokens[place - 1], sentence.tokens[place]):
            return None
        if sentence.tokens[place].is_content or sentence.tokens[place].folded[0].isdigit():
            return place
    return None


def _pauses(sentence: TokenSentence, one: Token, other: Token) -> bool:
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


def _near(matched: EvidenceMatch) -> list[TokenSentence]:
    """The sentences that speak of the claim nearly as much as the nearest."""
    sentences = matched.evidence.sentences
    shares = [matched.share([word.in_stems(one.stems) for word in matched.words]) for one in sentences]
    most = max(shares, default=0.0)
    return [one for one, share in zip(sentences, shares, strict=True) if share >= _NEARLY_AS_GOOD * most]


def _is_denied_there(
    denial: Negation,
    matched: EvidenceMatch,
    best: TokenSentence,
    spoken: Sequence[TokenSentence],
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


def _covers(sentence: TokenSentence, denial: Negation, forms: frozenset[str]) -> bool:
    """Whether one of these stems stands in what is denied."""
    reach = sentence.tokens[denial.at + 1 : denial.at + 1 + 2 * _REACH]
    return any(token.stem in forms for token in reach)


def _denied_only_there(
    matched: EvidenceMatch,
    best: TokenSentence,
    spoken: Sequence[TokenSentence],
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


def _states(sentence: TokenSentence, forms: dict[str, float], denials: Sequence[Negation]) -> bool:
    """Whether a sentence has one of these stems without denying it."""
    denied = {one.target for one in denials}
    return any(token.stem in forms and at not in denied for at, token in enumerate(sentence.tokens))


def _value_denied(matched: EvidenceMatch, best: TokenSentence, claimed: Sequence[Negation]) -> str:
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


def _shown(sentence: TokenSentence, denial: Negation) -> str:
    last = denial.target if denial.target is not None else denial.at
    start, end = sentence.tokens[denial.at].start, sentence.tokens[last].end
    return sentence.text[start - sentence.start : end - sentence.start]


# Names of a claim that its quotes do not have. Pure.
#
# A name is what is capitalised; the first word of a sentence only where no English word is spelt so, or where it begins
# a name of several words. A surname stands for the full name where the quotes never give another first name, initials
# stand for what they abbreviate, and a people for its country.
#
# Example:
#     claim:   The WHO recommends vaccination.
#     passage: The World Health Organization recommends vaccinating children.
#     verdict: supported
#
# Example:
#     claim:   Irene Curie measured the activity of radium.
#     passage: Marie Curie measured the activity of radium.
#     verdict: unsupported
#     reason:  not in the quote: Irene Curie


_NO_NAMES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mr mrs ms dr sir st""".split()
)
_GAP = re.compile(r"[\s'’.&/-]{1,2}")
_STARTS = re.compile(r"[.!?:;…\n][\s\"'“‘(*]*$")
_ENOUGH = 0.7


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words."""

    tokens: tuple[Token, ...]
    first: int

    @property
    def last(self) -> int:
        return self.first + len(self.tokens) - 1

    @property
    def initials(self) -> str:
        return "".join(token.folded[0] for token in self.tokens)

    def text(self, of: str, start: int = 0) -> str:
        return of[self.tokens[0].start - start : self.tokens[-1].end - start]


def names_of(sentence: TokenSentence) -> list[Name]:
    """The names of a sentence, in order."""
    found: list[Name] = []
    run: list[Token] = []
    began = 0
    for at, token in enumerate(sentence.tokens):
        between = _between(sentence, run[-1], token) if run else ""
        # What a hyphen joins to a name is part of it: the `xL` of `Bcl-xL`.
        named = (token.is_capital and _may_name(token)) or (bool(run) and between == "-")
        if run and (not named or not _GAP.fullmatch(between)):
            found.append(Name(tuple(run), began))
            run = []
        if named:
            began = began if run else at
            run.append(token)
    if run:
        found.append(Name(tuple(run), began))
    return [name for name in found if not _is_mere_first_word(name, sentence)]


def _between(sentence: TokenSentence, one: Token, other: Token) -> str:
    return sentence.text[one.end - sentence.start : other.start - sentence.start]


def _may_name(token: Token) -> bool:
    return len(token.folded) > 1 and not is_stop_word(token.folded) and token.folded not in _NO_NAMES


def _is_mere_first_word(name: Name, sentence: TokenSentence) -> bool:
    token = name.tokens[0]
    before = sentence.text[max(0, token.start - sentence.start - 4) : token.start - sentence.start]
    if len(name.tokens) > 1 or (name.first and not _STARTS.search(before)):
        return False
    written = sentence.text[token.start - sentence.start : token.end - sentence.start]
    is_english = english_stems().is_word(token.stem)
    return is_english and not (len(written) > 1 and written[1:].lower() != written[1:])


def missing_names(matched: EvidenceMatch) -> list[str]:
    """The names of the claim that neither the quotes nor their titles have, as the claim writes them."""
    found: list[str] = []
    known = {word.token.stem: part for word, part in zip(matched.words, matched.anywhere, strict=True)}
    for name in names_of(matched.claim):
        parts = [known.get(token.stem, 1.0) for token in name.tokens]
        if all(part >= _ENOUGH for part in parts):
            continue
        if _is_abbreviated(name, matched):
            continue
        if parts[-1] >= _ENOUGH and len(parts) > 1 and not _has_other_first_name(name, matched):
            continue
        found.append(name.text(matched.claim.text))
    return list(dict.fromkeys(found))


def _is_abbreviated(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes have its initials, or a name whose initials it is."""
    if len(name.tokens) > 1:
        return name.initials in matched.evidence.vocabulary.stems
    return any(are_initials(name, other) for sentence in matched.evidence.sentences for other in names_of(sentence))


def are_initials(one: Name, other: Name) -> bool:
    """Whether one name is the initials of the other: `WHO`, `World Health Organization`."""
    short, long = sorted((one, other), key=lambda name: len(name.tokens))
    return len(short.tokens) == 1 < len(long.tokens) and short.tokens[0].folded == long.initials


def _has_other_first_name(name: Name, matched: EvidenceMatch) -> bool:
    """Whether the quotes give this surname with another word of a name before it."""
    surname = name.tokens[-1].stem
    for sentence in matched.evidence.sentences:
        for before, token in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.stem == surname and token.is_capital and before.is_capital and _may_name(before):
                return True
    return False


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
    """Whether a word of meaning beside the one in the claim is beside the other in the sentence."""
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


# What stands on which side: of because, before, than, from and to, and of a verb between two names. Pure.
#
# Such a word has two sides that cannot change places: "A because B" is not "B because A". Claim and sentence are each
# cut at the word; where the claim's left side has what the sentence has on the right, and the other way round, it is
# turned about. Words that point the other way ("after" for "before", "led to" for "because") turn the sides once more,
# and so does the passive of a verb.
#
# Example:
#     claim:   The road was closed because the river rose.
#     passage: The road was closed on Monday because the river rose.
#     verdict: supported
#
# Example:
#     claim:   The river rose because the road was closed.
#     passage: The road was closed on Monday because the river rose.
#     verdict: contradicted
#     reason:  the quote has the two sides of 'because' the other way round
#
# Example:
#     claim:   Iron conducts heat better than copper.
#     passage: Copper conducts heat better than iron.
#     verdict: contradicted
#     reason:  the quote has the two sides of 'than' the other way round
#
# Example:
#     claim:   Lomax acquired Brightwell.
#     passage: Lomax was acquired by Brightwell.
#     verdict: contradicted
#     reason:  the quote has the two sides of 'acquired' the other way round
#
# Example:
#     claim:   Take the ferry A → B at noon.
#     passage: Take the ferry B → A at noon.
#     verdict: contradicted
#     reason:  the quote has the two sides of '→' the other way round


# A word or phrase with two sides, by what it tells, and whether its left side is the first of the two.
_SIDES = {
    "cause": (
        (r"therefore|hence|thus|so that|led to|leads to|results? in|resulted in|causes|caused(?! by)|which is why"
         r"|deshalb|daher|führte zu|donc|a conduit à|entraîne", True),
        (r"because of|because|due to|owing to|caused by|as a result of|thanks to|weil|wegen|parce que"
         r"|à cause de", False),
    ),
    "time": (
        (r"before|followed by|prior to|bevor|avant", True),
        (r"after|preceded by|following|nachdem|nach|après", False),
    ),
    "than": ((r"than|als(?= )", True),),
    "to": ((r"(?<=from )(?:\S+ ){1,4}?to|(?<=von )(?:\S+ ){1,4}?nach|→|->", True),),
    "over": ((r"instead of|rather than|over|in favou?r of|statt|anstelle von|au lieu de", True),),
}  # fmt: skip
_PATTERNS = {
    kind: tuple((re.compile(rf"(?<![\w'-])(?:{words})(?![\w'-])"), first) for words, first in sides)
    for kind, sides in _SIDES.items()
}
# Verbs that put two names for one thing beside each other.
_NAMING = frozenset("called named known".split())
_PASSIVE_REACH = 6
_UP = re.compile(
    r"\b(?:more|greater|higher|larger|bigger|longer|better|faster|stronger|older|earlier|mehr|größer|plus)\b"
)
_DOWN = re.compile(r"\b(?:less|fewer|lower|smaller|shorter|worse|slower|weaker|younger|later|weniger|kleiner|moins)\b")


@dataclass(frozen=True, slots=True)
class _Cut:
    """A sentence cut at a word: the stems before and behind it, the first of the two sides in front."""

    word: str
    first: frozenset[str]
    second: frozenset[str]


def turned_about(alignment: ClaimAlignment) -> str:
    """In words, which two sides the claim has the other way round; empty where none are."""
    close = {form: stem for stem, forms in alignment.close.items() for form in forms}
    for kind, patterns in _PATTERNS.items():
        ours = _cuts(alignment.claim, kind, patterns, {})
        theirs = _cuts(alignment.whole, kind, patterns, close)
        for mine in ours:
            if any(_meets(mine, one) for one in theirs):
                continue
            if any(_crosses(mine, one) for one in theirs):
                return _reason(mine)
    return next((_reason(mine) for mine, other in _verb_cuts(alignment) if _crosses(mine, other)), "")


def _reason(cut: _Cut) -> str:
    return f"the quote has the two sides of '{cut.word}' the other way round"


def _verb_cuts(alignment: ClaimAlignment) -> Iterator[tuple[_Cut, _Cut]]:
    """Claim and sentence cut at each word that stands between names in both, names alone on the sides."""
    said, told = alignment.claim, alignment.sentence
    ours, theirs = names_of(said), names_of(told)
    for at, token in enumerate(said.tokens if len(ours) > 1 and len(theirs) > 1 else ()):
        forms = {token.stem, *alignment.close.get(token.stem, ())}
        places = [place for place, other in enumerate(told.tokens) if other.stem in forms]
        is_verb = token.is_content and not token.is_capital and token.folded not in _NAMING
        if is_verb and len(places) == 1:
            yield _between_names(said.tokens, ours, at), _between_names(told.tokens, theirs, places[0])


def _between_names(tokens: Sequence[Token], names: Sequence[Name], at: int) -> _Cut:
    """The names before and behind a verb, who does it first."""
    before = frozenset(token.stem for name in names if name.last < at for token in name.tokens)
    behind = frozenset(token.stem for name in names if name.first > at for token in name.tokens)
    is_passive = any(one.folded in word_list("being") for one in tokens[max(0, at - 2) : at]) and any(
        one.folded in word_list("agent") for one in tokens[at + 1 : at + 1 + _PASSIVE_REACH]
    )
    return _Cut(tokens[at].folded, *((behind, before) if is_passive else (before, behind)))


def _cuts(
    sentence: TokenSentence, kind: str, patterns: tuple[tuple[re.Pattern[str], bool], ...], close: dict[str, str]
) -> list[_Cut]:
    folded = folded_text(sentence.text)
    if len(folded) != len(sentence.text):
        return []
    found: list[_Cut] = []
    for pattern, in_order in patterns:
        for match in pattern.finditer(folded):
            at = sentence.start + match.start()
            after = at + len(match.group())
            counting = [one for one in sentence.tokens if carries_meaning(one)]
            if kind == "to" and len(letters := _letters_beside(sentence.tokens, at, after)) == 2:
                counting = letters
            before = frozenset(close.get(one.stem, one.stem) for one in counting if one.end <= at)
            behind = frozenset(close.get(one.stem, one.stem) for one in counting if one.start >= after)
            if kind == "than" and _DOWN.search(folded) and not _UP.search(folded):
                before, behind = behind, before
            if before and behind:
                found.append(_Cut(match.group(), *((before, behind) if in_order else (behind, before))))
    return found


def _letters_beside(tokens: Sequence[Token], start: int, end: int) -> list[Token]:
    """The capitals beside an arrow that stand for places or steps: A → B."""
    beside = [*[one for one in tokens if one.end <= start][-1:], *[one for one in tokens if one.start >= end][:1]]
    return [one for one in beside if len(one.folded) == 1 and one.is_capital]


def _meets(mine: _Cut, other: _Cut) -> bool:
    return bool(mine.first & other.first) and bool(mine.second & other.second) and not _crosses(mine, other)


def _crosses(mine: _Cut, other: _Cut) -> bool:
    """Whether what only the one side of the claim has stands on the other side there, for both sides."""
    first, second = mine.first - mine.second, mine.second - mine.first
    there_first, there_second = other.first - other.second, other.second - other.first
    return bool(first & there_second) and bool(second & there_first) and not second & there_second
