"""Calls of a model over real HTTP, for both protocols: what comes back, what is sent, and how JSON is asked for."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from citewell import Settings
from citewell.models.chat import open_chat
from citewell.models.messages import ChatReply, ChatRequest, PromptMessage, Usage
from support.chatting import KEY, PROTOCOLS, SCHEMA, ask, both, ways
from support.model_script import (
    ModelRequest,
    Reply,
    fails,
    says,
    sends,
)
from support.model_server import ScriptedModelServer

# `make test` installs them; `make quick` may do without.


# Replies


@both
@ways
def test_a_reply_has_its_text_its_tokens_and_its_cost(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(says("The sea rises and falls – 潮汐.")) as server:
        reply = ask(server.base_url, model=model, is_streamed=is_streamed)
    provider = model.partition(":")[0]
    assert reply == ChatReply(
        "The sea rises and falls – 潮汐.", "stop", provider, "test", Usage(11, 7, is_reported=True), 0.0, 1
    )


@both
def test_text_is_heard_as_it_comes_in_order_and_once(model: str) -> None:
    heard: list[str] = []
    with ScriptedModelServer(says("The sea rises and falls twice a day.")) as server:
        reply = ask(server.base_url, model=model, on_text=heard.append)
        assert server.requests[0].is_streamed
    assert len(heard) > 3
    assert "".join(heard) == reply.text == "The sea rises and falls twice a day."


def test_without_a_listener_nothing_is_streamed() -> None:
    with ScriptedModelServer(says("x")) as server:
        ask(server.base_url)
        assert not server.requests[0].is_streamed


@both
@ways
def test_tokens_that_are_not_reported_are_estimated_and_said_to_be(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(says("The sea rises.", usage=None)) as server:
        usage = ask(server.base_url, model=model, is_streamed=is_streamed).usage
    assert not usage.is_reported
    assert usage.input_tokens > 10
    assert usage.output_tokens >= 4


@both
@ways
@pytest.mark.parametrize(("finish", "seen"), [("length", "length"), ("content_filter", "refusal"), ("stop", "stop")])
def test_how_a_reply_ended_is_said(model: str, is_streamed: bool, finish: str, seen: str) -> None:
    with ScriptedModelServer(says("The sea", finish=finish)) as server:
        reply = ask(server.base_url, model=model, is_streamed=is_streamed)
    assert (reply.text, reply.finish) == ("The sea", seen)


@pytest.mark.attack("M7")
@ways
def test_a_refusal_is_no_answer(is_streamed: bool) -> None:
    with ScriptedModelServer(Reply(refusal="I cannot help with that.")) as server:
        reply = ask(server.base_url, is_streamed=is_streamed)
    assert (reply.text, reply.finish) == ("I cannot help with that.", "refusal")


@pytest.mark.attack("M7")
@both
@ways
def test_an_empty_reply_is_empty(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(says("")) as server:
        assert ask(server.base_url, model=model, is_streamed=is_streamed).text == ""


@both
@ways
def test_thinking_is_no_part_of_the_text(model: str, is_streamed: bool) -> None:
    replies = [says("Tides.", thoughts="hm, the moon"), says("<think>the moon</think>\n\nTides.")]
    with ScriptedModelServer(replies) as server:
        texts = [ask(server.base_url, model=model, is_streamed=is_streamed).text for _ in replies]
    assert texts == ["Tides.", "Tides."]


@pytest.mark.attack("M3")
def test_characters_split_between_chunks_are_read_whole() -> None:
    event = 'data: {"choices":[{"index":0,"delta":{"content":"潮汐 – 🌊"},"finish_reason":"stop"}]}\n\n'.encode()
    parts = [event[at : at + 1] for at in range(len(event))]
    with ScriptedModelServer(sends(*parts, b"data: [DONE]\n\n")) as server:
        assert ask(server.base_url, is_streamed=True).text == "潮汐 – 🌊"


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    body = b'{"choices":[{"message":{"content":"Tides."},"finish_reason":"stop"}]}'
    with ScriptedModelServer(sends(body, content_type="application/json")) as server:
        assert ask(server.base_url, is_streamed=True).text == "Tides."


def test_a_stream_that_says_done_without_a_reason_is_done() -> None:
    event = b'data: {"choices":[{"index":0,"delta":{"content":"Tides."}}]}\n\n'
    with ScriptedModelServer(sends(event, b"data: [DONE]\n\n")) as server:
        assert ask(server.base_url, is_streamed=True).finish == "stop"


# What is sent


@both
def test_only_what_is_needed_leaves_the_machine(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "canary-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-canary: canary-of-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-canary: canary-of-the-environment")
    with ScriptedModelServer(says("x")) as server:
        ask(server.base_url, model=model)
        ask(server.base_url, model=model, key="")
        with_key, without = (request.headers for request in server.requests)
    assert "canary" not in f"{with_key} {without}"
    assert not any(name.startswith("x-stainless") for name in with_key)
    assert KEY in (with_key.get("x-api-key"), with_key.get("authorization", "").removeprefix("Bearer "))
    assert "authorization" not in without
    assert "x-api-key" not in without
    assert with_key["user-agent"].startswith("citewell/")
    assert os.environ["HTTP_PROXY"]


def test_system_messages_go_where_the_protocol_wants_them() -> None:
    with ScriptedModelServer(says("x")) as server:
        for model in PROTOCOLS:
            ask(server.base_url, model=model)
        openai, anthropic = (request.body for request in server.requests)
    assert [message["role"] for message in openai["messages"]] == ["system", "user"]
    assert openai["max_tokens"] == anthropic["max_tokens"] == 50
    assert anthropic["system"] == "Be brief."
    assert [message["role"] for message in anthropic["messages"]] == ["user"]


# Structured replies


@ways
def test_a_schema_is_sent_where_it_is_understood(is_streamed: bool) -> None:
    with ScriptedModelServer(says('{"queries":["tide"]}')) as server:
        ask(server.base_url, is_streamed=is_streamed, schema=SCHEMA, schema_name="plan")
        body = server.requests[0].body
    expected = {"name": "plan", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": expected}
    assert "JSON Schema" not in str(body["messages"])


def test_a_schema_is_sent_to_anthropic_in_its_own_way() -> None:
    with ScriptedModelServer(says('{"queries":["tide"]}')) as server:
        ask(server.base_url, model="anthropic:test", schema=SCHEMA)
        body = server.requests[0].body
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


def _knows_nothing(request: ModelRequest) -> Reply:
    if "response_format" in request.body or "output_config" in request.body:
        return fails(400, "unknown field")
    return says('{"queries":["tide"]}')


def _knows_json_mode(request: ModelRequest) -> Reply:
    format = request.body.get("response_format", {}).get("type")
    return fails(422, "json_schema is not supported") if format == "json_schema" else says('{"queries":["tide"]}')


@pytest.mark.attack("M8")
@both
@ways
def test_a_model_without_json_mode_is_asked_in_words_and_remembered(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(_knows_nothing) as server:
        settings = Settings(data_dir=Path("unused"), model_base_url=server.base_url)
        chat = open_chat(settings)
        messages = (PromptMessage("user", "Plan."),)
        request = ChatRequest("plan", model, messages, 50, 20.0, SCHEMA)
        heard = (lambda _: None) if is_streamed else None
        first = asyncio.run(chat.chat(request, heard))
        before = len(server.requests)
        second = asyncio.run(chat.chat(request, heard))
        assert "JSON Schema" in server.requests[-1].prompt
        assert first.attempts == before == (3 if model == "openai:test" else 2)
    assert (first.text, second.text, second.attempts) == ('{"queries":["tide"]}', '{"queries":["tide"]}', 1)


def test_json_mode_is_used_where_schemas_are_not_known() -> None:
    with ScriptedModelServer(_knows_json_mode) as server:
        reply = ask(server.base_url, schema=SCHEMA)
        assert server.requests[-1].body["response_format"] == {"type": "json_object"}
        assert "JSON Schema" in server.requests[-1].prompt
    assert reply.attempts == 2


@ways
@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("max_tokens", "Use 'max_completion_tokens' instead of 'max_tokens'."),
        ("temperature", "'temperature' does not support 0."),
        ("stream_options", "Unknown field: stream_options"),
    ],
)
def test_what_a_server_refuses_by_name_is_left_out(refused: str, said: str, is_streamed: bool) -> None:
    def script(request: ModelRequest) -> Reply:
        return fails(400, said) if refused in request.body else says("Tides.")

    with ScriptedModelServer(script) as server:
        assert ask(server.base_url, is_streamed=is_streamed).text == "Tides."
