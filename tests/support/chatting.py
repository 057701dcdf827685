"""One call of a model at an address, with time that takes none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import Settings
from citewell.models.chat import open_chat
from citewell.models.faults import Pace
from citewell.models.messages import ChatFailed, ChatReply, ChatRequest, PromptMessage

KEY = "key-of-the-test-5c3b"
PROTOCOLS = ("openai:test", "anthropic:test")
both = pytest.mark.parametrize("model", PROTOCOLS)
ways = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
SCHEMA = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}


class Naps:
    """Sleep that takes no time and is remembered; chance that is always the same."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self._now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)
        self._now += seconds

    def pace(self) -> Pace:
        return Pace(self.sleep, lambda: 1.0, lambda: self._now, lambda: 1_767_225_600.0)


def ask(
    url: str,
    *,
    model: str = "openai:test",
    is_streamed: bool = False,
    naps: Naps | None = None,
    idle: float = 5.0,
    on_text: Callable[[str], None] | None = None,
    key: str = KEY,
    **request: Any,
) -> ChatReply:
    """One call of the model at this address."""
    settings = Settings(data_dir=Path("unused"), model_base_url=url, model_api_key=key)
    wanted = {"max_output_tokens": 50, "timeout_seconds": 20.0, **request}
    messages = (PromptMessage("system", "Be brief."), PromptMessage("user", "What is a tide?"))
    chat = open_chat(settings, naps.pace() if naps else Pace(), idle)
    heard = on_text or ((lambda _: None) if is_streamed else None)
    return asyncio.run(chat.chat(ChatRequest("write", model, messages, **wanted), heard))


def failure(url: str, **options: Any) -> ChatFailed:
    with pytest.raises(ChatFailed) as failed:
        ask(url, **options)
    assert failed.value.fix
    assert KEY not in f"{failed.value.message} {failed.value.fix}"
    return failed.value
