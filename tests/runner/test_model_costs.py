"""What models may cost: the ceiling holds, whatever they do, and an unknown price is never taken for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell import BadInput, Citewell, Settings
from citewell.flows.state import affordable, lost_call, spent
from citewell.models.messages import ChatRequest, PromptMessage
from citewell.runs.run import ModelUse, Spend
from runner.scripted_runs import (
    FALSE,
    GOOD,
    PRICES,
    QUESTION,
    VERBATIM,
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
    _, result, _ = bench.run(writes(GOOD), choice={"max_cost": 50.0}, prices=PRICES)
    assert result.tool == "model"
    assert result.metrics.cost_usd == pytest.approx(0.018)


def test_at_the_ceiling_the_run_ends_with_a_quoted_answer_marked_incomplete(bench: Bench) -> None:
    events, result, requests = bench.run(writes(GOOD), choice={"max_cost": 0.5}, prices=PRICES)
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
    _, result, requests = bench.run(writes(GOOD), choice={"max_cost": (tokens + 300) / 1_000}, prices=PRICES)
    asked = next(value for name, value in requests[0].body.items() if name.startswith("max_"))
    assert 150 <= asked <= 310
    assert result.metrics.cost_usd is not None
    assert result.metrics.cost_usd <= (tokens + 300) / 1_000


def test_a_ceiling_with_an_unknown_price_refuses_to_start_and_says_how_to_set_it(bench: Bench) -> None:
    engine = Citewell(
        Settings(data_dir=bench.data_dir, model="openai:nobody-knows-this", model_base_url="https://models.example/v1")
    )
    with pytest.raises(BadInput, match="price of openai:nobody-knows-this is not known") as refused:
        engine.start(QUESTION, max_cost=1.0)
    assert "CITEWELL_PRICES" in refused.value.fix
    assert engine.runs.latest(10).runs == ()
    engine.close()


def test_a_repair_that_the_ceiling_forbids_is_left_out(bench: Bench) -> None:
    _, _, free = bench.run(writes(GOOD))
    tokens = sum(len(message["content"]) // 3 + 9 for message in free[0].body["messages"])

    def costly(request: ModelRequest) -> Reply:
        return replace(writes(f"{VERBATIM} {FALSE}")(request), usage=(tokens, 150))

    _, result, requests = bench.run(costly, choice={"max_cost": (tokens + 320) / 1_000}, prices=PRICES)
    assert len(requests) == 1
    assert [sentence.verdict for sentence in result.sentences] == ["supported", "contradicted"]


class TestTokens:
    def test_a_ceiling_that_leaves_room_for_the_call_is_kept(self, bench: Bench) -> None:
        _, result, _ = bench.run(writes(GOOD), choice={"max_tokens": 50_000})
        assert result.tool == "model"
        assert 0 < result.metrics.tokens <= 50_000

    def test_at_the_ceiling_the_run_ends_with_a_quoted_answer_marked_incomplete(self, bench: Bench) -> None:
        events, result, requests = bench.run(writes(GOOD), max_tokens=300)
        assert requests == []
        assert (result.stop_reason, result.tool, result.answer_status) == ("cost_limit_reached", "extractive", "ok")
        assert "incomplete" in result.answer_warnings
        assert "Josiah Pell" in result.answer
        (reached,) = decisions(events, "cost_limit_reached")
        assert (reached["max_tokens"], reached["spent_tokens"]) == (300, 0)
        (estimate,) = decisions(events, "cost_estimated")
        assert estimate["input_tokens"] + estimate["output_tokens"] > estimate["max_tokens"] == 300

    def test_it_shortens_the_output_before_it_forbids_the_call(self, bench: Bench) -> None:
        _, _, free = bench.run(writes(GOOD))
        tokens = sum(len(message["content"]) // 3 + 9 for message in free[0].body["messages"])
        _, _, requests = bench.run(writes(GOOD), choice={"max_tokens": tokens + 300})
        asked = next(value for name, value in requests[0].body.items() if name.startswith("max_"))
        assert 150 <= asked <= 310

    def test_a_repair_that_it_forbids_is_left_out(self, bench: Bench) -> None:
        _, _, free = bench.run(writes(GOOD))
        tokens = sum(len(message["content"]) // 3 + 9 for message in free[0].body["messages"])

        def costly(request: ModelRequest) -> Reply:
            return replace(writes(f"{VERBATIM} {FALSE}")(request), usage=(tokens, 150))

        _, result, requests = bench.run(costly, choice={"max_tokens": tokens + 320})
        assert len(requests) == 1
        assert result.metrics.tokens <= tokens + 320

    def test_a_call_that_was_given_up_counts_as_if_it_had_used_everything(self) -> None:
        request = ChatRequest("write", "openai:test", (PromptMessage("user", "x" * 300),), 500, 10.0)
        use = ModelUse("openai:test", max_tokens=1_000)
        assert affordable(request, Spend(), use) == request
        call, most = lost_call(request, use)
        spend = spent(Spend(), call, most)
        assert (spend.tokens, spend.unmetered_tokens) == (0, 608)
        again = affordable(request, spend, use)
        assert again is not None
        assert again.max_output_tokens == 1_000 - 608 - 108
        assert affordable(request, spent(spend, call, 608), use) is None

    def test_what_calls_under_way_may_use_is_reserved(self) -> None:
        request = ChatRequest("write", "openai:test", (PromptMessage("user", "x" * 300),), 500, 10.0)
        use = ModelUse("openai:test", max_tokens=1_000)
        assert affordable(request, Spend(), use, [request, request]) is None

    def test_a_ceiling_that_is_none_is_refused(self, bench: Bench) -> None:
        engine = Citewell(Settings(data_dir=bench.data_dir))
        with pytest.raises(BadInput, match="--max-tokens"):
            engine.start(QUESTION, max_tokens=-1)
        engine.close()
