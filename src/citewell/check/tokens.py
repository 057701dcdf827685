"""A text as checking reads it: its sentences with their places, and the stems that carry meaning. Pure.

Long texts are cut where a person would have stopped reading too, so that hostile input stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from citewell.answer.values import NUMBER_WORDS, UNITS
from citewell.text.languages import is_stop_word
from citewell.text.sentences import sentences
from citewell.text.words import index_terms, stem

MAX_SENTENCES = 400
_NUMBER_STEMS = frozenset(stem(word, "en") for word in NUMBER_WORDS.values())
# `km`, `kWh`: what they measure is compared with its number; words such as `day` and `pound` say something themselves.
_UNIT_SYMBOLS = frozenset(name for name in UNITS if name.isalpha() and len(name) < 4 and not set(name) & set("aeiouy"))
# Words of grammar that the list of stop words lacks, and that a paraphrase drops or adds freely.
_LIGHT = frozenset(
    """hundr thousand million billion trillion percent may might must shall could would also however thus therefore
    us""".split()
)


@dataclass(frozen=True)
class PlacedSentence:
    """One sentence of a text, and its place in it."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(index_terms(self.text, "en").split())


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text that carry meaning; numbers and symbols of units are compared apart."""
    return frozenset(form for form in index_terms(text, "en").split() if _is_content(form))


def _is_content(form: str) -> bool:
    return not (
        is_stop_word(form) or form[0].isdigit() or form in _NUMBER_STEMS or form in _LIGHT or form in _UNIT_SYMBOLS
    )


@lru_cache(maxsize=512)
def read_sentences(text: str) -> tuple[PlacedSentence, ...]:
    """The sentences of a text; a text that is read again costs nothing."""
    return tuple(PlacedSentence(text[start:end], start) for start, end in islice(sentences(text), MAX_SENTENCES))
