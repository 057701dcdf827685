"""Every family against its regression cases (evals/families.json), with the planner off."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import Filters
from citewell.search.conversation import ChatPrompt, parse_chat_prompt
from citewell.search.families import FAMILIES
from citewell.search.plan import plan_question
from citewell.search.query import FamilyName, Limits, QueryPlan

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "evals" / "families.json").read_text("utf-8"))[
    "cases"
]


def plan(question: str, recent: list[str] | None = None) -> QueryPlan:
    return plan_question(ChatPrompt(question, tuple(recent or ())), Filters(), Limits(8, 700, False, 2))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['family']}: {case['question'][:50]}")
def test_a_question_is_understood_as_its_case_says(case: dict[str, Any]) -> None:
    found = plan(case["question"], case.get("recent"))
    assert found.family == case["family"]
    assert found.planner_status == "off"
    required = {concept.name for concept in found.required}
    assert set(case.get("terms", ())) <= set(found.terms)
    assert set(case.get("required", ())) <= required
    assert set(case.get("protected", ())) <= {one.name for one in found.required if one.protected}
    assert not set(case.get("forbidden", ())) & {*found.terms, *required}
    for kind, queries in case.get("variants", {}).items():
        by_query = {variant.query: variant.kind for variant in found.query_variants}
        assert all(by_query.get(query) in (kind, "original", "content") for query in queries), by_query
    if "text" in case:
        assert found.text_query == case["text"]
    if "excluded" in case:
        assert [concept.name for concept in found.excluded] == case["excluded"]
    if "source_types" in case:
        assert list(found.preferred_source_types) == case["source_types"]


def test_every_family_has_at_least_six_cases_and_its_examples_belong_to_it() -> None:
    counted = Counter(case["family"] for case in CASES)
    assert {name: counted[name] >= 6 for name in get_args(FamilyName)} == dict.fromkeys(get_args(FamilyName), True)
    for family in FAMILIES:
        earlier = ["When does the ferry leave?"] if family.name == "corrective" else []
        found = {example: plan(example, earlier).family for example in family.examples}
        assert found == dict.fromkeys(family.examples, family.name), family.name


def test_what_was_shown_before_never_becomes_search_text() -> None:
    prompts = (
        "Current question: when was it lit?\nRecent user questions:\n- Where is the Orrin Head Light?\n"
        "Prior evidence titles:\n- Zanzibar spices\nPinned evidence keys: note:vault/light",
        "When was the Orrin Head Light lit?\nPrior evidence:\n- Zanzibar spices",
    )
    for prompt in prompts:
        found = plan_question(parse_chat_prompt(prompt), Filters(), Limits(8, 700, False, 2))
        assert "zanzibar" not in str(found).casefold()
        assert "Orrin Head Light" in {concept.name for concept in found.required}


@given(st.text(st.characters(codec="utf-8"), max_size=200), st.text(max_size=60))
def test_planning_never_fails_and_is_deterministic(question: str, earlier: str) -> None:
    assert plan(question, [earlier]) == plan(question, [earlier])


def test_long_hostile_questions_stay_fast() -> None:
    started = time.process_time()
    for part in ("compare a and ", "not the x, ", "except for a, ", "A b ", "in the talk ", "[[", '"', "no, "):
        for size in (399, 1_000, 8_000):
            plan((part * 4_000)[:size], ["when? " * 50])
    assert time.process_time() - started < 5
