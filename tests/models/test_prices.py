"""What a call costs: set, local, from the catalogue, or unknown; and how tokens are estimated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Settings
from citewell.models.chat import open_chat
from citewell.models.messages import FRAME_TOKENS, Price, PromptMessage, Usage, estimate_prompt, estimate_tokens


def price(model: str, **values: Any) -> Price | None:
    return open_chat(Settings(data_dir=Path("unused"), **values)).price(model)


def test_a_local_model_costs_nothing() -> None:
    assert price("ollama:qwen3:8b") == Price(0.0, 0.0, "local")
    assert price("openai:x", openai_url="http://127.0.0.1:1/v1") == Price(0.0, 0.0, "local")


def test_a_price_that_is_set_wins_everywhere() -> None:
    prices = "openai:gpt-4o=0.5/1.5, ollama:qwen3:8b=0.1/0.2,openrouter:a/b=3/15"
    assert price("openai:gpt-4o", prices=prices) == Price(0.5, 1.5, "setting")
    assert price("ollama:qwen3:8b", prices=prices) == Price(0.1, 0.2, "setting")
    assert price("openrouter:a/b", prices=prices) == Price(3.0, 15.0, "setting")


def test_a_hosted_model_is_looked_up_without_a_network() -> None:
    assert price("openai:gpt-4o") == Price(2.5, 10.0, "catalogue")
    assert price("anthropic:claude-sonnet-4-5") == Price(3.0, 15.0, "catalogue")


@pytest.mark.parametrize(
    ("model", "url"),
    [("openai:no-such-model-x", ""), ("openai:gpt-4o", "https://llm.example.com/v1"), ("ollama:x", "https://h.com/v1")],
)
def test_what_nobody_knows_is_unknown_and_not_free(model: str, url: str) -> None:
    assert price(model, model_base_url=url) is None


@pytest.mark.parametrize(
    "prices", ["openai:x", "openai:x=1", "openai:x=1/", "openai:x=a/b", "openai:x=-1/2", "openai:x=nan/1", "x=1/2", "="]
)
def test_a_price_that_cannot_be_read_is_refused(prices: str) -> None:
    with pytest.raises(BadInput, match="CITEWELL_PRICES"):
        price("openai:x", prices=prices)


def test_a_cost_is_tokens_times_price() -> None:
    assert Price(2.5, 10.0, "catalogue").cost(Usage(1_000, 500)) == pytest.approx(0.0075)


def test_the_estimate_of_a_prompt_counts_every_message() -> None:
    messages = (PromptMessage("system", "abc"), PromptMessage("user", ""))
    assert estimate_prompt(messages) == 1 + 2 * FRAME_TOKENS
    assert estimate_tokens("") == 0
    assert estimate_tokens("\ud800") > 0
