"""The pipe: what is answered when the input ends, what reaches stdout, what cancelling and stopping do to a run."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell
from support.mcp_client import Pipe, command, pipe
from support.model_script import stalls
from support.model_server import ScriptedModelServer
from support.promises import promised

pytestmark = pytest.mark.slow
QUESTION = {"question": "How far apart are the kelp lines?"}


@pytest.mark.attack("C7")
def test_with_nothing_asked_the_end_of_the_input_ends_the_server(data: Path) -> None:
    with pipe(data) as server:
        server.greet()
        with promised(2.0, server.process.pid):
            assert server.rest() == []
        assert server.process.returncode == 0


@pytest.mark.attack("C7")
def test_every_request_that_was_read_before_the_end_is_answered(data: Path) -> None:
    """All at once and then no more, a run among them, as from `cat requests | citewell mcp`."""
    with pipe(data) as server:
        server.greet()
        run = server.call("research_run", QUESTION)
        others = [server.call("search", {"query": "kelp"}) for _ in range(10)]
        listed = server.request("tools/list")
        unknown = server.request("no/such/method")
        answers = {message["id"]: message for message in server.rest()}
    assert set(answers) == {run, *others, listed, unknown}
    assert answers[run]["result"]["structuredContent"]["status"] == "done"
    assert all(answers[number]["result"]["structuredContent"]["results"] for number in others)
    assert answers[unknown]["error"]["code"] == -32601


def test_a_line_that_is_no_message_is_answered_as_such_and_the_next_one_works(data: Path) -> None:
    deep = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    lines = (b"hello", b"\xff\xfe\x00", b"[]", b"null", b'{"jsonrpc":"2.0"}', deep)
    with pipe(data) as server:
        server.greet()
        for line in lines:
            server.send(line)
            refused = server.read()
            assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        number = server.call("stats", {})
        (answer,) = server.rest()
    assert (answer["id"], answer["result"]["isError"]) == (number, False)


@contextmanager
def waiting_run(data: Path) -> Iterator[tuple[Pipe, ScriptedModelServer, int]]:
    """A run whose model says half a sentence and then nothing."""
    with ScriptedModelServer(stalls("The lines ")) as model:
        settings = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": model.base_url}
        with pipe(data, **settings) as server:
            server.greet()
            number = server.call("research_run", QUESTION, progressToken="p")
            assert model.wait_until_asked()
            yield server, model, number


def last_run(data: Path) -> Any:
    with Citewell(data) as cw:
        return cw.runs.list(1).runs[0]


@pytest.mark.attack("C3")
def test_cancelling_a_call_cancels_the_run_and_leaves_the_model(data: Path) -> None:
    with waiting_run(data) as (server, model, number):
        with promised(2.0, server.process.pid):
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            assert model.wait_until_left()
        again = server.call("stats", {})
        rest = server.rest()
    assert [message["id"] for message in rest if "id" in message] == [again]
    run = last_run(data)
    assert (run.status, run.stop_reason) == ("cancelled", "cancelled")


@pytest.mark.attack("C4")
def test_a_signal_interrupts_the_run_resumably(data: Path) -> None:
    with waiting_run(data) as (server, _, _):
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(5)
    assert last_run(data).status == "interrupted"


@pytest.mark.attack("C7")
def test_where_nobody_reads_the_answers_the_server_leaves_and_the_run_stays_resumable(data: Path) -> None:
    with waiting_run(data) as (server, _, _):
        assert server.process.stdin is not None
        assert server.process.stdout is not None
        with promised(2.0, server.process.pid):
            server.process.stdout.close()
            server.process.stdin.close()
            server.process.wait(20)
        server.process.stdin = server.process.stdout = None
    assert last_run(data).status == "interrupted"


def test_the_configuration_for_clients_starts_this_program(data: Path) -> None:
    printed = subprocess.run([*command(data), "--install-help"], capture_output=True, text=True, timeout=60, check=True)
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Zed"):
        assert client in printed.stdout
    block = printed.stdout[printed.stdout.index('  {\n    "mcpServers"') :].partition("\n\n")[0]
    entry = json.loads(block)["mcpServers"]["citewell"]
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n"
    done = subprocess.run([entry["command"], *entry["args"]], input=line, capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
