"""Much of everything: a thousand rows, an answer of five megabytes, a document of millions of characters.

What is measured here (first paint, frames while scrolling) is written to build/ui-figures.json and told in
docs/measurements/benchmarks.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from citewell import Citewell
from support.browser import ROOT, ask, last_turn, opened, overflow, wait_status
from support.http_server import RunningServer, running_server

ROWS = 1_000
# Far from smooth: what a machine with nothing else to do is never near to.
JERKY_MS = 150


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("large")
    notes = root / "notes"
    notes.mkdir()
    for number in range(ROWS):
        text = f"# Buoy {number}\nBuoy {number} of the harbour was painted on day {number} and drifts a little.\n" * 3
        (notes / f"buoy-{number:04}.md").write_text(text, "utf-8")
    (notes / "long.md").write_text("# Logbook\n" + "The tide came in and the tide went out.\n" * 60_000, "utf-8")
    with Citewell(root / "data") as cw:
        cw.add(notes)
    with running_server(root / "data") as running:
        yield running


def told(**figures: Any) -> None:
    """Keep what was measured beside what was measured before."""
    path = ROOT / "build" / "ui-figures.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**before, **figures}, indent=1), "utf-8")


SCROLL = """() => new Promise(done => {
    const times = []; let last = performance.now(); let y = 0;
    const step = now => {
        times.push(now - last); last = now; y += 900; scrollTo(0, y);
        if (y < document.documentElement.scrollHeight && times.length < 600) requestAnimationFrame(step);
        else {
            const sorted = times.slice(1).sort((a, b) => a - b);
            const share = part => Math.round(10 * sorted[Math.floor((sorted.length - 1) * part)]) / 10;
            done({frames: sorted.length, median: share(0.5), p95: share(0.95), worst: share(1), height: y});
        }
    };
    requestAnimationFrame(step);
})"""


def test_a_thousand_results_are_shown_and_scrolled_through(browser: Browser, large: RunningServer) -> None:
    with opened(browser, large.url) as (page, _, _):
        page.goto(f"{large.url}#/search?q=buoy harbour")
        rows = page.get_by_test_id("results").locator("li")
        for wanted in (100, 500, 1000):
            page.get_by_role("button", name="Show more").click()
            expect(rows).to_have_count(wanted)
        scrolled = page.evaluate(SCROLL)
        told(scroll=scrolled, rows=rows.count())
        assert scrolled["frames"] > 20
        assert scrolled["median"] < JERKY_MS
        expect(rows.last).to_be_in_viewport()
        assert overflow(page) == 0
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog", name="Commands")).to_be_visible()


def test_the_first_paint_is_measured(browser: Browser, server: RunningServer) -> None:
    with opened(browser, server.url) as (page, _, _):
        page.get_by_role("heading", name="Ask what you have saved").wait_for()
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        sizes = page.evaluate(
            "performance.getEntriesByType('resource').filter(one => /assets/.test(one.name))"
            ".map(one => one.encodedBodySize)"
        )
        told(first_contentful_paint_ms=round(paint), page_bytes=sum(sizes))
        assert sum(sizes) < 200_000


def test_a_thousand_rows_of_evidence_are_scrolled_through(browser: Browser, server: RunningServer) -> None:
    """No pack holds so many; the page is handed them, every one another document."""
    done = server.finished(server.start_run("Why did Big Maggie's gearbox break down in February 2025?"))
    rows = done["pack"]["evidence"]
    done["pack"]["evidence"] = [
        {**rows[number % len(rows)], "source_key": f"note:{number}", "title": f"Row {number}"} for number in range(ROWS)
    ]

    def handed(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=f"id: 1\nevent: done\ndata: {json.dumps(done)}\n\n")

    with opened(browser, server.url) as (page, _, _):
        page.route("**/events", handed)
        ask(page, "Much evidence, please?")
        wait_status(page, "ready")
        last_turn(page).get_by_role("button", name="Show all 1000").click()
        shown = last_turn(page).get_by_test_id("evidence").locator("li")
        expect(shown).to_have_count(ROWS)
        page.evaluate("scrollTo(0, 0)")
        scrolled = page.evaluate(SCROLL)
        told(evidence_scroll=scrolled, evidence_rows=ROWS)
        assert scrolled["height"] > ROWS * 60
        assert scrolled["median"] < JERKY_MS
        assert overflow(page) == 0


def test_an_answer_of_five_megabytes_breaks_nothing(browser: Browser, server: RunningServer) -> None:
    """No model is let to write so much; the page is handed it as a stream all the same."""
    run = server.start_run("Why did Big Maggie's gearbox break down in February 2025?")
    done = server.finished(run)
    sentence = done["sentences"][0]
    done["sentences"] = [{**sentence, "text": f"{number} " + "lorem ipsum " * 40} for number in range(5_000)]
    done["sentences"].append({**sentence, "text": "x" * 2_500_000})
    done["answer"] = "\n".join(one["text"] for one in done["sentences"])
    assert len(done["answer"]) > 5_000_000 - 500_000
    row = done["pack"]["evidence"][0]
    done["pack"]["evidence"] = [
        {**row, "source_key": f"note:{number}", "title": f"Row {number}"} for number in range(ROWS)
    ]

    def handed(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=f"id: 1\nevent: done\ndata: {json.dumps(done)}\n\n")

    with opened(browser, server.url) as (page, _, _):
        page.route("**/events", handed)
        ask(page, "A very long story, please?")
        wait_status(page, "ready")
        answer = last_turn(page).get_by_test_id("answer")
        expect(answer.locator("li").first).to_contain_text("lorem ipsum")
        answer.get_by_role("button", name="Show more of the answer").click()
        expect(answer.locator("li").nth(600)).to_be_attached()
        last_turn(page).get_by_role("button", name="Show all 1000").click()
        expect(last_turn(page).get_by_test_id("evidence").locator("li")).to_have_count(ROWS)
        assert overflow(page) == 0
        assert len(page.evaluate("sessionStorage.getItem('citewell.session.v1')")) < 10_000


def test_a_document_of_millions_of_characters_opens_in_parts(browser: Browser, large: RunningServer) -> None:
    with opened(browser, large.url) as (page, _, _):
        page.goto(f"{large.url}#/search?doc=note:notes/long")
        source = page.get_by_test_id("source")
        expect(source.get_by_role("button", name="Show what comes after")).to_be_visible()
        assert source.locator("div.text p").count() < 2_000
        source.get_by_role("button", name="Show what comes after").click()
        expect(source.get_by_role("button", name="Show what comes after")).to_be_visible()


def test_an_empty_corpus_says_how_to_begin(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as empty, opened(browser, empty.url) as (page, _, _):
        expect(page.get_by_role("heading", name="Nothing is indexed yet")).to_be_visible()
        expect(page.locator("pre")).to_contain_text("citewell add")
        page.goto(f"{empty.url}#/corpus")
        expect(page.get_by_role("heading", name="Nothing is indexed yet")).to_be_visible()
        page.goto(f"{empty.url}#/lab")
        expect(page.get_by_role("heading", name="No run is like that")).to_be_visible()
        page.goto(f"{empty.url}#/lab/evals")
        expect(page.get_by_role("heading", name="No report yet")).to_be_visible()
