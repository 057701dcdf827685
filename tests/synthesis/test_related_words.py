"""Words of one root, and words that rule each other out."""

from __future__ import annotations

import pytest

from citewell.answer.question import excluding_words, same_root_words
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
    assert same_root_words(stems(asked.lower()), stems(said.lower(), "harbour")) | stems(asked.lower()) >= stems(
        said.lower()
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [("goat", "goal"), ("station", "stone"), ("martin", "marten"), ("port", "import"), ("1859", "1861")],
)
def test_words_that_merely_look_alike_are_not_akin(asked: str, said: str) -> None:
    assert same_root_words(stems(asked), stems(said)) == frozenset()


@pytest.mark.parametrize(("asked", "said"), [("popular", "unpopular"), ("nonprofit", "profit"), ("fifth", "fourth")])
def test_what_rules_a_word_out_is_its_contrary(asked: str, said: str) -> None:
    assert excluding_words(stems(asked), stems(said, "harbour")) == stems(said)


def test_a_prefix_alone_makes_no_contrary() -> None:
    assert excluding_words(stems("port", "form"), stems("import", "inform")) == frozenset()
