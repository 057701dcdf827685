"""What the program writes is for its user alone, and holds no secret of the settings, by whichever door."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from support.http_server import running_server
from support.mcp_client import talk
from support.model_script import ModelRequest, Reply, fails, says
from support.model_server import ScriptedModelServer
from support.origin import Origin, Page

pytestmark = pytest.mark.slow
KEY = "sk-canary-4f9d8a7b6c5e4d3f2a1b0c9d"
NOTE = "# Lamp\n\nWho lit the lamp?\n\n## Oil of the lamp\n\nThe oil came from Leith.\n"
OTHER = "# Log\n\nThe lamp was lit by Josiah Pell on 14 November 1859.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Lamp.md").write_text(NOTE, "utf-8")
    (folder / "Log.md").write_text(OTHER, "utf-8")
    return folder


def citewell(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program, for a user who lets everybody read what is not kept from them."""
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    settings = {**os.environ, "CITEWELL_EMBEDDINGS": "off", "CITEWELL_JUDGE": "off", **environment}
    return subprocess.run(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", *command], capture_output=True, text=True, env=settings, timeout=120
    )


def readable_by_others(folder: Path) -> dict[str, str]:
    """What others may read, write or list, with its mode."""
    return {
        str(path.relative_to(folder.parent)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in (folder, *folder.rglob("*"))
        if stat.S_IMODE(path.lstat().st_mode) & 0o077
    }


@pytest.mark.attack("X3")
def test_every_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, vault: Path) -> None:
    data = tmp_path / "data"
    page = "<h1>Lamp</h1><p>The lamp was lit by Josiah Pell in November 1859, it is said.</p>"
    with Origin({"/lamp": page}) as origin:
        hit = {"url": f"{origin.url}/lamp", "title": "Who lit the lamp", "content": "The lamp was lit"}
        origin.pages["/search"] = Page(json.dumps({"results": [hit]}), "application/json")
        web = {"CITEWELL_SEARCH": "searxng", "CITEWELL_SEARXNG_URL": origin.url}
        web["CITEWELL_FETCH_ALLOW"] = f"127.0.0.1:{origin.port}"
        for arguments in (
            ("add", str(vault)),
            ("research", "Who lit the lamp?"),
            ("research", "Who lit the lamp?", "--profile", "chat"),
            ("report", "Who lit the lamp?"),
            ("note", str(vault / "Lamp.md"), "--depth", "deep"),
            ("runs", "export", "last", "--output", str(data / "run.zip")),
            ("backup", str(data / "all.zip")),
            ("doctor",),
        ):
            done = citewell(data, *arguments, **web)
            assert done.returncode == 0, (arguments, done.stderr)
    kept = {path.name for path in data.rglob("*")}
    assert {"corpus.db", "runs.db", "web.db", "research-runs", "note-backups"} <= kept
    assert readable_by_others(data) == {}


def answers(request: ModelRequest) -> Reply:
    """A provider that says its key in an error."""
    if "Who lit" in request.prompt and "again" not in request.prompt:
        return fails(400, f"Bad key {KEY} for Authorization: Bearer {KEY}")
    return says("")


def everything_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


@pytest.mark.attack("X1")
def test_secrets_of_settings_reach_no_stream_log_record_note_or_agent(tmp_path: Path, vault: Path) -> None:
    """Keys in the environment, repeated by the providers in their errors."""
    data = tmp_path / "data"
    assert citewell(data, "add", str(vault)).returncode == 0
    said: dict[str, bytes] = {}
    refused = Page(f"bad key {KEY}, sent as x-subscription-token: {KEY}", "text/plain", 401)
    with Origin({"/res/v1/web/search": refused, "/search": refused}) as origin, ScriptedModelServer(answers) as model:
        settings = {
            "CITEWELL_SEARCH": "brave,searxng",
            "CITEWELL_BRAVE_URL": origin.url,
            "BRAVE_API_KEY": KEY,
            "CITEWELL_SEARXNG_URL": origin.url,
            "CITEWELL_MODEL": "openai:test",
            "CITEWELL_OPENAI_URL": model.base_url,
            "CITEWELL_MODEL_API_KEY": KEY,
            "CITEWELL_LOG_LEVEL": "debug",
            "CITEWELL_NOTE_TOOL": "true",
            "CITEWELL_EMBEDDINGS": "off",
            "CITEWELL_JUDGE": "off",
        }
        with running_server(data, **settings) as server:
            run = server.start_run(profile="chat")
            with server.stream(f"/api/runs/{run}/events") as stream:
                said["sse"] = stream.read()
            for path in (f"/api/runs/{run}?events=true", "/api/settings", f"/api/runs/{run}/egress", "/api/health"):
                said[path] = server.get(path).body
            said["note"] = server.post("/api/notes/research", {"path": "Lamp.md", "depth": "deep"}).body

        async def conversation(client: Client) -> list[str]:
            asked = {"question": "Who lit the lamp?", "profile": "chat"}
            calls = [("research_run", asked), ("research_list", {}), ("research_note", {"path": "Lamp.md"})]
            return [(await client.call_tool(name, arguments)).model_dump_json() for name, arguments in calls]

        with (tmp_path / "agent-errors.txt").open("w", encoding="utf-8") as errors:
            told = talk(data, conversation, errors=errors, **settings)  # type: ignore[arg-type]
            said["mcp"] = "\n".join(told).encode()
        for arguments in (("research", "Who lit the lamp?", "--profile", "chat"), ("runs", "list"), ("doctor",)):
            done = citewell(data, *arguments, **settings)
            said[" ".join(arguments)] = (done.stdout + done.stderr).encode()
        assert any(KEY in str(asked.headers) for asked in origin.asked)  # the control: the provider was given it
        assert any(request.headers.get("authorization") == f"Bearer {KEY}" for request in model.requests)
    said |= dict(everything_in(tmp_path))
    assert [where for where, found in said.items() if KEY.encode() in found] == []
    assert b"Josiah Pell" in said["sse"]
