"""What models may cost: the ceiling holds, whatever they do, and an unknown price is never taken for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.app import Engine
from citewell.domain.errors import BadInput
from citewell.domain.runs import ModelChoice
from citewell.settings import Settings
from runner.scripted_runs import (
    GOOD,
    PRICES,
    QUESTION,
    Bench,
    decisions,
    writes,
)
from support.model_script import (
    ModelRequest,
    Reply,
)

pytestmark = pytest.mark.slow


def test_a_ceiling_that_leaves_room_for_the_call_is_kept(bench: Bench) -> None:
    _, result, _ = bench.run(writes(GOOD), choice=ModelChoice(max_cost_usd=50.0), prices=PRICES)
    assert result.tool == "model"
    assert result.metrics.cost_usd == pytest.approx(0.018)


def test_at_the_ceiling_the_run_ends_with_a_quoted_answer_marked_incomplete(bench: Bench) -> None:
    events, result, requests = bench.run(writes(GOOD), choice=ModelChoice(max_cost_usd=0.5), prices=PRICES)
    assert requests == []
    assert (result.stop_reason, result.tool, result.answer_status) == ("cost_limit_reached", "extractive", "ok")
    assert "incomplete" in result.answer_warnings
    assert "Josiah Pell" in result.answer
    assert result.metrics.cost_usd == 0.0
    (estimate,) = decisions(events, "cost_estimated")
    assert estimate["usd"] > 0.5


def test_the_ceiling_shortens_the_output_before_it_forbids_the_call(bench: Bench) -> None:
    _, _, free = bench.run(writes(GOOD))
    tokens = sum(len(message["content"]) // 3 + 9 for message in free[0].body["messages"])
    _, result, requests = bench.run(
        writes(GOOD), choice=ModelChoice(max_cost_usd=(tokens + 300) / 1_000), prices=PRICES
    )
    asked = next(value for name, value in requests[0].body.items() if name.startswith("max_"))
    assert 150 <= asked <= 310
    assert result.metrics.cost_usd is not None
    assert result.metrics.cost_usd <= (tokens + 300) / 1_000


def test_a_ceiling_with_an_unknown_price_refuses_to_start_and_says_how_to_set_it(bench: Bench) -> None:
    engine = Engine(
        Settings(data_dir=bench.data_dir, model="openai:nobody-knows-this", model_base_url="https://models.example/v1")
    )
    with pytest.raises(BadInput, match="price of openai:nobody-knows-this is not known") as refused:
        engine.start_research(QUESTION, models=ModelChoice(max_cost_usd=1.0))
    assert "CITEWELL_PRICES" in refused.value.fix
    assert engine.runs.latest(10).runs == ()
    engine.close()


def test_a_repair_that_the_ceiling_forbids_is_left_out(bench: Bench) -> None:
    _, _, free = bench.run(writes(GOOD))
    tokens = sum(len(message["content"]) // 3 + 9 for message in free[0].body["messages"])
    draft = f"{GOOD} The oil cost 900 pounds {{oil}}."

    def costly(request: ModelRequest) -> Reply:
        return replace(writes(draft)(request), usage=(tokens, 150))

    _, result, requests = bench.run(costly, choice=ModelChoice(max_cost_usd=(tokens + 320) / 1_000), prices=PRICES)
    assert len(requests) == 1
    assert [sentence.verdict for sentence in result.sentences] == ["supported", "unsupported"]
