"""What stands on which side: of because, before, than, from and to, and of a verb between two names. Pure.

Such a word has two sides that cannot change places: "A because B" is not "B because A". Claim and sentence are each cut
at the word; where the claim's left side has what the sentence has on the right, and the other way round, it is turned
about. Words that point the other way ("after" for "before", "led to" for "because") turn the sides once more, and so
does the passive of a verb.

Example:
    claim:   The road was closed because the river rose.
    passage: The road was closed on Monday because the river rose.
    verdict: supported

Example:
    claim:   The river rose because the road was closed.
    passage: The road was closed on Monday because the river rose.
    verdict: contradicted
    reason:  the quote has the two sides of 'because' the other way round

Example:
    claim:   Iron conducts heat better than copper.
    passage: Copper conducts heat better than iron.
    verdict: contradicted
    reason:  the quote has the two sides of 'than' the other way round

Example:
    claim:   Lomax acquired Brightwell.
    passage: Lomax was acquired by Brightwell.
    verdict: contradicted
    reason:  the quote has the two sides of 'acquired' the other way round

Example:
    claim:   Take the ferry A → B at noon.
    passage: Take the ferry B → A at noon.
    verdict: contradicted
    reason:  the quote has the two sides of '→' the other way round
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.synthesis.checking.claim_alignment import ClaimAlignment, carries_meaning
from citewell.synthesis.checking.naming import Name, names_of
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.lexicon.word_lists import word_list
from citewell.text.folding import folded_text

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
    sentence: Sentence, kind: str, patterns: tuple[tuple[re.Pattern[str], bool], ...], close: dict[str, str]
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
