"""How much a word says: rare words of English, and words few sentences of the evidence have, say more. Pure.

Example:
    claim:   The keeper bought a brass burner.
    passage: The mill opened. The keeper bought a brass burner for the mill.
    verdict: supported

Example:
    claim:   The station had a brass burner.
    passage: The mill opened. The shop closed. The school burned. The keeper was old. A brass burner was bought.
    verdict: partial
    reason:  not in the quote: station
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.domain.answers import PreparedSynthesis
from citewell.synthesis.checking.tokens import content_stems
from citewell.text.english_stems import english_stems
from citewell.text.sentences import sentences

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
