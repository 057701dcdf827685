"""What a claim may leave out of the sentence it is taken from, in front, within and behind. Pure.

Left out without harm are a whole clause before it, a date in front, an aside, a word that describes a noun, a light
adverb, and in a report of what happened a phrase. Whatever else is left out may be what the statement hangs on: who
says so, of which part it is said, when it holds. What is not known to be harmless is not proven.

Example:
    claim:   The ferry carries coal.
    passage: The old ferry, built at Dunmore, carries coal to Leith.
    verdict: supported

Example:
    claim:   The filter had been left off.
    passage: The gearbox failed because the filter had been left off.
    verdict: supported

Example:
    claim:   The filter had been left off.
    passage: The gearbox did not fail because the filter had been left off.
    verdict: partial
    reason:  left out of the quote: the gearbox did not fail because

Example:
    claim:   The barn burned down.
    passage: The roof of the barn burned down.
    verdict: partial
    reason:  the quote says this 'of' the barn, not of it as a whole

Example:
    claim:   Entry to the tower is free.
    passage: With a valid pass, entry to the tower is free.
    verdict: partial
    reason:  left out of the quote: with a valid pass

Example:
    claim:   The heater switches on.
    passage: The heater switches on once the room is cold.
    verdict: partial
    reason:  the quote says this only 'once the room'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning
from citewell.synthesis.checking.stated_values import WEEKDAYS
from citewell.synthesis.checking.tokens import Token
from citewell.synthesis.lexicon.word_lists import word_list
from citewell.synthesis.values import MONTH_NAMES, UNITS

# Shares in words, units and months stand for numbers.
VALUE_WORDS = frozenset((*MONTH_NAMES, *UNITS, "half", "third", "quarter", "thirds", "quarters"))
_OPENERS, _CLOSERS = ",;:(–—-[", ",;:)–—-].!?"
# Where a statement of its own begins.
_CLAUSE_START = re.compile(
    r"[;!?]\s|\.\s|[,–—]\s*(?:and|but|so|yet|while|whereas|und|aber|sondern|et|mais|donc)\s|^\s*(?:[-*+•]|\d{1,3}[.)])\s"
)
# A reason that is given is stated too: `it failed because the filter was off`.
_REASON = re.compile(r"\b(?:because(?! of)|although|weil|obwohl|parce que|puisque)\s(?=[^.;]*$)", re.IGNORECASE)
_APART = re.compile(r"[;:|\n•]|[.!?]\s|\s[–—]\s")
_YEAR_OR_DAY = re.compile(r"1\d{3}|20\d{2}|[0-3]?\d(?:st|nd|rd|th)?")
_NAMED_DAYS = frozenset((*MONTH_NAMES, *WEEKDAYS)) - {""}
_DATE_WORDS = _NAMED_DAYS | frozenset("the year early late mid end beginning spring summer autumn winter".split())
_MOST_DESCRIBING = 3
_LONG_TAIL = 9
_SHORT = 4


def left_out(alignment: ClaimAlignment) -> str:
    """In words, what the claim leaves out that it may not; empty where the rest stands for itself."""
    kept = sorted(kept_places(alignment))
    if not kept:
        return ""
    return _in_front(alignment, kept) or _within(alignment, kept) or _behind(alignment, kept)


def kept_places(alignment: ClaimAlignment) -> list[int]:
    """The places of the sentence that the claim keeps."""
    pairs = zip(alignment.words.counterpart, alignment.words.is_same, strict=True)
    return [on for on, same in pairs if on is not None and same]


def _is_said(alignment: ClaimAlignment, token: Token) -> bool:
    """Whether the claim has this word too, if in another place: then it is moved, not left out."""
    return any(
        token.stem == one.stem or token.stem in alignment.close.get(one.stem, {}) for one in alignment.claim.tokens
    )


def _counts(alignment: ClaimAlignment, token: Token) -> bool:
    """Whether leaving out this word needs an excuse; values and denials were compared before."""
    is_grammar = token.folded.endswith("n't") or token.folded in word_list("pronouns")
    if is_grammar or not carries_meaning(token) or _is_said(alignment, token):
        return False
    return not (is_value(token) and any(is_value(one) for one in _faced(alignment, token)))


def _faced(alignment: ClaimAlignment, token: Token) -> list[Token]:
    """What the claim has in the place of a word of the sentence."""
    pairs = zip(alignment.claim.tokens, alignment.words.counterpart, strict=True)
    return [one for one, on in pairs if on is not None and alignment.sentence.tokens[on] is token]


def is_value(token: Token) -> bool:
    """A number, or the name of a unit or a month."""
    return token.stem[0].isdigit() or token.folded in VALUE_WORDS


def _shown(tokens: Sequence[Token]) -> str:
    return f"left out of the quote: {' '.join(token.folded for token in tokens[:6])}"


def _in_front(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    sentence = alignment.sentence
    told, text, base = sentence.tokens, sentence.text, sentence.start
    first = kept[0]
    before = text[: told[first].start - base]
    starts = [match.end() for match in _CLAUSE_START.finditer(before)]
    cut = max((*starts, *_reasons(before)), default=0)
    front = [token for token in told[:first] if token.start - base >= cut]
    if not any(_counts(alignment, token) for token in front):
        return ""
    content = [token.folded for token in front if carries_meaning(token)]
    is_label = before.rstrip().endswith(":") and all(word in word_list("labels") for word in content)
    is_light = all(word in word_list("light") or word in word_list("titles") or _is_adverb(word) for word in content)
    is_given = len(content) == 1 and _is_given_name(front[-1], told[first])
    lasts = is_told_of_once(alignment) and all(word in word_list("lasting") for word in content)
    return "" if is_label or is_light or is_given or lasts or _is_dated(front) else _shown(front)


def _reasons(before: str) -> list[int]:
    """Where a reason begins; none where something before it is denied: `not because the filter was off`."""
    words = re.findall(r"[\w'’]+", before.casefold())
    if any(word in word_list("denying") or word.endswith(("n't", "n’t")) for word in words):
        return []
    return [match.end() for match in _REASON.finditer(before)]


def _is_given_name(token: Token, following: Token) -> bool:
    """`Howard` before `Florey`, but not `New` before `York`."""
    return (
        token.is_capital
        and token.is_content
        and following.is_capital
        and following.start - token.end == 1
        and token.folded not in word_list("naming") | word_list("privative")
    )


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > _SHORT


def _is_dated(tokens: Sequence[Token]) -> bool:
    """A phrase that tells a date and nothing else: `in early May 1871`."""
    prepositions = word_list("prepositions")
    told = [token.folded in _DATE_WORDS or bool(_YEAR_OR_DAY.fullmatch(token.folded)) for token in tokens]
    named = any(
        token.folded in _NAMED_DAYS or (len(token.folded) == _SHORT and dated)
        for token, dated in zip(tokens, told, strict=True)
    )
    return named and all(dated or token.folded in prepositions for token, dated in zip(tokens, told, strict=True))


def _within(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    """Words skipped within the part the claim keeps."""
    told, text, base = alignment.sentence.tokens, alignment.sentence.text, alignment.sentence.start
    either = [token for token in told[kept[0] : kept[-1]] if token.folded in ("or", "oder", "ou")]
    if either and not any(token.folded == either[0].folded for token in alignment.claim.tokens):
        return _shown(either)
    for one, other in pairwise(kept):
        skipped = told[one + 1 : other]
        if not any(_counts(alignment, token) for token in skipped):
            continue
        opening = text[told[one].end - base : skipped[0].start - base]
        closing = text[skipped[-1].end - base : told[other].start - base]
        if any(mark in opening for mark in _OPENERS) and any(mark in closing for mark in _CLOSERS):
            continue  # an aside
        between = text[told[one].end - base : told[other].start - base]
        if _APART.search(between) or not _is_harmless(alignment, one, skipped, told[other]):
            return _shown(skipped)
    return ""


def _is_harmless(alignment: ClaimAlignment, one: int, skipped: Sequence[Token], following: Token) -> bool:
    """Whether these words only describe: an adverb, a date, adjectives of a noun, a phrase about what happened."""
    words = [token.folded for token in skipped]
    if any(word in word_list("joining") for word in words):
        return False
    content = [token.folded for token in skipped if carries_meaning(token)]
    if all(word in word_list("light") or _is_adverb(word) for word in content) or _is_dated(skipped):
        return True
    if len(skipped) == 1 and (_is_given_name(skipped[0], following) or words[0] in word_list("suffixes")):
        return True
    prepositions = word_list("prepositions")
    if words[0] in prepositions:
        return is_told_of_once(alignment) or _is_definite(alignment, one)
    opens = alignment.sentence.tokens[one].folded in word_list("articles") | prepositions
    describes = opens and len(skipped) <= _MOST_DESCRIBING and not any(word in prepositions for word in words)
    ordinal = following.folded in ("most", "least") or following.folded.endswith("est")
    return describes and not ordinal and not any(word in word_list("privative") for word in words)


def is_told_of_once(alignment: ClaimAlignment) -> bool:
    """Whether the sentence reports what happened; what happened, happened, whatever is left out about it."""
    kept = [alignment.sentence.tokens[at].folded for at in kept_places(alignment)]
    return any(word in word_list("done") or (word.endswith("ed") and len(word) > _SHORT) for word in kept)


def _is_definite(alignment: ClaimAlignment, at: int) -> bool:
    """Whether the noun at this place is a certain one: `the visitors from Spain`, not `visitors from Spain`."""
    near = alignment.sentence.tokens[max(0, at - 2) : at]
    return (at > 0 and alignment.sentence.tokens[at].is_capital) or any(
        one.folded in word_list("articles") for one in near
    )


def _behind(alignment: ClaimAlignment, kept: Sequence[int]) -> str:
    last = kept[-1]
    sentence = alignment.sentence
    rest = sentence.tokens[last + 1 :]
    if not rest:
        return ""
    words = [token.folded for token in rest]
    return _limited(alignment, words) or _excepted(alignment, words) or _narrowed(alignment, last, words)


def _limited(alignment: ClaimAlignment, words: Sequence[str]) -> str:
    """A choice or a condition right behind what the claim keeps."""
    said = {token.folded for token in alignment.claim.tokens}
    occasion = words[0] in word_list("occasions") and not is_told_of_once(alignment)
    if words[0] in word_list("choosing") | word_list("conditions") or occasion:
        return "" if words[0] in said else f"the quote says this only '{' '.join(words[:3])}'"
    return ""


def _excepted(alignment: ClaimAlignment, words: Sequence[str]) -> str:
    """An exception behind what the claim keeps: `all windows are clean, only the one in the bath is not`."""
    denying = word_list("denying")
    if len(words) > 1 and words[0] in denying and words[1][0].isdigit():
        return ""  # `3.241 m, not 3.214 m`
    if denying & {token.folded for token in alignment.claim.tokens}:
        return ""
    word = words[0] if words[0] in denying else next((one for one in words if one in word_list("excepting")), "")
    word = word or (words[-1] if len(words) < _LONG_TAIL and words[-1] in denying else "")
    return f"the quote goes on with '{word}'" if word else ""


def _narrowed(alignment: ClaimAlignment, last: int, words: Sequence[str]) -> str:
    """What holds in general in the claim and only somewhere, sometimes or somehow in the quote: `… on a lead`."""
    told = [token.folded for token in alignment.sentence.tokens[: last + 1]]
    general = any(word in word_list("permitting") for word in told) and not any(
        word in word_list("done") for word in told
    )
    return f"the quote says this only '{' '.join(words[:3])}'" if general and words[0] in word_list("narrowing") else ""
