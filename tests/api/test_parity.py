"""One question, one golden file, every way to ask: the same answer, evidence and citations.

`--write-golden` writes the file anew. A further door adds a function to DOORS.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from citewell import Citewell, to_json
from support.http_server import RunningServer, read_events
from support.mcp_client import talk, text_of

GOLDEN = Path(__file__).parent / "golden" / "parity.json"
QUESTIONS = ("Who lit the lamp?", "How many passengers did the Halvard carry?", "What colour is the zeppelin hangar?")


def by_command_line(server: RunningServer, question: str) -> Any:
    command = [sys.executable, "-m", "citewell", "--data-dir", str(server.data), "research", question, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)


def by_python(server: RunningServer, question: str) -> Any:
    with Citewell(server.data) as cw:
        return json.loads(to_json(cw.research(question)))


def by_rest(server: RunningServer, question: str) -> Any:
    run_id = server.start_run(question)
    server.finished(run_id)
    return server.get(f"/api/runs/{run_id}").json["result"]


def by_stream(server: RunningServer, question: str) -> Any:
    with server.stream(f"/api/runs/{server.start_run(question)}/events") as answer:
        events = [event for event in read_events(answer) if event.name != "heartbeat"]
    document = events[-1].data
    # What came on the way says the same as what came last.
    (given,) = (event.data for event in events if event.name == "answer")
    assert given["answer"] == document["answer"]
    assert [event.data for event in events if event.name == "citation"] == document["citations"]
    return document


def by_agent(server: RunningServer, question: str) -> Any:
    """Over stdio, and over HTTP at the server that the other doors share: both say the same of the same run."""

    async def asked(client: Client) -> tuple[Any, Any]:
        run = await client.call_tool("research_run", {"question": question, "include_pack": True})
        named = {"run_id": run.structured_content["run_id"], "include_pack": True}
        return run, (await client.call_tool("research_get", named)).structured_content["result"]

    async def over_http() -> tuple[Any, Any]:
        async with Client(f"{server.url}/mcp") as client:
            return await asked(client)

    (run, again), (other, other_again) = talk(server.data, asked), asyncio.run(over_http())
    document, served = run.structured_content, other.structured_content
    assert again == document
    assert other_again == served
    assert outline(served) == outline(document)
    # The text beside it, which agents read, has every sentence and every quote.
    text = text_of(run)
    assert all(one["text"] in text for one in document["sentences"])
    assert all(one["quote"].splitlines()[0] in text for one in document["citations"])
    return document


DOORS: dict[str, Callable[[RunningServer, str], Any]] = {
    "cli": by_command_line,
    "python": by_python,
    "rest": by_rest,
    "sse": by_stream,
    "mcp": by_agent,
}


def outline(document: Any) -> Any:
    """A document without what differs from run to run: its id, its times, and where its trace is."""
    kept = {name: value for name, value in document.items() if name not in ("run_id", "metrics", "trace_path")}
    return {**kept, "tool_version": ""}


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_every_door_shows_the_same(server: RunningServer, door: str, request: pytest.FixtureRequest) -> None:
    found = {question: outline(DOORS[door](server, question)) for question in QUESTIONS}
    if request.config.getoption("--write-golden") and door == "cli":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    assert found == json.loads(GOLDEN.read_text("utf-8"))


def pack_by_agent(server: RunningServer, question: str) -> Any:
    async def asked(client: Client) -> Any:
        given = {"question": question, "max_chars": 200_000}
        return (await client.call_tool("research_pack", given)).structured_content

    return talk(server.data, asked)


@pytest.mark.slow
def test_evidence_alone_is_the_same_too(server: RunningServer) -> None:
    for question in QUESTIONS:
        command = [sys.executable, "-m", "citewell", "--data-dir", str(server.data), "research", question]
        done = subprocess.run(
            [*command, "--retrieval-only", "--json"], capture_output=True, text=True, timeout=120, check=True
        )
        over_http = server.post("/api/research", {"question": question}).json
        with Citewell(server.data) as cw:
            from_python = json.loads(to_json(cw.pack(question)))
        assert over_http == json.loads(done.stdout) == from_python == pack_by_agent(server, question)
