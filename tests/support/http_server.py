"""The real server in a process of its own, and plain sockets to talk to it: nothing between a test and the wire."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 120.0


@dataclass(frozen=True)
class Reply:
    """An answer, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error."""
        assert set(self.json) == {"error"}, self.json
        assert {"code", "message"} <= set(self.json["error"]) <= {"code", "message", "fix", "answer_status", "run_id"}
        return str(self.json["error"]["code"])


class RunningServer:
    """`citewell serve`, and requests to it."""

    def __init__(self, process: subprocess.Popen[str], url: str, data: Path) -> None:
        self.process = process
        self.url = url
        self.data = data
        self.host, _, port = url.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Reply:
        """One request on a connection of its own. Bytes go as they are, an iterator in chunks, all else as JSON."""
        sent = {"Content-Type": "application/json"} if body is not None else {}
        content = body if isinstance(body, (bytes, type(None), Iterator)) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, content, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Reply:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        return self.ask("POST", path, body, **options)

    def raw(self, request: bytes, timeout: float = 30.0) -> Reply:
        """Exactly these bytes; what comes back until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    @contextmanager
    def stream(
        self, path: str, *, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read as it comes; leaving closes the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(
                method, path, json.dumps(body) if body is not None else None, {**sent, **(headers or {})}
            )
            yield connection.getresponse()
        finally:
            # The response holds the socket too.
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def start_run(self, question: str = "Who lit the lamp?", **options: Any) -> str:
        reply = self.post("/api/runs", {"question": question, **options})
        assert reply.status == 202, reply.body
        return str(reply.json["run_id"])

    def finished(self, run_id: str) -> Any:
        """The document a run's stream ends with."""
        with self.stream(f"/api/runs/{run_id}/events") as answer:
            *_, last = read_events(answer)
        assert last.name == "done", last
        return last.data

    def stop(self, sign: int = signal.SIGTERM, seconds: float = 30.0) -> int:
        self.process.send_signal(sign)
        return self.process.wait(seconds)


@dataclass(frozen=True)
class Event:
    """One event of a stream."""

    id: int | None
    name: str
    data: Any


def read_events(answer: http.client.HTTPResponse) -> Iterator[Event]:
    """The events of a stream, read by the letter: one field a line, a blank line at the end of each."""
    fields: dict[str, str] = {}
    for raw in answer:
        line = raw.decode().rstrip("\n")
        if line:
            name, colon, value = line.partition(": ")
            assert colon, line
            assert name not in fields, line
            fields[name] = value
            continue
        number = int(fields["id"]) if "id" in fields else None
        yield Event(number, fields["event"], json.loads(fields["data"]))
        fields = {}
    assert not fields, "the stream ends in the middle of an event"


@contextmanager
def running_server(data: Path, *arguments: str, **environment: str) -> Iterator[RunningServer]:
    """The server over a data folder, on a port the system chose; it never outlives the test."""
    with started_server(data, arguments, environment) as server:
        yield server


@contextmanager
def started_server(
    data: Path,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    preexec_fn: Callable[[], None] | None = None,
) -> Iterator[RunningServer]:
    """The same, with something that is done in its process before it begins."""
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "serve", "--port", "0", *arguments]
    errors = data.parent / f"{data.name}-server-errors.txt"
    with errors.open("w+") as stderr:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **(environment or {})},
            preexec_fn=preexec_fn,
        )
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("http://"), errors.read_text()
            yield RunningServer(process, url, data)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
