"""The semantic lane: chunks ranked by what they mean, as an embedding model sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.domain.errors import Unavailable
from citewell.domain.ports import Candidate
from citewell.domain.queries import Filters
from citewell.domain.values import dataclass

if TYPE_CHECKING:
    from citewell.domain.corpus_port import VectorIndex
    from citewell.models.embeddings import Embedder

NO_VECTORS = "The semantic lane has no vectors yet"


@dataclass(frozen=True, slots=True)
class SemanticLane:
    """A model and the vectors it made. Documents that have none yet are not seen by this lane."""

    index: VectorIndex
    embedder: Embedder

    @property
    def model(self) -> str:
        return self.embedder.model_id

    def rank(self, text: str, filters: Filters, limit: int) -> Sequence[Candidate]:
        """The nearest chunk of each of the nearest documents; the score is the cosine."""
        found = self.index.rank(self.model, self.embedder.encode_query(text), filters, limit)
        if found is None:
            raise Unavailable(
                f"{NO_VECTORS} from {self.model}.", fix="Make them: citewell embed. To search by words: --mode lexical"
            )
        return [candidate for candidate in found if candidate.score >= self.embedder.unrelated]
