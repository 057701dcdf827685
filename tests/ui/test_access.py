"""For everybody: axe on every view in both colours, all of it by keyboard, and progress that is announced."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, expect

from citewell import Citewell
from support.browser import DESKTOP, PHONE, ask, last_turn, opened, overflow, serious_faults, wait_status
from support.http_server import RunningServer, running_server
from support.model_script import ModelRequest
from support.origin import Origin
from support.origin import Page as Served
from ui.conftest import HeldModel, mark
from web.loopback_internet import article

FACT = "Why did Big Maggie's gearbox break down in February 2025?"
Role: TypeAlias = Literal["button", "link", "tab", "checkbox"]
VIEWS = (
    "chat",
    "search?q=gearbox",
    "search?topic=Tidewick",
    "reports",
    "corpus",
    "lab",
    "lab/conversations",
    "lab/evals",
)


@pytest.fixture(scope="module")
def run_id(server: RunningServer) -> str:
    run_id = server.start_run(FACT)
    server.finished(run_id)
    return run_id


@pytest.fixture(scope="module")
def report_id(server: RunningServer) -> str:
    started = server.post("/api/runs", {"question": FACT, "profile": "report"})
    report_id = str(started.json["run_id"])
    server.finished(report_id)
    return report_id


@pytest.fixture(scope="module")
def eval_report(server: RunningServer, run_id: str) -> str:
    server.post(f"/api/runs/{run_id}/eval-case", {"expect": [], "forbid": [], "keep": True})
    return str(server.post("/api/evals/run", {"kind": "research"}).json["report"])


@pytest.fixture(scope="module")
def outward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that may ask one site on the loopback, and write into the one note it has."""
    root = tmp_path_factory.mktemp("outward")
    (root / "vault").mkdir()
    (root / "vault" / "lamp.md").write_text(
        "---\nurl: https://lights.example/halvard\n---\n# Lamp\nThe Halvard light stands on Skerry Point.\n"
        "- [ ] When was the Halvard light painted?\n",
        "utf-8",
    )
    (root / "vault" / "paint.md").write_text("# Paint\nThe Halvard light was painted white in 1998.\n", "utf-8")
    with Citewell(root / "data") as cw:
        cw.add(root / "vault")
    with Origin() as site:
        site.pages["/light"] = Served(
            article("The Halvard light", "The Halvard light was first lit in 1871 by its keeper.", date="2020-01-01")
        )
        found = {"url": f"{site.url}/light", "title": "The Halvard light", "content": "first lit in 1871"}
        gone = {"url": f"{site.url}/gone", "title": "Gone", "content": "the Halvard light was first lit"}
        site.pages["/search"] = Served(json.dumps({"results": [found, gone]}), "application/json")
        with running_server(
            root / "data",
            CITEWELL_SEARCH="searxng",
            CITEWELL_SEARXNG_URL=site.url,
            CITEWELL_FETCH_ALLOW=f"127.0.0.1:{site.port}",
            CITEWELL_NOTE_TOOL="true",
        ) as running:
            yield running


def settled(page: Page) -> None:
    page.wait_for_load_state("networkidle")


LOOKS = [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")]
NAMES = ["desktop-light", "desktop-dark", "phone-light", "phone-dark"]


@pytest.mark.attack("W10")
@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=NAMES)
def test_axe_finds_nothing_serious_on_any_view(
    browser: Browser,
    server: RunningServer,
    run_id: str,
    report_id: str,
    eval_report: str,
    size: tuple[int, int],
    colours: Literal["light", "dark"],
) -> None:
    with opened(browser, server.url, size, color_scheme=colours) as (page, _, _):
        for view in VIEWS:
            page.goto(f"{server.url}#/{view}")
            settled(page)
            assert serious_faults(page) == [], view
            assert overflow(page) == 0, view
        page.goto(f"{server.url}#/reports/{report_id}")
        page.get_by_test_id("methodology").wait_for()
        page.get_by_test_id("claims").locator("summary").first.click()
        assert serious_faults(page) == [], "a report"
        page.goto(f"{server.url}#/lab/evals/{eval_report}")
        page.get_by_test_id("eval-report").locator("summary").first.click()
        assert serious_faults(page) == [], "an eval report"
        page.goto(f"{server.url}#/lab/run/{run_id}")
        for tab in page.get_by_role("tab").all():
            tab.click()
            assert serious_faults(page) == [], tab.inner_text()
        page.goto(f"{server.url}#/lab/compare/{run_id}/today")
        page.get_by_test_id("same").wait_for()
        assert serious_faults(page) == []


@pytest.mark.attack("W10")
@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=NAMES)
def test_axe_finds_nothing_serious_in_the_dialogs(
    browser: Browser,
    server: RunningServer,
    outward: RunningServer,
    run_id: str,
    size: tuple[int, int],
    colours: Literal["light", "dark"],
) -> None:
    with opened(browser, server.url, size, color_scheme=colours) as (page, _, _):
        page.goto(f"{server.url}#/lab/run/{run_id}")
        page.get_by_role("button", name="Turn this into an eval case").click()
        expect(page.get_by_role("dialog")).to_contain_text("expect_citation_source_keys")
        assert serious_faults(page) == [], "promoting a run"
    with opened(browser, outward.url, size, color_scheme=colours) as (page, _, _):
        page.goto(f"{outward.url}#/search?doc=note:vault/lamp")
        page.get_by_role("button", name="Research this note").click()
        page.get_by_role("button", name="Show what would change").click()
        page.get_by_label("What would change").wait_for()
        assert serious_faults(page) == [], "writing into a note"
        page.keyboard.press("Escape")
        page.get_by_role("button", name=re.compile("lights.example")).first.click()
        expect(page.get_by_role("dialog")).to_contain_text("Leave for lights.example?")
        assert serious_faults(page) == [], "leaving for another site"


@pytest.mark.attack("W10")
@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=NAMES)
def test_axe_finds_nothing_serious_under_an_answer_from_the_web(
    browser: Browser, outward: RunningServer, size: tuple[int, int], colours: Literal["light", "dark"]
) -> None:
    with opened(browser, outward.url, size, color_scheme=colours) as (page, _, _):
        page.get_by_role("button", name="Options").click()
        page.get_by_label("Profile").select_option("chat")
        ask(page, "When was the Halvard light first lit?")
        wait_status(page, "ready")
        web = last_turn(page).get_by_test_id("web")
        web.get_by_role("button").first.click()
        expect(web).to_contain_text("Searched for:")
        assert serious_faults(page) == []
        assert overflow(page) == 0


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


@pytest.mark.attack("W10")
@pytest.mark.parametrize(("size", "colours"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_axe_finds_nothing_serious_on_a_run_that_asked_a_model(
    browser: Browser,
    written: RunningServer,
    model: HeldModel,
    size: tuple[int, int],
    colours: Literal["light", "dark"],
) -> None:
    with opened(browser, written.url, size, color_scheme=colours) as (page, _, _):
        ask(page, FACT)
        wait_status(page, "synthesizing")
        assert serious_faults(page) == [], "while it is under way"
        model.let(good)
        wait_status(page, "ready")
        last_turn(page).get_by_role("link", name="Open in the Lab").click()
        for name in ("Prompt", "Verification", "Egress", "Cost"):
            page.get_by_role("tab", name=name).click()
            closed = page.get_by_test_id("part").locator("details:not([open]) > summary")
            while closed.count():
                closed.first.click()
            assert serious_faults(page) == [], name
            assert overflow(page) == 0


def test_the_control_axe_does_see_a_fault(browser: Browser, server: RunningServer) -> None:
    with opened(browser, server.url) as (page, _, _):
        page.get_by_role("heading", name="Ask what you have saved").wait_for()
        page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert any(fault.startswith("button-name") for fault in serious_faults(page))


def tab_to(page: Page, role: Role, name: str, *, back: bool = False, most: int = 120) -> None:
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
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{role} {name} cannot be reached by keyboard")


def ask_by_keyboard(page: Page, question: str) -> None:
    page.keyboard.press("/")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type(question)
    page.keyboard.press("Enter")


def good(request: ModelRequest) -> str:
    return f"The breather filter had been left off after the autumn service {mark(request, 'breather filter')}."


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_whole_way_by_keyboard_alone(
    browser: Browser, written: RunningServer, model: HeldModel, size: tuple[int, int]
) -> None:
    with opened(browser, written.url, size) as (page, _, _):
        # Ask, watch, and reload in the middle.
        page.get_by_role("heading", name="Ask what you have saved").wait_for()
        ask_by_keyboard(page, FACT)
        wait_status(page, "synthesizing")
        page.reload()
        wait_status(page, "synthesizing")
        model.let(good)
        wait_status(page, "ready")
        # The quoted passage, and its source.
        tab_to(page, "button", "Source 1: ")
        expect(page.get_by_role("tooltip")).to_contain_text("breather filter")
        page.keyboard.press("Enter")
        source = page.get_by_test_id("source")
        expect(source.locator("mark").first).to_be_in_viewport()
        assert source.evaluate("one => one === document.activeElement")
        page.keyboard.press("Escape")
        expect(source).to_have_count(0)
        # A chosen form of export.
        tab_to(page, "button", "^Export$")
        page.keyboard.press("Enter")
        expect(page.get_by_role("menuitem", name="Markdown")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("menuitem", name="Word")).to_be_focused()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename.endswith(".docx")
        expect(page.get_by_role("button", name="Export")).to_be_focused()
        # Pin and follow up; stop one, and have the next finish now.
        tab_to(page, "button", "Use this evidence in follow-up: Big Maggie")
        page.keyboard.press("Space")
        expect(page.get_by_label("Pinned for the next question")).to_contain_text("Big Maggie")
        model.release.clear()
        ask_by_keyboard(page, "Who found the missing breather?")
        expect(page.locator("article")).to_have_count(2)
        wait_status(page, "synthesizing")
        tab_to(page, "button", "^Stop$", back=True)
        page.keyboard.press("Enter")
        wait_status(page, "cancelled")
        ask_by_keyboard(page, "When did the turbine run again?")
        expect(page.locator("article")).to_have_count(3)
        wait_status(page, "synthesizing")
        tab_to(page, "button", "^Finish now$", back=True)
        page.keyboard.press("Enter")
        wait_status(page, "incomplete")
        model.let(good)
        # Open it in the Lab, replay, look at its parts, rerun, compare.
        tab_to(page, "link", "^Open in the Lab$", back=True)
        page.keyboard.press("Enter")
        tab_to(page, "button", "^Replay$")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("replay")).to_contain_text("Identical")
        tab_to(page, "tab", "Answer")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Timeline")).to_be_focused()
        expect(page.get_by_test_id("part")).to_contain_text("retrieve")
        tab_to(page, "button", "^Rerun$", back=True)
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("lab/compare/"))
        expect(page.get_by_role("table", name="Comparison")).to_contain_text("breather filter")
        # Promote what came out.
        tab_to(page, "link", "the second run")
        page.keyboard.press("Enter")
        tab_to(page, "button", "Turn this into an eval case")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("expect_citation_source_keys")
        tab_to(page, "button", "Keep this case")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("Kept in eval-cases/promoted.yaml")
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Turn this into an eval case")).to_be_focused()
        # Two runs of the list, side by side.
        page.keyboard.press("l")
        for words in ("Who found", "When did the turbine"):
            tab_to(page, "checkbox", f"Compare: {words}", back=words.startswith("Who"))
            page.keyboard.press("Space")
        tab_to(page, "button", "^Compare$", back=True)
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("same")).to_contain_text("They differ")


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
