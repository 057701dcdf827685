"""Two model calls under way at once: what both may cost in full is reserved, so the ceiling holds for them together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import AddReport, Citewell, Settings
from citewell.flows.local import first_plan, first_search
from citewell.flows.state import Findings, ask, fitted
from citewell.flows.write import answer
from citewell.models.messages import FRAME_TOKENS, ChatRequest, PromptMessage, estimate_tokens
from citewell.runs.journal import Run
from runner.test_runs import NOTES
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
# A dollar for a thousand tokens, in or out.
PRICES = "openai:test=1000/1000"
PROMPTS = ("Which other words name a lamp?", "Which people light lamps?")
WANTED_TOKENS = 1_000


async def two_calls(run: Run, found: Findings) -> None:
    """Two calls of a model at once before anything is searched."""
    found.plan = first_plan(run)
    await run.all(*(ask_within(run, found, prompt) for prompt in PROMPTS))
    await first_search(run, found, found.plan)
    await answer(run, found)


async def ask_within(run: Run, found: Findings, prompt: str) -> None:
    planner = run.request.models.planner
    wanted = ChatRequest("plan", planner, (PromptMessage("user", prompt),), WANTED_TOKENS, 20.0)
    request = fitted(run, found, wanted)
    if request is not None:
        await ask(run, found, request)


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
    vault: Write, add_path: AddPath, engine: Citewell, ceiling: float, output_tokens: list[int]
) -> None:
    add_path(vault(NOTES))
    with ScriptedModelServer(uses_all_it_may) as server:
        settings = Settings(
            data_dir=engine.settings.data_dir,
            planner_model="openai:test",
            model_base_url=server.base_url,
            prices=PRICES,
        )
        asking = Citewell(settings, flows={"local": two_calls})
        try:
            choice = {"max_cost": ceiling}
            run_id = asking.start("Who lit the lamp?", **choice)
            result = asking.runs.wait(run_id, timeout=60)
            assert asking.runs.replay(run_id).identical
            events = asking.run_store.checked_events(run_id)
        finally:
            asking.close()
    intents: list[Any] = [event for event in events if event.body.get("action") == "ask"]
    assert [event.body["body"]["request"]["max_output_tokens"] for event in intents] == output_tokens
    asked = {intent.body["digest"] for intent in intents}
    seen = [event.sequence for event in events if event.body.get("answers") in asked]
    assert len(seen) == len(intents)
    assert all(intent.sequence < min(seen) for intent in intents), "they were under way at the same time"
    assert result.metrics.model_calls == len(output_tokens)
    assert result.metrics.cost_usd is not None
    assert result.metrics.cost_usd <= ceiling
    assert result.answer_status == "ok"
