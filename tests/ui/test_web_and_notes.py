"""The web and notes in a real browser: pages that were read open after their site is gone, and a note is written to."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from citewell import Citewell
from citewell.evals.suite import sample_corpus
from support.browser import ask, last_turn, opened, overflow, wait_status
from support.http_server import RunningServer, running_server
from support.origin import Origin
from support.origin import Page as Served
from web.loopback_internet import article

LIT = "When was the Halvard light first lit?"
TEXTS = (
    ("/light", "The Halvard light", "The Halvard light was first lit in 1871 by its keeper."),
    (
        "/register",
        "Register of lights",
        "It was in 1871 that the Halvard light was first lit, as the coast guard has it.",
    ),
    ("/paper", "An old paper", "The paper wrote that the Halvard light was first lit in 1874."),
)


@pytest.fixture
def sites() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def online(sites: ExitStack, tmp_path: Path) -> Iterator[RunningServer]:
    """A server that may search three sites on the loopback; nothing is saved in its corpus."""
    origins = [sites.enter_context(Origin()) for _ in TEXTS]
    results = []
    for origin, (path, title, text) in zip(origins, TEXTS, strict=True):
        origin.pages[path] = Served(article(title, text, date="2020-01-01"))
        results.append({"url": f"{origin.url}{path}", "title": title, "content": text})
    origins[0].pages["/search"] = Served(json.dumps({"results": results}), "application/json")
    with running_server(
        tmp_path / "data",
        CITEWELL_SEARCH="searxng",
        CITEWELL_SEARXNG_URL=origins[0].url,
        CITEWELL_FETCH_ALLOW=",".join(f"127.0.0.1:{origin.port}" for origin in origins),
    ) as running:
        yield running


def _with_the_web(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Profile").select_option("chat")
    page.get_by_role("button", name=re.compile("^Options")).click()
    expect(page.get_by_text("searches the web")).to_be_visible()


def test_a_web_run_shows_its_pages_opens_them_offline_and_accounts_for_what_left(
    browser: Browser, online: RunningServer, sites: ExitStack
) -> None:
    with opened(browser, online.url) as (page, seen, _):
        _with_the_web(page)
        ask(page, LIT)
        wait_status(page, "ready")
        expect(last_turn(page).locator("[data-verdict]").first).to_contain_text("1871")
        web = last_turn(page).get_by_test_id("web")
        expect(web).to_contain_text(re.compile(r"searxng.*3 pages read.*requests"))
        web.get_by_role("button").first.click()
        expect(web).to_contain_text("Searched for:")
        expect(web).to_contain_text("credibility")
        sites.close()  # the sites are gone from here on
        web.get_by_role("button", name="Register of lights").click()
        source = page.get_by_test_id("source")
        expect(source).to_contain_text("as the coast guard has it")
        page.keyboard.press("Escape")
        last_turn(page).get_by_test_id("citation").first.click()
        expect(source.locator("mark").first).to_contain_text("1871")
        page.keyboard.press("Escape")
        web.get_by_role("link", name="Every request that left this machine").click()
        page.get_by_role("tab", name="Egress").click()
        expect(page.locator("#part")).to_contain_text("searxng")
        assert overflow(page) <= 0
        assert seen.outside == []


def test_without_providers_no_profile_of_the_web_is_offered(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    expect(page.get_by_label("Tags")).to_be_visible()
    expect(page.get_by_label("Profile")).to_have_count(0)


@pytest.fixture
def writable(tmp_path: Path) -> Iterator[tuple[RunningServer, Path]]:
    """A server that may write into the notes of a copy of the sample vault."""
    vault = tmp_path / "vault"
    shutil.copytree(sample_corpus() / "vault", vault)
    with Citewell(tmp_path / "data") as cw:
        for _ in cw.corpus.sync(vault):
            pass
    with running_server(tmp_path / "data", CITEWELL_NOTE_TOOL="true") as running:
        yield running, vault


def _open_checklist(page: Page) -> None:
    page.goto(f"{page.url}#/search?q=Seeding checklist")
    # Another copy of it lies in the archive, under the same heading.
    found = page.get_by_test_id("results").get_by_role("listitem").filter(has_text="Kelp/Seeding checklist.md")
    found.get_by_role("button", name="Seeding checklist", exact=True).click()


def test_a_note_is_researched_after_its_diff_was_seen(browser: Browser, writable: tuple[RunningServer, Path]) -> None:
    server, vault = writable
    (note,) = vault.rglob("Seeding checklist.md")
    before = note.read_bytes()
    with opened(browser, server.url) as (page, _, _):
        _open_checklist(page)
        page.get_by_test_id("source").get_by_role("button", name="Research this note").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Show what would change").click()
        expect(dialog.get_by_label("What would change")).to_contain_text("+## Research")
        assert note.read_bytes() == before
        dialog.get_by_role("button", name="Write it into the note").click()
        expect(dialog.get_by_role("status")).to_contain_text("Written:")
        assert note.read_bytes().startswith(before.rstrip())
        assert b"## Research" in note.read_bytes()


def test_where_writing_is_not_enabled_no_note_offers_it(page: Page) -> None:
    _open_checklist(page)
    expect(page.get_by_test_id("source")).to_contain_text("Sporophytes")
    expect(page.get_by_role("button", name="Research this note")).to_have_count(0)
