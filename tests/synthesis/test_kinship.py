"""Words of one root, slips of the hand, and words that rule each other out."""

from __future__ import annotations

import pytest

from citewell.synthesis.kinship import akin, contrary, meant_by
from citewell.text.words import stem


def stems(*words: str) -> frozenset[str]:
    return frozenset(stem(word, "en") for word in words)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Britain", "British"),
        ("China", "Chinese"),
        ("Europe", "European"),
        ("France", "French"),
        ("govern", "governor"),
        ("strength", "strengthened"),
        ("theory", "theorists"),
        ("MSP", "MSPs"),
    ],
)
def test_words_of_one_root_are_akin(asked: str, said: str) -> None:
    assert akin(stems(asked.lower()), stems(said.lower(), "harbour")) | stems(asked.lower()) >= stems(said.lower())


@pytest.mark.parametrize(
    ("asked", "said"),
    [("goat", "goal"), ("station", "stone"), ("martin", "marten"), ("port", "import"), ("1859", "1861")],
)
def test_words_that_merely_look_alike_are_not_akin(asked: str, said: str) -> None:
    assert akin(stems(asked), stems(said)) == frozenset()


def test_a_mistyped_word_means_the_word_of_the_evidence_that_is_one_slip_away() -> None:
    words = ("montcalm", "responsible", "marched", "mountain")
    assert meant_by("moncalm", words) == {"montcalm"}
    assert meant_by("resposible", words) == {"responsible"}
    assert meant_by("repsonsible", words) == {"responsible"}


def test_short_words_numbers_and_other_words_are_no_slips() -> None:
    assert meant_by("barn", ("bark", "born")) == frozenset()
    assert meant_by("2019", ("2018",)) == frozenset()
    assert meant_by("demolished", ("polished", "destroyed")) == frozenset()


@pytest.mark.parametrize(("asked", "said"), [("popular", "unpopular"), ("nonprofit", "profit"), ("fifth", "fourth")])
def test_what_rules_a_word_out_is_its_contrary(asked: str, said: str) -> None:
    assert contrary(stems(asked), stems(said, "harbour")) == stems(said)


def test_a_prefix_alone_makes_no_contrary() -> None:
    assert contrary(stems("port", "form"), stems("import", "inform")) == frozenset()
