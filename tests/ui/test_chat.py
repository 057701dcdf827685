"""Chat in a real browser: a question without a model, the passage behind each sentence, and what comes next."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from citewell import Citewell
from support.browser import PHONE, ask, last_turn, opened, overflow, wait_status
from support.http_server import RunningServer, running_server

FACT = "Why did Big Maggie's gearbox break down in February 2025?"
NOT_THERE = "What colour is the cottage's front door?"


def test_a_question_is_answered_sentence_by_sentence_with_its_verdicts(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    sentences = last_turn(page).locator("[data-verdict]")
    expect(sentences.first).to_contain_text("breather filter had been left off")
    expect(sentences.first).to_have_attribute("data-verdict", "supported")
    expect(last_turn(page)).to_contain_text("Quoted word for word from 2 sources.")
    expect(last_turn(page)).to_contain_text("quoted without a model · free")


def test_the_timeline_tells_every_stage_with_counts_and_time(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    timeline = last_turn(page).get_by_test_id("timeline")
    expect(timeline).to_contain_text(re.compile(r"8 considered · \d+ read · 2 cited · \d+\.\d s"))
    timeline.get_by_role("button").first.click()
    for title in ("planning query", "retrieving evidence", "inspecting top evidence", "synthesizing answer"):
        expect(timeline).to_contain_text(title)
    expect(timeline).to_contain_text("verifying citations")
    expect(timeline).to_contain_text("saving trace")
    expect(timeline).to_contain_text("Trace saved locally")


def test_hovering_and_focusing_a_chip_shows_the_quoted_passage(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    chip = last_turn(page).get_by_test_id("citation").first
    chip.hover()
    card = page.get_by_role("tooltip")
    expect(card).to_contain_text("2025-03-06")
    expect(card).to_contain_text("Note")
    expect(card.locator("mark")).to_contain_text("a planet bearing cracked.")
    page.mouse.move(0, 0)
    expect(card).to_have_count(0)
    chip.focus()
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)


def test_a_chip_opens_the_source_scrolled_to_the_highlighted_span(page: Page) -> None:
    ask(page, "What interval does the service manual give for replacing the gearbox breather filter?")
    wait_status(page, "ready")
    chip = last_turn(page).get_by_role("button", name=re.compile("Source .*Service Manual")).first
    chip.click()
    source = page.get_by_test_id("source")
    highlighted = source.locator("mark").first
    expect(highlighted).to_be_in_viewport()
    expect(source).to_contain_text("Page 4")
    expect(source).to_contain_text("PDF")
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    assert chip.evaluate("one => document.activeElement === one")


def test_the_highlight_is_the_quote_to_the_letter(page: Page, server: RunningServer) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    run_id = json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))["turns"][0]["runId"]
    citation = server.get(f"/api/runs/{run_id}").json["result"]["citations"][0]
    last_turn(page).get_by_test_id("citation").first.click()
    marks = page.get_by_test_id("source").locator("mark")
    expect(marks.first).to_be_visible()
    assert "".join(marks.all_text_contents()).replace("\n", "") == citation["quote"].replace("\n", "")


def test_an_unanswerable_question_shows_terms_and_the_nearest_passages(page: Page) -> None:
    ask(page, NOT_THERE)
    wait_status(page, "ready")
    refused = last_turn(page).get_by_label("No answer")
    expect(refused).to_contain_text("Nothing you saved answers this directly")
    expect(refused).to_contain_text("Terms tried: colour, cottage's, front, door")
    refused.get_by_role("button").first.click()
    expect(page.get_by_test_id("source").locator("mark").first).to_be_in_viewport()


def test_explain_this_result_says_why_without_a_model(page: Page) -> None:
    ask(page, NOT_THERE)
    wait_status(page, "ready")
    last_turn(page).get_by_role("button", name="Explain this result").click()
    expect(last_turn(page).get_by_label("Explanation")).to_contain_text("Why this result")


def test_pinned_evidence_goes_into_the_follow_up(page: Page, server: RunningServer) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    evidence = last_turn(page).get_by_test_id("evidence")
    evidence.get_by_role("button", name="Use this evidence in follow-up: Big Maggie").click()
    expect(page.get_by_label("Pinned for the next question")).to_contain_text("Big Maggie")
    ask(page, "What did it cost?")
    page.locator("article").nth(1).wait_for()
    wait_status(page, "ready")
    kept = json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))
    asked = kept["turns"][1]["asked"]
    assert asked["pinned"] == ["note:skelday/vault/co-op/big-maggie"]
    assert [one["question"] for one in asked["history"]] == [FACT]
    rows = server.get(f"/api/runs/{kept['turns'][1]['runId']}").json["result"]["pack"]["evidence"]
    assert "note:skelday/vault/co-op/big-maggie" in [row["source_key"] for row in rows]


def test_suggestions_from_the_evidence_ask_on(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    suggestion = last_turn(page).get_by_label("Next steps").locator(".ask").first
    question = suggestion.inner_text()
    suggestion.click()
    expect(page.locator("article h2").nth(1)).to_have_text(question)
    wait_status(page, "ready")


def test_each_answer_says_whether_its_trace_was_saved(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    told = last_turn(page).get_by_test_id("recorded")
    expect(told).to_have_text("Trace saved locally")
    page.reload()
    expect(told).to_have_text("Trace saved locally")
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Keep a record").uncheck()
    ask(page, FACT)
    expect(page.locator("article")).to_have_count(2)
    wait_status(page, "ready")
    expect(told).to_have_text("Not recorded: keeping a record was off")


def test_evidence_says_why_it_won(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    card = last_turn(page).get_by_test_id("evidence").locator("li").first
    card.get_by_role("button", name="why it won").click()
    expect(card).to_contain_text("share of the best lexical score")
    expect(card).to_contain_text("Missing: break")
    last_turn(page).get_by_text("Query plan").click()
    expect(last_turn(page)).to_contain_text("Variants tried")


def test_evidence_shows_what_it_is_where_it_lies_and_its_tags(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    card = last_turn(page).get_by_test_id("evidence").locator("li").first
    expect(card.get_by_text("Note · item")).to_be_visible()
    expect(card.get_by_text("note:skelday/vault/co-op/big-maggie · ")).to_be_visible()
    expect(card.get_by_text("Big Maggie.md")).to_be_visible()
    tags = card.locator(".tag")
    expect(tags.first).to_have_text(re.compile("^#"))


def test_with_synthesis_off_the_evidence_stands_alone(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Write an answer").uncheck()
    ask(page, FACT)
    wait_status(page, "ready")
    expect(last_turn(page)).to_contain_text("Synthesis is off")
    expect(last_turn(page).get_by_test_id("evidence")).to_contain_text("Big Maggie")
    expect(page.get_by_label("Write an answer")).to_be_checked()


def test_filters_are_sent_and_named_when_nothing_is_left(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Image").check()
    ask(page, FACT)
    wait_status(page, "ready")
    expect(last_turn(page).get_by_label("No answer").get_by_test_id("filters")).to_contain_text("kind Image")
    last_turn(page).get_by_role("button", name="Explain this result").click()
    expect(last_turn(page).get_by_label("Explanation")).to_contain_text("image")


def test_near_passages_are_not_said_to_be_about_something_else(browser: Browser, server: RunningServer) -> None:
    with opened(browser, server.url, PHONE) as (page, _, _):
        ask(page, "What colour is the cottage's front door?")
        wait_status(page, "ready")
        expect(last_turn(page).get_by_text("What comes nearest")).to_be_visible()
        expect(last_turn(page)).not_to_contain_text("is about this")
        strip = last_turn(page).get_by_test_id("timeline")
        for part in (strip.locator(".headline"), strip.locator(".counts")):
            assert part.evaluate("one => one.scrollWidth <= one.clientWidth"), part.inner_text()
        expect(strip).to_contain_text("considered")


def test_the_sources_of_a_disagreement_show_their_kind_and_date(browser: Browser, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, year, text in (
        ("light", 1891, "The Halvard light was first lit in 1871 by its keeper."),
        ("register", 1892, "It was in 1871 that the Halvard light was first lit, as the coast guard has it."),
        ("paper", 1894, "The paper wrote that the Halvard light was first lit in 1874."),
    ):
        (notes / f"{name}.md").write_text(f"---\ncreated: {year}-05-01\n---\n# The {name}\n{text}\n", "utf-8")
    with Citewell(tmp_path / "data") as cw:
        cw.add(notes)
    with running_server(tmp_path / "data") as own, opened(browser, own.url) as (page, _, _):
        ask(page, "When was the Halvard light first lit?")
        wait_status(page, "ready")
        table = last_turn(page).get_by_label("Contradictions")
        expect(table).to_contain_text("1871")
        table.get_by_test_id("citation").first.hover()
        expect(page.get_by_role("tooltip")).to_contain_text(re.compile(r"Note · 189[12]-05-01"))


def test_next_steps_of_an_earlier_question_can_still_be_read(page: Page) -> None:
    ask(page, "What do I know about the kelp farm?")
    wait_status(page, "ready")
    steps = page.locator("article").first.get_by_label("Next steps")
    offered = steps.locator("button, a").all_inner_texts()
    ask(page, FACT)
    expect(page.locator("article")).to_have_count(2)
    wait_status(page, "ready")
    expect(steps).to_be_hidden()
    page.locator("article").first.locator("summary", has_text="Next steps").click()
    expect(steps).to_be_visible()
    assert steps.locator("button, a").all_inner_texts() == offered


def test_exports_and_the_page_to_share(page: Page) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    last_turn(page).get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Markdown").click()
    assert "breather filter" in download.value.path().read_text("utf-8")
    with page.context.expect_page() as shared:
        last_turn(page).get_by_role("link", name="Share page").click()
    expect(shared.value.locator("h1")).to_have_text(FACT)


def test_a_conversation_is_saved_only_when_asked(page: Page, server: RunningServer) -> None:
    ask(page, FACT)
    wait_status(page, "ready")
    before = len(server.get("/api/transcripts").json["transcripts"])
    page.get_by_role("button", name="Save conversation").click()
    expect(page.get_by_role("button", name="Saved")).to_be_visible()
    after = server.get("/api/transcripts").json["transcripts"]
    assert len(after) == before + 1
    assert after[0]["turns"][0]["question"] == FACT


def test_only_the_last_eight_turns_are_kept(page: Page) -> None:
    for number in range(9):
        ask(page, f"What is in note {number}?")
        expect(page.locator("article h2").last).to_have_text(f"What is in note {number}?")
        wait_status(page, "ready")
    expect(page.locator("article")).to_have_count(8)
    kept = json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))
    assert len(kept["turns"]) == 8


def test_a_new_conversation_forgets_the_old_one(page: Page) -> None:
    ask(page, NOT_THERE)
    wait_status(page, "ready")
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("article")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="Ask what you have saved")).to_be_visible()


@pytest.mark.parametrize("question", [FACT, NOT_THERE])
def test_at_phone_width_nothing_overflows(browser: Browser, server: RunningServer, question: str) -> None:
    with opened(browser, server.url, PHONE) as (page, _, _):
        ask(page, question)
        wait_status(page, "ready")
        assert overflow(page) == 0
        last_turn(page).get_by_test_id("evidence").get_by_role("button").first.click()
        page.get_by_test_id("source").get_by_text("Backlinks").or_(
            page.get_by_text("Nothing links here")
        ).first.wait_for()
        assert overflow(page) == 0
