"""What was made of the words of earlier searches: common ones come again and again, and cost most to put together."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from citewell.corpus.postings.scoring import TermPostings, factor_of
from citewell.corpus.store.postings_layout import State

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FEW_CHUNKS = 4_000  # fewer are handled faster one by one
# Fourteen bytes each with what is made of them.
_KEPT_POSTINGS = 10_000_000
_MOST_COUNTS = 100_000


class Words:
    """What was made of the words of earlier searches, for as long as the index does not change.

    Long lists only, the latest used: a common word costs milliseconds to put together and is in every other question.
    """

    def __init__(self) -> None:
        self._change = -1
        self._kept: OrderedDict[tuple[str, ...], TermPostings] = OrderedDict()
        self._factors: dict[int, Any] = {}
        self._postings = 0
        self.counts: dict[str, int] = {}
        self.segments: tuple[int, ...] | None = None

    def refresh(self, state: State) -> None:
        """Forget what another state of the index was made of."""
        if state.change == self._change and len(self.counts) <= _MOST_COUNTS:
            return
        self._kept.clear()
        self._factors.clear()
        self._postings = 0
        self.counts.clear()
        self.segments = None
        self._change = state.change

    def find(self, forms: tuple[str, ...]) -> TermPostings | None:
        known = self._kept.get(forms)
        if known is not None:
            self._kept.move_to_end(forms)
        return known

    def keep(self, forms: tuple[str, ...], word: TermPostings) -> None:
        if word.count < FEW_CHUNKS:
            return
        self._kept[forms] = word
        self._postings += word.count
        while self._postings > _KEPT_POSTINGS:
            _, dropped = self._kept.popitem(last=False)
            self._postings -= dropped.count
            self._factors.pop(id(dropped.chunks), None)

    def keep_factors(self, term: TermPostings, factors: npt.NDArray[np.float64]) -> None:
        """Keep them as long as the postings they belong to."""
        if any(kept.chunks is term.chunks for kept in self._kept.values()):
            self._factors[id(term.chunks)] = factors

    def factors(self, term: TermPostings) -> npt.NDArray[np.float64] | None:
        return self._factors.get(id(term.chunks))


class Weighed:
    """A term with what is known of the chunks that have it."""

    def __init__(self, postings: TermPostings, norms: npt.NDArray[np.float64], words: Words) -> None:
        self.postings = postings
        self._norms = norms
        self._words = words

    def factors(self) -> npt.NDArray[np.float64]:
        known = self._words.factors(self.postings)
        if known is None:
            known = factor_of(self.postings, self._norms)
            self._words.keep_factors(self.postings, known)
        return known

    def factors_at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        known = self._words.factors(self.postings)
        return known[places] if known is not None else factor_of(self.postings, self._norms, places)
