"""Reports in a real browser: written from a question, listed, read with their claims, quotes and counts."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from support.http_server import RunningServer

QUESTION = "Why did the board choose Cellhaven, and how many households does the turbine supply?"


def test_a_report_is_written_listed_and_read_claim_by_claim(page: Page, server: RunningServer) -> None:
    page.goto(f"{server.url}/#/reports")
    page.get_by_label("What the report is to be about").fill(QUESTION)
    page.get_by_role("button", name="Write a report").click()
    report = page.get_by_test_id("report")
    expect(report.get_by_role("heading", name="How it was made")).to_be_visible(timeout=60_000)
    expect(report.get_by_role("heading", name=QUESTION)).to_be_visible()
    claims = report.get_by_test_id("claims").locator("li")
    expect(claims.filter(has_text="black start in under 20 seconds").first).to_be_visible()
    expect(report.get_by_test_id("methodology")).to_contain_text("Kept")
    chip = claims.filter(has_text="black start in under 20 seconds").first.get_by_role("button").first
    chip.click()
    expect(page.get_by_test_id("source")).to_contain_text("Battery bids")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="All reports").click()
    listed = page.get_by_test_id("reports").locator("li")
    expect(listed.first).to_contain_text(QUESTION)
    expect(listed.first).to_contain_text("done")
