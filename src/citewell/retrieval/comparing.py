"""Comparing texts with a question by meaning: similarities of the embedding model, where it can tell answers."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.errors import CitewellError, Unavailable
from citewell.retrieval.lanes import OpenLane


def compare_texts(open_lane: OpenLane, question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """The similarity of each text, to four digits; none where the model's were never measured. Raises Unavailable."""
    try:
        embedder = open_lane().embedder
        if not embedder.tells_answers or not texts:
            return ()
        found = embedder.encode_passages(texts) @ embedder.encode_query(question)[0]
    except CitewellError:
        raise
    except Exception as error:
        raise Unavailable(f"The model failed: {type(error).__name__}: {error}", fix="See: citewell doctor") from error
    return tuple(round(float(one), 4) for one in found)


def similarities(open_lane: OpenLane, question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """The same; none where the model does not work."""
    try:
        return compare_texts(open_lane, question, texts)
    except CitewellError:
        return ()
