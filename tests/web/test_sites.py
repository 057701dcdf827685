"""Sites a person denies are not read by any way: not as a result, not behind a redirect, not named in a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.web.search import SiteRules
from support.origin import redirect
from web.loopback_internet import Internet, loopback_internet

LIT = "When was the Halvard light first lit?"


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        net.add("denied.example", "/light", "x", "The Halvard light was first lit in 1555.", found_by="nothing")
        net.add("hop.example", "/light", "When was the Halvard light first lit", page=redirect("/next"))
        net.add("hop.example", "/next", "x", found_by="nothing", page=redirect(net.url("denied.example", "/light")))
        net.pages.insert(0, net.pages.pop(-2))
        yield net


def run(net: Internet, data: Path, question: str = LIT, **settings: Any) -> RunResult:
    engine = Citewell(Settings(data_dir=data, **{**net.settings, "judge": "off", **settings}), resolve=net.names)
    try:
        result = engine.runs.wait(engine.start(question, profile="chat"))
        assert engine.runs.replay(result.run_id).identical
        return result
    finally:
        engine.close()


def test_a_permitted_page_that_leads_to_a_denied_site_is_not_read(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path, web_deny="denied.example")
    assert internet.origin.paths("hop.example")
    assert internet.origin.paths("denied.example") == []
    assert result.web is not None
    assert {one.problem for one in result.web.failed if "hop.example" in one.source} == {"blocked_url"}
    assert "1555" not in result.answer
    assert "1871" in result.answer


def test_it_is_read_where_nothing_denies_it(internet: Internet, tmp_path: Path) -> None:
    result = run(internet, tmp_path)
    assert internet.origin.paths("denied.example")
    assert result.web is not None
    assert any("denied.example" in page.final_url for page in result.web.pages)


def test_where_sites_are_named_a_redirect_leads_to_no_other(internet: Internet, tmp_path: Path) -> None:
    run(internet, tmp_path, web_allow="hop.example,museum.example")
    assert {asked.host for asked in internet.origin.asked} <= {"127.0.0.1", "hop.example", "museum.example"}
    assert internet.origin.paths("hop.example")


def test_a_denied_page_is_not_read_because_a_question_names_it(internet: Internet, tmp_path: Path) -> None:
    url = internet.url("denied.example", "/light")
    result = run(internet, tmp_path, f"What does {url} say of the Halvard light?", web_deny="denied.example")
    assert internet.origin.paths("denied.example") == []
    assert result.web is not None
    assert [one.problem for one in result.web.failed if one.source == url] == ["blocked_url"]


@pytest.mark.parametrize(
    "url", ["https://denied.example/", "http://WWW.Denied.Example:80/a", "https://sub.denied.example./", "no address"]
)
def test_spellings_of_a_denied_site_are_denied(url: str) -> None:
    assert not SiteRules(deny=("denied.example",)).permits(url)
