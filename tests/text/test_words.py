"""One analyser for the index and the query: words, scripts without spaces, compounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.words import compound_terms, index_terms, query_tokens, words

TEXT = st.text(st.characters(codec="utf-8"))


@given(TEXT, st.sampled_from(["en", "de", "fr", None]))
def test_the_index_and_the_matcher_see_the_same_words(text: str, language: str | None) -> None:
    """Whatever is indexed can be found again in the text, word for word."""
    assert " ".join(word.form for word in words(text, language)) == index_terms(text, language)


@given(TEXT)
def test_words_have_spans_inside_the_text_and_in_order(text: str) -> None:
    starts = [(word.start, word.end) for word in words(text, "en")]
    assert all(0 <= start < end <= len(text) for start, end in starts)
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("The running dogs' owner's café", "en", "the run dog owner cafe"),
        ("Die Häuser brannten", "de", "die haus brannt"),
        ("東京タワー", None, "東京 京タ タワ ワー"),
    ],
)
def test_words_are_stemmed_in_their_language(text: str, language: str | None, terms: str) -> None:
    assert index_terms(text, language) == terms


def test_scripts_without_spaces_become_pairs_with_exact_spans() -> None:
    text = "「東京タワー」へ"
    assert [text[word.start : word.end] for word in words(text, None)] == ["東京", "京タ", "タワ", "ワー", "へ"]


def test_compounds_are_kept_whole_beside_their_parts() -> None:
    assert compound_terms("node.js 1.0.21 COVID-19 @Ada #heat-pump snake_case parseJson C++").split() == [
        *("node.js", "nodejs"),
        "1.0.21",
        *("covid-19", "covid19"),
        "@ada",
        "#heat",
        *("snake_case", "snakecase"),
        "c++",
        *("parse", "json"),
    ]


def test_a_query_keeps_handles_tags_versions_and_compounds_together() -> None:
    assert [token.folded for token in query_tokens("Does @ada_l use #heat/pump with node.js 1.0.21 or C++?")] == [
        *("does", "@ada_l", "use", "#heat/pump", "with", "node.js", "1.0.21", "or", "c++"),
    ]


def test_a_question_without_spaces_falls_into_what_it_is_about() -> None:
    assert [token.text for token in query_tokens("灯台はいつ建設されましたか")] == ["灯台", "建設"]
    assert [token.text for token in query_tokens("青山水库的管理员是谁")] == ["青山水库", "管理员"]


@given(TEXT)
def test_query_tokens_never_fail_and_stay_inside_the_text(text: str) -> None:
    tokens = query_tokens(text)
    assert all(0 <= token.start < token.end <= len(text) and token.parts for token in tokens)


@pytest.mark.parametrize("hostile", ["a", "[", "#", "(", "a-", "a.", "@", "+", "'", "日", "\u0301", "aA", "_"])
def test_hostile_repetition_takes_linear_time(hostile: str) -> None:
    """100 KB of anything is analysed at once; a second is the bound, milliseconds are the rule."""
    text = hostile * (100_000 // len(hostile))
    started = time.process_time()
    index_terms(text, "en")
    compound_terms(text)
    list(words(text, "en"))
    query_tokens(text[:20_000])
    assert time.process_time() - started < 3
