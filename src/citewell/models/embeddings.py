"""Embeddings: what the semantic lane asks of a model, whichever it is and wherever it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from citewell.settings import Settings

if TYPE_CHECKING:
    from citewell.domain.vectors import Vectors


class Embedder(Protocol):
    """Turns texts into vectors of length one, one row a text. Vectors of different ids are never compared."""

    @property
    def model_id(self) -> str:
        """Names weights, precision and dimension: vectors made under another id are made anew."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; a multiple of 64."""
        ...

    @property
    def unrelated(self) -> float:
        """The similarity below which two texts have nothing to do with each other."""
        ...

    @property
    def tells_answers(self) -> bool:
        """Whether its similarities are those that the choice of answers was measured with, at no cost and no risk."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Texts that are to be found."""
        ...

    def encode_query(self, text: str) -> Vectors:
        """One text to find others by, as a single row; some models treat it differently from a passage."""
        ...


# Opens a model when it is first needed; raises Unavailable with the way to get it.
OpenEmbedder = Callable[[], Embedder]


def open_embedder(settings: Settings) -> Embedder:
    """The model that the settings choose; raises BadInput or Unavailable."""
    from citewell.models.embedding_endpoint import is_endpoint, open_embedding_endpoint

    if is_endpoint(settings.embeddings_model):
        return open_embedding_endpoint(settings)
    from citewell.models.minilm import open_minilm

    return open_minilm(settings.embeddings_model, settings.data_dir / "models")
