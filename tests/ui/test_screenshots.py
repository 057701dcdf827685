"""What a person sees without a model: a fact, a follow-up, an overview, and a question nothing saved answers.

pytest tests/ui/test_screenshots.py --write-screenshots     # makes the pictures of the README anew
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import DESKTOP, PHONE, ROOT, ask, last_turn, opened, overflow, serious_faults, wait_status
from support.http_server import RunningServer

IMAGES = ROOT / "docs" / "images"
FACT = "Why did Big Maggie's gearbox break down in February 2025?"
DREDGED, FOLLOW_UP = "When was the inner basin of Kirkhaven dredged?", "And how much silt was taken out?"
OVERVIEW = "What do I know about the kelp farm?"
NOT_THERE = "What colour is the cottage's front door?"


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-screenshots"))


def _keep(page: Page, name: str, is_wanted: bool) -> None:
    """A picture of the last question from its top, for the README where that is asked for, else for whoever looks."""
    page.locator("article h2.question").last.evaluate("one => one.closest('article').scrollIntoView()")
    page.mouse.move(0, 0)
    folder = IMAGES if is_wanted else ROOT / "build"
    folder.mkdir(exist_ok=True)
    page.screenshot(path=Path(folder) / f"page-{name}.png")


def test_a_fact_is_answered_beside_the_passage_it_rests_on(page: Page, picture: bool) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    expect(last_turn(page).locator("[data-verdict]").first).to_contain_text("breather filter had been left off")
    last_turn(page).get_by_test_id("citation").first.click()
    expect(page.get_by_test_id("source").locator("mark").first).to_be_in_viewport()
    _keep(page, "fact", picture)


def test_a_follow_up_leans_on_the_question_before_it(page: Page, picture: bool) -> None:
    ask(page, DREDGED)
    wait_status(page, "ready")
    ask(page, FOLLOW_UP)
    expect(page.locator("article")).to_have_count(2)
    wait_status(page, "ready")
    expect(last_turn(page).get_by_test_id("answer")).to_contain_text("silt")
    _keep(page, "follow-up", picture)
    assert overflow(page) == 0


def test_an_overview_quotes_several_documents(browser: Browser, server: RunningServer, picture: bool) -> None:
    with opened(browser, server.url, DESKTOP, color_scheme="dark") as (page, _, _):
        ask(page, OVERVIEW)
        wait_status(page, "ready")
        sentences = last_turn(page).locator("[data-verdict]")
        expect(sentences.nth(1)).to_be_visible()
        assert last_turn(page).get_by_test_id("citation").count() >= 2
        _keep(page, "overview", picture)
        assert serious_faults(page) == []


def test_a_question_nothing_answers_is_refused_with_what_comes_nearest(
    browser: Browser, server: RunningServer, picture: bool
) -> None:
    with opened(browser, server.url, PHONE) as (page, _, _):
        ask(page, NOT_THERE)
        wait_status(page, "ready")
        expect(last_turn(page)).to_contain_text("Nothing you saved answers this directly")
        expect(last_turn(page)).to_contain_text("Terms tried")
        _keep(page, "unanswerable", picture)
        assert overflow(page) == 0
