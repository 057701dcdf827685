"""A claim matched with the evidence: which words of it stand where, and which sentence says it best. Pure.

Example:
    claim:   The ferry carries coal from Leith.
    passage: The ferry comes from Leith. It carries coal.
    verdict: partial
    reason:  not in this place in the quote: carries

Example:
    claim:   The ferry carries coal.
    passage: The ferry left at noon. Nobody waved. The mill burns coal.
    verdict: unsupported
    reason:  not in the quote: ferry, carries
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from citewell.synthesis.checking.forms import Vocabulary
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.tokens import Sentence, Token, read_sentences, tokens_of

_NEIGHBOUR = 0.75
_NEAR = 6


@dataclass(frozen=True)
class Evidence:
    """What is cited, read once."""

    text: str
    sentences: tuple[Sentence, ...]
    vocabulary: Vocabulary
    # Titles and headings: they complete a name, and state nothing of their own.
    titles: Vocabulary


@lru_cache(maxsize=256)
def read_evidence(text: str, titles: str = "") -> Evidence:
    sentences = read_sentences(text)
    return Evidence(text, sentences, Vocabulary(sentences), Vocabulary(read_sentences(titles)))


@dataclass(frozen=True)
class WordMatch:
    """One word of the claim that carries meaning: what it weighs, and which stems of the evidence stand for it."""

    token: Token
    weight: float
    stems: dict[str, float]
    titled: float

    def in_stems(self, stems: frozenset[str]) -> float:
        if self.token.stem in stems:
            return 1.0
        return max((close for form, close in self.stems.items() if form in stems), default=0.0)

    def places(self, sentence: Sentence) -> list[int]:
        """Where in a sentence it stands, by the number of the word."""
        return [at for at, token in enumerate(sentence.tokens) if token.stem in self.stems]


@dataclass(frozen=True)
class EvidenceMatch:
    """A claim and the sentence of the evidence that comes nearest."""

    claim: Sentence
    words: tuple[WordMatch, ...]
    evidence: Evidence
    best: int | None
    own: tuple[float, ...]
    around: tuple[float, ...]
    anywhere: tuple[float, ...]

    @property
    def sentence(self) -> Sentence | None:
        return self.evidence.sentences[self.best] if self.best is not None else None

    @cached_property
    def total(self) -> float:
        return math.fsum(word.weight for word in self.words)

    def share(self, parts: Sequence[float]) -> float:
        """The weighted mean of what was found of each word; 1 where there is nothing to find."""
        if not self.total:
            return 1.0
        return math.fsum(word.weight * part for word, part in zip(self.words, parts, strict=True)) / self.total

    def missing(self, least: float = 0.5) -> list[WordMatch]:
        return [word for word, part in zip(self.words, self.anywhere, strict=True) if part < least]


def match_evidence(claim: str, evidence: Evidence, rarity: Rarity) -> EvidenceMatch:
    """Match a claim with the evidence."""
    sentence = Sentence(claim, 0, tokens_of(claim))
    words = tuple(_word_match(token, evidence, rarity) for token in _once(sentence.content))
    parts = [tuple(word.in_stems(one.stems) for word in words) for one in evidence.sentences]
    titled = tuple(word.titled for word in words)
    scores = [_score(words, part, one) for part, one in zip(parts, evidence.sentences, strict=True)]
    best = max(range(len(scores)), key=lambda at: scores[at], default=None)
    nothing = (0.0,) * len(words)
    own = parts[best] if best is not None else nothing
    before = parts[best - 1] if best else nothing
    after = parts[best + 1] if best is not None and best + 1 < len(parts) else nothing
    around = tuple(
        max(mine, _NEIGHBOUR * max(one, other), title)
        for mine, one, other, title in zip(own, before, after, titled, strict=True)
    )
    anywhere = tuple(max(title, *(part[at] for part in parts)) if parts else title for at, title in enumerate(titled))
    return EvidenceMatch(sentence, words, evidence, best, own, around, anywhere)


def _once(content: Sequence[Token]) -> list[Token]:
    seen: dict[str, Token] = {}
    for token in content:
        seen.setdefault(token.stem, token)
    return list(seen.values())


def _word_match(token: Token, evidence: Evidence, rarity: Rarity) -> WordMatch:
    titled = max(evidence.titles.closest(token.stem).values(), default=0.0)
    return WordMatch(token, rarity.of_stem(token.stem), evidence.vocabulary.closest(token.stem), titled)


def _score(words: Sequence[WordMatch], parts: Sequence[float], sentence: Sentence) -> float:
    found = math.fsum(word.weight * part for word, part in zip(words, parts, strict=True))
    return found - 0.002 * len(sentence.tokens)


def pairs_kept(matched: EvidenceMatch) -> float:
    """The share of neighbouring words of the claim that stand near each other in the nearest sentence."""
    sentence = matched.sentence
    if sentence is None or len(matched.words) < 2:
        return 0.0
    places = [word.places(sentence) for word in matched.words]
    kept, total = [], []
    for at in range(len(places) - 1):
        weight = matched.words[at].weight + matched.words[at + 1].weight
        total.append(weight)
        gap = min((abs(a - b) for a in places[at] for b in places[at + 1]), default=_NEAR + 1)
        if gap <= _NEAR:
            kept.append(weight * (1.0 if gap <= 3 else 0.6))
    return math.fsum(kept) / math.fsum(total)
