"""The model planner: it may add, it may not take away, and nothing it says is taken as it is."""

from __future__ import annotations

import json

import pytest

from citewell.search.conversation import ChatPrompt, parse_chat_prompt
from citewell.search.planner import merge_planned, planner_request, wants_model, without_model
from citewell.search.query import QueryPlan
from runner.plays import plan

PLAN = plan("Who founded the RNLI at Stromness?")


def merged(reply: object) -> QueryPlan:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return merge_planned(PLAN, text, "tiny").plan


def test_it_adds_variants_and_optional_concepts_and_keeps_everything_of_the_question() -> None:
    found = merged(
        {
            "variants": ["lifeboat institution founder"],
            "concepts": [{"name": "RNLI", "terms": ["Royal National Lifeboat Institution"]}],
        }
    )
    assert found.query_variants[: len(PLAN.query_variants)] == PLAN.query_variants
    added = [variant.query for variant in found.query_variants if variant.kind == "planner"]
    assert added == ["lifeboat institution founder"]
    assert found.concepts[: len(PLAN.concepts)] == PLAN.concepts
    assert found.required == PLAN.required
    assert any("royal national lifeboat institution" in concept.terms for concept in found.concepts)
    assert (found.planner, found.planner_model, found.planner_status) == ("model", "tiny", "used")


def test_it_is_bounded_cleaned_and_says_what_was_dropped() -> None:
    reply = {
        "variants": ["x" * 121, "", "!!!", PLAN.text_query, "a\nb\u202ec", *(f"query {n}" for n in range(20))],
        "concepts": [{"name": f"c{n}", "terms": [f"t{m}" for m in range(30)]} for n in range(20)],
    }
    result = merge_planned(PLAN, json.dumps(reply), "tiny")
    assert len(result.accepted) == 8
    assert result.accepted[0] == "a b c"
    added = result.plan.concepts[len(PLAN.concepts) :]
    assert len(added) == 8
    assert all(len(concept.terms) <= 9 and not concept.required for concept in added)
    reasons = {reason for _, reason in result.dropped}
    assert {"longer than 120 characters", "nothing to search for", "searched for already"} <= reasons
    assert {"more than 8 variants", "more than 8 concepts"} <= reasons


@pytest.mark.parametrize("reply", ["", "I would search for boats.", "[1, 2", '{"variants": 3}', '{"variants": [NaN]}'])
def test_a_reply_that_cannot_be_read_leaves_the_plan_alone_and_says_why(reply: str) -> None:
    result = merge_planned(PLAN, reply, "tiny")
    assert result.plan == PLAN
    assert result.error


def test_fenced_and_wrapped_replies_are_read() -> None:
    found = merged('Sure!\n```json\n{"variants": ["lifeboat"], "concepts": [],}\n```\nHope it helps')
    assert found.query_variants[-1].query == "lifeboat"


def test_the_failure_is_on_the_plan() -> None:
    failed = without_model(PLAN, "tiny", "it\nfell")
    assert (failed.planner_status, failed.planner_error) == ("planner_failed_deterministic_used", "it fell")
    assert failed.query_variants == PLAN.query_variants


def test_a_first_question_and_an_abbreviation_are_worth_a_model_a_follow_up_is_not() -> None:
    assert wants_model(PLAN, ChatPrompt("who lit the lamp"))[0]
    assert not wants_model(PLAN, ChatPrompt("and when", ("who lit the lamp",)))[0]
    assert wants_model(PLAN, ChatPrompt("what does RNLI mean", ("who lit the lamp",)))[0]


def test_it_is_asked_for_json_only_told_not_to_answer_and_shown_no_earlier_answer() -> None:
    prompt = parse_chat_prompt("Current question:\nWhen?\nRecent user questions:\n- Who?\nPrior answer:\nSECRET")
    request = planner_request(PLAN, prompt, "openai:x", 20.0, ("not json", "no JSON"))
    said = "\n".join(message.content for message in request.messages)
    assert "SECRET" not in said
    assert "do not answer" in said.replace("\n", " ")
    assert request.schema is not None
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "user"]
