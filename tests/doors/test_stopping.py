"""Whoever wants the answer now, or the end, has it at once, though what the run has asked for never comes.

Nothing else could end these runs: no reply comes before the test is over, and every deadline is ten minutes away.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from doors.asking import streamed
from doors.cases import LIT, PAGES, VAULT
from doors.world import World, made_world
from support.http_server import running_server
from support.model_script import ModelRequest, Reply, sends, silent
from support.model_server import ScriptedModelServer
from toy_embedder import vector

Hanging = Literal["model", "search", "page", "corpus"]
PROMISED_SECONDS = 2.0
# Room for a machine that is busy with other things.
ROOM_SECONDS = 4.0
PATIENT = {
    "chat_research_timeout_seconds": 600,
    "deep_research_timeout_seconds": 600,
    "research_source_fetch_timeout_seconds": 600,
}


@dataclass
class Lateness:
    """How much later than they wanted this process's threads were woken, in all."""

    seconds: float = 0.0


@contextmanager
def measured_lateness() -> Iterator[Lateness]:
    lateness, over = Lateness(), threading.Event()

    def tick() -> None:
        while not over.is_set():
            began = time.monotonic()
            time.sleep(0.02)
            lateness.seconds += max(0.0, time.monotonic() - began - 0.02)

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        yield lateness
    finally:
        over.set()
        ticking.join()


@contextmanager
def hanging_world(hanging: Hanging, folder: Path) -> Iterator[tuple[World, Callable[[], bool]]]:
    """A world in which one thing never comes, and how to wait until it was asked for."""
    with ExitStack() as stack:
        script = silent() if hanging == "model" else None
        pages = PAGES if hanging in ("search", "page") else ()
        world = stack.enter_context(made_world(folder, VAULT, script=script, pages=pages, settings=PATIENT))
        match hanging:
            case "model":
                yield world, lambda: world.holds.wait(120)
            case "search" | "page":
                sites = world.sites
                assert sites is not None
                sites.held = "/search" if hanging == "search" else "/register"
                stack.callback(sites.released.set)
                yield world, lambda: sites.is_asked.wait(120)
            case "corpus":
                asked = _with_vectors(world, stack)
                yield world, lambda: asked.wait(120)


def _with_vectors(world: World, stack: ExitStack) -> threading.Event:
    """Search by meaning, whose server gives vectors for the corpus and is silent from then on."""
    is_encoded, asked = threading.Event(), threading.Event()

    def reply(request: ModelRequest) -> Reply:
        if is_encoded.is_set():
            asked.set()
            return silent()
        data = [{"index": at, "embedding": vector(text).tolist()} for at, text in enumerate(request.body["input"])]
        return sends(json.dumps({"data": data}).encode(), content_type="application/json")

    server = stack.enter_context(ScriptedModelServer(embeddings=reply))
    world.settings |= {"embeddings": "on", "embeddings_model": "ollama:words", "ollama_url": server.base_url}
    with world.opened() as cw:
        list(cw.corpus.encode())
    is_encoded.set()
    return asked


@pytest.mark.parametrize("hanging", ["model", "search", "page", "corpus"])
@pytest.mark.parametrize("control", ["finish", "cancel"])
def test_a_run_ends_at_once_though_what_it_asked_for_hangs(hanging: Hanging, control: str, tmp_path: Path) -> None:
    with (
        hanging_world(hanging, tmp_path) as (world, is_asked),
        running_server(world.data, **world.environment) as server,
    ):
        options: dict[str, Any] = {"profile": "chat"} if hanging in ("search", "page") else {}
        run_id = server.start_run(LIT, timeout=600, **options)
        assert is_asked()
        began = time.monotonic()
        with measured_lateness() as lateness:
            assert server.post(f"/api/runs/{run_id}/{control}", {}).status == 202
            events = streamed(server, run_id)
        took = time.monotonic() - began
        print(f"{control} while the {hanging} hangs: {took:.2f} s, of which up to {lateness.seconds:.2f} s of waking")
        assert took < PROMISED_SECONDS + ROOM_SECONDS + lateness.seconds
        name, document = events[-1]
        assert name == "done"
        assert "incomplete" in document["answer_warnings"]
        if control == "cancel":
            assert (document["status"], document["stop_reason"], document["answer"]) == ("cancelled", "cancelled", "")
        else:
            assert document["status"] == "done"
        assert server.post(f"/api/runs/{run_id}/replay", {}).json["identical"]
