"""What failed is accounted for like what came: every request in the ledger, its bytes in the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.flows.play import egress_of
from citewell.runs.reports import EgressLedger
from support.origin import Page, redirect
from web.loopback_internet import Internet, loopback_internet

LIT = "When was the Halvard light first lit?"
LARGE = "no JSON at all, and much of it. " * 3_000
BUSY = Page("slow down", status=429, headers={"retry-after": "0"})


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def run(net: Internet, data: Path, **settings: Any) -> tuple[RunResult, EgressLedger]:
    chosen = {**net.settings, "judge": "off", "chat_research_max_search_queries": 2, **settings}
    engine = Citewell(Settings(data_dir=data, **chosen), resolve=net.names)
    try:
        result = engine.runs.wait(engine.start(LIT, profile="chat"))
        assert engine.runs.replay(result.run_id).identical
        return result, egress_of(engine.runs.events(result.run_id))
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("reply", "problem", "times", "least"),
    [
        (BUSY, "http_status", 2, 0),
        (Page("broken", status=500), "http_status", 1, 0),
        (Page(LARGE, "application/json"), "parse_error", 1, len(LARGE)),
        (Page("{}", seconds=60.0), "timeout", 1, 0),
        (redirect("http://169.254.169.254/latest/"), "network_error", 1, 0),
        (redirect("ftp://museum.example/"), "blocked_url", 1, 0),
    ],
    ids=["429", "500", "malformed", "time-out", "inward", "no web address"],
)
def test_every_request_of_a_failed_search_is_in_the_ledger(
    reply: Page, problem: str, times: int, least: int, internet: Internet, tmp_path: Path
) -> None:
    internet.origin.pages["/search"] = reply
    result, ledger = run(internet, tmp_path, chat_research_timeout_seconds=6)
    asked = [one for one in internet.origin.asked if one.path.startswith("/search")]
    assert len(asked) >= times
    assert len(asked) % times == 0
    assert [entry.to for entry in ledger.entries] == ["searxng (127.0.0.1)"] * len(asked)
    assert {entry.outcome for entry in ledger.entries} == {"failed"}
    assert all(entry.bytes > len("/search?q=") for entry in ledger.entries)
    assert all(entry.received >= least for entry in ledger.entries)
    web = result.web
    assert web is not None
    assert {one.problem for one in web.failed} == {problem}
    assert (web.requests, web.bytes_sent) == (len(asked), ledger.bytes)
    assert web.bytes_received == sum(entry.received for entry in ledger.entries)
    assert "search_failed" in result.warnings


def test_a_page_that_fails_is_accounted_for_too(internet: Internet, tmp_path: Path) -> None:
    internet.origin.pages["museum.example/halvard"] = Page("gone", status=410)
    internet.origin.pages["coastguard.test/lights/halvard"] = redirect("/elsewhere")
    result, ledger = run(internet, tmp_path)
    assert result.web is not None
    assert {one.problem for one in result.web.failed} == {"http_status"}
    assert result.web.requests == len(ledger.entries) == len(internet.origin.asked)


def test_what_was_refused_before_it_left_counts_no_bytes(internet: Internet, tmp_path: Path) -> None:
    engine = Citewell(Settings(data_dir=tmp_path, judge="off", **internet.settings), resolve=internet.names)
    inward = "http://museum.example:6379/"
    run_id = engine.start(f"What does {inward} say of the Halvard light?", profile="chat")
    engine.runs.wait(run_id)
    ledger = egress_of(engine.runs.events(run_id))
    engine.close()
    (entry,) = [entry for entry in ledger.entries if entry.purpose == f"read {inward}"]
    assert (entry.outcome, entry.bytes) == ("failed", 0)
