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

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from citewell.synthesis.lexicon.word_lists import word_list
from citewell.synthesis.values import NUMBER_WORDS, UNITS
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word
from citewell.text.sentences import sentences
from citewell.text.words import index_terms, stem

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
class Sentence:
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
def read_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text with their words; a text that is read again costs nothing."""
    found: list[Sentence] = []
    for start, end in sentences(text):
        said = text[start:end]
        found.append(Sentence(said, start, tokens_of(said, start)))
        if len(found) >= MAX_SENTENCES:
            break
    return tuple(found)
