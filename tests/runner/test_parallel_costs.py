"""Two model calls under way at once: what both may cost in full is reserved, so the ceiling holds for them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from citewell.runner.actions import Action, Ask, Observation, PlanMade, Replied
from citewell.runner.machine import Machine
from citewell.runner.playbooks import local
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.state import RunState

from citewell.app import Engine
from citewell.domain.chat import ChatMessage, ChatRequest
from citewell.domain.library import AddReport
from citewell.domain.runs import Failure, ModelChoice
from citewell.flows import costs as budgets
from citewell.models.tokens import FRAME_TOKENS, estimate_tokens
from citewell.settings import Settings
from runner.test_runs import NOTES
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
# A dollar for a thousand tokens, in or out.
PRICES = "openai:test=1000/1000"
PROMPTS = ("Which other words name a lamp?", "Which people light lamps?")
WANTED_TOKENS = 1_000


class TwoCalls:
    """The local playbook, with two calls of a model at once before it searches."""

    def opening(self, state: RunState) -> Transition:
        return local.opening(state)

    def observed(self, state: RunState, observation: Observation, action: Action) -> Transition:
        match observation:
            case PlanMade(plan=plan):
                return self._ask_both(replace(state, plan=plan))
            case Replied(reply=reply):
                assert isinstance(action, Ask)
                call = budgets.call_of(action.request, reply)
                after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
                return self._once_replied(after)
            case _:
                return local.observed(state, observation, action)

    def _ask_both(self, state: RunState) -> Transition:
        use, asked = state.request.models, state
        for prompt in PROMPTS:
            wanted = ChatRequest("plan", use.planner, (ChatMessage("user", prompt),), WANTED_TOKENS, 20.0)
            fitted = budgets.fitted(wanted, use.planner_price, asked.spend, use, budgets.reserved(asked))
            if fitted is not None:
                asked = replace(asked, open=(*asked.open, Ask(fitted)))
        return Transition(asked, asked.open) if asked.open else self._once_replied(asked)

    def _once_replied(self, state: RunState) -> Transition:
        assert state.plan is not None
        return waiting(state) if state.open else local.search(state, state.plan)

    def end_gathering(self, state: RunState) -> Transition:
        return local.end_gathering(state)

    def end_writing(self, state: RunState) -> Transition:
        return local.end_writing(state)

    def failed(self, state: RunState, action: Action, failure: Failure) -> Transition:
        return local.failed(state, action, failure)


def uses_all_it_may(request: ModelRequest) -> Reply:
    """A model that writes as much as it is allowed to."""
    tokens = next(int(value) for name, value in request.body.items() if name.startswith("max_"))
    sent = sum(estimate_tokens(message["content"]) + FRAME_TOKENS for message in request.body["messages"])
    return says("lantern", usage=(sent, tokens))


@pytest.mark.parametrize(
    ("ceiling", "output_tokens"),
    [(5.0, [1_000, 1_000]), (1.5, [1_000, 464]), (1.1, [1_000]), (0.1, [])],
    ids=["room for both", "room for a shorter second", "room for one", "room for none"],
)
def test_the_ceiling_holds_for_calls_that_are_made_at_the_same_time(
    vault: Write, add_path: AddPath, engine: Engine, ceiling: float, output_tokens: list[int]
) -> None:
    add_path(vault(NOTES))
    with ScriptedModelServer(uses_all_it_may) as server:
        settings = Settings(
            data_dir=engine.settings.data_dir,
            planner_model="openai:test",
            model_base_url=server.base_url,
            prices=PRICES,
        )
        asking = Engine(settings, machine=Machine({"local": TwoCalls()}))
        try:
            choice = ModelChoice(max_cost_usd=ceiling)
            run_id = asking.start_research("Who lit the lamp?", models=choice)
            result = asking.runs.wait(run_id, timeout=60)
            assert asking.runs.replay(run_id).identical
            events = asking.run_store.checked_events(run_id)
        finally:
            asking.close()
    intents: list[Any] = [event for event in events if event.body.get("action") == "Ask"]
    assert [event.body["body"]["request"]["max_output_tokens"] for event in intents] == output_tokens
    seen = [event.sequence for event in events if (event.body.get("observation") or {}).get("type") == "Replied"]
    assert all(intent.sequence < min(seen) for intent in intents), "they were under way at the same time"
    assert result.metrics.model_calls == len(output_tokens)
    assert result.metrics.cost_usd is not None
    assert result.metrics.cost_usd <= ceiling
    assert result.answer_status == "ok"
