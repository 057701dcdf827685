"""A claim and a sentence word against word, in order: what stands in the place of what. Pure.

Two sentences that say nearly the same are aligned so that as many words as possible meet. Where the words
on both sides of a place meet and those in it do not, the claim has put something else there: another name or number, or
the contrary. Sentences that share too little are not compared so.

Example:
    claim:   In the storm the west tower fell.
    passage: The west tower fell in the storm.
    verdict: supported

Example:
    claim:   The tower stood for 40 years.
    passage: The tower stood for 70 years beside 40 mills.
    verdict: contradicted
    reason:  the quote has '70' where this has '40'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewell.synthesis.checking.tokens import Token

MOST_WORDS = 90
_SAME_CONTENT, _SAME_GRAMMAR, _CLOSE = 2.0, 1.0, 1.6
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
                meet = _CLOSE
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
