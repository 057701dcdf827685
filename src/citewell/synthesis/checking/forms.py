"""Words that may stand for one another: inflected, derived, joined, or of like meaning. Pure.

Example:
    claim:   The company acquired the mill in 1902.
    passage: The company purchased the mill in 1902.
    verdict: supported

Example:
    claim:   The company painted the mill in 1902.
    passage: The company purchased the mill in 1902.
    verdict: partial
    reason:  not in the quote: painted
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from citewell.synthesis.checking.tokens import Sentence
from citewell.synthesis.lexicon.synonyms_and_opposites import verb_forms
from citewell.synthesis.lexicon.word_families import same_family

SAME, INFLECTED, DERIVED, MEANT = 1.0, 1.0, 0.85, 0.7
_LEAST_PREFIX = 5
_PREFIX_SHARE = 0.72


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
