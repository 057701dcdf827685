"""Reading over HTTP: the documents the command line prints, each by one request; bad input has its status."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

from citewell import json_schema
from support.http_server import RunningServer

LAMP = "note:notes/lamp"


def printed(server: RunningServer, *arguments: str) -> Any:
    """What the program prints over the same data folder."""
    command = [sys.executable, "-m", "citewell", "--data-dir", str(server.data), *arguments, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/api/search?q=lamp&limit=2&mode=lexical", ("search", "lamp", "--limit", "2", "--mode", "lexical")),
        ("/api/search?q=lamp&tag=lighthouse", ("search", "lamp", "--tag", "lighthouse")),
        (f"/api/documents/{LAMP}?content_mode=full", ("get", LAMP, "--content-mode", "full")),
        (f"/api/documents/{quote(LAMP, safe='')}?query=Pell", ("get", LAMP, "--query", "Pell")),
        (f"/api/related/{LAMP}", ("related", LAMP)),
        ("/api/topics/lamp", ("topics", "lamp")),
        ("/api/entities/Josiah%20Pell", ("entities", "Josiah Pell")),
        ("/api/stats", ("stats",)),
        ("/api/coverage", ("status",)),
    ],
)
def test_a_request_gives_what_the_command_prints(server: RunningServer, path: str, arguments: tuple[str, ...]) -> None:
    reply = server.get(path)
    assert reply.status == 200, reply.body
    document, wanted = reply.json, printed(server, *arguments)
    for varying in ("took_ms", "database_bytes"):
        document.pop(varying, None)
        wanted.pop(varying, None)
    assert document == wanted


def test_several_documents_are_read_in_one_request(server: RunningServer) -> None:
    reply = server.post("/api/documents", {"lookups": [LAMP, "note:no/such"], "query": "Pell"})
    found, missing = reply.json["documents"]
    assert (found["source_key"], missing["lookup"], missing["error"]["code"]) == (LAMP, "note:no/such", "not_found")
    earlier = server.get(f"/api/documents/{LAMP}?at={found['content_hash']}").json
    assert earlier["content_hash"] == found["content_hash"]


def test_settings_are_shown_without_their_secrets(server: RunningServer) -> None:
    names = {entry["name"] for entry in server.get("/api/settings").json["settings"]}
    assert {"CITEWELL_MODEL", "CITEWELL_MODEL_API_KEY", "CITEWELL_HEARTBEAT_SECONDS"} <= names


def test_head_answers_like_get_without_a_body(server: RunningServer) -> None:
    for path in ("/api/health", "/openapi.json", f"/api/documents/{LAMP}"):
        got, head = server.get(path), server.ask("HEAD", path)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


def test_there_is_no_ask(server: RunningServer) -> None:
    for method in ("GET", "POST"):
        reply = server.ask(method, "/api/ask")
        assert (reply.status, reply.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/search", 422),
        ("/api/search?q=", 422),
        ("/api/search?q=%20", 422),
        ("/api/search?q=a&limit=0", 422),
        ("/api/search?q=a&limit=two", 422),
        ("/api/search?q=a&limit=1&limit=2", 422),
        ("/api/search?q=a&mode=magic", 422),
        ("/api/search?q=a&source_type=no", 422),
        ("/api/search?q=a&since=2024-13", 422),
        ("/api/search?q=a&colour=red", 422),
        ("/api/stats?x=1", 422),
        ("/api/documents/note:no/such", 404),
        ("/api/documents/", 404),
        (f"/api/documents/{LAMP}?at=xyz", 422),
        (f"/api/documents/{LAMP}?at={'0' * 64}", 404),
        ("/api/related/note:no/such", 404),
        ("/api/entities/Nobody%20At%20All", 404),
        ("/api/topics/%20", 404),
        ("/api/nothing", 404),
        ("/api/stats/", 404),
    ],
)
def test_bad_requests_have_their_status_and_one_envelope(server: RunningServer, path: str, status: int) -> None:
    reply = server.get(path)
    assert reply.status == status, reply.body
    assert reply.code
    jsonschema.validate(reply.json, json_schema("error"))


@pytest.mark.attack("C8")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"1",
        b"{",
        b"\xff\xfe",
        b"{}",
        b'{"lookups": null}',
        b'{"lookups": []}',
        b'{"lookups": ["a"], "colour": "red"}',
        b'{"lookups": ["a"], "max_chars": 1e400}',
        b'{"lookups": [' + b"[" * 10_000 + b"]" * 10_000 + b"]}",
        b"[" * 10_000,
        b'{"a":' * 10_000,
        b'{"lookups": ["\\ud800"]}',
        b'{"question": ' + b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_request_is_refused(server: RunningServer, body: bytes) -> None:
    for path in ("/api/documents", "/api/runs"):
        reply = server.post(path, body)
        assert reply.status in (400, 422), (path, reply.body)
        assert reply.code


@pytest.mark.attack("C8")
def test_a_body_of_a_hundred_megabytes_is_refused_without_being_kept(server: RunningServer) -> None:
    before = resident_megabytes(server.process.pid)
    whole = b'{"question": "' + b"a" * 100_000_000 + b'"}'
    in_chunks = (b"a" * 1_000_000 for _ in range(100))  # of which nobody says how many come
    for body in (whole, in_chunks):
        reply = server.post("/api/runs", body)
        assert (reply.status, reply.code) == (413, "too_large")
    assert resident_megabytes(server.process.pid) - before < 60
    assert server.get("/api/health").status == 200


def resident_megabytes(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (line,) = (line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1_000


@pytest.mark.attack("W5")
def test_no_get_changes_anything(server: RunningServer) -> None:
    run_id = server.start_run()
    server.finished(run_id)
    before = state_of(server)
    for path in (
        "/api/search?q=lamp",
        f"/api/documents/{LAMP}",
        f"/api/related/{LAMP}",
        "/api/topics/lamp",
        "/api/stats",
        "/api/coverage",
        "/api/settings",
        "/api/runs",
        f"/api/runs/{run_id}?events=true",
        f"/api/runs/{run_id}/events",
        f"/api/runs/{run_id}/diff",
    ):
        assert server.get(path).status == 200, path
    for action in ("cancel", "finish", "resume", "replay"):
        assert server.get(f"/api/runs/{run_id}/{action}").status == 405
    assert state_of(server) == before


def state_of(server: RunningServer) -> Any:
    """Everything on record, and every file of the data folder that is not a database's own."""
    runs = server.get("/api/runs?limit=200").json
    files = sorted(path for path in server.data.rglob("*") if not path.name.endswith(("-wal", "-shm", ".db")))
    return runs, {path: path.stat().st_mtime_ns for path in files if path.is_file()}, server.get("/api/stats").json
