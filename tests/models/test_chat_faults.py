"""Every model endpoint misbehaves sooner or later: what a caller sees then, over real HTTP, for both protocols."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from citewell import Settings
from citewell.models.chat import open_chat
from citewell.models.messages import ChatRequest, PromptMessage
from support.chatting import KEY, SCHEMA, Naps, ask, both, failure, ways
from support.model_script import (
    cuts,
    endless,
    fails,
    says,
    says_error,
    sends,
    silent,
    stalls,
)
from support.model_server import ScriptedModelServer, refused_url

pytestmark = pytest.mark.slow

# `make test` installs them; `make quick` may do without.


@pytest.mark.attack("M1")
@both
@ways
def test_a_refused_connection_is_named_with_what_to_do(model: str, is_streamed: bool) -> None:
    naps = Naps()
    failed = failure(refused_url(), model=model, is_streamed=is_streamed, naps=naps)
    assert failed.problem == "unreachable"
    assert "127.0.0.1" in failed.message
    assert (failed.attempts, len(naps.taken), failed.cost_usd) == (3, 2, 0.0)


@pytest.mark.attack("M1")
@both
@ways
def test_a_silent_server_is_left_in_time(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(silent()) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed, timeout_seconds=0.3)
        assert server.wait_until_left()
    assert failed.problem == "timeout"


@pytest.mark.attack("M1")
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
        request = ChatRequest("write", model, (PromptMessage("user", "Tides?"),), 50, 60.0)
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


@pytest.mark.attack("X2")
def test_what_a_provider_says_is_cut_short_and_cleaned() -> None:
    said = f"\x1b[31mbad key {KEY} and sk-abcdefghijklmnop1234\n" + "x" * 5_000
    with ScriptedModelServer(fails(400, said)) as server:
        message = failure(server.base_url).message
    assert "\x1b" not in message
    assert "sk-abc" not in message
    assert len(message) < 450


@pytest.mark.attack("M2")
@both
@ways
def test_a_fault_that_passes_is_waited_for(model: str, is_streamed: bool) -> None:
    naps = Naps()
    with ScriptedModelServer([fails(503), fails(429, headers={"Retry-After": "3"}), says("Tides.")]) as server:
        reply = ask(server.base_url, model=model, is_streamed=is_streamed, naps=naps)
    assert (reply.text, reply.attempts) == ("Tides.", 3)
    assert naps.taken == [0.5, 3.25]


@pytest.mark.attack("M2")
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


@pytest.mark.attack("M2")
@pytest.mark.parametrize("value", ["86400", "1e30", "Fri, 01 Jan 2027 00:00:00 GMT"])
def test_a_wait_beyond_the_time_of_the_call_fails_at_once(value: str) -> None:
    naps = Naps()
    with ScriptedModelServer(fails(429, headers={"Retry-After": value})) as server:
        failed = failure(server.base_url, naps=naps)
    assert (failed.problem, failed.attempts, naps.taken) == ("rate_limited", 1, [])
    assert "asks to wait" in failed.message


@ways
def test_a_server_that_refuses_every_form_is_left_after_a_few(is_streamed: bool) -> None:
    said = "max_tokens and max_completion_tokens are not supported"
    with ScriptedModelServer(fails(400, said)) as server:
        failed = failure(server.base_url, is_streamed=is_streamed, schema=SCHEMA)
        assert len(server.requests) == failed.attempts == 5
    assert failed.problem == "rejected"


def test_an_empty_account_is_not_asked_again() -> None:
    with ScriptedModelServer(fails(429, "You exceeded your quota", code="insufficient_quota")) as server:
        assert (failure(server.base_url).problem, len(server.requests)) == ("rate_limited", 1)


@pytest.mark.attack("M3")
@both
@ways
def test_a_cut_reply_is_never_a_success(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(cuts("The sea rises")) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed)
        assert len(server.requests) == 1
    assert failed.problem == "cut_stream"
    assert failed.partial_text == ("The sea rises" if is_streamed else "")
    assert failed.usage.input_tokens


@pytest.mark.attack("M3")
@both
def test_a_stream_that_ends_without_an_ending_was_cut(model: str) -> None:
    with ScriptedModelServer(says("The sea rises", finish=None)) as server:
        assert failure(server.base_url, model=model, is_streamed=True).problem == "cut_stream"


@pytest.mark.attack("M3")
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


@pytest.mark.attack("M3")
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


@pytest.mark.attack("M5")
@both
@ways
def test_endless_output_is_stopped(model: str, is_streamed: bool) -> None:
    with ScriptedModelServer(endless()) as server:
        failed = failure(server.base_url, model=model, is_streamed=is_streamed)
        assert server.wait_until_left()
    assert failed.problem == "endless"
    assert len(failed.partial_text) < 5_000


@pytest.mark.attack("M5")
def test_a_line_that_never_ends_is_stopped() -> None:
    with ScriptedModelServer(sends(*([b"data: " + b"x" * 100_000] * 30))) as server:
        assert failure(server.base_url, is_streamed=True).problem == "endless"
