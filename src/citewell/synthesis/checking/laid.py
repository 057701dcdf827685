"""A claim laid on the sentence that says nearly the same, and what counts as an anchor there. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from citewell.synthesis.checking.alignment import Aligned
from citewell.synthesis.checking.slots import Overlay, overlay
from citewell.synthesis.checking.tokens import Sentence, Token

_LEAST_SHARED = 0.5
_LEAST_PLAIN = 2
_NEARLY_ALL = 0.8
_CLOSE = 0.7


@dataclass(frozen=True)
class Laid:
    """A claim laid on its nearest sentence."""

    aligned: Aligned
    # Without what it says in brackets, where the claim has none.
    sentence: Sentence
    whole: Sentence
    over: Overlay
    close: Mapping[str, Mapping[str, float]]

    @property
    def claim(self) -> Sentence:
        return self.aligned.claim

    @property
    def is_close(self) -> bool:
        """Whether the sentence has nearly all of the claim's words that are no names."""
        plain = [word for word in self.aligned.words if not word.token.is_capital]
        total = math.fsum(word.weight for word in plain)
        found = math.fsum(word.weight * word.in_stems(self.sentence.stems) for word in plain)
        return bool(total) and found / total >= _CLOSE


def lay(aligned: Aligned) -> Laid | None:
    """The claim on the sentence that comes nearest, where they share enough."""
    sentence = aligned.sentence
    if sentence is None or aligned.share(aligned.own) < _LEAST_SHARED:
        return None
    return _laid(aligned, sentence)


def lay_but_for_names(aligned: Aligned) -> Laid | None:
    """The claim on the sentence that comes nearest when names are left out, where that is another one."""
    plain = [word for word in aligned.words if not word.token.is_capital]
    total = math.fsum(word.weight for word in plain)
    if len(plain) < _LEAST_PLAIN or not total:
        return None
    shares = [
        math.fsum(word.weight * word.in_stems(one.stems) for word in plain) / total
        for one in aligned.evidence.sentences
    ]
    best = max(range(len(shares)), key=lambda at: shares[at], default=None)
    if best is None or shares[best] < _NEARLY_ALL:
        return None
    return _laid(aligned, aligned.evidence.sentences[best])


def _laid(aligned: Aligned, sentence: Sentence) -> Laid | None:
    whole = sentence
    close = {word.token.stem: word.stems for word in aligned.words}
    if "(" not in aligned.claim.text:
        sentence = without_brackets(sentence)
    over = overlay(aligned.claim.tokens, sentence.tokens, close)
    return Laid(aligned, sentence, whole, over, close) if over else None


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


def is_anchored(laid: Laid, first: int, last: int) -> bool:
    """Whether the words on both sides met, one of them a word of meaning not far off."""
    if not laid.over.meets_around(first, last):
        return False
    around = [*range(first - 3, first), *range(last + 1, last + 4)]
    tokens = laid.claim.tokens
    return any(0 <= at < len(tokens) and laid.over.is_same[at] and weighs(tokens[at]) for at in around)


def weighs(token: Token) -> bool:
    return token.is_content or token.folded[0].isdigit()


def instead(there: str, here: str) -> str:
    return f"the quote has '{there}' where this has '{here}'"
