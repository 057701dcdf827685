"""A server that is asked for long, by many, or by somebody who means harm: what it holds stays the same."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.http_server import RunningServer, running_server
from support.model_script import silent
from support.model_server import ScriptedModelServer
from support.processes import descriptors, memory_mb, wait_for

TOKEN = "a-token-of-some-length-0123456789"
# Worker threads that nobody needs end after ten seconds; what was theirs must not be left behind.
REST_SECONDS = 12.0


def _burst(server: RunningServer, many: int) -> list[int]:
    """So many different requests at the same time; their statuses."""
    paths = ("/api/search?q=lamp", "/api/collections", "/api/runs", "/api/stats", "/api/documents/note:notes/Lamp")
    with ThreadPoolExecutor(many) as pool:
        return list(pool.map(lambda n: server.get(paths[n % len(paths)]).status, range(2 * many)))


@pytest.mark.attack("C6")
def test_bursts_with_a_rest_between_leave_no_descriptor_behind(data: Path) -> None:
    with running_server(data) as server:
        counts = []
        for _ in range(2):
            assert 500 not in _burst(server, 24)
            time.sleep(REST_SECONDS)
            counts.append(descriptors(server.process.pid))
        assert counts[1] - counts[0] <= 2, counts


@contextlib.contextmanager
def _few_descriptors(most: int) -> Iterator[None]:
    """What is started inside may open so many files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.attack("L2")
def test_without_descriptors_it_waits_says_so_in_few_lines_and_goes_on(data: Path) -> None:
    with contextlib.ExitStack() as stack:
        with _few_descriptors(96):
            server = stack.enter_context(running_server(data))
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(120)]
        try:
            time.sleep(3.0)
            assert server.process.poll() is None
        finally:
            for one in idle:
                one.close()
        assert server.get("/api/health", timeout=30).status == 200
        assert 500 not in _burst(server, 8)
        errors = data.parent / f"{data.name}-server-errors.txt"
        assert errors.stat().st_size < 5_000
        assert "Traceback" not in errors.read_text()


@pytest.fixture(scope="module")
def guarded(served_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that wants a token."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.touch(0o600)
    file.write_text(TOKEN + "\n")
    with running_server(served_data, "--token-file", str(file)) as running:
        yield running


def test_a_run_is_kept_as_a_case_once(data: Path) -> None:
    """A second time is a conflict that names the case; the file of cases stays as it was."""
    with running_server(data) as server:
        run_id = server.start_run(model="extractive", planner=False)
        server.finished(run_id)
        assert server.post(f"/api/runs/{run_id}/eval-case", {"keep": True}).status == 200
        kept = (data / "eval-cases" / "promoted.yaml").read_bytes()
        again = server.post(f"/api/runs/{run_id}/eval-case", {"keep": True})
        assert (again.status, again.code) == (409, "conflict")
        assert (data / "eval-cases" / "promoted.yaml").read_bytes() == kept
        assert server.post(f"/api/runs/{run_id}/eval-case", {"keep": False}).status == 200


@pytest.mark.attack("L2")
def test_models_that_are_waited_for_hold_up_no_search(data: Path) -> None:
    """Notes, packs with a planner, evals and a diff wait for a model that says nothing: more than there are threads."""
    asking = {"CITEWELL_MODEL": "openai:test", "CITEWELL_PLANNER_MODEL": "openai:test", "CITEWELL_NOTE_TOOL": "true"}
    with (
        ScriptedModelServer(silent()) as model,
        ThreadPoolExecutor(64) as pool,
        running_server(data, CITEWELL_MODEL_BASE_URL=model.base_url, **asking) as server,
    ):
        case = server.start_run(model="extractive", planner=False)
        server.finished(case)
        assert server.post(f"/api/runs/{case}/eval-case", {"keep": True}).status == 200

        def ask(method: str, path: str, body: object = None) -> None:
            # The server ends before they are answered.
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.ask(method, path, body, timeout=120)

        pack = {"question": "Who lit the lamp?", "use_model_planner": True}
        asked = [("POST", "/api/notes/research", {"path": "notes/Lamp.md"})] * 6 + [
            ("POST", "/api/research", pack)
        ] * 36
        for one in asked:
            pool.submit(ask, *one)
        pool.submit(ask, "POST", "/api/evals/run", {"kind": "research"})
        wait_for(lambda: len(model.requests) >= 20)
        # Runs that wait for their turn are waited for in the same way.
        pool.submit(ask, "GET", f"/api/runs/{case}/diff")
        for path in ("/api/search?q=lamp", "/api/topics/lamp", "/api/runs", "/api/health"):
            assert server.get(path, timeout=60).status == 200, path
        by_rules = {"question": "Who lit the lamp?", "use_model_planner": False}
        assert server.post("/api/research", by_rules, timeout=60).status == 200


def _send_for(connection: socket.socket, part: bytes, seconds: float) -> int:
    """Send until the other side has had enough, or so long; how much went."""
    sent, end = 0, time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            sent += connection.send(part)
    return sent


@pytest.mark.attack("C8")
@pytest.mark.parametrize("is_first", [True, False], ids=["first request", "after a refused one"])
@pytest.mark.parametrize(
    "start",
    [b"GET / HTTP/1.1\r\nX-A: ", b"GET /", b"GET / HTTP/1.1\r\n"],
    ids=["a header", "an address", "many headers"],
)
def test_headers_without_end_are_cut_off_before_the_token_is_asked_for(
    guarded: RunningServer, start: bytes, is_first: bool
) -> None:
    part = b"X-B: b\r\n" * 8_192 if start.endswith(b"\r\n") else b"a" * 65_536
    before = memory_mb(guarded.process.pid)
    with socket.create_connection(("127.0.0.1", guarded.port), 30) as connection:
        if not is_first:
            connection.sendall(f"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{guarded.port}\r\n\r\n".encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 401")
        connection.sendall(start)
        sent = _send_for(connection, part, 10.0)
    assert sent < 16_000_000
    assert memory_mb(guarded.process.pid) - before < 20
    assert guarded.get("/api/health", headers={"Authorization": f"Bearer {TOKEN}"}).status == 200


_DRIPPING = (
    b"GET / HTTP/1.1\r\nX-A: ",
    # After an answer, and in a body that was refused.
    b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET / HTTP/1.1\r\nX-A: ",
    b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 100000000\r\n\r\n",
)


@pytest.mark.attack("B3")
def test_a_client_that_drips_is_left_whatever_it_asked_before(guarded: RunningServer) -> None:
    """Twenty seconds for the headers of each request; a byte now and then does not prolong them."""

    def is_left(begins_with: bytes) -> bool:
        with socket.create_connection(("127.0.0.1", guarded.port), 0.5) as connection:
            connection.sendall(begins_with.replace(b"PORT", str(guarded.port).encode()))
            end = time.monotonic() + 120
            while time.monotonic() < end:
                try:
                    connection.send(b"a")
                    if not connection.recv(65_536):
                        return True
                except TimeoutError:
                    continue
                except OSError:
                    return True
        return False

    with ThreadPoolExecutor(len(_DRIPPING)) as pool:
        assert all(pool.map(is_left, _DRIPPING))
    assert guarded.get("/api/health", headers={"Authorization": f"Bearer {TOKEN}"}).status == 200
