"""Research for a note with the web beside the vault: whole runs against a small internet on the loopback."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.flows.play import egress_of
from citewell.policy import NotPermitted, Permission
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from support.origin import Page
from support.processes import wait_for
from web.loopback_internet import Internet, article, loopback_internet

LIGHT = (
    "# Halvard light\n\nWhen was the Halvard light first lit?\n\n"
    "Xyzzyplugh keeps the spare key under the third stair.\n\n## Ferry to Halvard\n\n"
    "Quuxington owes the harbour office an apology.\n"
)
OTHER = "# Paint\n\nThe Halvard light was painted red in 1902 by the harbour office.\n"
OpenEngine = Callable[..., Citewell]


@pytest.fixture
def net() -> Iterator[Internet]:
    with loopback_internet() as internet:
        yield internet


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Light.md").write_text(LIGHT, "utf-8")
    (folder / "Paint.md").write_text(OTHER, "utf-8")
    return folder


@pytest.fixture
def opened(tmp_path: Path, vault: Path, net: Internet) -> Iterator[OpenEngine]:
    engines: list[Citewell] = []

    def opening(**settings: Any) -> Citewell:
        chosen = {**net.settings, "judge": "off", **settings}
        engine = Citewell(Settings(data_dir=tmp_path / "data", **chosen), resolve=net.names)
        engines.append(engine)
        list(engine.corpus.sync(vault))
        return engine

    yield opening
    for engine in engines:
        engine.close()


def section_of(path: Path) -> str:
    return path.read_text("utf-8").partition("## Research\n")[2]


def run_of(engine: Citewell, run_id: str | None) -> RunResult:
    assert run_id is not None
    return engine.runs.result(run_id)


def test_a_deep_run_quotes_the_pages_it_has_read_and_links_them(opened: OpenEngine, vault: Path, net: Internet) -> None:
    engine = opened()
    result = engine.note("Light.md", depth="deep")
    section = section_of(vault / "Light.md")
    museum = net.url("museum.example", "/halvard")
    quoted = "The Halvard light was first lit in 1871 by the keeper Ada Lindqvist."
    assert f"- “{quoted}” — [The Halvard light](<{museum}>)" in section
    assert "“The Halvard light was painted red in 1902 by the harbour office.” — [[Paint]]" in section
    assert "not read" not in section
    told = run_of(engine, result.run_id)
    assert told.flow.holds
    cited = {citation.source_key for citation in told.citations}
    assert any(key.startswith("web:online/museum.example") for key in cited)
    for citation in told.citations:
        (view,) = engine.corpus.get(
            f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
        ).documents
        assert view.text[citation.span.start : citation.span.end] == citation.quote
    assert (vault / "Light.md").read_text("utf-8").startswith(LIGHT)


def test_a_shallow_run_offers_what_it_found_and_says_nothing_of_it(
    opened: OpenEngine, vault: Path, net: Internet
) -> None:
    engine = opened()
    result = engine.note("Light.md")
    section = section_of(vault / "Light.md")
    ferry = section.partition("### Ferry to Halvard")[2].partition("###")[0]
    assert (
        f"- Found on the web, not read: [Ferry to Halvard: the timetable](<{net.url('harbour.test', '/ferry-2024')}>)"
        in ferry
    )
    assert "1871" not in section
    assert "[[Paint]]" in section
    assert net.read_pages() == []
    assert all(not one.source_key.startswith("web:") for one in run_of(engine, result.run_id).citations)


def test_links_alone_are_a_section_too(opened: OpenEngine, vault: Path) -> None:
    (vault / "Tides.md").write_text("# Tides at Halvard\n", "utf-8")
    (vault / "Paint.md").unlink()
    (vault / "Light.md").unlink()
    engine = opened()
    result = engine.note("Tides.md")
    assert result.changed
    assert "Found on the web, not read: [Tides at Halvard](<" in section_of(vault / "Tides.md")
    assert run_of(engine, result.run_id).stop_reason == "no_evidence"


@pytest.mark.attack("V13")
@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_twice_without_a_change_in_the_world_gives_the_same_bytes(opened: OpenEngine, vault: Path, depth: str) -> None:
    engine = opened()
    assert engine.note("Light.md", depth=depth).changed
    first = (vault / "Light.md").read_bytes()
    list(engine.corpus.sync(vault))
    assert not engine.note("Light.md", depth=depth).changed
    assert (vault / "Light.md").read_bytes() == first


def test_a_dry_run_shows_the_links_and_writes_nothing(opened: OpenEngine, vault: Path) -> None:
    result = opened().note("Light.md", depth="deep", dry_run=True)
    assert "museum.example" in (result.diff or "")
    assert (vault / "Light.md").read_text("utf-8") == LIGHT


def test_without_a_provider_nothing_leaves(opened: OpenEngine, vault: Path, net: Internet) -> None:
    engine = opened(search="")
    result = engine.note("Light.md", depth="deep")
    assert net.origin.asked == []
    assert "http" not in section_of(vault / "Light.md")
    assert egress_of(engine.runs.events(result.run_id or "")).entries == ()


# What leaves


PIER = "The Halvard pier was built in 1911 of larch and stone that came by ship from the quarries of Kirkhaven in the"


def private_note(vault: Path) -> None:
    (vault / "Light.md").write_text(
        LIGHT + "\n## My savings at Halvard\n\nI put 84 crowns into the Halvard ferry in June 1999.\n\n"
        f"{PIER} north. Ask [[Doctor Berg]].\n\n"
        "Ada Lindqvist was given the diagnosis F32.1 at the Halvard clinic in 2019.\n\n"
        "## Key sk-proj-4f9d8a7b6c5e4d3f2a1b0c9d8e7f6a5b4c3d2e1f\n",
        "utf-8",
    )


def left_for(net: Internet) -> str:
    return " ".join((*net.searched, *(asked.path for asked in net.origin.asked))).lower()


def test_only_headings_and_questions_leave(opened: OpenEngine, vault: Path, net: Internet) -> None:
    private_note(vault)
    engine = opened()
    shown = engine.preview_note("Light.md", depth="deep")
    assert net.origin.asked == []
    result = engine.note("Light.md", depth="deep")
    for private in ("xyzzy", "stair", "quux", "savings", "84", "sk-proj", "painted", "pier", "diagnosis", "berg"):
        assert private not in left_for(net)
    assert sorted(net.searched) == sorted(shown.queries)
    assert set(net.searched) == {"Halvard light", "When was the Halvard light first lit", "Ferry to Halvard"}
    # What is not asked of the web is still looked up in the vault.
    assert any(topic.topic.startswith("The Halvard pier") for topic in result.topics)


def test_what_a_note_states_leaves_on_request_only(opened: OpenEngine, vault: Path, net: Internet) -> None:
    private_note(vault)
    engine = opened()
    shown = engine.preview_note("Light.md", claims=True)
    result = engine.note("Light.md", claims=True)
    assert sorted(net.searched) == sorted(shown.queries)
    assert " ".join(PIER.split()[:12]) in net.searched
    assert any("diagnosis" in query for query in net.searched)
    for private in ("xyzzy", "stair", "quux", "savings", "84", "sk-proj", "painted"):
        assert private not in left_for(net)
    names = [topic.topic for topic in result.topics]
    for query in net.searched:
        assert len(query.split()) <= 12
        assert any(query.removesuffix(" Halvard light") in name for name in names)
    assert opened(note_claims_to_web=True).preview_note("Light.md").queries == shown.queries


def test_the_policy_asks_about_exactly_what_would_be_sent(opened: OpenEngine, vault: Path, net: Internet) -> None:
    private_note(vault)
    engine = opened(policy_external_data_request="ask")
    asked: list[str] = []

    def approve(wanted: Permission) -> bool:
        asked.append(wanted.what)
        # What is written into the note while somebody thinks about it was not agreed to.
        (vault / "Light.md").write_text(f"{LIGHT}\n## Diagnosis F32.1\n", "utf-8")
        return True

    engine.approve = approve
    engine.note("Light.md", depth="deep", dry_run=True)
    (what,) = asked
    assert set(net.searched) <= set(re.findall("“([^”]+)”", what))
    assert "diagnosis" not in left_for(net) + what.lower()
    (vault / "Light.md").write_text("Xyzzyplugh keeps 3 spare keys under the third stair of 1911.\n", "utf-8")
    (vault / "Light.md").rename(vault / "I.md")
    engine.note("I.md", dry_run=True)
    assert len(asked) == 1


def test_no_words_of_a_model_are_sent_to_the_web(opened: OpenEngine, vault: Path, net: Internet) -> None:
    topics = [{"topic": "Ada Lindqvist diagnosis F32.1 Halvard light", "context": "", "type": "question"}]
    script = says(json.dumps(topics))
    with ScriptedModelServer(script) as server:
        engine = opened(model="openai:test", model_base_url=server.base_url)
        private_note(vault)
        shown = engine.preview_note("Light.md")
        engine.note("Light.md", dry_run=True)
    assert net.searched
    assert set(net.searched) <= set(shown.queries)
    assert "f32" not in left_for(net)


def test_everything_that_left_is_in_the_ledger(opened: OpenEngine, net: Internet) -> None:
    engine = opened()
    result = engine.note("Light.md", depth="deep")
    entries = engine.runs.egress(result.run_id or "").entries
    assert len([one for one in entries if one.kind == "search"]) == len(net.searched) > 0
    assert len([one for one in entries if one.kind == "page"]) == len(net.read_pages()) > 0


def test_what_a_policy_forbids_is_not_asked_and_the_vault_still_is(
    opened: OpenEngine, vault: Path, net: Internet
) -> None:
    assert opened(policy_external_data_request="deny").note("Light.md", depth="deep").changed
    assert "[[Paint]]" in section_of(vault / "Light.md")
    with pytest.raises(NotPermitted):
        opened(policy_external_data_request="ask").note("Light.md")
    assert net.origin.asked == []


# What fails


def test_a_dead_provider_costs_itself_only(opened: OpenEngine, vault: Path) -> None:
    dead = opened(searxng_url="http://127.0.0.1:9").note("Light.md", depth="deep")
    assert "[[Paint]]" in section_of(vault / "Light.md")
    assert "search_failed" in dead.warnings
    assert sum(one.startswith("searxng: network_error") for one in dead.skipped) == 1
    both = opened(search="openalex,searxng", openalex_url="http://127.0.0.1:9").note("Light.md", depth="deep")
    assert any(one.startswith("openalex: network_error") for one in both.skipped)
    assert "museum.example" in section_of(vault / "Light.md")


def test_a_page_that_hangs_gives_its_place_to_the_next(opened: OpenEngine, vault: Path, net: Internet) -> None:
    slow = Page(article("Ferry to Halvard", "The ferry to Halvard is late."), seconds=60)
    net.pages.insert(0, net.pages[0])
    net.add("slow.example", "/ferry", "Ferry to Halvard, ferry Halvard", "Ferry to Halvard", page=slow)
    net.pages[0] = net.pages.pop()
    started = time.monotonic()
    result = opened(research_source_fetch_timeout_seconds=1).note("Light.md", depth="deep")
    assert time.monotonic() - started < 20
    url = net.url("slow.example", "/ferry")
    assert any(one.startswith(f"{url}: timeout") for one in result.skipped)
    assert "web_page_failed" in result.warnings
    section = section_of(vault / "Light.md")
    assert "slow.example" not in section
    assert "07:40 every day" in section


@pytest.mark.attack("P5")
@pytest.mark.attack("P6")
@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_nothing_of_a_page_that_gives_orders_enters_the_note(
    opened: OpenEngine, vault: Path, net: Internet, depth: str
) -> None:
    evil = next(page for page in net.pages if (page.host, page.path) == ("evil.example", "/halvard"))
    evil.words = f"When was the Halvard light first lit? {evil.words}"
    net.pages.sort(key=lambda page: page is not evil)
    engine = opened()
    result = engine.note("Light.md", depth=depth)
    section = section_of(vault / "Light.md")
    assert "1999" not in section
    assert "evil.example" not in section
    assert "museum.example" in section or "oldnews.test" in section
    assert "experts" not in str(result)
    assert "gnore previous" not in str(result)
    if depth == "deep":
        assert "evil.example/halvard" in net.read_pages()
        assert "injection_suspected" in result.warnings
        assert f"{net.url('evil.example', '/halvard')}: injection_suspected" in result.skipped
        assert not any("evil.example" in key for key in run_of(engine, result.run_id).flow.admitted)


@pytest.mark.attack("P4")
@pytest.mark.attack("P10")
@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_titles_and_addresses_of_pages_do_nothing_in_a_note(
    opened: OpenEngine, vault: Path, net: Internet, depth: str
) -> None:
    title = "Puffin count ![x](http://beacon.example/a.png) [[Paint]] &lt;img src=x&gt; %%"
    page = Page(
        article(title, "The puffin count of Halvard is 4,100 pairs, ![y](http://beacon.example/b.png) they say.")
    )
    net.add("hostile.example", "/a(b)==$x$", title, "puffin count Halvard", page=page)
    (vault / "Light.md").write_text("# Puffin count\n", "utf-8")
    opened().note("Light.md", depth=depth)
    section = section_of(vault / "Light.md")
    assert f"](<http://hostile.example:{net.origin.port}/a%28b%29=%3D%24x%24>)" in section
    assert re.search(r"(?<!\\)!\[|(?<!\\)\[\[|<img|(?<!\\)%%|(?<!\\)://beacon", section) is None


def test_no_more_than_fifty_thousand_characters_of_a_page_are_read(
    opened: OpenEngine, vault: Path, net: Internet
) -> None:
    filler = "\n".join(f"Line {number} of the long page tells of herring and peat." for number in range(1_600))
    net.add(
        "long.example", "/", "Eider ducks", f"{filler}\nThe eider ducks of Halvard nest in May.", found_by="Eider ducks"
    )
    (vault / "Light.md").write_text("# Eider ducks\n", "utf-8")
    engine = opened()
    result = engine.note("Light.md", depth="deep")
    web = run_of(engine, result.run_id).web
    assert web is not None
    (page,) = [page for page in web.pages if "long.example" in page.final_url]
    assert 40_000 < page.length <= 50_000
    assert "nest in May" not in section_of(vault / "Light.md")


# Again


@pytest.mark.attack("S16")
@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_a_replay_opens_no_socket_and_is_identical(opened: OpenEngine, vault: Path, net: Internet, depth: str) -> None:
    engine = opened()
    run_id = engine.note("Light.md", depth=depth).run_id or ""
    before, text = len(net.origin.asked), (vault / "Light.md").read_bytes()
    report = engine.runs.replay(run_id)
    assert report.identical
    assert len(net.origin.asked) == before
    net.origin.stop()
    assert engine.runs.replay(run_id).sha256 == report.sha256
    assert (vault / "Light.md").read_bytes() == text


def test_a_run_that_was_interrupted_goes_on_without_fetching_again(
    opened: OpenEngine, vault: Path, net: Internet
) -> None:
    slow = Page(article("Slow ferry to Halvard", "The slow ferry to Halvard sails on Fridays only."), seconds=600)
    net.add("slow.example", "/ferry", "Slow ferry to Halvard", "The slow ferry to Halvard", page=slow)
    (vault / "Light.md").write_text("# Halvard light\n\n## Slow ferry to Halvard\n", "utf-8")
    engine = opened()
    run_id = engine.start_note("Light.md", depth="deep")
    wait_for(lambda: _is_waiting_for(engine, run_id, "slow.example"))
    engine.runs.interrupt(run_id)
    net.origin.pages["slow.example/ferry"] = Page(slow.body)
    searched, read = list(net.searched), [page for page in net.read_pages() if "slow" not in page]
    engine.runs.resume(run_id)
    engine.runs.wait(run_id)
    assert engine.note_result(run_id).changed
    assert net.searched == searched
    assert [page for page in net.read_pages() if "slow" not in page] == read
    assert net.read_pages().count("slow.example/ferry") == 2
    assert "sails on Fridays only" in section_of(vault / "Light.md")
    assert engine.runs.replay(run_id).identical


def _is_waiting_for(engine: Citewell, run_id: str, host: str) -> bool:
    """Whether nothing but a page of this host is under way."""
    asked: dict[str, str] = {}
    for event in engine.runs.events(run_id):
        if event.kind == "action_intended":
            asked[event.body["digest"]] = str(event.body["body"].get("url"))
        elif event.kind == "observation_recorded":
            del asked[event.body["answers"]]
    return [host in url for url in asked.values()] == [True]


# With a model


@pytest.mark.parametrize(("depth", "most"), [("shallow", 3), ("deep", 5)])
def test_a_model_writes_from_pages_and_is_asked_no_more_often(
    opened: OpenEngine, vault: Path, net: Internet, depth: str, most: int
) -> None:
    topics = [
        {"topic": "Halvard light first lit", "context": "first lit?", "type": "question"},
        {"topic": "Ferry to Halvard", "context": "", "type": "concept"},
    ]

    def script(request: ModelRequest) -> Reply:
        if "Reply with one JSON object" in request.prompt:
            return says(json.dumps(topics))
        found = re.search(r"^⟦(\d+\.\d+)⟧ The Halvard light was first lit in 187[14]", request.prompt, re.MULTILINE)
        if found is None:
            return says("")
        year = re.search(r"first lit in (\d+)", found[0])
        assert year is not None
        return says(
            f"## 1\nThe Halvard light was first lit in {year[1]}. ⟦{found[1]}⟧ «first lit in {year[1]}»\n"
            f"It was lit in 1999 [{found[1]}].\n"
        )

    with ScriptedModelServer(script) as server:
        engine = opened(model="openai:test", model_base_url=server.base_url)
        assert engine.note("Light.md", depth=depth).changed
        assert 2 <= len(server.requests) <= most
        # Snippets and titles of what was not read are no evidence for a model either.
        shown = " ".join(request.prompt for request in server.requests)
    section = section_of(vault / "Light.md")
    assert "1999" not in section
    if depth == "deep":
        assert re.search(r"- The Halvard light was first lit in 187[14]\. — \[[^\]]+\]\(<http://", section)
    else:
        assert "187" not in shown
        assert "Found on the web, not read" in section
