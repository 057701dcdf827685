"""Misspelled words are read as what the pack found for them; names and what was given exactly stay."""

from __future__ import annotations

from dataclasses import replace

from citewell.answer.evidence import as_meant, read_as
from citewell.search.query import QueryPlan, Variant
from synthesis.evidence import plan


def spelled(question: str, meant: str) -> QueryPlan:
    made = plan(question)
    return replace(made, query_variants=(*made.query_variants, Variant("spelling", meant, 0.9)))


def test_the_words_of_a_plan_are_put_right() -> None:
    made = spelled("how depp do the kelp lnes sit", "how deep do the kelp lines sit")
    read = read_as(made)
    meant = as_meant(made, read)
    assert read == {"depp": "deep", "lnes": "lines"}
    assert meant.text_query == "how deep do the kelp lines sit"
    assert meant.terms == ("deep", "kelp", "lines", "sit")
    assert {term for concept in meant.concepts for term in concept.terms} >= {"deep", "lines"}


def test_a_plan_without_another_spelling_stays_as_it_is() -> None:
    made = plan("how deep do the kelp lines sit")
    assert read_as(made) == {}
    assert as_meant(made, {}) is made


def test_a_name_stays_as_it_is_written() -> None:
    assert read_as(spelled("what did Lapp say about kelp", "what did lamp say about kelp")) == {}
