"""The whole journey, in one go, at desktop and at phone width: from a question to a case that keeps it right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.browser import DESKTOP, PHONE, ask, last_turn, opened, overflow, wait_status
from support.http_server import RunningServer
from support.model_script import ModelRequest
from ui.conftest import HeldModel, mark

QUESTION = "Why did Big Maggie's gearbox break down in February 2025?"


def good(request: ModelRequest) -> str:
    return f"The breather filter had been left off after the autumn service {mark(request, 'breather filter')}."


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_whole_journey(
    browser: Browser, written: RunningServer, model: HeldModel, size: tuple[int, int], tmp_path: Path
) -> None:
    with opened(browser, written.url, size) as (page, _, _):
        # Ask, watch, and reload in the middle.
        ask(page, QUESTION)
        wait_status(page, "synthesizing")
        expect(last_turn(page).get_by_test_id("timeline")).to_contain_text("synthesizing answer")
        assert overflow(page) == 0
        page.reload()
        wait_status(page, "synthesizing")
        model.let(good)
        wait_status(page, "ready")
        # Hover, open the passage.
        chip = last_turn(page).get_by_test_id("citation").first
        chip.hover()
        expect(page.get_by_role("tooltip").locator("mark")).to_contain_text("breather filter")
        chip.click()
        expect(page.get_by_test_id("source").locator("mark").first).to_be_in_viewport()
        assert overflow(page) == 0
        page.keyboard.press("Escape")
        # Pin and follow up; stop one, and have the next finish now.
        last_turn(page).get_by_role("button", name="Use this evidence in follow-up: Big Maggie").click()
        model.release.clear()
        ask(page, "Who found the missing breather?")
        expect(page.locator("article")).to_have_count(2)
        wait_status(page, "synthesizing")
        last_turn(page).get_by_role("button", name="Stop").click()
        wait_status(page, "cancelled")
        ask(page, "When did the turbine run again?")
        expect(page.locator("article")).to_have_count(3)
        wait_status(page, "synthesizing")
        last_turn(page).get_by_role("button", name="Finish now").click()
        wait_status(page, "incomplete")
        model.let(good)
        assert overflow(page) == 0
        # Export.
        first = page.locator("article").first
        first.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Replayable zip").click()
        assert download.value.suggested_filename.endswith(".zip")
        # Open in the Lab, rerun, compare.
        first.get_by_role("link", name="Open in the Lab").click()
        run_id = json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))["turns"][0]["runId"]
        page.get_by_role("button", name="Rerun", exact=True).click()
        page.wait_for_url(re.compile(f"compare/{run_id}/"))
        expect(page.get_by_test_id("same")).to_be_visible()
        expect(page.get_by_role("table", name="Comparison")).to_contain_text("breather filter")
        assert overflow(page) == 0
        # Promote.
        page.get_by_role("link", name="the second run").click()
        page.get_by_role("button", name="Turn this into an eval case").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Keep this case").click()
        expect(dialog).to_contain_text("Kept in eval-cases/promoted.yaml")
        assert overflow(page) == 0
