"""The web through the real program: the command line, the server and the agents' tools, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.http_server import read_events, running_server
from support.origin import Origin, Page
from web.loopback_internet import article

LIT = "When was the Halvard light first lit?"


@pytest.fixture
def sites() -> Iterator[list[Origin]]:
    """Three sites on ports of their own; the first also searches."""
    with Origin() as one, Origin() as two, Origin() as three:
        texts = (
            (one, "/light", "The Halvard light", "The Halvard light was first lit in 1871 by its keeper."),
            (
                two,
                "/register",
                "Register of lights",
                "It was in 1871 that the Halvard light was first lit, as the coast guard has it.",
            ),
            (three, "/paper", "An old paper", "The paper wrote that the Halvard light was first lit in 1874."),
        )
        results = []
        for origin, path, title, text in texts:
            origin.pages[path] = Page(article(title, text, date="2020-01-01"))
            results.append({"url": f"{origin.url}{path}", "title": title, "content": text})
        one.pages["/search"] = Page(json.dumps({"results": results}), "application/json")
        yield [one, two, three]


def environment(sites: list[Origin]) -> dict[str, str]:
    if not sites:
        return {"CITEWELL_JUDGE": "off", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {
        "CITEWELL_SEARCH": "searxng",
        "CITEWELL_SEARXNG_URL": sites[0].url,
        "CITEWELL_FETCH_ALLOW": ",".join(f"127.0.0.1:{site.port}" for site in sites),
        "CITEWELL_JUDGE": "off",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def citewell(data: Path, sites: list[Origin], *arguments: str, given: str = "", **more: str) -> Any:
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    variables = {**os.environ, **environment(sites), **more}
    return subprocess.run(command, capture_output=True, text=True, env=variables, input=given, timeout=120)


def test_a_question_is_answered_shown_and_accounted_for(sites: list[Origin], tmp_path: Path) -> None:
    done = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--save", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert "1871" in result["answer"]
    assert result["web"]["stop"] == "sufficient"
    assert {citation["url"].split("/")[2] for citation in result["citations"]} <= {
        f"127.0.0.1:{site.port}" for site in sites
    }
    ledger = json.loads(citewell(tmp_path, sites, "runs", "show", "last", "--egress", "--json").stdout)
    assert {entry["kind"] for entry in ledger["entries"]} == {"search", "page"}
    assert len(ledger["entries"]) == sum(len(site.asked) for site in sites)
    told = citewell(tmp_path, sites, "runs", "show", "last").stdout
    assert "requests" in told
    assert "runs show --egress" in " ".join(told.split())
    assert "searxng" in citewell(tmp_path, sites, "runs", "show", "last", "--egress").stdout
    asked = sum(len(site.asked) for site in sites)
    assert json.loads(citewell(tmp_path, sites, "runs", "replay", "last", "--json").stdout)["identical"]
    assert sum(len(site.asked) for site in sites) == asked
    for site in sites:
        site.stop()
    key = result["citations"][0]["source_key"]
    assert result["citations"][0]["quote"] in citewell(tmp_path, [], "get", key, "--content-mode", "full").stdout
    assert json.loads(citewell(tmp_path, [], "status", "--json").stdout)["documents"] == len(
        {citation["source_key"] for citation in result["citations"]}
    )


def test_a_preview_asks_and_no_means_no(sites: list[Origin], tmp_path: Path) -> None:
    asked = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--preview", given="n\n")
    assert asked.returncode == 0
    assert "When was the Halvard light first lit" in asked.stderr
    assert "nothing was sent" in asked.stderr
    assert citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--preview", given="").returncode == 0
    shown = json.loads(citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--preview", "--json").stdout)
    assert shown["providers"][0]["name"] == "searxng"
    assert [site.asked for site in sites] == [[], [], []]
    agreed = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", "--preview", given="y\n")
    assert "1871" in agreed.stdout
    assert sites[0].asked


def test_a_preview_of_a_note_shows_what_would_be_sent_and_no_means_no(sites: list[Origin], tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    note = vault / "Light.md"
    note.write_text(f"# Halvard light\n\n{LIT}\n\nAda Lindqvist was given the diagnosis F32.1 in 2019.\n", "utf-8")
    assert citewell(data, sites, "add", str(vault)).returncode == 0
    before = note.read_bytes()
    shown = json.loads(citewell(data, sites, "note", str(note), "--preview", "--json").stdout)
    assert shown["queries"] == ["Halvard light", LIT.removesuffix("?")]
    refused = citewell(data, sites, "note", str(note), "--preview", given="n\n")
    assert (refused.returncode, "nothing was sent" in refused.stderr) == (0, True)
    assert all(query in refused.stderr for query in shown["queries"])
    assert "F32" not in refused.stderr
    claims = citewell(data, sites, "note", str(note), "--preview", "--claims", given="")
    assert "diagnosis F32.1" in claims.stderr
    assert ([site.asked for site in sites], note.read_bytes()) == ([[], [], []], before)
    agreed = citewell(data, sites, "note", str(note), "--preview", "--depth", "deep", given="y\n")
    assert (agreed.returncode, "1871" in note.read_text("utf-8")) == (0, True), agreed.stderr
    searched = [parse_qs(urlsplit(one.path).query)["q"][0] for one in sites[0].asked if one.path.startswith("/search")]
    assert sorted(searched) == sorted(shown["queries"])


def test_a_provider_nobody_knows_is_exit_2(sites: list[Origin], tmp_path: Path) -> None:
    refused = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", CITEWELL_SEARCH="altavista")
    assert (refused.returncode, "altavista" in refused.stderr) == (2, True)
    keyless = citewell(tmp_path, sites, "research", LIT, "--profile", "chat", CITEWELL_SEARCH="brave")
    assert (keyless.returncode, "BRAVE_API_KEY" in keyless.stderr) == (4, True)


def test_the_server_streams_a_web_run(sites: list[Origin], tmp_path: Path) -> None:
    with running_server(tmp_path / "data", **environment(sites)) as server:
        body = {"message": LIT, "mode": "deep_research"}
        with server.stream("/v1/chat/messages", method="POST", body=body) as answer:
            events = list(read_events(answer))
        progress = [event.data for event in events if event.name == "progress"]
        assert {"planning", "searching", "reading", "evaluating", "finalizing"} <= {one["phase"] for one in progress}
        assert max(one["sourcesRead"] for one in progress) >= 2
        assert max(one["sourcesConsidered"] for one in progress) >= 3
        assert {one["maxLoops"] for one in progress[3:]} == {6}
        done = events[-1].data
        assert (events[-1].name, done["profile"], "1871" in done["answer"]) == ("done", "deep", True)
        (told,) = done["contradictions"]
        assert {side["value"]: side["independent_sources"] for side in told["stated"]} == {"1871": 2, "1874": 1}
        ledger = server.get(f"/api/runs/{done['run_id']}/egress").json
        assert {entry["kind"] for entry in ledger["entries"]} == {"search", "page"}
        key = done["citations"][0]["source_key"]
        view = server.get(f"/api/documents/{key}?at={done['citations'][0]['span']['content_hash']}")
        assert view.status == 200, view.body
        run_id = server.start_run(LIT, profile="chat")
        assert "1871" in server.finished(run_id)["answer"]


def test_a_note_is_researched_on_the_web_and_accounted_for(sites: list[Origin], tmp_path: Path) -> None:
    data, vault = tmp_path / "data", tmp_path / "vault"
    vault.mkdir()
    (vault / "Light.md").write_text(
        "# Lights\n\nWhen was the Halvard light first lit?\n\nXyzzy is a secret.\n", "utf-8"
    )
    assert citewell(data, sites, "add", str(vault)).returncode == 0
    done = citewell(data, sites, "note", str(vault / "Light.md"), "--depth", "deep", "--json")
    assert done.returncode == 0, done.stderr
    assert f"](<{sites[0].url}/light>)" in (vault / "Light.md").read_text("utf-8")
    assert not [asked for site in sites for asked in site.asked if "xyzzy" in asked.path.lower()]
    ledger = json.loads(citewell(data, sites, "runs", "show", "last", "--egress", "--json").stdout)
    assert len(ledger["entries"]) == sum(len(site.asked) for site in sites)
