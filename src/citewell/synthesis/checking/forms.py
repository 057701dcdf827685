"""Words that may stand for one another: inflected, derived, joined, abbreviated, or of like meaning. Pure.

Example:
    claim:   The World Health Organization recommended vaccination.
    passage: The WHO recommends vaccinating children.
    verdict: partial
    reason:  not in this place in the quote: world

Example:
    claim:   The physician bought the mill in 1902.
    passage: The doctor purchased the mill in 1902.
    verdict: supported

Example:
    claim:   The physician painted the mill in 1902.
    passage: The doctor purchased the mill in 1902.
    verdict: partial
    reason:  not in the quote: painted
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from citewell.synthesis.checking.tokens import Sentence
from citewell.synthesis.lexicon.synonyms_and_opposites import synonyms, verb_forms
from citewell.synthesis.lexicon.word_families import same_family
from citewell.text.words import index_terms

SAME, INFLECTED, DERIVED, MEANT, SPELT_OUT = 1.0, 1.0, 0.85, 0.7, 0.9
_LEAST_PREFIX = 5
_PREFIX_SHARE = 0.72
_SHORT_FORM = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9}s?)\)")
_CAPITALS = re.compile(r"\b(?:[A-Z][\w'’-]*(?: (?:of|the|and|for|de) | |-)){1,6}[A-Z][\w'’-]*")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,6}")
_ARTICLES = frozenset(("The", "A", "An", "In", "At", "Of"))
_MOST_SCANNED = 20_000


@dataclass(frozen=True)
class Vocabulary:
    """The words of some sentences, asked which of them may stand for a word."""

    sentences: tuple[Sentence, ...]

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

    @cached_property
    def short_forms(self) -> dict[str, frozenset[str]]:
        """Abbreviations and what they stand for, both ways: `TF` for tissue factor, `UN` for the United Nations."""
        found: dict[str, set[str]] = {}
        for sentence in self.sentences:
            for short, words in abbreviations(sentence.text[:_MOST_SCANNED]):
                found.setdefault(short, set()).update(words)
        return {short: frozenset(words) for short, words in found.items()}

    def closest(self, stem: str) -> dict[str, float]:
        """Each stem here that may stand for this one, and how well."""
        if stem in self.stems:
            return {stem: SAME}
        found: dict[str, float] = {}
        for form in sorted(verb_forms(stem) & self.stems):
            found[form] = INFLECTED
        for other in self._by_start.get(stem[:4], ()):
            if are_derived(stem, other):
                found.setdefault(other, DERIVED)
        if stem in self._joined:
            found.setdefault(self._joined[stem], DERIVED)
        meant = frozenset[str]().union(*(synonyms(one) | same_family(one) for one in (stem, *sorted(verb_forms(stem)))))
        for form in sorted(meant & self.stems):
            found.setdefault(form, MEANT)
        return found


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


def abbreviations(text: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """`tissue factor (TF)`, a run of capitalised words by its initials, and `U.S.` by its letters."""
    for match in _SHORT_FORM.finditer(text):
        words = re.findall(r"[A-Za-z]+", text[max(0, match.start() - 120) : match.start()])
        letters = [letter for letter in match[1].rstrip("s") if letter.isalpha()]
        spelt = words[-min(len(words), len(letters) + 2) :]
        initials = [at for at, word in enumerate(spelt) if word[0].lower() == letters[0].lower()]
        if initials:
            yield match[1].lower().rstrip("s"), tuple(index_terms(" ".join(spelt[initials[0] :]), "en").split())
    for match in _CAPITALS.finditer(text):
        words = [word for word in re.split(r"[ -]", match.group()) if word[:1].isupper() and word not in _ARTICLES]
        if len(words) > 1:
            yield "".join(word[0] for word in words).lower(), tuple(index_terms(match.group(), "en").split())
    for match in _DOTTED.finditer(text):
        yield match.group().replace(".", "").lower(), (match.group().replace(".", "").lower(),)
