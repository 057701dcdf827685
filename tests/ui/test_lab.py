"""The Harness Lab in a real browser: runs looked into, replayed, rerun, compared, loaded and promoted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PHONE, ask, last_turn, opened, overflow, serious_faults, wait_status
from support.http_server import RunningServer, running_server
from ui.conftest import HeldModel, mark

FACT = "Why did Big Maggie's gearbox break down in February 2025?"


@pytest.fixture(scope="module")
def run_id(server: RunningServer) -> str:
    run_id = server.start_run(FACT)
    server.finished(run_id)
    return run_id


@pytest.fixture
def run(page: Page, run_id: str) -> Page:
    page.goto(f"{page.url}#/lab/run/{run_id}")
    page.get_by_role("heading", name=FACT).wait_for()
    return page


def part(page: Page, name: str) -> str:
    page.get_by_role("tab", name=name).click()
    return str(page.get_by_test_id("part").inner_text())


def test_runs_are_listed_filtered_and_opened(page: Page, server: RunningServer, run_id: str) -> None:
    server.finished(server.start_run("What does the ferry carry in winter?"))
    page.goto(f"{page.url}#/lab")
    runs = page.get_by_test_id("runs").locator("li")
    expect(runs.first).to_be_visible()
    page.get_by_label("Question", exact=True).fill("ferry carry")
    expect(runs).to_have_count(1)
    page.get_by_label("Status").select_option("failed")
    expect(page.get_by_role("heading", name="No run is like that")).to_be_visible()
    page.get_by_label("Status").select_option("")
    runs.first.get_by_role("link").click()
    expect(page.get_by_role("heading", name="What does the ferry carry in winter?")).to_be_visible()


def test_one_run_shows_all_of_its_parts(run: Page) -> None:
    assert "breather filter" in part(run, "Answer")
    assert "judge coverage" in part(run, "Timeline")
    assert "Big Maggie's · anchor, required" in part(run, "Plan")
    found = part(run, "Candidates")
    assert "10 retrieved" in found or "8 retrieved" in found
    assert "beyond the rows to show" in found
    assert "No model was asked" in part(run, "Prompt")
    assert "Quotes stand in the source to the letter" in part(run, "Verification")
    assert "Nothing was sent to anybody." in part(run, "Egress")
    assert "free" in part(run, "Cost")


def test_the_exact_prompt_and_what_was_sent_are_shown(
    browser: Browser, written: RunningServer, model: HeldModel
) -> None:
    model.let(lambda request: f"The breather filter had been left off {mark(request, 'breather filter')}.")
    with opened(browser, written.url) as (page, _, _):
        ask(page, FACT)
        wait_status(page, "ready")
        last_turn(page).get_by_role("link", name="Open in the Lab").click()
        page.get_by_role("tab", name="Prompt").wait_for()
        shown = part(page, "Prompt")
        assert "openai:test" in shown
        closed = page.get_by_test_id("part").locator("details:not([open]) > summary")
        while closed.count():
            closed.first.click()
        assert "Say only what the evidence says." in page.get_by_test_id("part").inner_text()
        assert "all of it to this machine" in part(page, "Egress")


def test_a_run_replays_byte_for_byte(run: Page) -> None:
    run.get_by_role("button", name="Replay", exact=True).click()
    expect(run.get_by_test_id("replay")).to_contain_text("Identical, byte for byte.")


def test_rerun_with_and_without_planner_is_set_side_by_side(run: Page, run_id: str) -> None:
    run.get_by_role("button", name="Rerun without planner").click()
    run.wait_for_url(re.compile(f"compare/{run_id}/"))
    expect(run.get_by_test_id("same")).to_contain_text("Both came to the same.")
    table = run.get_by_role("table", name="Comparison")
    for line in ("Answer", "Citations", "Evidence", "Plan", "Cost"):
        expect(table.get_by_role("rowheader", name=line)).to_be_visible()
    run.get_by_role("link", name="the first run").click()
    run.get_by_role("button", name="Rerun", exact=True).click()
    run.wait_for_url(re.compile(f"compare/{run_id}/"))


def test_two_chosen_runs_are_compared_with_their_differences_marked(
    page: Page, server: RunningServer, run_id: str
) -> None:
    server.finished(server.start_run("How deep below the surface do the kelp longlines sit?"))
    page.goto(f"{page.url}#/lab")
    page.get_by_label("Compare: How deep below").first.check()
    page.get_by_label(f"Compare: {FACT}").first.check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_test_id("same")).to_contain_text("They differ")
    expect(page.locator("del").first).to_be_visible()
    expect(page.locator("ins").first).to_be_visible()


def test_a_run_is_compared_with_today(run: Page) -> None:
    run.get_by_role("link", name="Compare with today").click()
    expect(run.get_by_test_id("same")).to_contain_text("Both came to the same.")


def test_a_trace_from_elsewhere_is_loaded(browser: Browser, server: RunningServer, run_id: str, tmp_path: Path) -> None:
    archive = tmp_path / "trace.zip"
    archive.write_bytes(server.get(f"/api/runs/{run_id}/export?format=zip").body)
    with running_server(tmp_path / "elsewhere") as other, opened(browser, other.url) as (page, _, _):
        page.goto(f"{other.url}#/lab")
        page.get_by_label("Load a trace or transcript").set_input_files(archive)
        expect(page.get_by_role("heading", name=FACT)).to_be_visible()
        page.get_by_role("button", name="Replay", exact=True).click()
        expect(page.get_by_test_id("replay")).to_contain_text("Identical")
        archive.write_bytes(b"PK no archive")
        page.goto(f"{other.url}#/lab")
        page.get_by_label("Load a trace or transcript").set_input_files(archive)
        expect(page.get_by_role("alert")).to_be_visible()


def test_a_transcript_is_loaded_and_its_questions_asked_again_compared_and_promoted(
    page: Page, tmp_path: Path, run_id: str
) -> None:
    longlines = "How deep below the surface do the kelp longlines sit?"
    kept = {
        "schema_version": "chat_transcript.v1",
        "conversation_id": "from-elsewhere",
        "turns": [
            {"question_id": "q1", "question": FACT, "run_id": run_id, "answer_status": "ok", "reviewed": True},
            {"question_id": "q2", "question": longlines},
        ],
    }
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps(kept), "utf-8")
    page.goto(f"{page.url}#/lab")
    page.get_by_label("Load a trace or transcript").set_input_files(file)
    expect(page.get_by_role("heading", name="Conversation of 2 questions")).to_be_visible()
    first, second = page.get_by_test_id("turns").locator("> li").all()
    expect(first.get_by_role("link", name=FACT)).to_be_visible()
    expect(second).to_contain_text("No run is on record for it")
    expect(second.get_by_role("button", name="Turn into an eval case")).to_have_count(0)
    second.get_by_role("button", name="Ask again").click()
    expect(second.get_by_role("link", name="the new run")).to_be_visible()
    second.get_by_role("button", name="Turn into an eval case").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("expect_citation_source_keys")
    expect(dialog).to_contain_text("longlines")
    assert serious_faults(page) == []
    dialog.get_by_role("button", name="Close").click()
    first.get_by_role("button", name="Ask again").click()
    first.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_test_id("same")).to_contain_text("Both came to the same.")


def test_saved_conversations_are_listed_and_opened(browser: Browser, server: RunningServer) -> None:
    with opened(browser, server.url, PHONE) as (page, _, _):
        ask(page, FACT)
        wait_status(page, "ready")
        page.get_by_role("button", name="Save conversation").click()
        expect(page.get_by_role("button", name="Saved")).to_be_visible()
        page.goto(f"{server.url}#/lab")
        page.get_by_role("link", name="Conversations").click()
        listed = page.get_by_test_id("conversations").locator("li").first
        expect(listed).to_contain_text("1 question")
        assert serious_faults(page) == []
        listed.get_by_role("link", name=FACT).click()
        expect(page.get_by_test_id("turns")).to_contain_text("cited ")
        assert serious_faults(page) == []
        assert overflow(page) == 0
        page.goto(f"{server.url}#/lab/conversations/nobody-knows-it")
        expect(page.get_by_role("status").first).to_contain_text("There is no conversation")


def test_a_run_becomes_a_case_that_is_run_and_reported(browser: Browser, sample_data: Path) -> None:
    with running_server(sample_data) as own, opened(browser, own.url) as (page, _, _):
        ask(page, "How deep below the surface do the kelp longlines sit?")
        wait_status(page, "ready")
        last_turn(page).get_by_role("button", name="More", exact=True).click()
        page.get_by_role("menuitem", name="Turn this into an eval case").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("expect_citation_source_keys")
        dialog.get_by_role("button", name="Keep this case").click()
        expect(dialog).to_contain_text("Kept in eval-cases/promoted.yaml")
        dialog.get_by_role("link", name="eval reports").click()
        page.get_by_role("button", name="Run every case").click()
        report = page.get_by_test_id("eval-report")
        expect(report).to_contain_text("0 failed", timeout=30_000)
        expect(report).to_contain_text("How deep below the surface")
        assert own.get("/api/evals").json["cases"] >= 1
