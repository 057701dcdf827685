"""A claim aligned with the one sentence that says nearly the same, and what anchors a word there. Pure.

Example:
    claim:   The ferry was sold to Kilbride.
    passage: The ferry (built at Dunmore) was sold to Kilbride.
    verdict: supported

Example:
    claim:   The ferry was sold to Dunmore.
    passage: The ferry was built at Dunmore. The ferry was sold to Kilbride.
    verdict: unsupported
    reason:  the quote has 'Kilbride' where this has 'Dunmore'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewell.check.tokens import EvidenceMatch, Token, TokenSentence

# A claim and a sentence word against word, in order: what stands in the place of what. Pure.
#
# Two sentences that say nearly the same are aligned so that as many words as possible meet. Where the words
# on both sides of a place meet and those in it do not, the claim has put something else there: another name or number,
# or the contrary. Sentences that share too little are not compared so.
#
# Example:
#     claim:   In the storm the west tower fell.
#     passage: The west tower fell in the storm.
#     verdict: supported
#
# Example:
#     claim:   The tower stood for 40 years.
#     passage: The tower stood for 70 years beside 40 mills.
#     verdict: contradicted
#     reason:  the quote has '70' where this has '40'


MOST_WORDS = 90
_SAME_CONTENT, _SAME_GRAMMAR, _CLOSE_WORDS = 2.0, 1.0, 1.6
_SAME_KIND, _OTHER, _ALONE = 0.3, -0.5, -0.25


@dataclass(frozen=True, slots=True)
class WordAlignment:
    """For each word of the claim its counterpart in the sentence, if any, and whether the two are the same."""

    counterpart: tuple[int | None, ...]
    is_same: tuple[bool, ...]

    def is_matched(self, at: int) -> bool:
        """Whether the word at this place has its like opposite; beyond either end nothing is missing."""
        return not 0 <= at < len(self.counterpart) or self.is_same[at]

    def is_matched_around(self, first: int, last: int, reach: int = 1) -> bool:
        return all(self.is_matched(first - step) and self.is_matched(last + step) for step in range(1, reach + 1))


def align_words(
    claim: Sequence[Token], sentence: Sequence[Token], close: Mapping[str, Mapping[str, float]]
) -> WordAlignment | None:
    """The best alignment of a claim with a sentence; `close` names the stems that may stand for a stem."""
    rows, columns = len(claim), len(sentence)
    if not rows or not columns or rows > MOST_WORDS or columns > 2 * MOST_WORDS:
        return None
    kinds, others = [_kind(token) for token in claim], [_kind(token) for token in sentence]
    # What stands before the beginning of the claim costs nothing either.
    best = [[0.0] * (columns + 1)]
    steps: list[bytearray] = [bytearray(b"\2" * (columns + 1))]
    for row in range(1, rows + 1):
        token, kind = claim[row - 1], kinds[row - 1]
        forms = close.get(token.stem, {})
        above, line, step = best[-1], [_ALONE * row], bytearray(columns + 1)
        step[0] = 1
        same = _SAME_CONTENT if token.is_content else _SAME_GRAMMAR
        for column in range(1, columns + 1):
            other = sentence[column - 1]
            if token.stem == other.stem:
                meet = same
            elif other.stem in forms:
                meet = _CLOSE_WORDS
            else:
                meet = _SAME_KIND if kind == others[column - 1] else _OTHER
            value, chosen = above[column - 1] + meet, 0
            if above[column] + _ALONE > value:
                value, chosen = above[column] + _ALONE, 1
            if line[-1] + _ALONE > value:
                value, chosen = line[-1] + _ALONE, 2
            line.append(value)
            step[column] = chosen
        best.append(line)
        steps.append(step)
    return _traced(claim, sentence, close, best, steps)


def _traced(
    claim: Sequence[Token],
    sentence: Sequence[Token],
    close: Mapping[str, Mapping[str, float]],
    best: Sequence[Sequence[float]],
    steps: Sequence[bytearray],
) -> WordAlignment:
    row, column = len(claim), len(sentence)
    # What follows the end of the claim in the sentence costs nothing.
    column = max(range(column + 1), key=lambda at: (best[row][at], -at))
    on: list[int | None] = [None] * row
    same = [False] * row
    while row > 0 and column > 0:
        match steps[row][column]:
            case 0:
                row, column = row - 1, column - 1
                on[row] = column
                one, other = claim[row].stem, sentence[column].stem
                same[row] = one == other or other in close.get(one, {})
            case 1:
                row -= 1
            case _:
                column -= 1
    return WordAlignment(tuple(on), tuple(same))


def _kind(token: Token) -> str:
    if token.stem[0].isdigit():
        return "number"
    if not token.is_content:
        return "grammar"
    return "name" if token.is_capital else "word"


_LEAST_SHARED = 0.5
_LEAST_PLAIN = 2
_NEARLY_ALL = 0.8
_CLOSE = 0.7
# At 0.7 one in a hundred true claims of FEVER, MultiNLI, SNLI and SciTail is called contradicted; at 0, two.
_NEARLY_WORDED = 0.7


@dataclass(frozen=True)
class ClaimAlignment:
    """A claim and its nearest sentence, word against word."""

    matched: EvidenceMatch
    # Without what it says in brackets, where the claim has none.
    sentence: TokenSentence
    whole: TokenSentence
    words: WordAlignment
    close: Mapping[str, Mapping[str, float]]

    @property
    def claim(self) -> TokenSentence:
        return self.matched.claim

    @property
    def is_close(self) -> bool:
        """Whether the sentence has nearly all of the claim's words that are no names."""
        plain = [word for word in self.matched.words if not word.token.is_capital]
        total = math.fsum(word.weight for word in plain)
        found = math.fsum(word.weight * word.in_stems(self.sentence.stems) for word in plain)
        return bool(total) and found / total >= _CLOSE

    @property
    def is_nearly_worded(self) -> bool:
        """Whether the claim is the sentence but for little: only then does a difference contradict it."""
        same = self.words.is_same
        return self.is_close and sum(same) >= _NEARLY_WORDED * len(same)


def align_to_nearest(matched: EvidenceMatch) -> ClaimAlignment | None:
    """The claim beside the sentence that comes nearest, where they share enough."""
    sentence = matched.sentence
    if sentence is None or matched.share(matched.own) < _LEAST_SHARED:
        return None
    return _aligned(matched, sentence)


def align_without_names(matched: EvidenceMatch) -> ClaimAlignment | None:
    """The claim beside the sentence that comes nearest when names are left out, where they share nearly all else."""
    plain = [word for word in matched.words if not word.token.is_capital]
    total = math.fsum(word.weight for word in plain)
    shares = [math.fsum(word.weight * word.in_stems(one.stems) for word in plain) for one in matched.evidence.sentences]
    best = max(range(len(shares)), key=lambda at: shares[at], default=None)
    if best is None or len(plain) < _LEAST_PLAIN or shares[best] < _NEARLY_ALL * total:
        return None
    return _aligned(matched, matched.evidence.sentences[best])


def _aligned(matched: EvidenceMatch, sentence: TokenSentence) -> ClaimAlignment | None:
    whole = sentence
    close = {word.token.stem: word.stems for word in matched.words}
    if "(" not in matched.claim.text:
        sentence = without_brackets(sentence)
    words = align_words(matched.claim.tokens, sentence.tokens, close)
    return ClaimAlignment(matched, sentence, whole, words, close) if words else None


def without_brackets(sentence: TokenSentence) -> TokenSentence:
    """The sentence without the words in brackets: a claim that has none leaves them out."""
    kept: list[Token] = []
    depth = at = 0
    for token in sentence.tokens:
        between = sentence.text[at : token.start - sentence.start]
        depth = max(0, depth + between.count("(") - between.count(")"))
        at = token.end - sentence.start
        if not depth:
            kept.append(token)
    return TokenSentence(sentence.text, sentence.start, tuple(kept))


def is_anchored(alignment: ClaimAlignment, first: int, last: int) -> bool:
    """Whether the words on both sides met, one of them a word of meaning not far off."""
    if not alignment.words.is_matched_around(first, last):
        return False
    around = [*range(first - 3, first), *range(last + 1, last + 4)]
    tokens = alignment.claim.tokens
    return any(0 <= at < len(tokens) and alignment.words.is_same[at] and carries_meaning(tokens[at]) for at in around)


def carries_meaning(token: Token) -> bool:
    """Whether a word is more than grammar: a word of meaning or a number."""
    return token.is_content or token.folded[0].isdigit()


def substitution(there: str, here: str) -> str:
    """The reason given where the claim has put one thing in the place of another."""
    return f"the quote has '{there}' where this has '{here}'"
