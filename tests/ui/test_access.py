"""For everybody: axe on every view in both colours, all of it by keyboard, and progress that is announced."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import DESKTOP, PHONE, ask, last_turn, opened, serious_faults, wait_status
from support.http_server import RunningServer

FACT = "Why did Big Maggie's gearbox break down in February 2025?"
VIEWS = ("chat", "search?q=gearbox", "search?topic=Tidewick", "corpus", "lab", "lab/evals")


@pytest.fixture(scope="module")
def run_id(server: RunningServer) -> str:
    run_id = server.start_run(FACT)
    server.finished(run_id)
    return run_id


def settled(page: Page) -> None:
    page.wait_for_load_state("networkidle")


@pytest.mark.attack("W10")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_view(
    browser: Browser, server: RunningServer, run_id: str, colours: Literal["light", "dark"]
) -> None:
    with opened(browser, server.url, color_scheme=colours) as (page, _, _):
        for view in VIEWS:
            page.goto(f"{server.url}#/{view}")
            settled(page)
            assert serious_faults(page) == [], view
        page.goto(f"{server.url}#/lab/run/{run_id}")
        for tab in page.get_by_role("tab").all():
            tab.click()
            assert serious_faults(page) == [], tab.inner_text()
        page.goto(f"{server.url}#/lab/compare/{run_id}/today")
        page.get_by_test_id("same").wait_for()
        assert serious_faults(page) == []


@pytest.mark.attack("W10")
@pytest.mark.parametrize(("size", "colours"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")])
def test_axe_finds_nothing_serious_on_an_answer_with_everything_open(
    browser: Browser, server: RunningServer, size: tuple[int, int], colours: Literal["light", "dark"]
) -> None:
    with opened(browser, server.url, size, color_scheme=colours) as (page, _, _):
        page.get_by_role("button", name="Options").click()
        ask(page, FACT)
        wait_status(page, "ready")
        last_turn(page).get_by_test_id("timeline").get_by_role("button").first.click()
        last_turn(page).get_by_role("button", name="Supported. Why?").first.click()
        last_turn(page).get_by_role("button", name="why it won").first.click()
        last_turn(page).get_by_text("Query plan").click()
        last_turn(page).get_by_role("button", name="Explain this result").click()
        last_turn(page).get_by_label("Explanation").wait_for()
        assert serious_faults(page) == []
        last_turn(page).get_by_test_id("citation").first.click()
        page.get_by_test_id("source").locator("mark").first.wait_for()
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.get_by_role("dialog", name="Commands").wait_for()
        assert serious_faults(page) == []


def test_the_control_axe_does_see_a_fault(browser: Browser, server: RunningServer) -> None:
    with opened(browser, server.url) as (page, _, _):
        page.get_by_role("heading", name="Ask what you have saved").wait_for()
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert any(fault.startswith("button-name") for fault in serious_faults(page))


def tab_to(page: Page, role: str, name: str, most: int = 60) -> None:
    """Press Tab until this has the focus, and see that the focus is seen."""
    wanted = page.get_by_role(role, name=re.compile(name)).first
    expect(wanted).to_be_attached()
    for _ in range(most):
        if wanted.count() and wanted.evaluate("one => one === document.activeElement"):
            outlined = wanted.evaluate(
                "one => getComputedStyle(one).outlineStyle !== 'none' || one.closest('.box') !== null"
            )
            assert outlined, f"{name}: the focus is not seen"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{role} {name} cannot be reached by keyboard")


def test_the_whole_way_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type(FACT)
    page.keyboard.press("Enter")
    wait_status(page, "ready")
    page.locator("main").focus()
    tab_to(page, "button", "Source 1: ")
    expect(page.get_by_role("tooltip")).to_contain_text("breather filter")
    page.keyboard.press("Enter")
    source = page.get_by_test_id("source")
    expect(source.locator("mark").first).to_be_in_viewport()
    assert source.evaluate("one => one === document.activeElement")
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    tab_to(page, "button", "^Export$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Markdown")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Word")).to_be_focused()
    page.keyboard.press("Escape")
    tab_to(page, "button", "Use this evidence in follow-up: Big Maggie")
    page.keyboard.press("Space")
    expect(page.get_by_label("Pinned for the next question")).to_contain_text("Big Maggie")
    page.keyboard.press("/")
    page.keyboard.type("Who found it?")
    page.keyboard.press("Enter")
    expect(page.locator("article")).to_have_count(2)
    wait_status(page, "ready")
    page.locator("main").focus()
    page.keyboard.press("l")
    tab_to(page, "link", "Who found it")
    page.keyboard.press("Enter")
    tab_to(page, "button", "^Replay$")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("replay")).to_contain_text("Identical")
    tab_to(page, "tab", "Answer")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Timeline")).to_be_focused()
    expect(page.get_by_test_id("part")).to_contain_text("retrieve")


def test_the_palette_goes_everywhere(page: Page) -> None:
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("corpus")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Corpus", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("kelp harvest")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Words to search for")).to_have_value("kelp harvest")
    page.keyboard.press("Control+k")
    page.keyboard.type("dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)


def test_letters_typed_into_a_field_are_no_shortcuts(page: Page) -> None:
    page.get_by_label("Question", exact=True).press_sequentially("clsdn?")
    expect(page.get_by_label("Question", exact=True)).to_have_value("clsdn?")
    expect(page.get_by_role("heading", name="Ask what you have saved")).to_be_visible()


def test_nothing_moves_when_the_answer_comes(browser: Browser, server: RunningServer) -> None:
    """The browser's own measure of layout shift; below 0.1 is good, and this is what one asks for."""
    with opened(browser, server.url) as (page, _, _):
        page.evaluate(
            "() => { window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(one => "
            "{ if (!one.hadRecentInput) window.shift += one.value })).observe({type: 'layout-shift', buffered: true}) }"
        )
        ask(page, FACT)
        wait_status(page, "ready")
        page.wait_for_timeout(700)
        assert page.evaluate("window.shift") < 0.1
