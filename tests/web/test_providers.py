"""Every provider against a loopback server that speaks its format: the same contract for each."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Settings, Unavailable
from citewell.web.facts import SearchHit
from citewell.web.guard import FetchFailed, Guard
from citewell.web.providers import PROVIDERS, Access, EnabledProvider, enabled, enabled_names
from citewell.web.search import SearchReply, SiteRules, WebSearcher, reply_readers
from conftest import SteadyClock
from support.origin import Origin, Page, redirect
from web.provider_replies import SPOKEN, Spoken


class Waits:
    """Sleeping that takes no time and is written down."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(round(seconds, 1))


@pytest.fixture
def host() -> Iterator[Origin]:
    with Origin() as origin:
        yield origin


def settings_for(name: str, url: str, **more: Any) -> Settings:
    setting = "github" if name == "github_code" else name
    keys = {"brave_api_key": "k3y", "tavily_api_key": "k3y", "github_token": "k3y"}
    return Settings(data_dir=Path("unused"), **{"search": name, f"{setting}_url": url, **keys, **more})


def on(name: str, host: Origin) -> EnabledProvider:
    (one,) = enabled(settings_for(name, host.url))
    return one


def search(
    at: EnabledProvider, query: str = "how to dry kelp", rules: SiteRules | None = None, waits: Waits | None = None
) -> SearchReply:
    searcher = WebSearcher(Guard(), SteadyClock(), waits or Waits())
    return asyncio.run(searcher.search(at, query, 5, 5.0, rules or SiteRules()))


def test_every_provider_has_its_format_tested() -> None:
    assert {spoken.name for spoken in SPOKEN} == set(PROVIDERS)


@pytest.mark.parametrize("spoken", SPOKEN, ids=lambda spoken: spoken.name)
class TestContract:
    def test_results_are_normalised(self, spoken: Spoken, host: Origin) -> None:
        host.pages[spoken.path] = spoken.reply
        found = search(on(spoken.name, host))
        assert found.hits == spoken.hits
        (asked,) = host.asked
        assert asked.method == spoken.method
        assert "kelp" in asked.path + asked.body.decode()
        assert [request.host for request in found.requests] == ["127.0.0.1"]

    def test_the_key_is_sent_where_it_belongs_and_stands_in_no_address(self, spoken: Spoken, host: Origin) -> None:
        host.pages[spoken.path] = spoken.reply
        search(on(spoken.name, host))
        (asked,) = host.asked
        with_key = {name for name, value in asked.headers.items() if "k3y" in value}
        assert with_key == ({spoken.secret_header} if spoken.secret_header else set())
        assert "k3y" not in asked.path + asked.body.decode()

    def test_nothing_found_is_no_failure(self, spoken: Spoken, host: Origin) -> None:
        host.pages[spoken.path] = spoken.empty
        assert search(on(spoken.name, host)).hits == ()

    @pytest.mark.parametrize(
        "reply",
        [Page("<html>We are down</html>"), Page("[1, 2]"), Page('{"results": 7}'), Page("[" * 100_000), Page("")],
    )
    def test_a_malformed_reply_is_said_to_be_one(self, spoken: Spoken, reply: Page, host: Origin) -> None:
        host.pages[spoken.path] = reply
        try:
            told = "nothing" if search(on(spoken.name, host)).hits == () else "something"
        except FetchFailed as failed:
            told = failed.problem
        assert told in ("nothing", "parse_error")

    def test_it_is_asked_once_more_where_it_asks_to_wait(self, spoken: Spoken, host: Origin) -> None:
        host.pages[spoken.path] = Page("slow down", status=429, headers={"retry-after": "2"})
        waits = Waits()
        with pytest.raises(FetchFailed, match=spoken.name) as failed:
            search(on(spoken.name, host), waits=waits)
        assert failed.value.status == 429
        assert (len(host.asked), waits.seconds) == (2, [2.0])

    def test_an_error_of_its_own_is_not_retried(self, spoken: Spoken, host: Origin) -> None:
        host.pages[spoken.path] = Page("broken", status=500)
        with pytest.raises(FetchFailed) as failed:
            search(on(spoken.name, host))
        assert (failed.value.problem, len(host.asked)) == ("http_status", 1)

    @pytest.mark.attack("S10")
    def test_it_cannot_send_us_inwards(self, spoken: Spoken, host: Origin) -> None:
        with Origin({"/": "secret"}) as canary:
            host.pages[spoken.path] = redirect(f"{canary.url}/")
            with pytest.raises(FetchFailed):
                search(on(spoken.name, host))
            assert canary.asked == []

    def test_its_public_address_is_https_or_it_has_none(self, spoken: Spoken, host: Origin) -> None:
        base = PROVIDERS[spoken.name].base_url
        assert base == "" or base.startswith("https://")


def test_our_own_rules_hold_over_what_a_provider_returns(host: Origin) -> None:
    urls = [
        *("https://good.example/a", "https://good.example/a?utm_source=x", "http://www.good.example/a/"),
        *("https://bad.example/a", "https://sub.bad.example/b", "https://notbad.example/c"),
        *("javascript:alert(1)", "file:///etc/passwd", "//nowhere", "", "https://good.example/a?id=2"),
    ]
    results = [{"url": url, "title": "t", "content": ""} for url in urls]
    host.pages["/search"] = Page(json.dumps({"results": results}), "application/json")
    found = search(on("searxng", host), rules=SiteRules(deny=("bad.example",)))
    kept = ["https://good.example/a", "https://notbad.example/c", "https://good.example/a?id=2"]
    assert [hit.url for hit in found.hits] == kept
    assert found.dropped == len(urls) - len(kept)
    only = search(on("searxng", host), rules=SiteRules(allow=("good.example",)))
    assert [hit.url for hit in only.hits] == [kept[0], kept[2]]


def test_a_provider_is_left_the_time_it_asks_for_between_requests() -> None:
    waits = Waits()
    searcher = WebSearcher(Guard(), SteadyClock(), waits)
    public = EnabledProvider(PROVIDERS["arxiv"], Access("https://x"))

    async def turns() -> None:
        for _ in range(3):
            await searcher._turn(public)

    asyncio.run(turns())
    assert waits.seconds == [3.0, 6.0]


def test_a_provider_that_asks_to_wait_too_long_is_not_waited_for(host: Origin) -> None:
    host.pages["/search"] = Page("later", status=429, headers={"retry-after": "3600"})
    waits = Waits()
    with pytest.raises(FetchFailed):
        search(on("searxng", host), waits=waits)
    assert (len(host.asked), waits.seconds) == (1, [])


def test_none_is_on_by_itself() -> None:
    assert enabled(Settings(data_dir=Path("unused"))) == ()


def test_an_unknown_name_is_refused_and_the_known_ones_told() -> None:
    with pytest.raises(BadInput, match="altavista") as refused:
        enabled_names(Settings(data_dir=Path("unused"), search="searxng, altavista"))
    assert "searxng" in refused.value.fix


def test_names_are_taken_as_people_write_them() -> None:
    names = enabled_names(Settings(data_dir=Path("unused"), search="DDGS, europe-pmc,SemanticScholar,,arxiv,arxiv"))
    assert names == ("duckduckgo", "europe_pmc", "semantic_scholar", "arxiv")


@pytest.mark.parametrize("name", ["searxng", "brave", "tavily", "github_code"])
def test_what_is_turned_on_without_what_it_needs_says_so(name: str) -> None:
    with pytest.raises(Unavailable) as missing:
        enabled(Settings(data_dir=Path("unused"), search=name))
    assert missing.value.fix.startswith("Set ")


@pytest.mark.attack("B5")
@pytest.mark.parametrize("name", ["duckduckgo", "arxiv"])
@pytest.mark.parametrize(
    "body",
    [
        b"<div " + b" ".join(b"a%d=1" % number for number in range(300_000)) + b">",
        b"<div class=' result '>" * 130_000,
        b"<feed xmlns='http://www.w3.org/2005/Atom'>" + b"<entry>" * 400_000,
    ],
    ids=["attributes", "nested results", "nested entries"],
)
def test_markup_that_is_a_bomb_ends_in_a_process_of_its_own(name: str, body: bytes, host: Origin) -> None:
    """The loop goes on meanwhile, and the next reply is read."""
    spoken = next(one for one in SPOKEN if one.name == name)
    host.pages[spoken.path] = Page(body[:2_900_000])
    readers = reply_readers()
    searcher = WebSearcher(Guard(), SteadyClock(), Waits(), readers)

    async def asked() -> tuple[str, float, tuple[SearchHit, ...]]:
        late = 0.0

        async def beat() -> None:
            nonlocal late
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.05)
                late = max(late, time.monotonic() - began)

        beating = asyncio.ensure_future(beat())
        try:
            found = await searcher.search(on(name, host), "kelp", 5, 20.0, SiteRules())
            told = "read" if found.hits else "nothing"
        except FetchFailed as failed:
            told = failed.problem
        beating.cancel()
        host.pages[spoken.path] = spoken.reply
        return told, late, (await searcher.search(on(name, host), "kelp", 5, 5.0, SiteRules())).hits

    began = time.monotonic()
    try:
        told, late, after = asyncio.run(asked())
    finally:
        readers.close()
    assert told in ("parse_error", "nothing", "read")
    assert time.monotonic() - began < 10
    assert late < 1.5
    assert after == spoken.hits
