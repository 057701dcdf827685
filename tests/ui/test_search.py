"""Search, the open document, the topic graph and the Corpus, in a real browser over the sample corpus."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def test_results_come_as_one_types_with_the_match_marked(page: Page) -> None:
    page.goto(f"{page.url}#/search")
    page.get_by_label("Words to search for").press_sequentially("gearbox breather")
    results = page.get_by_test_id("results")
    expect(results.locator("li").first).to_contain_text("breather")
    expect(results.locator("mark").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"documents? of 140 · lexical"))).to_be_visible()


def test_filters_narrow_the_results(page: Page) -> None:
    page.goto(f"{page.url}#/search?q=gearbox")
    results = page.get_by_test_id("results").locator("li")
    expect(results.first).to_be_visible()
    before = results.count()
    page.get_by_label("Kind").select_option("pdf")
    expect(results).not_to_have_count(before)
    for badge in results.locator(".badge:first-child").all_inner_texts():
        assert badge.startswith("PDF · ")
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Tag").fill("daily")
    expect(results.first).to_contain_text("2025")


def test_nothing_found_says_so_and_offers_to_ask(page: Page) -> None:
    page.goto(f"{page.url}#/search?q=xyzzyplugh")
    expect(page.get_by_role("heading", name="Nothing has these words")).to_be_visible()
    page.get_by_role("link", name="Ask it instead").click()
    expect(page.locator("article h2")).to_have_text("xyzzyplugh")


def test_a_document_opens_with_its_backlinks_and_one_walks_on(page: Page) -> None:
    page.goto(f"{page.url}#/search?q=Big Maggie turbine")
    page.get_by_test_id("results").get_by_role("button", name="Big Maggie", exact=True).click()
    source = page.get_by_test_id("source")
    expect(source.get_by_role("heading", name=re.compile("Backlinks"))).to_be_visible()
    expect(source).to_contain_text("refurbished Halvind H31")
    source.get_by_role("button", name=re.compile("^2025-03-06")).first.click()
    expect(source.get_by_role("heading", name="2025-03-06").first).to_be_visible()


def test_a_topic_is_a_graph_one_can_walk_by_keyboard(page: Page) -> None:
    page.goto(f"{page.url}#/search?topic=Tidewick")
    graph = page.get_by_label("Graph of Tidewick")
    expect(graph.get_by_role("button").first).to_be_visible()
    node = graph.get_by_role("button", name=re.compile("^#tide-gauge, tag"))
    node.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="tide-gauge")).to_be_visible()
    expect(page.get_by_label("Graph of tide-gauge").get_by_role("button").first).to_be_visible()


def test_an_unknown_topic_is_said_plainly(page: Page) -> None:
    page.goto(f"{page.url}#/search?topic=xyzzyplugh")
    expect(page.get_by_text("Nothing you saved is about “xyzzyplugh”.")).to_be_visible()


def test_the_corpus_shows_coverage_problems_and_folders(page: Page) -> None:
    page.goto(f"{page.url}#/corpus")
    expect(page.get_by_label("Kinds")).to_contain_text("Bookmark")
    expect(page.get_by_label("Folders")).to_contain_text("skelday")
    files = page.get_by_label("Files", exact=True)
    expect(files).to_contain_text("saved AI answer")
    files.get_by_role("button", name="All files").click()
    files.get_by_role("searchbox").fill("Big Maggie")
    files.get_by_role("button", name=re.compile("Big Maggie.md")).click()
    expect(page.get_by_test_id("source")).to_contain_text("refurbished Halvind H31")
