"""Which words of a question are names of their own, and which only look so."""

from __future__ import annotations

import pytest

from citewell.search.query import lexical_query, normalize


def terms_and_phrases(question: str) -> tuple[list[str], list[str]]:
    query = lexical_query(normalize(question).text, ("en",))
    return [term.text for term in query.terms], [phrase.text for phrase in query.phrases]


@pytest.mark.parametrize("question", ["editors e.g. vim", "editors i.e. vim", "editors, e.g., vim"])
def test_spoken_abbreviations_say_nothing(question: str) -> None:
    assert terms_and_phrases(question) == (["editors", "vim"], [])


@pytest.mark.parametrize(("written", "term"), [("U.S.", "u.s"), ("0.4", "0.4"), ("3.14", "3.14")])
def test_an_abbreviation_and_a_decimal_are_words_and_no_names(written: str, term: str) -> None:
    assert terms_and_phrases(f"tax {written} rate") == (["tax", term, "rate"], [])


@pytest.mark.parametrize("name", ["v1.0.21", "node.js", "1.0.21"])
def test_versions_and_dotted_names_are_exact(name: str) -> None:
    assert terms_and_phrases(f"what is {name}")[1] == [name]


def test_a_question_in_capitals_is_read_as_one_in_small_letters() -> None:
    shouted, spoken = "WHAT IS THE BEST WAY TO BRUSH MY TEETH?", "what is the best way to brush my teeth?"
    assert terms_and_phrases(shouted) == terms_and_phrases(spoken)
    assert terms_and_phrases("NASA IT report")[0] == ["nasa", "it", "report"]
