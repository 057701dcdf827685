"""The same server over streamable HTTP, behind whatever it is mounted in: real sockets, the official client."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client

from support.http_server import RunningServer, running_server
from support.mcp_client import Era, command, error_of, text_of
from support.model_script import silent
from support.model_server import ScriptedModelServer
from surfaces.test_cli import Program

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port(sample: Program) -> Iterator[int]:
    """The program serving on a free port of the loopback; at the end it is asked to go, and goes."""
    process = subprocess.Popen([*command(sample.data), "--http", "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        yield int(address.removeprefix("http://127.0.0.1:").removesuffix("/mcp"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_client_over_http_gets_the_same_tools_and_answers(port: int, data: Path, era: Era) -> None:
    async def conversing() -> None:
        with anyio.fail_after(120):
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
                assert len((await client.list_tools()).tools) == 12
                told: list[str | None] = []

                async def progress(progress: float, total: float | None, message: str | None) -> None:
                    told.append(message)

                asked = {"question": "How far apart are the kelp lines?"}
                run = await client.call_tool("research_run", asked, progress_callback=progress)
                assert run.structured_content["status"] == "done", text_of(run)
                assert "planning query" in told
                got = await client.call_tool("research_get", {"run_id": run.structured_content["run_id"]})
                assert got.structured_content["summary"]["surface"] == "mcp"
                assert error_of(await client.call_tool("get", {"lookup": "nothing"}))["code"] == "not_found"

    asyncio.run(conversing())


@pytest.mark.attack("L7")
def test_twenty_clients_with_the_same_ids_get_each_their_own_answers(port: int) -> None:
    keys = [f"note:vault/nothing-{number}" for number in range(20)]

    async def one(key: str, found: dict[str, str]) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode="legacy") as client:
            results = [error_of(await client.call_tool("get", {"lookup": key}))["message"] for _ in range(3)]
            (found[key],) = set(results)

    async def all_of_them() -> dict[str, str]:
        found: dict[str, str] = {}
        with anyio.fail_after(200):
            async with anyio.create_task_group() as tasks:
                for key in keys:
                    tasks.start_soon(one, key, found)
        return found

    assert asyncio.run(all_of_them()) == {key: f"No document has the key or path {key}." for key in keys}


HEAD = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def open_session(server: RunningServer) -> str:
    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}
    reply = server.post("/mcp", message, headers=HEAD)
    assert reply.status == 200, reply.body
    return reply.headers["mcp-session-id"]


def is_there(server: RunningServer, session: str) -> bool:
    """Whether a session answers; asking is a use of it."""
    message = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    status = server.post("/mcp", message, headers={**HEAD, "mcp-session-id": session}).status
    assert status in (200, 404)
    return status == 200


@pytest.mark.attack("L2")
def test_idle_sessions_lock_nobody_out_and_a_call_under_way_is_not_ended(data: Path) -> None:
    arguments = {"question": "How far apart are the kelp lines?", "profile": "deep"}
    asked = {"name": "research_run", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asked}
    with (
        ScriptedModelServer(silent()) as model,
        running_server(data, CITEWELL_MODEL="openai:test", CITEWELL_OPENAI_URL=model.base_url) as server,
    ):
        forgotten, used, waiting, left = (open_session(server) for _ in range(4))
        # A client that goes away while it is being answered: its call is still under way.
        with server.stream("/mcp", method="POST", body=call, headers={**HEAD, "mcp-session-id": left}):
            assert model.wait_until_asked()
        model.asked.clear()
        with server.stream("/mcp", method="POST", body=call, headers={**HEAD, "mcp-session-id": waiting}):
            assert model.wait_until_asked()
            assert is_there(server, used)
            later = [open_session(server) for _ in range(197)]
            assert [is_there(server, one) for one in (forgotten, used)] == [False, True]
            last = [open_session(server) for _ in range(200)][-1]
            gone = [is_there(server, one) for one in (used, later[0], later[-1])]
            assert (gone, is_there(server, last)) == ([False, False, False], True)
            assert [is_there(server, one) for one in (waiting, left)] == [True, True]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
@pytest.mark.attack("W1")
@pytest.mark.attack("W2")
def test_a_foreign_page_is_refused(port: int, headers: dict[str, str], status: int) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    sent = {"accept": "application/json, text/event-stream", "content-type": "application/json", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/mcp", body, sent)
        assert connection.getresponse().status == status
    finally:
        connection.close()


@pytest.mark.attack("C8")
def test_a_body_that_is_too_large_or_no_message_is_refused(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        for body, status in ((b"{}" + b" " * 2_000_000, 413), (b"[" * 10_000, 400), (b"", 400)):
            head = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
            connection.request("POST", "/mcp", body, head)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
            connection.close()
    finally:
        connection.close()
