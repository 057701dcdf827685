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
from collections.abc import Mapping
from dataclasses import dataclass

from citewell.synthesis.checking.evidence_match import EvidenceMatch
from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.synthesis.checking.word_alignment import WordAlignment, align_words

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
    sentence: Sentence
    whole: Sentence
    words: WordAlignment
    close: Mapping[str, Mapping[str, float]]

    @property
    def claim(self) -> Sentence:
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


def _aligned(matched: EvidenceMatch, sentence: Sentence) -> ClaimAlignment | None:
    whole = sentence
    close = {word.token.stem: word.stems for word in matched.words}
    if "(" not in matched.claim.text:
        sentence = without_brackets(sentence)
    words = align_words(matched.claim.tokens, sentence.tokens, close)
    return ClaimAlignment(matched, sentence, whole, words, close) if words else None


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
