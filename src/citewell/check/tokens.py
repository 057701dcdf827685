"""A text as checking reads it: its words with their stems and exact places, sentence by sentence. Pure.

Long texts are cut where a person would have stopped reading too, so that hostile input stays cheap.

Example:
    claim:   The ship’s cargo was 1200 barrels.
    passage: The ship's cargo was 1,200 barrels of oil.
    verdict: supported

Example:
    claim:   The twelve ships sailed.
    passage: The 13 ships sailed at dawn.
    verdict: contradicted
    reason:  not in the quote: twelve
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from citewell.answer.evidence import PreparedSynthesis
from citewell.answer.values import NUMBER_WORDS, UNITS
from citewell.check.lexicon import same_family, verb_forms, word_list
from citewell.text.canonical import folded_text
from citewell.text.languages import is_stop_word
from citewell.text.sentences import sentences
from citewell.text.words import english_stems, index_terms, stem

MAX_SENTENCES = 400
MAX_TOKENS = 120
_LONGEST_WORD = 64
_WORD = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|\d+\.\d+(?!\w)|[^\W_]+(?:['’](?:[^\W_]+))*")
_DIGITS = {word: digits for digits, word in NUMBER_WORDS.items()}
_NUMBER_STEMS = frozenset(stem(word, "en") for word in NUMBER_WORDS.values())
# `km`, `kWh`: what they measure is compared with its number; words such as `day` and `pound` say something themselves.
_UNIT_SYMBOLS = frozenset(name for name in UNITS if name.isalpha() and len(name) < 4 and not set(name) & set("aeiouy"))
# Words of grammar that the list of stop words lacks, and that a paraphrase drops or adds freely.
_LIGHT = frozenset(
    """hundr thousand million billion trillion percent may might must shall could would also however thus therefore
    us""".split()
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word: as folded, its stem, whether it carries meaning, and its place."""

    folded: str
    stem: str
    is_content: bool
    is_capital: bool
    start: int
    end: int


@dataclass(frozen=True)
class TokenSentence:
    """One sentence of a text, its place in it, and its words."""

    text: str
    start: int
    tokens: tuple[Token, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.is_content)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.tokens)

    @cached_property
    def folded(self) -> str:
        return folded_text(self.text)


def is_content(form: str) -> bool:
    """Whether a stem or folded word carries meaning; numbers and symbols of units are compared apart."""
    return not (
        is_stop_word(form) or form[0].isdigit() or form in _NUMBER_STEMS or form in _LIGHT or form in _UNIT_SYMBOLS
    )


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text that carry meaning."""
    return frozenset(form for form in index_terms(text, "en").split() if is_content(form))


def tokens_of(text: str, start: int = 0, most: int = MAX_TOKENS) -> tuple[Token, ...]:
    """The words of a text, placed from `start` on."""
    found: list[Token] = []
    for match in _WORD.finditer(text):
        raw = match.group()
        for form, stemmed, carries, low, high in _forms(raw[:_LONGEST_WORD]):
            at = start + match.start()
            capital = raw[0].isupper() and form not in word_list("pronouns")
            found.append(Token(form, stemmed, carries, capital, at + low, at + high))
        if len(found) >= most:
            break
    return tuple(found)


@lru_cache(maxsize=65_536)
def _forms(raw: str) -> tuple[tuple[str, str, bool, int, int], ...]:
    """What a written word is read as: itself, or the overlapping pairs of a script without spaces."""
    folded = folded_text(raw)
    if raw[0].isdigit() and raw.isascii() and not raw.isalnum():
        number = raw.replace(",", "")
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return ((raw, number, False, 0, len(raw)),)
    stems = index_terms(raw, "en").split()
    if len(stems) > 1 and not raw.isascii():
        return tuple((form, form, True, min(at, len(raw) - 1), min(at + 2, len(raw))) for at, form in enumerate(stems))
    if not stems:
        return ()
    whole = stems[0] if len(stems) == 1 else stem(folded, "en")
    # In capitals it is nitric oxide or a column of a table, not a denial.
    plain = raw if raw == "NO" else folded.removesuffix("'s")
    if plain in _DIGITS:
        return ((plain, _DIGITS[plain], False, 0, len(raw)),)
    return ((plain, whole, is_content(whole) and is_content(plain or whole), 0, len(raw)),)


@lru_cache(maxsize=512)
def read_sentences(text: str) -> tuple[TokenSentence, ...]:
    """The sentences of a text with their words; a text that is read again costs nothing."""
    found: list[TokenSentence] = []
    for start, end in sentences(text):
        said = text[start:end]
        found.append(TokenSentence(said, start, tokens_of(said, start)))
        if len(found) >= MAX_SENTENCES:
            break
    return tuple(found)


# How much a word says: rare words of English, and words few sentences of the evidence have, say more. Pure.
#
# Example:
#     claim:   The keeper bought a brass burner.
#     passage: The mill opened. The keeper bought a brass burner for the mill.
#     verdict: supported
#
# Example:
#     claim:   The station had a brass burner.
#     passage: The mill opened. The shop closed. The school burned. The keeper was old. A brass burner was bought.
#     verdict: partial
#     reason:  not in the quote: station


# How far the evidence itself decides, beside English at large.
_OWN_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class Rarity:
    """Counts of the evidence at hand: in how many of its sentences a stem stands."""

    counts: dict[str, int]
    total: int

    @classmethod
    def of(cls, prepared: PreparedSynthesis) -> Rarity:
        return cls.in_texts(source.text for source in prepared.sources)

    @classmethod
    def in_texts(cls, texts: Iterable[str]) -> Rarity:
        counts: Counter[str] = Counter()
        total = 0
        for text in texts:
            for start, end in sentences(text):
                counts.update(content_stems(text[start:end]))
                total += 1
        return cls(dict(counts), total)

    def of_stem(self, stem: str) -> float:
        """From about 0.1 for a word of every sentence to 1 for the rarest."""
        english = english_stems().rarity(stem)
        if not self.total:
            return english
        most = math.log(self.total + 2)
        own = (most - math.log(self.counts.get(stem, 0) + 1)) / most
        return max(0.05, (1 - _OWN_SHARE) * english + _OWN_SHARE * own)

    def weight(self, stems: Iterable[str]) -> float:
        # Summed in a fixed order: floating-point sums depend on it.
        return math.fsum(self.of_stem(one) for one in sorted(stems))


NO_COUNTS = Rarity({}, 0)


# Words that may stand for one another: inflected, derived, joined, or of like meaning. Pure.
#
# Example:
#     claim:   The company acquired the mill in 1902.
#     passage: The company purchased the mill in 1902.
#     verdict: supported
#
# Example:
#     claim:   The company painted the mill in 1902.
#     passage: The company purchased the mill in 1902.
#     verdict: partial
#     reason:  not in the quote: painted


SAME, INFLECTED, DERIVED, MEANT = 1.0, 1.0, 0.85, 0.7
_LEAST_PREFIX = 5
_PREFIX_SHARE = 0.72


@dataclass(frozen=True)
class Vocabulary:
    """The words of some sentences, asked which of them may stand for a word."""

    sentences: tuple[TokenSentence, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(token.stem for sentence in self.sentences for token in sentence.tokens)

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in sorted(self.stems):
            if len(one) >= _LEAST_PREFIX:
                found.setdefault(one[:4], []).append(one)
        return found

    @cached_property
    def _joined(self) -> dict[str, str]:
        """Two words written together elsewhere (`birth weight`, `down-regulate`), by what they make, to the first."""
        found: dict[str, str] = {}
        for sentence in self.sentences:
            for first, second in zip(sentence.tokens, sentence.tokens[1:], strict=False):
                if second.start - first.end <= 1:
                    found.setdefault(first.folded + second.stem, first.stem)
        return found

    def closest(self, stem: str) -> dict[str, float]:
        """Each stem here that may stand for this one, and how well."""
        if stem in self.stems:
            return {stem: SAME}
        found: dict[str, float] = {}
        for form in sorted((verb_forms(stem) | spellings(stem)) & self.stems):
            found[form] = INFLECTED
        for other in self._by_start.get(stem[:4], ()):
            if are_derived(stem, other):
                found.setdefault(other, DERIVED)
        if stem in self._joined:
            found.setdefault(self._joined[stem], DERIVED)
        meant = frozenset[str]().union(*(same_family(one) for one in (stem, *sorted(verb_forms(stem)))))
        for form in sorted(meant & self.stems):
            found.setdefault(form, MEANT)
        return found


@lru_cache(maxsize=65_536)
def spellings(stem: str) -> frozenset[str]:
    """A word as it is spelt on the other side of the Atlantic: `color`, `harbour`, `organis`, `centr`, `gray`."""
    if len(stem) < 4:
        return frozenset()
    pairs = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("grey", "gray"), ("ogu", "og"))
    ends = (*pairs, *((right, left) for left, right in pairs))
    return frozenset(stem.removesuffix(one) + other for one, other in ends if stem.endswith(one)) - {stem}


@lru_cache(maxsize=65_536)
def are_derived(one: str, other: str) -> bool:
    """Whether two stems are likely of one family: they share their beginning, and little else follows."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _LEAST_PREFIX:
        return len(shorter) == 4 and longer.startswith(shorter) and len(longer) <= 6
    shared = 0
    for left, right in zip(shorter, longer, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= _LEAST_PREFIX and shared >= _PREFIX_SHARE * len(shorter) and len(longer) - shared <= 5


# A claim matched with the evidence: which words of it stand where, and which sentence says it best. Pure.
#
# Example:
#     claim:   The ferry carries coal from Leith.
#     passage: The ferry comes from Leith. It carries coal.
#     verdict: partial
#     reason:  not in this place in the quote: carries
#
# Example:
#     claim:   The ferry carries coal.
#     passage: The ferry left at noon. Nobody waved. The mill burns coal.
#     verdict: unsupported
#     reason:  not in the quote: ferry, carries


_NEIGHBOUR = 0.75
_NEAR = 6


@dataclass(frozen=True)
class Evidence:
    """What is cited, read once."""

    text: str
    sentences: tuple[TokenSentence, ...]
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

    def places(self, sentence: TokenSentence) -> list[int]:
        """Where in a sentence it stands, by the number of the word."""
        return [at for at, token in enumerate(sentence.tokens) if token.stem in self.stems]


@dataclass(frozen=True)
class EvidenceMatch:
    """A claim and the sentence of the evidence that comes nearest."""

    claim: TokenSentence
    words: tuple[WordMatch, ...]
    evidence: Evidence
    best: int | None
    own: tuple[float, ...]
    around: tuple[float, ...]
    anywhere: tuple[float, ...]

    @property
    def sentence(self) -> TokenSentence | None:
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
    sentence = TokenSentence(claim, 0, tokens_of(claim))
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


def _score(words: Sequence[WordMatch], parts: Sequence[float], sentence: TokenSentence) -> float:
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
