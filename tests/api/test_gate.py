"""Who is let in: the gate stands over every route, also those of mounted apps, and its headers are on every answer."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from citewell import Citewell
from citewell.api.app import OPERATIONS, MountedApp, create_app
from citewell.api.security import HEADERS, Gatekeeper, called_by
from support.http_server import RunningServer, running_server

TOKEN = "a-token-of-forty-letters-for-this-test-only"
# Every path there is, with something in the place of each parameter; and two that are none.
PATHS = [
    *dict.fromkeys(re.sub(r"\{(\w+)\}", "20260105T101500-0a1b2c3d", one.path) for one in OPERATIONS),
    "/openapi.json",
    "/",
    "/api/ask",
]


def asked_as(server: RunningServer, host_lines: str, path: str = "/api/health") -> int:
    request = f"GET {path} HTTP/1.1\r\n{host_lines}Connection: close\r\n\r\n"
    return server.raw(request.encode("latin-1")).status


@pytest.mark.attack("W1")
@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_host_is_refused_on_every_path(server: RunningServer, path: str) -> None:
    for host in ("evil.example", f"evil.example:{server.port}", f"127.0.0.1.evil.example:{server.port}", "localhost:1"):
        reply = server.get(path, headers={"Host": host})
        assert (reply.status, reply.code) == (421, "foreign_host"), (path, host)


@pytest.mark.attack("W1")
def test_a_missing_empty_or_repeated_host_is_refused(server: RunningServer) -> None:
    ours = f"Host: 127.0.0.1:{server.port}\r\n"
    assert asked_as(server, ours) == 200
    for lines in (
        "",
        "Host:\r\n",
        ours + ours,
        ours + "Host: evil.example\r\n",
        f"Host: 127.0.0.1:{server.port}@evil\r\n",
    ):
        assert asked_as(server, lines) in (400, 421), lines
    assert asked_as(server, ours + ours) == 421


# What stands behind the one port, beside the API itself: a stream, MCP, the page and a file of it.
DOORS = ["/api/stats", "/api/runs/20260105T101500-0a1b2c3d/events", "/mcp", "/", "/icon.svg", "/assets"]


def door_of(server: RunningServer, door: str) -> str:
    """The path of a door; of the page's files, one that is there."""
    if door != "/assets":
        return door
    found = re.search(r'"(/assets/[^"]+\.js)"', server.get("/").body.decode())
    assert found
    return found[1]


@pytest.mark.attack("W1")
@pytest.mark.parametrize("door", DOORS)
def test_no_door_opens_to_a_foreign_missing_empty_or_repeated_host(server: RunningServer, door: str) -> None:
    path, ours = door_of(server, door), f"Host: 127.0.0.1:{server.port}\r\n"
    assert asked_as(server, ours, path) not in (400, 421)  # the control
    for lines in (
        f"Host: evil.example:{server.port}\r\n",
        "",
        "Host:\r\n",
        ours + ours,
        ours + "Host: evil.example\r\n",
        "Host: evil.example\r\n" + ours,
        f"Host: 127.0.0.1:{server.port}, evil.example\r\n",
        f"Host: [::1]:{server.port}.evil.example\r\n",
        f"Host: 127.0.0.1:{server.port}\r\nX-Forwarded-Host: evil.example\r\nHost: x\r\n",
    ):
        assert asked_as(server, lines, path) in (400, 421), (path, lines)


@pytest.mark.attack("W2")
@pytest.mark.parametrize("door", DOORS)
def test_no_door_opens_to_a_foreign_origin(server: RunningServer, door: str) -> None:
    path = door_of(server, door)
    for method in ("GET", "POST"):
        for origin in ("https://evil.example", "null", f"http://127.0.0.1:{server.port + 1}", "http://localhost"):
            reply = server.ask(method, path, headers={"Origin": origin})
            assert (reply.status, reply.code) == (403, "foreign_origin"), (method, path, origin)


@pytest.mark.attack("C8")
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"x"', b"{", b"[" * 10_000, b'{"a":' * 10_000, b"\xff\xfe"])
def test_what_is_no_message_is_refused_at_the_door_for_agents(server: RunningServer, body: bytes) -> None:
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    assert 400 <= server.post("/mcp", body, headers=accepted).status < 500
    assert server.get("/api/health").status == 200


@pytest.mark.attack("C8")
def test_a_message_of_a_hundred_megabytes_is_refused_at_the_door_for_agents(server: RunningServer) -> None:
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    whole = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"a" * 100_000_000 + b'"}'
    in_chunks = (b"a" * 1_000_000 for _ in range(100))
    for body in (whole, in_chunks):
        assert server.post("/mcp", body, headers=accepted).status == 413
    assert server.get("/api/health").status == 200


@pytest.mark.attack("V3")
@pytest.mark.parametrize(
    "name",
    [
        *("..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e", "..%5c..%5cx", "%00", "a%00b"),
        *("20260105T101500-0a1b2c3d%2f..", "20260105T101500-0a1b2c3d%00.md", "~", "%ff", "last%2f..", "x" * 5_000),
    ],
)
def test_a_run_id_that_is_none_leads_nowhere(server: RunningServer, name: str) -> None:
    before = sorted(path.name for path in server.data.parent.iterdir())
    for path in (f"/api/runs/{name}", f"/api/runs/{name}/events", f"/api/runs/{name}/export?format=zip"):
        reply = server.get(path)
        # A name that climbs may come out at another route of ours: it is never a run, a file or an error of the server.
        assert 400 <= reply.status < 500 or (".." in name and "/" in name), (path, reply.status)
        assert b"root:" not in reply.body
    for action in ("cancel", "finish", "resume", "replay"):
        assert 400 <= server.post(f"/api/runs/{name}/{action}", {}).status < 500
    assert sorted(path.name for path in server.data.parent.iterdir()) == before


def test_every_name_of_this_machine_is_ours(server: RunningServer) -> None:
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert server.get("/api/health", headers={"Host": f"{host}:{server.port}"}).status == 200


@pytest.mark.attack("W2")
@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_origin_is_refused_on_every_path(server: RunningServer, path: str) -> None:
    other_port = server.port + 1
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{other_port}",
        f"https://127.0.0.1:{server.port}",
    ):
        reply = server.get(path, headers={"Origin": origin})
        assert (reply.status, reply.code) == (403, "foreign_origin"), (path, origin)
    ours = server.get(path, headers={"Origin": f"http://127.0.0.1:{server.port}"})
    assert ours.status != 403


@pytest.mark.attack("W3")
def test_what_another_site_can_send_without_asking_starts_nothing(server: RunningServer) -> None:
    before = server.get("/api/runs?limit=200").json["runs"]
    body = b'{"question": "Who lit the lamp?"}'
    kinds = (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/jsonp",
    )
    for kind in kinds:
        assert server.post("/api/runs", body, headers={"Content-Type": kind}).status == 415, kind
    for site in ("cross-site", "same-site"):
        assert server.post("/api/runs", body, headers={"Sec-Fetch-Site": site}).status == 403
    assert (
        server.post("/api/runs/20260105T101500-0a1b2c3d/cancel", headers={"Content-Type": "text/plain"}).status == 415
    )
    assert server.get("/api/runs?limit=200").json["runs"] == before
    assert server.get("/api/health", headers={"Sec-Fetch-Site": "same-origin"}).status == 200


@pytest.mark.attack("W4")
@pytest.mark.parametrize("path", PATHS)
def test_nobody_is_told_that_he_may_read_across_origins(server: RunningServer, path: str) -> None:
    asked = {"Origin": f"http://127.0.0.1:{server.port}", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "GET", "HEAD"):
        reply = server.ask(method, path, headers=asked)
        assert not [name for name in reply.headers if name.startswith("access-control")], path
    assert server.ask("OPTIONS", path, headers=asked).status in (404, 405)


@pytest.mark.attack("W8")
@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers_that_keep_a_browser_in_check(server: RunningServer, path: str) -> None:
    asked: tuple[tuple[str, dict[str, str]], ...] = (
        ("GET", {}),
        ("GET", {"Host": "evil"}),
        ("PUT", {}),
        ("POST", {"Content-Type": "text/plain"}),
        ("HEAD", {}),
    )
    for method, headers in asked:
        reply = server.ask(method, path, headers=headers)
        missing = [name for name in HEADERS if name not in reply.headers]
        assert missing == [], (method, path, reply.status)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "server" not in reply.headers


@pytest.mark.attack("W8")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    ],
    ids=["tls", "version", "bytes", "header", "long path", "long header", "two lengths"],
)
def test_what_is_no_request_gets_the_same_envelope_and_headers(server: RunningServer, request_bytes: bytes) -> None:
    reply = server.raw(request_bytes)
    assert reply.status in (400, 421, 431)
    assert reply.code
    assert [name for name in HEADERS if name not in reply.headers] == []
    assert server.get("/api/health").status == 200


@pytest.mark.attack("W1")
@pytest.mark.attack("W2")
@pytest.mark.attack("W8")
@pytest.mark.attack("A4")
def test_a_mounted_app_stands_behind_the_same_gate(data: Path) -> None:
    """What hangs under a path of its own (MCP, the page) is checked and gets the headers like everything else."""
    with Citewell(data) as cw:
        mounted = MountedApp("/mcp", PlainTextResponse("mounted"))
        app, _ = create_app(cw, Gatekeeper(called_by("127.0.0.1", 80), TOKEN), (mounted,))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            allowed = {"Authorization": f"Bearer {TOKEN}"}
            assert client.get("/mcp/x", headers=allowed).text == "mounted"
            assert client.get("/mcp/x", headers=allowed).headers["x-content-type-options"] == "nosniff"
            assert client.get("/mcp/x", headers={**allowed, "Host": "evil"}).status_code == 421
            assert client.get("/mcp/x", headers={**allowed, "Origin": "null"}).status_code == 403
            assert client.get("/mcp/x").status_code == 401


@pytest.fixture(scope="module")
def guarded(served_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that wants a token."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.touch(0o600)
    file.write_text(TOKEN + "\n")
    with running_server(served_data, "--token-file", str(file)) as running:
        yield running


def serve_once(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "serve", "--port", "0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.attack("A1")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_a_token_it_does_not_start_where_others_reach_it(served_data: Path, host: str) -> None:
    done = serve_once(served_data, "--host", host)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--token-file" in done.stderr


@pytest.mark.attack("W1")
@pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2", "::1"])
@pytest.mark.parametrize("host", ["127.0.0.2", "LocalHost", "127.1", "0:0:0:0:0:0:0:1"])
def test_the_address_that_is_printed_answers_however_the_loopback_is_spelt(served_data: Path, host: str) -> None:
    with running_server(served_data, "--host", host) as running:
        address = running.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, running.port, timeout=60)
        try:
            for shown, status in ((address, 200), (f"evil.example:{running.port}", 421)):
                connection.request("GET", "/api/health", headers={"Host": shown})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == status, shown
        finally:
            connection.close()


@pytest.mark.attack("A1")
def test_a_token_that_is_none_does_not_count(served_data: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    for text, mode in (("", 0o600), ("short", 0o600), ("x" * 5_000, 0o600), ("a b" * 20, 0o600), ("x" * 40, 0o644)):
        file.write_text(text)
        file.chmod(mode)
        done = serve_once(served_data, "--host", "0.0.0.0", "--token-file", str(file))
        assert (done.returncode, done.stdout) == (2, ""), text
        assert "→" in done.stderr
    assert serve_once(served_data, "--token-file", str(tmp_path / "none")).returncode == 2


@pytest.mark.attack("A2")
def test_only_the_whole_token_opens(guarded: RunningServer) -> None:
    wrong = (
        "",
        " ",
        TOKEN[:-1],
        TOKEN + "x",
        TOKEN.upper(),
        "x" * len(TOKEN),
        TOKEN * 1_000,
        f"{TOKEN} {TOKEN}",
        f" {TOKEN}",
    )
    for given in wrong:
        reply = guarded.get("/api/stats", headers={"Authorization": f"Bearer {given}"})
        assert (reply.status, reply.code) == (401, "unauthorized"), given[:60]
        assert reply.headers["www-authenticate"].startswith("Bearer")
    assert guarded.get("/api/stats", headers={"Authorization": f"Bearer {TOKEN}"}).status == 200


@pytest.mark.attack("A3")
def test_no_other_form_of_the_token_is_taken(guarded: RunningServer) -> None:
    bearer = f"Bearer {TOKEN}"
    for headers in (
        {"Authorization": TOKEN},
        {"Authorization": f"bearer {TOKEN}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer:{TOKEN}"},
        {"X-Api-Key": TOKEN},
        {"Cookie": f"token={TOKEN}"},
        {"Proxy-Authorization": bearer},
    ):
        assert guarded.get("/api/stats", headers=headers).status == 401, headers
    for query in (f"token={TOKEN}", f"access_token={TOKEN}", f"authorization={bearer}".replace(" ", "%20")):
        assert guarded.get(f"/api/stats?{query}").status == 401
    twice = f"GET /api/stats HTTP/1.1\r\nHost: 127.0.0.1:{guarded.port}\r\nAuthorization: {bearer}\r\n"
    assert guarded.raw(f"{twice}Authorization: {bearer}\r\nConnection: close\r\n\r\n".encode()).status == 401


@pytest.mark.attack("A4")
@pytest.mark.parametrize("path", PATHS)
def test_every_route_wants_the_token(guarded: RunningServer, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        assert guarded.ask(method, path).status == 401, (method, path)


@pytest.mark.attack("A5")
def test_the_token_is_written_nowhere(guarded: RunningServer) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    reply = guarded.post("/api/runs", {"question": "Who lit the lamp?"}, headers=bearer)
    with guarded.stream(reply.json["events"], headers=bearer) as answer:
        stream = answer.read()
    guarded.get(f"/api/stats?token={TOKEN}", headers=bearer)
    guarded.get(f"/api/{TOKEN}", headers={"Host": TOKEN})
    shown = guarded.get("/api/settings", headers=bearer).body
    files = [path.read_bytes() for path in guarded.data.parent.rglob("*") if path.is_file()]
    assert not [found for found in (stream, shown, *files) if TOKEN.encode() in found]
    assert any(b"Josiah Pell" in found for found in files)


@pytest.mark.attack("A6")
def test_a_header_that_says_who_asks_grants_nothing(guarded: RunningServer) -> None:
    for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"):
        assert guarded.get("/api/stats", headers={name: "127.0.0.1"}).status == 401
    forwarded = {"Host": "evil.example", "X-Forwarded-Host": f"127.0.0.1:{guarded.port}"}
    assert guarded.get("/api/stats", headers=forwarded).status == 421


def test_a_port_that_is_taken_is_said_with_its_exit_code(served_data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = serve_once(served_data, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 4
    assert "--port" in done.stderr
