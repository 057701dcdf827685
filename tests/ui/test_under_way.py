"""Runs that are under way: what is seen while a model writes, and stops, cuts, reloads and crashes in the middle."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import ask, last_turn, opened, wait_status
from support.cutting_proxy import CuttingProxy
from support.http_server import RunningServer, running_server
from support.model_script import ModelRequest, fails
from ui.conftest import HeldModel, mark

QUESTION = "Why did Big Maggie's gearbox break down in February 2025?"


def good(request: ModelRequest) -> str:
    return (
        f"The breather filter had been left off after the autumn service {mark(request, 'breather filter')}. "
        f"Salt-laden air got into the oil and a planet bearing cracked {mark(request, 'breather filter')}."
    )


def half_true(request: ModelRequest) -> str:
    """One sentence its passage says, and one that it does not."""
    return (
        f"The breather filter had been left off after the autumn service {mark(request, 'breather filter')}. "
        f"A seagull flew into the gearbox {mark(request, 'breather filter')}."
    )


def run_id_of(page: Page) -> str:
    return str(json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))["turns"][-1]["runId"])


def test_while_a_model_writes_the_stage_is_shown_and_announced(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        expect(last_turn(page).get_by_test_id("timeline")).to_contain_text("synthesizing answer")
        expect(page.get_by_test_id("announcer")).to_have_text("synthesizing answer")
        model.let(good)
        wait_status(page, "ready")
        expect(page.get_by_test_id("announcer")).to_have_text("Answer ready, 1 citation")
        expect(last_turn(page)).to_contain_text("openai: test")
        expect(last_turn(page).locator("[data-verdict=supported]")).to_have_count(2)


def test_another_model_is_named_for_a_question_and_no_other_than_this_server_can_ask(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    asked: list[str] = []

    def answered(request: ModelRequest) -> str:
        asked.append(request.body["model"])
        return good(request)

    model.let(answered)
    with opened(browser, written.url) as (page, _, _):
        page.get_by_role("button", name="Options").click()
        named = page.get_by_label("Model", exact=True)
        expect(named).to_have_attribute("placeholder", "openai:test")
        named.fill("anthropic:other")
        ask(page, QUESTION)
        expect(named).to_be_focused()
        expect(page.get_by_text("This server can ask openai:NAME.")).to_be_visible()
        expect(page.locator("article")).to_have_count(0)
        named.fill("openai:larger")
        ask(page, QUESTION)
        wait_status(page, "ready")
        expect(last_turn(page)).to_contain_text("openai: larger")
        assert asked == ["larger"]


def test_without_a_model_none_can_be_named(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    expect(page.get_by_label("Tags")).to_be_visible()
    expect(page.get_by_label("Model", exact=True)).to_have_count(0)


def test_what_the_passage_does_not_say_is_marked_and_says_why(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    model.let(half_true)
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "ready")
        shown = last_turn(page).get_by_test_id("answer")
        expect(shown.locator("[data-verdict=supported]")).to_have_count(1)
        gull = shown.locator("li", has_text="seagull")
        expect(gull).to_have_attribute("data-verdict", "unsupported")
        expect(gull).to_contain_text("(not found in [")
        gull.get_by_role("button", name="How was this checked?").click()
        expect(gull.locator(".reason")).to_contain_text("not found in its source, judged by openai:test")


def test_an_answer_that_fails_its_checks_is_not_shown_and_not_shared(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    model.let(lambda request: "It was struck by lightning [99.9].")
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "verification_failed")
        expect(last_turn(page)).to_contain_text("did not pass its own checks")
        expect(last_turn(page).get_by_test_id("evidence")).to_contain_text("Big Maggie")
        expect(last_turn(page).get_by_role("link", name="Share page")).to_have_count(0)
        assert written.get(f"/api/runs/{run_id_of(page)}/share").status == 409


def test_a_model_that_fails_leaves_the_evidence_and_says_so(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    model.let(lambda request: fails(400, "no such model"))
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        page.locator("article:not([data-status=researching]):not([data-status=synthesizing])").wait_for()
        expect(last_turn(page).locator(".notice").first).to_be_visible()
        expect(last_turn(page).get_by_test_id("evidence")).to_contain_text("Big Maggie")


def test_stop_cancels_the_run(browser: Browser, written: RunningServer) -> None:
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        last_turn(page).get_by_role("button", name="Stop").click()
        wait_status(page, "cancelled")
        expect(last_turn(page)).to_contain_text("You stopped this run")
        assert written.get(f"/api/runs/{run_id_of(page)}").json["summary"]["status"] == "cancelled"


def test_finish_now_answers_with_what_is_there(browser: Browser, written: RunningServer) -> None:
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        last_turn(page).get_by_role("button", name="Finish now").click()
        wait_status(page, "incomplete")
        expect(last_turn(page).get_by_test_id("answer")).to_contain_text("breather filter")
        expect(last_turn(page).get_by_test_id("timeline").get_by_text("incomplete", exact=True)).to_be_visible()
        expect(page.get_by_test_id("announcer")).to_contain_text("Incomplete answer ready")
        expect(last_turn(page).get_by_role("button", name="Export")).to_be_visible()
        page.reload()
        wait_status(page, "incomplete")
        expect(last_turn(page).get_by_test_id("timeline").get_by_text("incomplete", exact=True)).to_be_visible()


def test_a_reload_in_the_middle_loses_nothing(browser: Browser, written: RunningServer, model: HeldModel) -> None:
    with opened(browser, written.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        run_id = run_id_of(page)
        page.reload()
        wait_status(page, "synthesizing")
        expect(last_turn(page).get_by_test_id("timeline")).to_contain_text("considered")
        model.let(good)
        wait_status(page, "ready")
        expect(last_turn(page).locator("[data-verdict=supported]")).to_have_count(2)
        page.reload()
        expect(last_turn(page).locator("[data-verdict=supported]")).to_have_count(2)
        assert run_id_of(page) == run_id


def test_a_stream_that_is_cut_is_gone_on_with(browser: Browser, written: RunningServer, model: HeldModel) -> None:
    with CuttingProxy(written.port) as proxy, opened(browser, proxy.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        proxy.is_closed = True
        proxy.cut()
        timeline = last_turn(page).get_by_test_id("timeline")
        expect(timeline).to_contain_text("connection lost")
        model.let(good)
        proxy.is_closed = False
        wait_status(page, "ready")
        timeline.get_by_role("button").first.click()
        expect(timeline.get_by_text("retrieving evidence", exact=True)).to_have_count(1)
        expect(last_turn(page).locator("[data-verdict=supported]")).to_have_count(2)


def test_a_server_that_dies_in_the_middle_is_waited_for_and_the_run_resumed(
    browser: Browser, sample_data: Path, model: HeldModel, model_url: str
) -> None:
    settings = {
        "CITEWELL_MODEL": "openai:test",
        "CITEWELL_MODEL_BASE_URL": model_url,
        "CITEWELL_HEARTBEAT_SECONDS": "0.5",
    }
    with running_server(sample_data, **settings) as first, opened(browser, first.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        first.stop(signal.SIGTERM)
        page.get_by_text("connection lost").or_(page.get_by_text("was interrupted")).first.wait_for()
        with running_server(sample_data, "--port", str(first.port), **settings):
            page.get_by_role("button", name="Go on with it").wait_for()
            model.let(good)
            page.get_by_role("button", name="Go on with it").click()
            wait_status(page, "ready")
            expect(last_turn(page).locator("[data-verdict=supported]")).to_have_count(2)


def test_a_server_that_is_gone_when_asked_is_said_plainly(browser: Browser, sample_data: Path) -> None:
    with running_server(sample_data) as gone, opened(browser, gone.url) as (page, _, _):
        expect(page.get_by_text("140 documents")).to_be_visible()
        gone.stop(signal.SIGKILL)
        ask(page, QUESTION)
        wait_status(page, "error")
        expect(last_turn(page)).to_contain_text("The server does not answer.")
        expect(last_turn(page).get_by_role("button", name="Ask again")).to_be_visible()


@pytest.mark.parametrize("kept", ["not json", '{"turns": 7}', '{"turns": [{"asked": {}}], "pinned": []}'])
def test_a_session_that_makes_no_sense_is_begun_anew(page: Page, kept: str) -> None:
    page.evaluate("kept => sessionStorage.setItem('citewell.session.v1', kept)", kept)
    page.reload()
    expect(page.get_by_role("heading", name="Ask what you have saved")).to_be_visible()
