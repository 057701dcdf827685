"""What a run on the web may spend holds: queries, pages, bytes, rounds, time; on a slow network and a dead one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.flows.gather import Sources
from citewell.web.facts import WebUse
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer
from support.origin import Page, endless, send
from web.loopback_internet import Internet, article, loopback_internet

LIT = "When was the Halvard light first lit?"
# Its words are on many pages, and nothing answers it.
OPEN = "Which herring wool peat weather islands of the sound did Xanthippe buy?"


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def run(net: Internet, data: Path, question: str, profile: str = "chat", **settings: Any) -> RunResult:
    engine = Citewell(Settings(data_dir=data, **{**net.settings, "judge": "off", **settings}), resolve=net.names)
    try:
        return engine.runs.wait(engine.start(question, profile=profile))
    finally:
        engine.close()


@pytest.mark.parametrize(("profile", "queries", "reads"), [("chat", 4, 4), ("deep", 18, 16)])
def test_queries_and_pages_are_bounded(
    profile: str, queries: int, reads: int, internet: Internet, tmp_path: Path
) -> None:
    result = run(internet, tmp_path, OPEN, profile)
    assert result.web is not None
    assert len(internet.searched) <= queries
    assert 0 < sum(not page.injections for page in result.web.pages) <= reads
    assert result.web.loops <= (2 if profile == "chat" else 6)
    assert result.web.stop == result.metrics.raw_stop == "budget_exhausted"
    assert result.stop_reason in ("weak_evidence_budget_exhausted", "no_evidence")


def test_settings_bound_them_further(internet: Internet, tmp_path: Path) -> None:
    bounds: dict[str, Any] = {
        "chat_research_max_search_queries": 1,
        "chat_research_max_sources_read": 2,
        "chat_research_max_loops": 1,
    }
    result = run(internet, tmp_path, OPEN, **bounds)
    assert result.web is not None
    assert (len(internet.searched), result.web.loops) == (1, 1)
    assert len(result.web.pages) <= 2


def test_bytes_are_bounded(internet: Internet, tmp_path: Path) -> None:
    large = article("When was the Halvard light first lit", "The Halvard light was first lit in 1866. " * 400)
    internet.add("large.example", "/halvard", "When was the Halvard light first lit", page=Page(large))
    internet.pages.insert(0, internet.pages.pop())
    result = run(internet, tmp_path, LIT, "deep", research_source_max_bytes=4_000)
    assert result.web is not None
    assert {one.source.split(":")[1]: one.problem for one in result.web.failed} == {"//large.example": "too_large"}
    assert "1871" in result.answer


@pytest.mark.parametrize("profile", ["chat", "deep"])
@pytest.mark.parametrize("most", [5_000, 60_000, 120_000])
def test_all_bytes_together_are_bounded_whatever_is_read_at_the_same_time(
    profile: str, most: int, internet: Internet, tmp_path: Path
) -> None:
    """Six pages of 50,000 bytes each: together far more than may come."""
    for number in range(6):
        text = (f"Number {number} of the herring wool peat weather islands of the sound. " * 800)[:50_000]
        internet.add(f"site{number % 5}.example", f"/large-{number}", "Herring wool peat weather islands", text)
    internet.pages.reverse()
    result = run(internet, tmp_path, OPEN, profile, research_max_bytes=most)
    assert result.web is not None
    assert result.web.bytes_received <= most
    assert most == 5_000 or result.web.bytes_received > 0
    assert result.web.stop == result.metrics.raw_stop == "budget_exhausted"
    assert result.stop_reason in ("weak_evidence_budget_exhausted", "no_evidence")


@pytest.mark.parametrize("many", [1, 3, 9])
def test_what_is_under_way_has_its_bytes_reserved(many: int) -> None:
    nothing: Any = None
    web = Sources(nothing, nothing, WebUse(("a",), max_reads=9, max_loops=1, max_bytes=10_000, page_bytes=4_000))
    web.bytes_held += 1_501  # a search that is under way
    sizes: list[int] = []
    for _ in range(many):
        if size := web.page_bytes():
            web.bytes_held += size + 1
            sizes.append(size)
    assert sizes == [4_000, 4_000][:many]
    assert web.search_bytes(3) == ((0, 0) if many > 1 else (1, 2_248))


def test_pages_without_end_take_no_more_than_there_is(internet: Internet, tmp_path: Path) -> None:
    for number in range(8):
        internet.add(
            f"late{number}.example", "/", "Halvard light", "When was the Halvard light first lit", page=endless
        )
    internet.pages.reverse()
    result = run(internet, tmp_path, LIT, "deep", research_max_bytes=100_000, research_source_max_bytes=40_000)
    assert result.web is not None
    assert result.web.fetches["too_large"] >= 2
    assert 70_000 < result.web.bytes_received <= 100_000


def test_no_queries_and_no_pages_are_budgets_too(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, LIT, chat_research_max_search_queries=0)
    assert internet.searched == []
    assert result.status == "done"
    result = run(internet, tmp_path / "b", LIT, chat_research_max_sources_read=0)
    assert internet.read_pages() == []
    assert result.status == "done"


@contextmanager
def writing(net: Internet, data: Path, **settings: Any) -> Iterator[tuple[RunResult, list[ModelRequest], list[Any]]]:
    """A run with a model that advises and writes, both for a price."""

    def script(request: ModelRequest) -> Reply:
        told = {"nextAction": "search_more", "queries": [], "coverageGaps": [], "targetSourceTypes": []}
        advice = json.dumps({**told, "confidence": 0.5, "reason": "go on"})
        advises = "You steer a bounded search" in request.prompt
        reply = says(advice if advises else "The Halvard light was first lit in 1871 [1.1].")
        return replace(reply, usage=(len(request.prompt) // 3, 300))

    with ScriptedModelServer(script) as server:
        chosen = {"judge": "off", "model": "openai:test", "openai_url": server.base_url, **net.settings, **settings}
        engine = Citewell(Settings(data_dir=data, **chosen), resolve=net.names)
        run_id = engine.start(LIT, profile="deep")
        result = engine.runs.wait(run_id)
        assert engine.runs.replay(run_id).identical
        made = [event.body for event in engine.runs.events(run_id) if event.kind == "decision_made"]
        engine.close()
        yield result, list(server.requests), [one["data"] for one in made if one["name"] == "cost_estimated"]


def test_usd_are_bounded(internet: Internet, tmp_path: Path) -> None:
    prices = {"prices": "openai:test=1000/1000"}
    with writing(internet, tmp_path / "a", **prices) as (free, asked, (estimate,)):
        assert free.metrics.cost_usd is not None
        assert {call.purpose for call in free.metrics.calls} >= {"evaluate", "write"}
        assert len(asked) <= estimate["calls"]
        assert free.metrics.cost_usd <= estimate["usd"]
    ceiling = round(free.metrics.cost_usd * 0.6, 3)
    with writing(internet, tmp_path / "b", max_cost_usd=ceiling, **prices) as (result, asked, _):
        assert result.metrics.cost_usd is not None
        assert 0 < result.metrics.cost_usd <= ceiling
        assert asked
        assert (result.stop_reason, result.tool) == ("cost_limit_reached", "extractive")
        assert "1871" in result.answer


def test_tokens_are_bounded(internet: Internet, tmp_path: Path) -> None:
    with writing(internet, tmp_path / "a") as (free, _, (estimate,)):
        assert 0 < free.metrics.tokens <= estimate["input_tokens"] + estimate["output_tokens"]
    ceiling = int(free.metrics.tokens * 0.6)
    with writing(internet, tmp_path / "b", max_tokens=ceiling) as (result, asked, _):
        assert asked
        assert 0 < result.metrics.tokens <= ceiling
        assert (result.stop_reason, result.tool) == ("cost_limit_reached", "extractive")
        assert "incomplete" in result.answer_warnings
        assert "1871" in result.answer


def test_a_slow_network_runs_into_the_deadline_and_answers_from_what_is_there(
    internet: Internet, tmp_path: Path
) -> None:
    slow = ("coastguard.test/lights/halvard", "almanac.example/halvard-light", "oldnews.test/1874")
    for at in slow:
        page = internet.origin.pages[at]
        assert isinstance(page, Page)
        internet.origin.pages[at] = replace(page, seconds=60.0)
    result = run(internet, tmp_path, LIT, chat_research_timeout_seconds=9)
    assert result.web is not None
    assert "1871" in result.answer
    assert result.metrics.seconds < 12
    assert result.status == "done"
    assert (result.web.stop, result.stop_reason) == ("sufficient", "enough_evidence")


def test_a_network_too_slow_for_a_second_source_stops_at_the_deadline(internet: Internet, tmp_path: Path) -> None:
    for at, page in internet.origin.pages.items():
        if isinstance(page, Page) and at != "museum.example/halvard":
            internet.origin.pages[at] = replace(page, seconds=60.0)
    for number in range(30):
        late = Page("late", seconds=60.0)
        internet.add(f"late{number}.example", "/", "Halvard light", "When the Halvard light was first lit", page=late)
    result = run(internet, tmp_path, LIT, "deep", deep_research_timeout_seconds=6)
    assert result.web is not None
    assert "1871" in result.answer
    assert result.metrics.seconds < 16
    assert (result.web.stop, result.metrics.raw_stop, result.stop_reason) == ("timeout", "timeout", "timeout_exceeded")
    assert "incomplete" in result.answer_warnings


@pytest.mark.parametrize(
    ("seconds", "stop", "reason"),
    [(4, "budget_exhausted", "no_evidence"), (1, "timeout", "timeout_exceeded")],
)
def test_a_network_that_never_answers_ends_in_time(
    seconds: float, stop: str, reason: str, internet: Internet, tmp_path: Path
) -> None:
    """In four seconds it has asked all it may; in one it has not."""
    internet.origin.pages["/search"] = Page("{}", seconds=60.0)
    result = run(internet, tmp_path, LIT, chat_research_timeout_seconds=seconds)
    assert result.web is not None
    assert result.status == "done"
    assert result.answer_status == "no_evidence"
    assert {"search_failed", "incomplete"} & set(result.warnings)
    assert result.metrics.seconds < seconds + 10
    # On a busy machine four seconds may be over, too.
    assert (result.web.stop, result.stop_reason) in {(stop, reason), ("timeout", "timeout_exceeded")}


def test_a_dead_network_ends_at_once_and_says_why(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, LIT, searxng_url="http://127.0.0.1:9")
    assert result.web is not None
    assert (result.web.stop, result.stop_reason) == ("budget_exhausted", "no_evidence")
    assert {one.problem for one in result.web.failed} == {"network_error"}
    assert result.metrics.seconds < 15


def test_a_hanging_page_costs_no_place(internet: Internet, tmp_path: Path) -> None:
    for number in range(3):
        internet.pages.insert(
            0, replace(internet.pages[0], host="trap.example", path=f"/hang{number}", title="Halvard light first lit")
        )
        internet.origin.pages[f"trap.example/hang{number}"] = Page("late", seconds=60.0)
    result = run(internet, tmp_path, LIT, research_source_fetch_timeout_seconds=1)
    assert result.web is not None
    assert [one.problem for one in result.web.failed] == ["timeout"] * 3
    assert len(result.web.pages) == 3
    assert "1871" in result.answer


def test_finish_now_answers_from_what_was_read(internet: Internet, tmp_path: Path) -> None:
    waiting = threading.Event()

    def hang(to: BaseHTTPRequestHandler) -> None:
        waiting.set()
        internet.origin.gone.wait(60)

    internet.origin.pages["oldnews.test/1874"] = hang
    engine = Citewell(Settings(data_dir=tmp_path, judge="off", **internet.settings), resolve=internet.names)
    run_id = engine.start(LIT, profile="deep")
    assert waiting.wait(60)
    _until_read(engine, run_id, 2)
    engine.runs.control(run_id, "finish")
    result = engine.runs.wait(run_id, 30)
    engine.close()
    assert "1871" in result.answer
    assert "incomplete" in result.answer_warnings


def _until_read(engine: Citewell, run_id: str, pages: int) -> None:
    """Wait until so many pages are on record."""

    async def follow() -> None:
        begun: set[str] = set()
        seen = 0
        async for event in engine.runs.follow(run_id):
            if event.body.get("action") == "read_page":
                begun.add(event.body["digest"])
            seen += event.body.get("answers") in begun and "value" in event.body["observation"]
            if seen >= pages:
                return
        raise AssertionError("the run ended before")

    asyncio.run(asyncio.wait_for(follow(), 60))


def test_cancelling_closes_the_sockets(internet: Internet, tmp_path: Path) -> None:
    waiting, left = threading.Event(), threading.Event()

    def hang(to: BaseHTTPRequestHandler) -> None:
        waiting.set()
        to.connection.settimeout(30)
        if to.connection.recv(1) == b"":
            left.set()

    internet.origin.pages["coastguard.test/lights/halvard"] = hang
    engine = Citewell(Settings(data_dir=tmp_path, judge="off", **internet.settings), resolve=internet.names)
    run_id = engine.start(LIT, profile="deep")
    assert waiting.wait(60)
    engine.runs.control(run_id, "cancel")
    assert engine.runs.wait(run_id, 10).status == "cancelled"
    assert left.wait(2)
    engine.close()


CHILD = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from citewell.engine import Citewell
from citewell.settings import Settings
from support.origin import Names
given = json.loads(sys.argv[2])
engine = Citewell(Settings(data_dir=Path(sys.argv[3]), judge="off", **given["settings"]), resolve=Names(given["names"]))
print(engine.start(given["question"], profile="deep"), flush=True)
import time
time.sleep(120)
"""


@pytest.mark.slow
def test_a_run_killed_in_the_middle_resumes_without_fetching_again(internet: Internet, tmp_path: Path) -> None:
    """The process is killed while one page hangs; another goes on, asks for that page and for none it has."""
    waiting = threading.Event()
    page = article("When the Halvard light was lit", "The Halvard light was first lit in 1874.", date="2012-02-01")
    is_open = threading.Event()

    def hang(to: BaseHTTPRequestHandler) -> None:
        if is_open.is_set():
            send(to, Page(page))
            return
        waiting.set()
        internet.origin.gone.wait(60)

    internet.origin.pages["oldnews.test/1874"] = hang
    given = {"settings": internet.settings, "names": internet.names.known, "question": LIT}
    paths = [str(Path(__file__).parents[1]), *sys.path]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(paths), json.dumps(given), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    assert waiting.wait(60)
    engine = Citewell(Settings(data_dir=tmp_path, judge="off", **internet.settings), resolve=internet.names)
    _until_read(engine, run_id, 3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    had = internet.read_pages()
    assert len(had) >= 4
    is_open.set()
    _resumed(engine, run_id)
    result = engine.runs.wait(run_id, 60)
    again = internet.read_pages()[len(had) :]
    assert "oldnews.test/1874" in again
    assert not (set(again) & set(had)) - {"oldnews.test/1874"}
    assert "1871" in result.answer
    assert engine.runs.replay(run_id).identical
    engine.close()


def _resumed(engine: Citewell, run_id: str) -> None:
    """Go on with a run whose owner is dead: its lease has to run out first, unless the owner is seen to be gone."""
    from citewell import Held

    clock = threading.Event()
    for _ in range(120):
        try:
            engine.runs.resume(run_id)
            return
        except Held:
            clock.wait(0.5)
    raise AssertionError("the run was never let go of")
