"""Every model endpoint misbehaves sooner or later: what a caller sees then, over real HTTP, for both protocols."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.domain.chat import ChatFailed, ChatMessage, ChatReply, ChatRequest, Usage
from citewell.models.chat import open_chat
from citewell.models.retrying import Pace
from citewell.settings import Settings
from support.model_server import (
    ModelRequest,
    Reply,
    ScriptedModelServer,
    cuts,
    endless,
    fails,
    refused_url,
    says,
    says_error,
    sends,
    silent,
    stalls,
)

# `make test` installs them; `make quick` may do without.
pytest.importorskip("openai")
pytest.importorskip("anthropic")

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
    messages = (ChatMessage("system", "Be brief."), ChatMessage("user", "What is a tide?"))
    chat = open_chat(settings, naps.pace() if naps else Pace(), idle)
    heard = on_text or ((lambda _: None) if is_streamed else None)
    return asyncio.run(chat.chat(ChatRequest("write", model, messages, **wanted), heard))


def failure(url: str, **options: Any) -> ChatFailed:
    with pytest.raises(ChatFailed) as failed:
        ask(url, **options)
    assert failed.value.fix
    assert KEY not in f"{failed.value.message} {failed.value.fix}"
    return failed.value


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


@ways
def test_a_refusal_is_no_answer(is_streamed: bool) -> None:
    with ScriptedModelServer(Reply(refusal="I cannot help with that.")) as server:
        reply = ask(server.base_url, is_streamed=is_streamed)
    assert (reply.text, reply.finish) == ("I cannot help with that.", "refusal")


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


def _knows_nothing(request: ModelRequest) -> Reply:
    if "response_format" in request.body or "output_config" in request.body:
        return fails(400, "unknown field")
    return says('{"queries":["tide"]}')


def _knows_json_mode(request: ModelRequest) -> Reply:
    format = request.body.get("response_format", {}).get("type")
    return fails(422, "json_schema is not supported") if format == "json_schema" else says('{"queries":["tide"]}')


@both
@ways
def test_a_model_without_json_mode_is_asked_in_words_and_remembered(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(_knows_nothing) as server:
        settings = Settings(data_dir=Path("unused"), model_base_url=server.base_url)
        chat = open_chat(settings)
        messages = (ChatMessage("user", "Plan."),)
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


# Faults


@both
@ways
def test_a_refused_connection_is_named_with_what_to_do(model: str, is_streamed: bool) -> None:
    naps = Naps()
    failed = failure(refused_url(), model=model, is_streamed=is_streamed, naps=naps)
    assert failed.problem == "unreachable"
    assert "127.0.0.1" in failed.message
    assert (failed.attempts, len(naps.taken), failed.cost_usd) == (3, 2, 0.0)


@both
@ways
def test_a_silent_server_is_left_in_time(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(silent()) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed, timeout_seconds=0.3)
        assert server.wait_until_left()
    assert failed.problem == "timeout"


@both
def test_a_stream_that_stalls_is_left(model: str) -> None:
    with ScriptedModelServer(stalls("The sea")) as server:
        failed = failure(server.base_url, model=model, is_streamed=True, idle=0.2)
        assert server.wait_until_left()
    assert (failed.problem, failed.partial_text) == ("timeout", "The sea")
    assert failed.usage.output_tokens


@both
@ways
def test_cancelling_closes_the_connection(model: str, is_streamed: bool) -> None:
    async def cancelled(url: str) -> None:
        settings = Settings(data_dir=Path("unused"), model_base_url=url)
        request = ChatRequest("write", model, (ChatMessage("user", "Tides?"),), 50, 60.0)
        began = asyncio.Event()
        chat = open_chat(settings).chat(request, (lambda _: began.set()) if is_streamed else None)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(chat)
            while not server.requests or (is_streamed and not began.is_set()):
                await asyncio.sleep(0.01)
            task.cancel()

    with ScriptedModelServer(stalls("The sea")) as server:
        asyncio.run(cancelled(server.base_url))
        assert server.wait_until_left()


@both
@ways
@pytest.mark.parametrize(
    ("status", "problem", "attempts"),
    [
        (400, "rejected", 1),
        (402, "rate_limited", 1),
        (403, "unauthorized", 1),
        (404, "unknown_model", 1),
        (413, "too_long", 1),
        (307, "rejected", 1),
        (500, "server_error", 3),
        (503, "server_error", 3),
    ],
)
def test_each_status_is_its_problem(model: str, is_streamed: bool, status: int, problem: str, attempts: int) -> None:
    with ScriptedModelServer(fails(status, headers={"location": "/elsewhere"})) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed, naps=Naps())
        assert len(server.requests) == attempts
    assert (failed.problem, failed.attempts, failed.cost_usd) == (problem, attempts, 0.0)


@both
def test_a_wrong_key_is_not_repeated(model: str) -> None:
    with ScriptedModelServer(says("x"), key="another") as server:
        failed = failure(server.base_url, model=model)
        assert failed.problem == "unauthorized"
        assert "CITEWELL_MODEL_API_KEY" in failed.fix
        assert "CITEWELL_MODEL_API_KEY" in failure(server.base_url, model=model, key="").fix


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        (400, "the request exceeds the available context size", "exceed_context_size_error"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
    ],
)
def test_a_prompt_that_does_not_fit_is_told_from_other_refusals(status: int, said: str, code: str) -> None:
    with ScriptedModelServer(fails(status, said, code=code)) as server:
        assert failure(server.base_url, schema=SCHEMA).problem == "too_long"
        assert len(server.requests) == 1


def test_what_a_provider_says_is_cut_short_and_cleaned() -> None:
    said = f"\x1b[31mbad key {KEY} and sk-abcdefghijklmnop1234\n" + "x" * 5_000
    with ScriptedModelServer(fails(400, said)) as server:
        message = failure(server.base_url).message
    assert "\x1b" not in message
    assert "sk-abc" not in message
    assert len(message) < 450


@both
@ways
def test_a_fault_that_passes_is_waited_for(model: str, is_streamed: bool) -> None:
    naps = Naps()
    with ScriptedModelServer([fails(503), fails(429, headers={"Retry-After": "3"}), says("Tides.")]) as server:
        reply = ask(server.base_url, model=model, is_streamed=is_streamed, naps=naps)
    assert (reply.text, reply.attempts) == ("Tides.", 3)
    assert naps.taken == [0.5, 3.25]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "2"}, 2.25),
        ({"retry-after-ms": "1500"}, 1.75),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:04 GMT", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 4.25),
        ({"Retry-After": "Wed, 31 Dec 2025 23:59:00 GMT", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 0.25),
        ({"Retry-After": "soon"}, 0.5),
        ({"Retry-After": "-5"}, 0.25),
    ],
)
def test_the_wait_an_endpoint_asks_for_is_kept(headers: dict[str, str], wait: float) -> None:
    naps = Naps()
    with ScriptedModelServer([fails(429, headers=headers), says("Tides.")]) as server:
        ask(server.base_url, naps=naps)
    assert naps.taken == [wait]


@pytest.mark.parametrize("value", ["86400", "1e30", "Fri, 01 Jan 2027 00:00:00 GMT"])
def test_a_wait_beyond_the_time_of_the_call_fails_at_once(value: str) -> None:
    naps = Naps()
    with ScriptedModelServer(fails(429, headers={"Retry-After": value})) as server:
        failed = failure(server.base_url, naps=naps)
    assert (failed.problem, failed.attempts, naps.taken) == ("rate_limited", 1, [])
    assert "asks to wait" in failed.message


def test_an_empty_account_is_not_asked_again() -> None:
    with ScriptedModelServer(fails(429, "You exceeded your quota", code="insufficient_quota")) as server:
        assert (failure(server.base_url).problem, len(server.requests)) == ("rate_limited", 1)


@both
@ways
def test_a_cut_reply_is_never_a_success(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(cuts("The sea rises")) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed)
        assert len(server.requests) == 1
    assert failed.problem == "cut_stream"
    assert failed.partial_text == ("The sea rises" if is_streamed else "")
    assert failed.usage.input_tokens


@both
def test_a_stream_that_ends_without_an_ending_was_cut(model: str) -> None:
    with ScriptedModelServer(says("The sea rises", finish=None)) as server:
        assert failure(server.base_url, model=model, is_streamed=True).problem == "cut_stream"


@both
@ways
def test_an_error_inside_a_success_is_an_error(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(says_error("the backend fell over", code="bad_thing")) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed)
    assert failed.problem == "server_error"
    assert "the backend fell over" in failed.message


@both
def test_an_error_after_some_text_is_not_tried_again(model: str) -> None:
    heard: list[str] = []
    with ScriptedModelServer(says_error("overloaded", code="overloaded_error", after="The sea")) as server:
        failed = failure(server.base_url, model=model, on_text=heard.append, naps=Naps())
    assert (failed.problem, failed.attempts, failed.partial_text, heard) == ("server_error", 1, "The sea", ["The sea"])


@both
@ways
def test_an_error_that_passes_is_tried_again_before_any_text(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer([says_error("busy", code="overloaded_error"), says("Tides.")]) as server:
        assert ask(server.base_url, model=model, is_streamed=is_streamed, naps=Naps()).attempts == 2


@pytest.mark.parametrize(
    "event",
    [
        b"data: {not json}\n\n",
        b"data: [1, 2]\n\n",
        b'data: "text"\n\n',
        b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
    ids=["no JSON", "a list", "a string", "no UTF-8", "deeply nested"],
)
def test_an_event_nobody_can_read_fails_the_stream(event: bytes) -> None:
    with ScriptedModelServer(sends(event)) as server:
        assert failure(server.base_url, is_streamed=True).problem in ("bad_reply", "cut_stream")


@ways
@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{}", b"[]", b'{"choices": []}', b'{"choices": 5}', b""])
def test_a_body_nobody_can_read_is_a_bad_reply(body: bytes, is_streamed: bool) -> None:
    with ScriptedModelServer(sends(body, content_type="application/json")) as server:
        assert failure(server.base_url, is_streamed=is_streamed).problem == "bad_reply"


@pytest.mark.parametrize("content", ["5", "null", '{"a":1}', '[{"type":"text","text":"Tides."}]'])
def test_content_of_an_odd_type_does_no_harm(content: str) -> None:
    body = f'{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"stop"}}],"usage":"none"}}'
    with ScriptedModelServer(sends(body.encode(), content_type="application/json")) as server:
        assert ask(server.base_url).text in ("", "Tides.")


@both
@ways
def test_endless_output_is_stopped(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(endless()) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed)
        assert server.wait_until_left()
    assert failed.problem == "endless"
    assert len(failed.partial_text) < 5_000


def test_a_line_that_never_ends_is_stopped() -> None:
    with ScriptedModelServer(sends(*([b"data: " + b"x" * 100_000] * 30))) as server:
        assert failure(server.base_url, is_streamed=True).problem == "endless"
