"""One case asked at one door: what came back as JSON data, and over HTTP also the stream."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from citewell import Citewell, to_json
from doors.cases import Case, Door
from doors.world import World, program_environment
from support.http_server import RunningServer, read_events, running_server
from support.mcp_client import talk

_NOTE_TOOL = {"CITEWELL_NOTE_TOOL": "true"}


@dataclass
class Outcome:
    """What a door gave: the document, of a report also that of its run, the stream, the exit code."""

    document: Any = None
    run: Any = None
    events: list[tuple[str, Any]] = field(default_factory=list)
    exit_code: int | None = None


def ask(case: Case, door: Door, world: World) -> Outcome:
    """Ask at a door of a world as it was before the first run."""
    world.put_back()
    with controlled(case, world):
        return {"cli": _cli, "python": _python, "rest": _rest, "mcp": _mcp}[door](case, world)


@contextmanager
def controlled(case: Case, world: World) -> Iterator[None]:
    """Finish or cancel the one run as soon as it waits for its model, as another process would."""
    if not case.control:
        yield
        return
    world.holds.clear()
    ended = threading.Event()
    failures: list[BaseException] = []

    def stop() -> None:
        try:
            while not world.holds.wait(0.05):
                if ended.is_set():
                    return
            with world.opened() as cw:
                (running,) = cw.runs.list(statuses=("running",)).runs
                getattr(cw.runs, case.control)(running.run_id)
        except BaseException as error:  # noqa: BLE001  it is raised in the test's own thread
            failures.append(error)

    stopping = threading.Thread(target=stop)
    stopping.start()
    try:
        yield
    finally:
        ended.set()
        stopping.join()
    if failures:
        raise failures[0]


def command_line(case: Case, world: World) -> list[str]:
    """The command that asks a case."""
    program = [sys.executable, "-m", "citewell", "--data-dir", str(world.data)]
    asked = {
        "research": ["research", case.question],
        "pack": ["research", case.question, "--retrieval-only"],
        "note": ["note", str(world.notes / case.question)],
        "report": ["report", case.question],
    }[case.kind]
    options = []
    for name, value in case.options.items():
        flag = f"--{name.replace('_', '-')}"
        options += [flag] if value is True else [flag, str(value)]
    return [*program, *asked, *options, "--json"]


def _cli(case: Case, world: World) -> Outcome:
    done = subprocess.run(
        command_line(case, world),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=program_environment(world),
    )
    assert done.stdout, done.stderr
    return Outcome(json.loads(done.stdout), exit_code=done.returncode)


def _python(case: Case, world: World) -> Outcome:
    with world.opened() as cw:
        return Outcome(json.loads(to_json(_called(case, cw, world))))


def _called(case: Case, cw: Citewell, world: World) -> object:
    match case.kind:
        case "research":
            return cw.research(case.question, **case.options)
        case "pack":
            return cw.pack(case.question, use_model_planner=bool(case.options.get("planner")))
        case "synthesis":
            return cw.synthesize(case.question, cw.pack(case.question))
        case "note":
            return cw.note(world.notes / case.question, **case.options)
        case "report":
            return cw.report(case.question)


def _rest(case: Case, world: World) -> Outcome:
    with running_server(world.data, **world.environment, **_NOTE_TOOL) as server:
        match case.kind:
            case "research":
                events = streamed(server, server.start_run(case.question, **case.options))
                shown = server.get(f"/api/runs/{events[-1][1]['run_id']}").json["result"]
                assert shown == events[-1][1]
                return Outcome(shown, events=events)
            case "pack":
                body = {"question": case.question, "use_model_planner": bool(case.options.get("planner"))}
                return Outcome(server.post("/api/research", body).json)
            case "synthesis":
                return _synthesis(case, server)
            case "note":
                found = server.post("/api/notes/research", {"path": case.question, **case.options})
                assert found.status == 200, found.body
                return Outcome(found.json, events=streamed(server, found.json["run_id"]))
            case "report":
                run_id = server.start_run(case.question, profile="report")
                events = streamed(server, run_id)
                document = server.get(f"/api/reports/{run_id}").json
                return Outcome(document, events[-1][1], events)


def streamed(server: RunningServer, run_id: str) -> list[tuple[str, Any]]:
    """The events of a run without signs of life; their ids only grow."""
    with server.stream(f"/api/runs/{run_id}/events") as answer:
        events = [event for event in read_events(answer) if event.name != "heartbeat"]
    numbers = [event.id for event in events]
    assert None not in numbers
    assert numbers == sorted(set(numbers))  # type: ignore[type-var]
    return [(event.name, event.data) for event in events]


def _synthesis(case: Case, server: RunningServer) -> Outcome:
    pack = server.post("/api/research", {"question": case.question}).json
    body = {"question": case.question, "research_pack": pack}
    with server.stream("/api/research/synthesize", method="POST", body=body) as answer:
        events = [(event.name, event.data) for event in read_events(answer) if event.name != "heartbeat"]
    return Outcome(events=events)


def _mcp(case: Case, world: World) -> Outcome:
    tool, arguments = {
        "research": ("research_run", {"question": case.question, **case.options, "include_pack": True}),
        "pack": (
            "research_pack",
            {
                "question": case.question,
                "use_model_planner": bool(case.options.get("planner")),
                "max_chars": 200_000,
            },
        ),
        "note": ("research_note", {"path": case.question, **case.options}),
        "report": ("research_run", {"question": case.question, "profile": "report", "include_pack": True}),
    }[case.kind]

    async def asked(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    environment: dict[str, Any] = {**world.environment, **_NOTE_TOOL}
    result = talk(world.data, asked, **environment)
    assert not result.is_error, result.content
    document: Any = result.structured_content
    return Outcome(run=document) if case.kind == "report" else Outcome(document)
