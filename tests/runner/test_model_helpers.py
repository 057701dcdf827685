"""Planners in runs: they may add searches, and their failure costs nothing else; and the sections of a deep answer."""

from __future__ import annotations

import asyncio
import json

import pytest

from citewell import Citewell
from runner.scripted_runs import (
    GOOD,
    QUESTION,
    Bench,
    plans,
    writes,
)
from runner.test_runs import collect
from support.model_script import (
    Reply,
    fails,
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


def test_a_deep_answer_has_sections(bench: Bench) -> None:
    draft = f"## Direct answer\n{GOOD}\n\n## Key evidence\nThe oil came from Leith {{oil}}.\n\n## Recommendations\n"
    with ScriptedModelServer(writes(draft)) as server:
        engine = Citewell(bench.data_dir, model="openai:test", model_base_url=server.base_url, judge="off")
        _, result = asyncio.run(collect(engine.stream(QUESTION, profile="deep")))
        assert engine.runs.replay(result.run_id).identical
        engine.close()
    assert "## Direct answer" in server.requests[0].prompt
    assert [sentence.text for sentence in result.sentences if sentence.kind == "heading"] == [
        "Direct answer",
        "Key evidence",
    ]
    assert result.answer.startswith("## Direct answer\n\nJosiah Pell")
    assert {one.check.kind for one in result.sentences if one.kind == "claim"} == {"none"}
