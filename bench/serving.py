"""The server under load: 200 readers on a run that says nothing beside 20 runs at a time, and 500 readers that leave.

What is measured is what a person would notice: how long `/api/health` takes, and how late heartbeats come. The server
is a real process on a real socket; whoever reads is in this one, on the same cores. Of readers that connect and drop is
measured what they leave behind: descriptors and threads of that process, and tasks of a loop in this one, where they
can be counted.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from tables import Part

from citewell import Citewell
from citewell.api.app import create_app
from citewell.api.security import Gatekeeper, called_by
from citewell.api.server import GuardedProtocol
from citewell.evals.suite import sample_corpus

QUESTIONS = (
    "Who is rossbench?",
    "What did Tidewick 1.4.2 fix?",
    "Why did we pick Driftlog for the shared logbook?",
    "What do I know about Big Maggie?",
)


@dataclass
class Load:
    """What came of it."""

    streams: int
    runs_at_a_time: int
    seconds: float
    heartbeat_seconds: float
    questions: tuple[str, ...]
    health: list[float] = field(default_factory=list)
    # Seconds between a heartbeat and the one before, less what they should be.
    lateness: list[float] = field(default_factory=list)
    runs: int = 0
    problems: list[str] = field(default_factory=list)

    def health_at(self, share: float) -> float:
        return quantile(self.health, share)

    def lateness_at(self, share: float) -> float:
        return quantile(self.lateness, share)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def measure_serving(seconds: float = 30.0) -> Part:
    """As a part of docs/measurements/benchmarks.md."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with Citewell(data, embeddings="off") as cw:
            cw.add(sample_corpus())
        load = load_server(data, 200, 20, seconds, heartbeat_seconds=5.0)
        left = drop_readers(data, 500)
    columns = ("what", "median", "95%", "longest")
    rows = (
        ("`/api/health`", *(f"{load.health_at(share) * 1000:.0f} ms" for share in (0.5, 0.95, 1.0))),
        ("a heartbeat comes late by", *(f"{load.lateness_at(share) * 1000:.0f} ms" for share in (0.5, 0.95, 1.0))),
    )
    notes = (
        f"{load.streams} idle streams, {load.runs_at_a_time} runs at a time for {load.seconds:.0f} s: {load.runs} runs "
        f"ended, {len(load.health)} requests for health, {len(load.lateness)} heartbeats of "
        f"{load.heartbeat_seconds:g} s; {len(load.problems)} errors. The goal is a health below 200 ms at 95%.",
        f"{left.readers} readers that connect, read the beginning of a stream and drop it, in {left.seconds:.0f} s: "
        f"descriptors of the server {left.descriptors[0]} before and {left.descriptors[1]} after, threads "
        f"{left.threads[0]} and {left.threads[1]}, tasks of its loop {left.tasks[0]} and {left.tasks[1]}.",
    )
    return Part("serving", (), columns, rows, notes)


@dataclass(frozen=True)
class LeftBehind:
    """What a server holds before readers come, and once they have gone."""

    readers: int
    seconds: float
    descriptors: tuple[int, int]
    threads: tuple[int, int]
    tasks: tuple[int, int]


def drop_readers(data: Path, readers: int) -> LeftBehind:
    """Let readers connect to a server over this data folder and drop, one after the other."""
    with _silent_model() as model:
        with _serving(data, model) as (process, port):
            hanging = asyncio.run(_start(port, QUESTIONS[0], model="openai:silent"))
            _come_and_go(port, hanging, 10)
            before = _settled(lambda: _held(process.pid))
            begun = time.monotonic()
            _come_and_go(port, hanging, readers)
            seconds = time.monotonic() - begun
            after = _settled(lambda: _held(process.pid), before)
            asyncio.run(_post(port, f"/api/runs/{hanging}/cancel"))
        tasks = _tasks_left(data, model, readers)
    return LeftBehind(readers, seconds, (before[0], after[0]), (before[1], after[1]), tasks)


def _come_and_go(port: int, run_id: str, times: int) -> None:
    request = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall(request)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")


def _held(pid: int) -> tuple[int, ...]:
    """Open descriptors and threads of a process."""
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def _settled(count: Callable[[], tuple[int, ...]], wanted: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The counts once they no longer change, or are back where they were; after 30 s as they are."""
    deadline = time.monotonic() + 30
    last = count()
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = count()
        if now == last and (wanted is None or all(one <= base for one, base in zip(now, wanted, strict=True))):
            break
        last = now
    return last


def _tasks_left(data: Path, model: str, readers: int) -> tuple[int, int]:
    """Tasks of the loop of a server in this process, before and after."""
    with (
        Citewell(data, embeddings="off", model_base_url=model) as cw,
        socket.create_server(("127.0.0.1", 0)) as listening,
    ):
        run_id = cw.start(QUESTIONS[0], model="openai:silent")
        port = listening.getsockname()[1]
        app, state = create_app(cw, Gatekeeper(called_by("127.0.0.1", port)))
        server = uvicorn.Server(uvicorn.Config(app, http=GuardedProtocol, ws="none", log_config=None))
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_until_complete, args=(server._serve([listening]),))
        thread.start()
        try:
            _come_and_go(port, run_id, 10)
            (before,) = _settled(lambda: (len(asyncio.all_tasks(loop)),))
            _come_and_go(port, run_id, readers)
            (after,) = _settled(lambda: (len(asyncio.all_tasks(loop)),), (before,))
        finally:
            loop.call_soon_threadsafe(state.closing.set)
            server.should_exit = True
            thread.join(30)
            loop.close()
            cw.runs.cancel(run_id)
    return before, after


def load_server(
    data: Path,
    streams: int,
    runs: int,
    seconds: float,
    *,
    heartbeat_seconds: float,
    questions: tuple[str, ...] = QUESTIONS,
) -> Load:
    """Load a server over this data folder for a while; the corpus must have an answer to the first question."""
    load = Load(streams, runs, seconds, heartbeat_seconds, questions)
    more = {"CITEWELL_MAX_RUNS": str(runs + 1), "CITEWELL_HEARTBEAT_SECONDS": str(heartbeat_seconds)}
    with _silent_model() as model, _serving(data, model, **more) as (_, port):
        asyncio.run(_loaded(port, load))
    return load


@contextmanager
def _serving(data: Path, model: str, **settings: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server over this data folder, and its port."""
    environment = {**os.environ, "CITEWELL_MODEL_BASE_URL": model, "CITEWELL_EMBEDDINGS": "off", **settings}
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        yield process, port
    except OSError as error:
        raise RuntimeError(f"the server did not last: {error}; it ended with {process.poll()}") from error
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def _silent_model() -> Iterator[str]:
    """An address where every request is taken and none answered."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take() -> None:
            with suppress(OSError):
                while True:
                    held.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            for connection in held:
                connection.close()


async def _loaded(port: int, load: Load) -> None:
    hanging = await _start(port, load.questions[0], model="openai:silent")
    until = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        ready = [asyncio.Event() for _ in range(load.streams)]
        for one in ready:
            group.create_task(_stream(port, hanging, load, one, until))
        for one in ready:
            await one.wait()
        end = time.monotonic() + load.seconds
        for number in range(load.runs_at_a_time):
            group.create_task(_run(port, number, load, end))
        group.create_task(_health(port, load, end))
        await asyncio.sleep(load.seconds)
        until.set()
    await _post(port, f"/api/runs/{hanging}/cancel")


async def _stream(port: int, run_id: str, load: Load, ready: asyncio.Event, until: asyncio.Event) -> None:
    reader, writer = await _ask(port, "GET", f"/api/runs/{run_id}/events")
    last: float | None = None
    stopping = asyncio.ensure_future(until.wait())
    try:
        while not until.is_set():
            line = asyncio.ensure_future(reader.readline())
            await asyncio.wait((line, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                line.cancel()
                return
            if not line.result():
                load.problems.append("a stream ended")
                ready.set()
                return
            ready.set()
            if line.result().startswith(b"event: heartbeat"):
                now = time.monotonic()
                if last is not None:
                    load.lateness.append(max(0.0, now - last - load.heartbeat_seconds))
                last = now
    finally:
        stopping.cancel()
        writer.close()


async def _run(port: int, number: int, load: Load, end: float) -> None:
    """One run after the other, each to its end."""
    while time.monotonic() < end:
        run_id = await _start(port, load.questions[(number + load.runs) % len(load.questions)])
        reader, writer = await _ask(port, "GET", f"/api/runs/{run_id}/events")
        content = await reader.read()
        writer.close()
        load.runs += 1
        if b"event: done" not in content:
            load.problems.append("a run did not end")


async def _health(port: int, load: Load, end: float) -> None:
    while time.monotonic() < end:
        begun = time.monotonic()
        status, _ = await _whole(port, "GET", "/api/health")
        load.health.append(time.monotonic() - begun)
        if status != 200:
            load.problems.append(f"health was {status}")
        await asyncio.sleep(0.05)


async def _start(port: int, question: str, **options: str) -> str:
    status, body = await _post(port, "/api/runs", {"question": question, **options})
    assert status == 202, body
    return str(json.loads(body)["run_id"])


async def _post(port: int, path: str, body: object = None) -> tuple[int, bytes]:
    return await _whole(port, "POST", path, b"" if body is None else json.dumps(body).encode())


async def _whole(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    reader, writer = await _ask(port, method, path, body)
    content = await reader.read()
    writer.close()
    head, _, rest = content.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), rest


async def _ask(
    port: int, method: str, path: str, body: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    kind = "Content-Type: application/json\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{kind}Content-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
    await writer.drain()
    return reader, writer


if __name__ == "__main__":
    print(measure_serving().markdown())
