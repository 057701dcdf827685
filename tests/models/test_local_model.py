"""A real small model on this machine, over the same adapter as any other endpoint."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from citewell import Citewell, Settings
from citewell.models.chat import open_chat
from citewell.models.messages import ChatFailed, ChatReply, ChatRequest, PromptMessage, estimate_tokens, read_json

pytestmark = pytest.mark.slow
MODEL = "llamacpp:smollm2"


class Capital(msgspec.Struct):
    city: str


def ask(
    url: str,
    question: str,
    on_text: Callable[[str], None] | None = None,
    tokens: int = 12,
    seconds: float = 120.0,
    schema: dict[str, object] | None = None,
) -> ChatReply:
    settings = Settings(data_dir=Path("unused"), llamacpp_url=url)
    request = ChatRequest("write", MODEL, (PromptMessage("user", question),), tokens, seconds, schema)
    return asyncio.run(open_chat(settings).chat(request, on_text))


def test_plain_and_streamed_replies_are_the_same(llama: str) -> None:
    heard: list[str] = []
    plain = ask(llama, "What is the capital of France?")
    streamed = ask(llama, "What is the capital of France?", heard.append)
    assert plain.text
    assert plain.text == streamed.text == "".join(heard)
    assert len(heard) > 2
    assert plain.usage.is_reported
    assert streamed.usage.is_reported
    assert plain.cost_usd == streamed.cost_usd == 0.0


def test_a_limit_is_said(llama: str) -> None:
    assert ask(llama, "Tell me a long story about the sea.", tokens=4).finish == "length"


def test_a_schema_is_kept(llama: str) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}},
        "required": ["city"],
        "additionalProperties": False,
    }
    reply = ask(llama, 'Name the capital of France as JSON: {"city": ...}', tokens=30, schema=schema)
    assert read_json(reply.text, Capital).city


def test_a_prompt_beyond_its_context_is_told(llama: str) -> None:
    with pytest.raises(ChatFailed) as failed:
        ask(llama, "tide " * 4_000)
    assert failed.value.problem == "too_long"


def test_the_deadline_is_kept_and_the_server_is_free_afterwards(llama: str) -> None:
    started = time.monotonic()
    with pytest.raises(ChatFailed) as failed:
        ask(llama, "Tell me a long story about the sea.", lambda _: None, tokens=1_500, seconds=1.0)
    assert failed.value.problem == "timeout"
    assert time.monotonic() - started < 30
    # It has one slot: were the first call still running, this one would wait for all of its 1,500 tokens.
    assert ask(llama, "Say hello.", tokens=3, seconds=60).text


@pytest.mark.parametrize(
    "text",
    [
        "The tide gauge at the harbour drifted last winter, because ice had formed in the stilling well.",
        "Der Pegel am Hafen verschob sich im letzten Winter, weil sich Eis gebildet hatte.",
        "港口的潮位计去年冬天漂移了，因为静水井里结了冰。",
        "港の潮位計は昨年の冬にずれました。静水井に氷が張ったためです。",
        "Прошлой зимой мареограф в порту сместился, потому что в колодце образовался лёд.",
        "في الشتاء الماضي انحرف مقياس المد لأن الجليد تشكل في البئر.",
        "def tide(hours: float) -> float:\n    return 1.8 * math.sin(hours / 12.42)\n",
    ],
    ids=["English", "German", "Chinese", "Japanese", "Russian", "Arabic", "code"],
)
def test_estimated_tokens_are_not_far_below_those_of_a_small_vocabulary(llama: str, text: str) -> None:
    parts = urlsplit(llama)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("POST", "/tokenize", json.dumps({"content": text}), {"content-type": "application/json"})
    counted = len(json.loads(connection.getresponse().read())["tokens"])
    connection.close()
    assert counted * 0.8 <= estimate_tokens(text) <= counted * 2


def test_doctor_finds_it(llama: str, tmp_path: Path) -> None:
    report = Citewell(Settings(data_dir=tmp_path, model=MODEL, llamacpp_url=llama)).doctor()
    states = {check.name: check.state for check in report.checks if check.name.startswith("model")}
    assert states == {"model": "ok", "model: price": "ok"}
