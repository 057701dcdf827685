"""The deterministic strategy: concepts with roles, variants in order, the same plan each time."""

from __future__ import annotations

import pytest

from citewell import Filters
from citewell.search.conversation import ChatPrompt, parse_chat_prompt
from citewell.search.plan import plan_question
from citewell.search.query import Limits, QueryPlan

LIMITS = Limits(8, 700, False, 2)


def plan(question: str) -> QueryPlan:
    return plan_question(parse_chat_prompt(question), Filters(), LIMITS)


def concepts(question: str) -> dict[str, tuple[str, bool]]:
    return {concept.name: (concept.role, concept.required) for concept in plan(question).concepts}


def test_names_are_anchors_words_are_content_and_question_words_are_intent() -> None:
    assert concepts("When did Nadia Okafor restore the lantern?") == {
        "Nadia Okafor": ("anchor", True),
        "when": ("intent", False),
        "restore": ("content", True),
        "lantern": ("content", True),
    }


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("plasma lactate of more than 5mmol/L", set()),
        ("what limits I/O in A/B testing?", set()),
        ("subjects with 25(OH)D levels above 75", set()),
        ("protein kinase (AMPK) and vitamin D by Ada Lovelace", {"AMPK", "D", "Ada Lovelace"}),
        ("routes over TCP/IP in the US/Canada", {"TCP", "IP", "US", "Canada"}),
    ],
)
def test_letters_of_units_and_formulas_are_no_names(question: str, names: set[str]) -> None:
    assert {name for name, (role, _) in concepts(question).items() if role == "anchor"} == names


def test_protected_anchors_say_what_they_are() -> None:
    found = plan('"datum shift" @rossbench #gauge note:vault/a').concepts
    assert {concept.protected for concept in found} == {"phrase", "handle", "tag", "source_key"}
    assert all(concept.role == "anchor" and concept.required for concept in found)


def test_the_original_question_is_the_first_variant_and_none_repeats() -> None:
    variants = plan("Who repaired the Orrin Head clockwork?").query_variants
    assert variants[0].query == "Who repaired the Orrin Head clockwork?"
    assert [variant.kind for variant in variants] == ["original", "content", "anchors"]
    assert len({variant.query.casefold() for variant in variants}) == len(variants)


def test_a_plan_is_the_same_each_time() -> None:
    assert plan("kelp line depth at Selwick Voe") == plan("kelp line depth at Selwick Voe")


PROMPT = """Current question: and how deep is it?
Recent user questions:
- Where is the kelp farm?
- What lines does the kelp farm at Selwick use?
Prior evidence titles for query focus:
- Unrelated Title About Turbines
Pinned evidence keys: note:vault/kelp, note:vault/site
"""


def test_a_chat_prompt_is_taken_apart_at_its_headings() -> None:
    assert parse_chat_prompt(PROMPT) == ChatPrompt(
        current="and how deep is it?",
        recent=("Where is the kelp farm?", "What lines does the kelp farm at Selwick use?"),
        titles=("Unrelated Title About Turbines",),
        pinned=("note:vault/kelp", "note:vault/site"),
    )


def test_a_short_follow_up_borrows_words_from_the_last_question_and_never_from_evidence() -> None:
    found = plan(PROMPT)
    queries = " | ".join(variant.query for variant in found.query_variants)
    assert "kelp farm Selwick" in queries
    assert "Turbines" not in queries
    assert found.source_keys == ("note:vault/kelp", "note:vault/site")


@pytest.mark.parametrize(
    "recent",
    [
        ("When was the Orrin Head Light first lit?",),
        ("When was the Orrin Head Light first lit?", "And how tall is it?"),
    ],
    ids=["the question before", "the one before a follow-up"],
)
def test_a_question_that_points_back_searches_for_what_was_named_before(recent: tuple[str, ...]) -> None:
    found = plan_question(ChatPrompt("who kept it?", recent), Filters(), Limits(8, 700, False, 2))
    assert found.query_variants[0].query == found.text_query == "Orrin Head Light: who kept it?"
    assert found.retrieval_question == "Orrin Head Light: who kept it?"
    assert {concept.name for concept in found.required} == {"kept", "Orrin Head Light"}


def test_a_plain_question_is_its_own_current() -> None:
    assert parse_chat_prompt("  plain  ") == ChatPrompt("plain")
