"""Vectors: made batch by batch from a watermark, scanned under the same filters, gone with their chunk."""

from __future__ import annotations

import numpy as np

from citewell import Filters
from citewell.store.port import CorpusStore, VectorCoverage, VectorIndex
from conformance.stores import OpenStore, write
from toy_embedder import DIMENSION, vector

NOTES = {
    "garage.md": "---\ntags: [home]\n---\n# Garage\n\nThe automobile wants tyres.\n",
    "sea.md": "# Sea\n\nKelp grows on ropes in the harbour.\n",
    "heat.md": "# Heating\n\nThe pump is loud at night.\n",
}


def _encode(index: VectorIndex, model: str = "words-64") -> None:
    index.begin(model, DIMENSION)
    while (waiting := index.next_unencoded(2)).chunks:
        vectors = np.array([vector(chunk.text) for chunk in waiting.chunks], np.float32)
        assert index.put(model, waiting.after, [chunk.chunk for chunk in waiting.chunks], vectors)


def _nearest(store: CorpusStore, text: str, filters: Filters | None = None, limit: int = 9) -> list[str]:
    found = store.vectors.rank("words-64", vector(text).reshape(1, -1), filters or Filters(), limit)
    assert found is not None
    return [candidate.document.source_key for candidate in found]


def test_coverage_follows_what_is_encoded(store: CorpusStore) -> None:
    write(store, NOTES)
    assert store.vectors.coverage() == VectorCoverage("", 0, 3)
    store.vectors.begin("words-64", DIMENSION)
    waiting = store.vectors.next_unencoded(2)
    assert [chunk.text.split("\n")[0] for chunk in waiting.chunks] == ["Garage", "Sea"]
    vectors = np.array([vector(chunk.text) for chunk in waiting.chunks], np.float32)
    assert store.vectors.put("words-64", waiting.after, [chunk.chunk for chunk in waiting.chunks], vectors)
    assert store.vectors.coverage() == VectorCoverage("words-64", 2, 1)
    _encode(store.vectors)
    assert store.vectors.coverage() == VectorCoverage("words-64", 3, 0)


def test_of_two_that_encode_the_same_one_is_told_to_ask_again(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    write(one, NOTES)
    one.vectors.begin("words-64", DIMENSION)
    mine, theirs = one.vectors.next_unencoded(3), other.vectors.next_unencoded(3)
    assert mine == theirs
    ids = [chunk.chunk for chunk in mine.chunks]
    vectors = np.array([vector(chunk.text) for chunk in mine.chunks], np.float32)
    assert one.vectors.put("words-64", mine.after, ids, vectors)
    assert not other.vectors.put("words-64", theirs.after, ids, vectors)
    assert other.vectors.coverage() == VectorCoverage("words-64", 3, 0)


def test_the_nearest_come_first_and_filters_come_before(store: CorpusStore) -> None:
    write(store, NOTES)
    _encode(store.vectors)
    assert _nearest(store, "car tyres", limit=1) == ["note:notes/garage"]
    assert _nearest(store, "car tyres", Filters(only=("sea.md",))) == ["note:notes/sea"]
    assert _nearest(store, "kelp", Filters(tags=("home",)), limit=1) == ["note:notes/garage"]
    found = store.vectors.rank("words-64", vector("loud pump").reshape(1, -1), Filters(), 3)
    assert found is not None
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(-1.01 <= one.score <= 1.01 for one in found)


def test_vectors_of_another_model_are_never_compared(store: CorpusStore) -> None:
    write(store, NOTES)
    asked = vector("kelp").reshape(1, -1)
    assert store.vectors.rank("words-64", asked, Filters(), 3) is None
    _encode(store.vectors, "other-64")
    assert store.vectors.rank("words-64", asked, Filters(), 3) is None
    _encode(store.vectors)
    assert store.vectors.rank("other-64", asked, Filters(), 3) is None
    assert _nearest(store, "kelp", limit=1) == ["note:notes/sea"]


def test_what_is_removed_or_changed_is_not_found_by_its_old_vector(store: CorpusStore) -> None:
    write(store, NOTES)
    _encode(store.vectors)
    store.remove(["note:notes/garage"])
    write(store, {"sea.md": "# Sea\n\nOnly a bicycle.\n"})
    assert _nearest(store, "automobile") == ["note:notes/heat"]
    assert store.vectors.coverage().left == 1
    _encode(store.vectors)
    assert _nearest(store, "bicycle", limit=1) == ["note:notes/sea"]


def test_a_vector_outlives_reopening(open_store: OpenStore) -> None:
    first = open_store()
    write(first, NOTES)
    _encode(first.vectors)
    first.close()
    assert _nearest(open_store(), "loud", limit=1) == ["note:notes/heat"]


def test_a_model_reads_a_title_once_and_no_rule_of_the_front_matter(store: CorpusStore) -> None:
    write(store, {"farm.md": '---\ntitle: "Kelp Farm"\nrating: 4\n---\nSeeded in autumn.\n\n---\n\nDried in May.\n'})
    store.vectors.begin("words-64", DIMENSION)
    (chunk,) = store.vectors.next_unencoded(2).chunks
    assert chunk.text == "Kelp Farm\nrating: 4\nSeeded in autumn.\n\n---\n\nDried in May."
