"""One question, one golden file, every way to ask: the same answer, evidence and citations.

`--write-golden` writes the file anew. A further door adds a function to DOORS.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell
from citewell.surfaces.wire import to_json
from support.http_server import RunningServer, read_events

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


DOORS: dict[str, Callable[[RunningServer, str], Any]] = {
    "cli": by_command_line,
    "python": by_python,
    "rest": by_rest,
    "sse": by_stream,
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
        assert over_http == json.loads(done.stdout) == from_python
