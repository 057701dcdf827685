"""Planners and reviewers in runs: they may add searches and raise doubts, and their failure costs nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from citewell import Citewell
from runner.scripted_runs import (
    GOOD,
    QUESTION,
    Bench,
    decisions,
    plans,
    writes,
)
from runner.test_runs import collect
from support.model_script import (
    ModelRequest,
    Reply,
    fails,
    says,
    silent,
)
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow


def test_the_planner_adds_searches_that_are_visible_in_the_plan(bench: Bench) -> None:
    planned = json.dumps({"variants": ["barrels from Leith"], "concepts": []})
    _, result, requests = bench.run(plans(planned), planner_model="openai:test")
    assert result.pack is not None
    plan = result.pack.query_plan
    assert (plan.planner_status, plan.planner_model) == ("used", "test")
    assert "barrels from Leith" in [variant.query for variant in plan.query_variants]
    assert len(requests) == 2
    assert [call.purpose for call in result.metrics.calls] == ["plan", "write"]


def test_a_planner_that_cannot_be_read_is_asked_once_more_then_left_out(bench: Bench) -> None:
    _, result, requests = bench.run(plans("boats, I think"), planner_model="openai:test")
    assert result.answer_status == "ok"
    assert result.metrics.planner_status == "planner_failed_deterministic_used"
    assert "planner_failed_deterministic_used" in result.warnings
    assert len(requests) == 3
    assert result.stop_reason == "enough_evidence"


@pytest.mark.parametrize("reply", [fails(500), silent()], ids=["5xx", "silent"])
def test_a_planner_that_fails_costs_nothing_but_its_help(bench: Bench, reply: Reply) -> None:
    choice = {"planner_timeout": 0.5}
    _, result, _ = bench.run(plans(reply), planner_model="openai:test", choice=choice)
    assert result.answer_status == "ok"
    assert result.metrics.planner_status == "planner_failed_deterministic_used"
    assert result.pack is not None
    assert result.pack.query_plan.planner_error


def test_a_follow_up_is_planned_without_a_model_first(bench: Bench) -> None:
    question = "Current question:\nWho lit the lamp?\nRecent user questions:\n- Where is the tower?"
    _, result, requests = bench.run(plans("{}"), question, planner_model="openai:test")
    assert result.metrics.planner_status == "skipped_by_policy"
    assert len(requests) == 1


def test_the_planner_can_be_left_out_for_one_question(bench: Bench) -> None:
    _, result, requests = bench.run(plans("{}"), planner_model="openai:test", choice={"planner": False})
    assert (result.metrics.planner_status, len(requests)) == ("off", 1)


def reviews(reply: Reply | str) -> Callable[[ModelRequest], Reply]:
    def script(request: ModelRequest) -> Reply:
        if "You check an answer" in request.prompt:
            return says(reply) if isinstance(reply, str) else reply
        return writes(GOOD)(request)

    return script


def test_a_reviewer_can_doubt_and_changes_nothing(bench: Bench) -> None:
    doubts = [
        {"sentence": 1, "kind": "overconfident", "why": "it is one note"},
        {"sentence": 99, "kind": "uncited", "why": ""},
    ]
    _, result, requests = bench.run(reviews(json.dumps({"doubts": doubts})), review_model="openai:test")
    assert [(doubt.sentence, doubt.kind) for doubt in result.doubts] == [(1, "overconfident")]
    assert "review_doubts" in result.warnings
    assert (result.answer_status, result.sentences[0].verdict) == ("ok", "supported")
    assert [call.purpose for call in result.metrics.calls] == ["write", "review"]
    assert len(requests) == 2


def test_a_reviewer_cannot_lift_a_verdict(bench: Bench) -> None:
    script = reviews('{"doubts": []}')

    def insists(request: ModelRequest) -> Reply:
        if "You check an answer" in request.prompt:
            return script(request)
        return writes(f"{GOOD} The oil cost 900 pounds {{oil}}.")(request)

    _, result, _ = bench.run(insists, review_model="openai:test")
    assert [sentence.verdict for sentence in result.sentences] == ["supported", "unsupported"]


def test_a_reviewer_is_asked_of_what_is_not_proven_and_its_opinion_stands_apart(bench: Bench) -> None:
    opinions = [
        {"sentence": 1, "opinion": "not_said", "why": "proven, so none of its business"},
        {"sentence": 2, "opinion": "said", "why": "900 pounds is in the ledger"},
        {"sentence": 7, "opinion": "said", "why": ""},
    ]
    review = reviews(json.dumps({"doubts": [], "opinions": opinions}))

    def insists(request: ModelRequest) -> Reply:
        if "You check an answer" in request.prompt:
            return review(request)
        return writes(f"{GOOD} The oil cost 900 pounds {{oil}}.")(request)

    events, result, requests = bench.run(insists, review_model="openai:test")
    assert [(one.sentence, one.opinion, one.why, one.model) for one in result.opinions] == [
        (2, "said", "900 pounds is in the ledger", "openai:test")
    ]
    assert [sentence.verdict for sentence in result.sentences] == ["supported", "unsupported"]
    assert "900 pounds is in the ledger" not in result.answer
    (asked,) = [request for request in requests if "You check an answer" in request.prompt]
    assert "2. The oil cost 900 pounds. (not proven)" in asked.prompt
    assert "1859. (not proven)" not in asked.prompt
    assert decisions(events, "reviewed") == [{"doubts": [], "opinions": ["2: said"]}]


@pytest.mark.parametrize("reply", ["all fine!", fails(500), fails(401)], ids=["unreadable", "5xx", "wrong key"])
def test_a_review_that_fails_costs_nothing_but_the_review(bench: Bench, reply: Reply | str) -> None:
    _, result, _ = bench.run(reviews(reply), review_model="openai:test")
    assert (result.answer_status, result.doubts) == ("ok", ())
    assert "review_failed" in result.warnings


def test_a_deep_answer_has_sections(bench: Bench) -> None:
    draft = f"## Direct answer\n{GOOD}\n\n## Key evidence\nThe oil came from Leith {{oil}}.\n\n## Recommendations\n"
    with ScriptedModelServer(writes(draft)) as server:
        engine = Citewell(bench.data_dir, model="openai:test", model_base_url=server.base_url)
        _, result = asyncio.run(collect(engine.stream(QUESTION, profile="deep")))
        assert engine.runs.replay(result.run_id).identical
        engine.close()
    assert "## Direct answer" in server.requests[0].prompt
    assert [sentence.text for sentence in result.sentences if sentence.kind == "heading"] == [
        "Direct answer",
        "Key evidence",
    ]
    assert result.answer.startswith("## Direct answer\n\nJosiah Pell")
    assert result.metrics.unsupported_rate == 0.0
