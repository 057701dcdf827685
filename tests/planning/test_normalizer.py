"""One normaliser: filler goes, what was meant stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import BadInput
from citewell.search.query import (
    FILLER_ENDS,
    FILLER_STARTS,
    check_question,
    normalize,
    strip_filler,
    tag_queries,
    without_filler_before,
    without_filler_behind,
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Hey, can you please tell me about the tide gauge?", "the tide gauge?"),
        ("What do I know about heat pumps in my notes?", "heat pumps"),
        ("what did we save about kelp drying, thanks!", "kelp drying"),
        ("Find my notes on the lantern room", "the lantern room"),
        ("I wonder whether the cistern leaks", "the cistern leaks"),
        ("please", "please"),
        ("tell me", "tell me"),
    ],
)
def test_filler_around_a_question_is_stripped(asked: str, meant: str) -> None:
    assert strip_filler(asked) == meant


def test_handles_tags_phrases_versions_and_keys_are_kept_whole() -> None:
    asked = 'Did @rossbench say "datum shift" about #gauge/site in 1.4.2, see note:vault/projects/tidewick?'
    found = normalize(asked)
    assert (found.handles, found.tags, found.phrases) == (("@rossbench",), ("gauge/site",), ("datum shift",))
    assert found.source_keys == ("note:vault/projects/tidewick",)
    assert "note:" not in found.text
    assert "1.4.2" in [token.folded for token in found.tokens]


def test_single_letter_names_are_kept_and_articles_are_not() -> None:
    content = [token.text for token in normalize("is vitamin C a plan B for I and R").content]
    assert content == ["vitamin", "C", "plan", "B", "R"]


def test_a_question_of_stop_words_alone_is_still_searched() -> None:
    assert [token.text for token in normalize("to be or not to be").content] == ["to", "be", "or", "not", "to", "be"]


def test_tag_queries_join_neighbours() -> None:
    queries = tag_queries(normalize("heat pump noise"))
    assert {"heat", "heat-pump", "heatpump", "heat_pump", "heat/pump", "pump-noise"} <= set(queries)


def test_scripts_without_spaces_are_kept() -> None:
    assert [token.text for token in normalize("東京タワー は どこ").tokens] == ["東京タワー", "は", "どこ"]


@pytest.mark.parametrize("question", ["", "   \n\t", "x" * 100_000])
def test_empty_and_enormous_questions_are_refused(question: str) -> None:
    with pytest.raises(BadInput):
        check_question(question)


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_normalising_never_fails_and_is_deterministic(question: str) -> None:
    assert normalize(question) == normalize(question)


_FILLER_WORDS = sorted({*re.findall("[a-z]+", FILLER_STARTS + FILLER_ENDS), "tides", "I'd", "so-called"})


@given(st.lists(st.sampled_from(_FILLER_WORDS), max_size=8))
def test_what_spares_the_patterns_never_changes_what_they_strip(words: list[str]) -> None:
    asked = " ".join(words)
    assert without_filler_before(asked) == re.sub(FILLER_STARTS, "", asked, count=1)
    assert without_filler_behind(asked) == re.sub(FILLER_ENDS, "", asked, count=1)
