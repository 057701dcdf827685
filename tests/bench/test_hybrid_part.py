"""What part `hybrid` says of the scan by signs: all of the ten where few are scanned, less where many are alike."""

from __future__ import annotations

import numpy as np
from hybrid import RecordingEmbedder, recall_of

from toy_embedder import DIMENSION, WordEmbedder


def test_recall_is_whole_where_every_vector_is_compared_and_falls_where_signs_tell_nothing() -> None:
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((300, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert recall_of(vectors, vectors[:20]) > 0.99
    # Positive throughout: all signs are the same, so the first 400 rows are taken for the nearest.
    alike = np.abs(chance.standard_normal((4_000, DIMENSION))).astype(np.float32)
    assert recall_of(alike, alike[-20:]) < 0.5


def test_a_recording_model_makes_what_the_model_makes_and_keeps_it() -> None:
    recording, model = RecordingEmbedder(WordEmbedder()), WordEmbedder()
    assert np.array_equal(recording.encode_passages(["a kettle"]), model.encode_passages(["a kettle"]))
    assert np.array_equal(recording.encode_query("kettle"), model.encode_query("kettle"))
    assert (len(recording.passages), list(recording.queries)) == (1, ["kettle"])
