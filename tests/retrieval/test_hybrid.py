"""Fusing lanes: the same whatever the order of the input, every row with its reasons, exact hits never passed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import Document
from citewell.models.rerank import Signal
from citewell.search.lanes import LexicalHit, compare, fuse_lanes, semantic_weight
from citewell.store.port import Candidate
from citewell.text.documents import Chunk

KEYS = st.sampled_from([f"note:{letter}" for letter in "abcdefgh"])
SCORES = st.dictionaries(KEYS, st.floats(0.01, 30.0).map(lambda value: round(value, 3)), max_size=8)
NEAR = st.dictionaries(KEYS, st.floats(0.15, 1.0).map(lambda value: round(value, 3)), max_size=8)


def _candidate(key: str, score: float) -> Candidate:
    document = Document(key, "item", "vault_note", "c", key, "0" * 64, 10)
    return Candidate(Chunk("0:0-5", 0, 0, 5, "user_note", (), None), document, score)


def _words(scores: dict[str, float]) -> list[LexicalHit]:
    ordered = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
    return [LexicalHit(_candidate(key, score), score, (Signal("bm25", score),)) for key, score in ordered]


def _near(scores: dict[str, float]) -> list[Candidate]:
    return [_candidate(key, score) for key, score in sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))]


def test_the_row_nearest_in_meaning_stands_among_the_first_five_and_says_why() -> None:
    """Words rank eight rows nearly alike; the ninth, which only meaning finds, would sink below them."""
    words = {f"note:{letter}": 10.0 - number / 100 for number, letter in enumerate("abcdefgh")}
    rows = fuse_lanes(_words(words), _near({"note:only-meant": 0.8, "note:a": 0.2}), 0.4)
    assert [row.key for row in rows[:5]] == ["note:a", "note:b", "note:c", "note:d", "note:only-meant"]
    assert rows[4].signals[-1].name == "semantic_reserved"
    assert rows[4].score == pytest.approx(sum(signal.value for signal in rows[4].signals), abs=1e-5)


@given(SCORES, NEAR, st.sets(KEYS))
def test_fusion_is_complete_deterministic_and_adds_up(
    words: dict[str, float], near: dict[str, float], exact: set[str]
) -> None:
    weight = semantic_weight(_words(words), _near(near))
    rows = fuse_lanes(_words(words), _near(near), weight, exact)
    assert {row.key for row in rows} == {*words, *near}
    assert rows == fuse_lanes(_words(words), list(reversed(_near(near))), weight, exact)
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    for row in rows:
        assert row.score == pytest.approx(sum(signal.value for signal in row.signals), abs=1e-5)
        assert row.lanes == (*(("lexical",) if row.key in words else ()), *(("semantic",) if row.key in near else ()))


@given(SCORES, NEAR, st.sets(KEYS))
def test_no_row_without_what_was_asked_for_passes_one_that_has_it_by_meaning(
    words: dict[str, float], near: dict[str, float], exact: set[str]
) -> None:
    by_words = [found.candidate.document.source_key for found in _words(words)]
    place = {row.key: number for number, row in enumerate(fuse_lanes(_words(words), _near(near), 0.4, exact))}
    for number, key in enumerate(by_words):
        below = {*by_words[number + 1 :], *(near.keys() - words.keys())}
        assert key not in exact or all(place[key] < place[other] for other in below - exact)


def test_one_lane_alone_keeps_its_order() -> None:
    words, near = {"note:a": 3.0, "note:b": 2.0}, {"note:b": 0.9, "note:a": 0.4}
    assert semantic_weight(_words(words), []) == 0.0
    assert [row.key for row in fuse_lanes(_words(words), [], 0.0)] == ["note:a", "note:b"]
    assert semantic_weight([], _near(near)) == 1.0
    assert [row.key for row in fuse_lanes([], _near(near), 1.0)] == ["note:b", "note:a"]


def test_a_comparison_names_what_came_went_and_moved() -> None:
    report = compare("shadow", "m", 0.4, ["a", "b", "c"], ["b", "a", "d"])
    assert (report.entered, report.left) == (("d",), ("c",))
    assert [(move.source_key, move.before, move.after) for move in report.moved] == [("b", 2, 1), ("a", 1, 2)]
