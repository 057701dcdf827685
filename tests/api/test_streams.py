"""Streams are the log of a run: any reader, from any point, without gap or duplicate; leaving changes nothing."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import sseclient
import uvicorn
from httpx_sse import connect_sse

from citewell import Citewell
from citewell.api.app import create_app
from citewell.api.security import Gatekeeper, called_by
from citewell.api.server import GuardedProtocol
from support.http_server import Event, RunningServer, read_events, running_server
from support.model_script import Reply, silent, stalls
from support.model_server import ScriptedModelServer
from support.promises import promised

QUESTION = "Who lit the lamp?"


def events_of(server: RunningServer, run_id: str, path: str = "", **headers: str) -> list[Event]:
    with server.stream(f"/api/runs/{run_id}/events{path}", headers=headers) as answer:
        assert answer.status == 200
        return [event for event in read_events(answer) if event.name != "heartbeat"]


def test_a_run_is_streamed_from_its_beginning_to_its_document(server: RunningServer) -> None:
    run_id = server.start_run()
    events = events_of(server, run_id)
    names = [event.name for event in events]
    assert names[-1] == "done"
    assert names.index("answer") < names.index("citation") < names.index("verification") < names.index("trace")
    assert [name for name in names if name in ("done", "error")] == ["done"]
    progress = [event.data for event in events if event.name == "progress"]
    assert set(progress[0]) == {
        *("stage", "phase", "loop", "maxLoops", "sourcesConsidered", "sourcesRead", "title", "detail", "elapsed")
    }
    assert list(dict.fromkeys(one["phase"] for one in progress)) == [
        *("planning", "searching", "reading", "evaluating", "synthesizing", "finalizing")
    ]
    shown = server.get(f"/api/runs/{run_id}").json
    assert events[-1].data == shown["result"]
    assert [event.data for event in events if event.name == "citation"] == shown["result"]["citations"]


def test_ids_only_grow_and_each_event_has_its_own(server: RunningServer) -> None:
    events = events_of(server, server.start_run())
    ids = [event.id for event in events if event.id is not None]
    assert len(ids) == len(events)
    assert ids == sorted(set(ids))


@pytest.mark.attack("C5")
def test_whoever_comes_back_gets_the_rest_and_nothing_twice(server: RunningServer) -> None:
    run_id = server.start_run()
    whole = events_of(server, run_id)
    for at, event in enumerate(whole[:-1]):
        assert events_of(server, run_id, **{"Last-Event-ID": str(event.id)}) == whole[at + 1 :]
        assert events_of(server, run_id, f"?after={event.id}") == whole[at + 1 :]
    last = server.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": str(whole[-1].id)})
    assert (last.status, last.body) == (204, b"")


@pytest.mark.attack("C5")
@pytest.mark.parametrize("last", ["abc", "-1", "1.5", "9" * 30, "1e3", "0x10", "١", "1 ; DROP"])
def test_an_id_that_is_none_of_this_run_is_refused(server: RunningServer, last: str) -> None:
    run_id = server.start_run()
    server.finished(run_id)
    request = (
        f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nLast-Event-ID: {last}\r\n"
        "Connection: close\r\n\r\n"
    )
    reply = server.raw(request.encode())
    assert (reply.status, reply.code) == (400, "bad_input")


@pytest.mark.attack("C5")
def test_an_id_of_the_future_is_refused(server: RunningServer) -> None:
    run_id = server.start_run()
    whole = events_of(server, run_id)
    for future in (str((whole[-1].id or 0) + 1), "999999999999999999"):
        for reply in (
            server.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": future}),
            server.get(f"/api/runs/{run_id}/events?after={future}"),
        ):
            assert reply.status in (409, 422)
            assert reply.code


@pytest.mark.attack("C5")
def test_an_old_or_empty_id_begins_where_it_says(server: RunningServer) -> None:
    run_id = server.start_run()
    whole = events_of(server, run_id)
    for old in ("0", "1", ""):
        assert events_of(server, run_id, **{"Last-Event-ID": old}) == whole


def test_two_other_parsers_read_the_same(server: RunningServer) -> None:
    """Neither is ours: sseclient-py and httpx-sse."""
    run_id = server.start_run()
    ours = events_of(server, run_id)
    url = f"{server.url}/api/runs/{run_id}/events"
    with httpx.Client() as client:
        with client.stream("GET", url) as response:
            first = [one for one in sseclient.SSEClient(response.iter_bytes()).events() if one.event != "heartbeat"]
        with connect_sse(client, "GET", url) as source:
            second = [one for one in source.iter_sse() if one.event != "heartbeat"]
    for theirs in (first, second):
        assert [Event(int(one.id or 0), one.event, json.loads(one.data)) for one in theirs] == ours


@pytest.mark.parametrize("run_id", ["20260105T101500-0a1b2c3d", "last", "..%2f..%2fetc", "20260105T101500-0A1B2C3D"])
def test_a_run_that_is_not_there_is_not_found(server: RunningServer, run_id: str) -> None:
    for path in ("", "/events", "/diff", "/export", "/share", "/egress"):
        reply = server.get(f"/api/runs/{run_id}{path}")
        assert (reply.status, reply.code) == (404, "not_found"), path
    for action in ("cancel", "finish", "resume"):
        assert server.post(f"/api/runs/{run_id}/{action}").status == 404
    assert server.post(f"/api/runs/{run_id}/eval-case", {}).status == 404


def test_head_of_a_stream_ends_at_once(server: RunningServer) -> None:
    run_id = server.start_run()
    head = server.ask("HEAD", f"/api/runs/{run_id}/events")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


def test_a_run_without_a_trace_is_streamed_and_listed_nowhere(server: RunningServer) -> None:
    run_id = server.start_run(trace=False)
    *_, last = events_of(server, run_id)
    assert (last.name, last.data["run_id"], last.data["trace_path"]) == ("done", run_id, None)
    assert run_id not in {run["run_id"] for run in server.get("/api/runs?limit=200").json["runs"]}
    assert server.get(f"/api/runs/{run_id}").json["result"] == last.data
    assert server.get(f"/api/runs/{run_id}/egress").json["entries"] == []
    assert server.get(f"/api/runs/{run_id}/export").status == 200
    for path in (f"/api/runs/{run_id}/resume", f"/api/runs/{run_id}/cancel"):
        assert server.post(path).code == "conflict"
    assert server.get(f"/api/runs/{run_id}/export?format=zip").code == "conflict"


def test_the_list_goes_on_page_by_page(server: RunningServer) -> None:
    for _ in range(3):
        server.finished(server.start_run("Who kept the Orrin Head Light?"))
    everything = server.get("/api/runs?limit=200&q=orrin").json
    seen: list[str] = []
    cursor = ""
    while True:
        page = server.get(f"/api/runs?limit=2&q=orrin{cursor}").json
        seen += [run["run_id"] for run in page["runs"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [run["run_id"] for run in everything["runs"]]
    assert len(seen) >= 3
    assert server.get("/api/runs?status=cancelled&q=orrin").json["runs"] == []
    assert server.get("/api/runs?surface=mcp&q=orrin").json["runs"] == []


# Models that hang


@pytest.fixture
def hanging(data: Path) -> Iterator[tuple[RunningServer, ScriptedModelServer]]:
    """A server whose model takes every request and says nothing."""
    with (
        ScriptedModelServer(silent()) as model,
        running_server(
            data,
            CITEWELL_MODEL="openai:test",
            CITEWELL_MODEL_BASE_URL=model.base_url,
            CITEWELL_HEARTBEAT_SECONDS="0.1",
            CITEWELL_MAX_RUNS="2",
            CITEWELL_MAX_WAITING_RUNS="1",
        ) as server,
    ):
        yield server, model


Hanging = tuple[RunningServer, ScriptedModelServer]


@pytest.mark.attack("C3")
def test_cancel_reaches_the_model_call_and_ends_the_stream(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    assert model.wait_until_asked()
    with promised(2.0, server.process.pid):
        reply = server.post(f"/api/runs/{run_id}/cancel")
        assert server.post(f"/api/runs/{run_id}/cancel").status in (202, 409)  # twice is no more than once
        *_, last = events_of(server, run_id)
        assert model.wait_until_left()
    assert (reply.status, reply.json["detail"]) == (202, "asked")
    assert (last.name, last.data["status"], last.data["answer"]) == ("done", "cancelled", "")
    again = server.post(f"/api/runs/{run_id}/cancel")
    assert (again.status, again.code) == (409, "conflict")


def test_finish_answers_with_what_is_there(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    assert model.wait_until_asked()
    assert server.post(f"/api/runs/{run_id}/finish").status == 202
    document = server.finished(run_id)
    assert (document["status"], document["tool"]) == ("done", "extractive")
    assert "Josiah Pell" in document["answer"]
    assert "incomplete" in document["answer_warnings"]
    assert server.post(f"/api/runs/{run_id}/finish").status == 409
    sent = server.get(f"/api/runs/{run_id}/egress").json
    assert [(one["kind"], one["to"], one["outcome"]) for one in sent["entries"]] == [("model", "openai:test", "let_go")]
    assert sent["bytes"] == sent["entries"][0]["bytes"] > 100


@pytest.mark.attack("L2")
def test_over_the_limit_the_answer_is_429_and_when_to_come_back(hanging: Hanging) -> None:
    server, model = hanging
    first, second, third = (server.start_run() for _ in range(3))
    assert server.get(f"/api/runs/{third}").json["summary"]["status"] == "queued"
    refused = server.post("/api/runs", {"question": QUESTION})
    assert (refused.status, refused.code) == (429, "busy")
    assert int(refused.headers["retry-after"]) > 0
    server.post(f"/api/runs/{first}/cancel")
    events_of(server, first)
    assert model.wait_until_asked()
    assert server.start_run()
    for run_id in (second, third):
        server.post(f"/api/runs/{run_id}/cancel")
        *_, last = events_of(server, run_id)
        assert last.data["status"] == "cancelled"


@pytest.mark.attack("C1")
def test_a_reader_that_leaves_changes_nothing_for_the_run(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    for _ in range(3):
        with server.stream(f"/api/runs/{run_id}/events") as answer:
            next(read_events(answer))
    assert model.wait_until_asked()
    assert server.get(f"/api/runs/{run_id}").json["summary"]["status"] == "running"
    server.post(f"/api/runs/{run_id}/finish")
    assert "Josiah Pell" in server.finished(run_id)["answer"]


@pytest.mark.attack("C2")
def test_a_reader_that_stops_reading_holds_nothing_up(server: RunningServer) -> None:
    """It has a small window and reads nothing of a stream much larger than that; the others and the run go on."""
    question = "Who lit the lamp? " + "And what of the oil, the light and the ferry? " * 100
    runs = [server.start_run(question) for _ in range(3)]
    stalled: list[socket.socket] = []
    try:
        for run_id in runs * 5:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: {server.url[7:]}\r\n\r\n".encode())
            stalled.append(connection)
        for run_id in runs:
            assert server.finished(run_id)["status"] == "done"
        assert server.get("/api/health").status == 200
    finally:
        for connection in stalled:
            connection.close()


def test_heartbeats_come_on_their_beat_and_have_no_id(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    assert model.wait_until_asked()
    with server.stream(f"/api/runs/{run_id}/events") as answer:
        beats: list[float] = []
        for event in read_events(answer):
            if event.name == "heartbeat":
                assert (event.id, event.data) == (None, {})
                beats.append(time.monotonic())
            if len(beats) == 10:
                break
    assert beats[-1] - beats[0] < 9 * 0.1 + 5


@pytest.mark.attack("C4")
@pytest.mark.slow
@pytest.mark.parametrize(
    "reply", [silent(), stalls("Josiah Pell lit the lamp [1.1]. And th")], ids=["silent", "stalls"]
)
def test_told_to_stop_it_interrupts_its_runs_resumably(data: Path, reply: Reply) -> None:
    """Streams end with the word, the process within five seconds, and the next server goes on with the run."""
    with ScriptedModelServer(reply) as model:
        environment = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": model.base_url}
        with running_server(data, **environment) as server:
            run_id = server.start_run()
            assert model.wait_until_asked()
            ends: list[Event] = []
            with server.stream(f"/api/runs/{run_id}/events") as answer:
                reading = threading.Thread(target=lambda: ends.extend(read_events(answer)))
                reading.start()
                begun = time.monotonic()
                assert server.stop(signal.SIGTERM) == 0
                took = time.monotonic() - begun
                reading.join(10)
            print(f"stopped in {took:.2f} s")
            assert took < 5
            assert (ends[-1].name, ends[-1].data["error"]["code"]) == ("error", "interrupted")
            assert ends[-1].data["error"]["run_id"] == run_id
    with running_server(data) as server:
        assert server.get(f"/api/runs/{run_id}").json["summary"]["status"] == "interrupted"
        assert server.post(f"/api/runs/{run_id}/finish").status == 202
        rest = events_of(server, run_id, **{"Last-Event-ID": str(ends[-1].id)})
        assert (rest[-1].name, rest[-1].data["status"]) == ("done", "done")
        ids = [event.id for event in rest]
        assert ids == sorted(ids, key=lambda one: one or 0)
        assert (ids[0] or 0) > (ends[-1].id or 0)


@pytest.mark.attack("C4")
@pytest.mark.slow
def test_killed_it_leaves_runs_that_the_next_server_shows_and_resumes(data: Path) -> None:
    with ScriptedModelServer(silent()) as model:
        environment = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": model.base_url}
        with running_server(data, **environment) as server:
            run_id = server.start_run()
            assert model.wait_until_asked()
            server.stop(signal.SIGKILL)
        with running_server(data, **environment) as server:
            assert server.get("/api/runs").json["runs"][0]["status"] == "interrupted"
            assert [run["run_id"] for run in server.get("/api/runs?status=interrupted").json["runs"]] == [run_id]
            *_, last = events_of(server, run_id)
            assert (last.name, last.data["error"]["code"]) == ("error", "interrupted")
            assert server.post(f"/api/runs/{run_id}/resume").status == 202
            assert server.post(f"/api/runs/{run_id}/resume").status == 409
            server.post(f"/api/runs/{run_id}/finish")
            assert "Josiah Pell" in server.finished(run_id)["answer"]
            assert server.post(f"/api/runs/{run_id}/replay", {}).json["identical"]


@pytest.mark.attack("D8")
@pytest.mark.slow
def test_any_process_streams_any_run(data: Path) -> None:
    """One server executes it, the other streams it while it goes on, and asks it to end."""
    with ScriptedModelServer(silent()) as model:
        environment = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": model.base_url}
        with running_server(data, **environment) as one, running_server(data) as other:
            run_id = one.start_run()
            assert model.wait_until_asked()
            with other.stream(f"/api/runs/{run_id}/events") as answer:
                events = read_events(answer)
                next(events)
                assert other.post(f"/api/runs/{run_id}/resume").status == 409
                assert other.post(f"/api/runs/{run_id}/finish").status == 202
                elsewhere = [event for event in events if event.name != "heartbeat"]
            assert elsewhere[-1].name == "done"
            assert events_of(one, run_id)[1:] == elsewhere


@pytest.mark.attack("C6")
@pytest.mark.slow
def test_five_hundred_readers_that_come_and_go_leave_nothing_behind(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    assert model.wait_until_asked()
    path = f"/api/runs/{run_id}/events"

    def come_and_go(times: int) -> None:
        for at in range(times):
            with server.stream(path) as answer:
                if at % 2:
                    next(read_events(answer))

    # At first the pools of threads grow to their size, and each thread opens the databases for itself.
    growing = [threading.Thread(target=come_and_go, args=(15,)) for _ in range(8)]
    for thread in growing:
        thread.start()
    for thread in growing:
        thread.join()
    before = settled(server)
    come_and_go(500)
    after = settled(server, before)
    print(f"descriptors and threads before {before}, after {after}")
    assert after[0] <= before[0]
    assert after[1] <= before[1]
    server.post(f"/api/runs/{run_id}/finish")
    assert server.finished(run_id)["status"] == "done"


def settled(server: RunningServer, wanted: tuple[int, int] | None = None) -> tuple[int, int]:
    """Open descriptors and threads, once they no longer change or are back where they were."""
    deadline = time.monotonic() + 30
    counted = held_by(server)
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = held_by(server)
        if now == counted and (wanted is None or now[0] <= wanted[0]):
            break
        counted = now
    return counted


def held_by(server: RunningServer) -> tuple[int, int]:
    pid = server.process.pid
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.attack("C6")
def test_readers_that_come_and_go_leave_no_task_behind(data: Path) -> None:
    """In this process, where the tasks of the server's loop can be counted."""
    with ScriptedModelServer(silent()) as model, Citewell(data, model_base_url=model.base_url) as cw:
        run_id = cw.start(QUESTION, model="openai:test")
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            app, state = create_app(cw, Gatekeeper(called_by("127.0.0.1", port)))
            server = uvicorn.Server(uvicorn.Config(app, http=GuardedProtocol, ws="none", log_config=None))
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_until_complete, args=(server._serve([listening]),))
            thread.start()
            base = come_and_go_in(loop, port, run_id, 5)
            assert come_and_go_in(loop, port, run_id, 60) <= base
            loop.call_soon_threadsafe(state.closing.set)
            server.should_exit = True
            thread.join(30)
            loop.close()
        cw.runs.cancel(run_id)


def come_and_go_in(loop: asyncio.AbstractEventLoop, port: int, run_id: str, times: int) -> int:
    """How many tasks the loop has once this many readers have left."""
    request = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall(request)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
    left = len(asyncio.all_tasks(loop))
    deadline = time.monotonic() + 20
    while left > 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        left = len(asyncio.all_tasks(loop))
    return left


@pytest.mark.attack("L3")
@pytest.mark.slow
def test_heavy_work_does_not_delay_heartbeats(hanging: Hanging) -> None:
    server, model = hanging
    run_id = server.start_run()
    assert model.wait_until_asked()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            body: dict[str, Any] = {"question": QUESTION + " " + "lamp oil ferry light " * 300}
            assert server.post("/api/research", body).status == 200

    workers = [threading.Thread(target=work) for _ in range(6)]
    with server.stream(f"/api/runs/{run_id}/events") as answer:
        for worker in workers:
            worker.start()
        try:
            gaps = beat_gaps(answer, 30)
        finally:
            stop.set()
            for worker in workers:
                worker.join()
    print(f"the longest of 30 gaps was {max(gaps):.2f} s for a beat of 0.1 s")
    assert max(gaps) < 3


def beat_gaps(answer: http.client.HTTPResponse, count: int) -> list[float]:
    beats: list[float] = []
    for event in read_events(answer):
        if event.name == "heartbeat":
            beats.append(time.monotonic())
        if len(beats) > count:
            break
    return [later - earlier for earlier, later in pairwise(beats)]
