"""What a web run logs and counts: who was asked and what came of it, never what was asked or read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from citewell import Citewell, Settings
from support.http_server import running_server
from support.mcp_client import talk
from support.origin import Origin, Page
from web.loopback_internet import Internet, loopback_internet
from web.test_surfaces import LIT, citewell, environment, sites

__all__ = ["sites"]

KEY = "brave-canary-5f2e"


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def test_info_tells_searches_and_pages_and_warnings_failures(sites: list[Origin], tmp_path: Path) -> None:
    sites[1].pages["/register"] = Page("gone", status=410)
    logged = {"CITEWELL_LOG_LEVEL": "info", "BRAVE_API_KEY": KEY}
    done = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--json", **logged)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("citewell: ")]
    assert "citewell: asking searxng, 36 characters" in lines
    assert "citewell: reading a page of 127.0.0.1" in lines
    assert "citewell: reading at 127.0.0.1 failed: http_status" in lines
    assert any(line.startswith("citewell: searxng: 3 results") for line in lines)
    said = " ".join(lines)
    assert not [word for word in ("Halvard", "1871", "/light", KEY) if word in said]


def test_warning_tells_failures_alone_and_by_itself_nothing_is_logged(sites: list[Origin], tmp_path: Path) -> None:
    sites[1].pages["/register"] = Page("gone", status=410)
    asked = ("research", LIT, "--profile", "chat", "--json")
    quiet = citewell(tmp_path / "a", sites, *asked).stderr
    assert "reading at" not in quiet
    warned = citewell(tmp_path / "b", sites, *asked, CITEWELL_LOG_LEVEL="warning").stderr
    assert "citewell: reading at 127.0.0.1 failed: http_status" in warned
    assert "asking searxng" not in warned
    refused = citewell(tmp_path / "c", sites, *asked, CITEWELL_LOG_LEVEL="loud")
    assert (refused.returncode, "CITEWELL_LOG_LEVEL" in refused.stderr) == (2, True)


def test_the_result_counts_what_was_done(internet: Internet, tmp_path: Path) -> None:
    settings: dict[str, Any] = {**internet.settings, "judge": "off", "research_source_fetch_timeout_seconds": 1}
    engine = Citewell(Settings(data_dir=tmp_path, **settings), resolve=internet.names)
    url = internet.url("dead.example", "/gone")
    result = engine.runs.wait(engine.start(f"Halvard light first lit, as in {url} ?", profile="deep"))
    engine.close()
    web = result.web
    assert web is not None
    assert web.searches == len(internet.searched)
    assert sum(web.fetches.values()) == len(set(internet.read_pages()) - {"trap.example/loop"}) + (
        "trap.example/loop" in internet.read_pages()
    )
    assert web.fetches["read"] == len(web.pages)
    assert web.fetches["http_status"] >= 1
    assert web.rows_found >= web.rows_kept > 0
    assert result.metrics.stage_seconds.keys() >= {"search", "read", "evaluate"}
    assert json.dumps(web.fetches)


def test_a_server_logs_them_too(sites: list[Origin], tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(data, **environment(sites), CITEWELL_LOG_LEVEL="info") as server:
        server.finished(server.start_run(LIT, profile="chat"))
    said = (tmp_path / "data-server-errors.txt").read_text()
    assert "citewell: asking searxng, 36 characters" in said
    assert "Halvard" not in said


def test_a_server_for_agents_logs_them_too_and_only_to_stderr(sites: list[Origin], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()

    async def conversation(client: Client) -> str:
        return str((await client.call_tool("research_run", {"question": LIT, "profile": "chat"})).content)

    with (tmp_path / "errors.txt").open("w+") as errors:
        chosen: dict[str, Any] = {**environment(sites), "CITEWELL_LOG_LEVEL": "info"}
        answer = talk(data, conversation, errors=errors, **chosen)
        errors.seek(0)
        said = errors.read()
    assert "1871" in answer
    assert "citewell: asking searxng, 36 characters" in said
    assert "Halvard" not in said
