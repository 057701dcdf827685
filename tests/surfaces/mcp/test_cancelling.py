"""Several calls at once, one of them cancelled by the official client, over both transports: the others end well."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from citewell import Citewell
from support.mcp_client import Era, command, text_of
from support.model_script import ModelRequest, Reply, says, silent
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow

Transport = Literal["stdio", "http"]
QUESTIONS = {
    "lines": "How far apart are the kelp lines?",
    "dry": "How long is kelp dried?",
    "rope": "What rope do the kelp lines use?",
}
CANCELLED = "Why are the kelp lines cancelled?"
SECONDS = 100


class Gated:
    """A model that quotes a passage of its own prompt once it may, and never answers the question to be cancelled."""

    def __init__(self) -> None:
        self.may_write = threading.Event()
        self.asked = threading.Semaphore(0)

    def __call__(self, request: ModelRequest) -> Reply:
        self.asked.release()
        if CANCELLED in request.prompt:
            return silent()
        found = re.search(r"^(⟦\d+\.\d+⟧) ([A-Z][^\n]{30,}?[.])$", request.prompt, re.MULTILINE)
        return says(f"{found[2]} {found[1]}" if found else "", after=self.may_write)

    def wait_until_asked(self, times: int) -> None:
        for _ in range(times):
            assert self.asked.acquire(timeout=SECONDS)


class World:
    """A program over a corpus of its own, whose model is scripted."""

    def __init__(self, data: Path, model: Gated, server: ScriptedModelServer) -> None:
        self.data, self.model, self.server = data, model, server
        chosen = {"CITEWELL_MODEL": "openai:test", "CITEWELL_OPENAI_URL": server.base_url}
        self.environment = {**os.environ, **chosen, "CITEWELL_EMBEDDINGS": "off", "CITEWELL_JUDGE": "off"}

    @asynccontextmanager
    async def client(self, transport: Transport, era: Era) -> AsyncIterator[Client]:
        program, *arguments = command(self.data)
        if transport == "stdio":
            parameters = StdioServerParameters(command=program, args=arguments, env=self.environment)
            async with Client(stdio_client(parameters, sys.stderr), mode=era) as client:
                yield client
            return
        process = subprocess.Popen(
            [program, *arguments, "--http", "--port", "0"], stdout=subprocess.PIPE, text=True, env=self.environment
        )
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            async with Client(address, mode=era) as client:
                yield client
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        finally:
            process.kill()
            process.communicate()

    def runs(self) -> dict[str, tuple[str, str | None]]:
        with Citewell(self.data) as cw:
            return {run.question: (run.status, run.stop_reason) for run in cw.runs.list(limit=50).runs}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Lines.md").write_text("# Kelp lines\n\nThe kelp lines stand twelve metres apart in the bay.\n")
    (vault / "Dry.md").write_text("# Drying\n\nKelp is dried for two days on the racks by the shed.\n")
    (vault / "Rope.md").write_text("# Rope\n\nThe kelp lines use tarred hemp rope of sixteen millimetres.\n")
    with Citewell(tmp_path / "data", embeddings="off") as cw:
        cw.add(vault)
    model = Gated()
    with ScriptedModelServer(model) as server:
        yield World(tmp_path / "data", model, server)
        model.may_write.set()


async def run(
    client: Client, asked: dict[str, Any], into: dict[str, Any], name: str, joined: anyio.Event | None = None
) -> None:
    """Call, keep the answer, and tell when the first progress came."""

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        if joined is not None:
            joined.set()

    into[name] = await client.call_tool("research_run", asked, progress_callback=progress)


async def until(holds: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not await anyio.to_thread.run_sync(holds):
        assert time.monotonic() < end
        await anyio.sleep(0.05)


@pytest.mark.attack("C3")
@pytest.mark.attack("L7")
@pytest.mark.parametrize(("transport", "era"), [("stdio", "legacy"), ("http", "legacy"), ("http", "auto")])
def test_one_of_several_calls_is_cancelled_and_the_others_get_their_own_answers(
    world: World, transport: Transport, era: Era
) -> None:
    async def conversing() -> dict[str, Any]:
        found: dict[str, Any] = {}
        with anyio.fail_after(SECONDS):
            async with world.client(transport, era) as client, anyio.create_task_group() as calls:
                for name, question in QUESTIONS.items():
                    calls.start_soon(run, client, {"question": question}, found, name)
                victim = anyio.CancelScope()

                async def cancelled() -> None:
                    with victim:
                        await run(client, {"question": CANCELLED}, found, "cancelled")

                calls.start_soon(cancelled)
                await anyio.to_thread.run_sync(world.model.wait_until_asked, len(QUESTIONS) + 1)
                assert not found
                victim.cancel()
                assert await anyio.to_thread.run_sync(world.server.wait_until_left, 30)
                await until(lambda: world.runs()[CANCELLED][0] == "cancelled")
                # The others still wait, and what is asked now is answered.
                assert {world.runs()[question][0] for question in QUESTIONS.values()} == {"running"}
                found["stats"] = await client.call_tool("stats", {})
                world.model.may_write.set()
        return found

    found = asyncio.run(conversing())
    assert set(found) == {*QUESTIONS, "stats"}
    assert not found.pop("stats").is_error
    for name, result in found.items():
        assert result.structured_content["question"] == QUESTIONS[name], text_of(result)
        assert result.structured_content["status"] == "done"
        assert result.structured_content["answer_status"] == "ok"
    assert len({result.structured_content["run_id"] for result in found.values()}) == len(QUESTIONS)
    assert world.runs()[CANCELLED] == ("cancelled", "cancelled")


@pytest.mark.attack("C3")
@pytest.mark.attack("L7")
def test_cancelling_one_of_two_calls_for_the_same_report_leaves_it_to_the_other(world: World) -> None:
    """Either may have begun it; only when nobody waits any more is it cancelled."""
    brief = {"brief": {"question": QUESTIONS["lines"]}}
    world.environment |= {"CITEWELL_MODEL": "", "CITEWELL_PLANNER_MODEL": "openai:test"}

    async def conversing() -> dict[str, Any]:
        found: dict[str, Any] = {}
        with anyio.fail_after(SECONDS):
            async with world.client("stdio", "auto") as client, anyio.create_task_group() as calls:
                scopes = {"first": anyio.CancelScope(), "third": anyio.CancelScope()}
                joined = {name: anyio.Event() for name in ("first", "second", "third")}

                async def cancellable(name: str) -> None:
                    with scopes[name]:
                        await run(client, brief, found, name, joined[name])

                calls.start_soon(cancellable, "first")
                await anyio.to_thread.run_sync(world.model.wait_until_asked, 1)
                calls.start_soon(run, client, brief, found, "second", joined["second"])
                calls.start_soon(cancellable, "third")
                for event in joined.values():
                    await event.wait()
                for scope in scopes.values():
                    scope.cancel()
                # Read behind both cancellations.
                await client.call_tool("stats", {})
                world.model.may_write.set()
        return found

    found = asyncio.run(conversing())
    assert set(found) == {"second"}
    assert found["second"].structured_content["status"] == "done", text_of(found["second"])
    assert world.runs()[QUESTIONS["lines"]][0] == "done"
