"""A real Chromium against the real server, and what it must never do: fail quietly, or ask others for anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from citewell.page.site import is_built

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = (1280, 860), (360, 740)
PATIENCE_MS = 60_000


def chromium() -> str:
    """The browser; where there is none, the tests fail and say how to get one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    packaged = ROOT / "build" / "browser" / "chromium"
    found = os.environ.get("CITEWELL_TEST_BROWSER") or next(filter(None, map(shutil.which, names)), None)
    assert found or packaged.exists(), "No Chromium is installed: sh tests/ui/install_browser.sh"
    return found or str(packaged)


@contextmanager
def running_browser() -> Iterator[Browser]:
    assert is_built(), "The page is not built: make ui"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Seen:
    """What a browser did and said while a test went on."""

    origin: str
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._said(message))
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", self._asked_back)

    def _asked_back(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _said(self, message: Any) -> None:
        # A refused request is part of many tests, and the page says so itself.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin, "about:", "blob:")):
            self.outside.append(url)


@contextmanager
def opened(
    browser: Browser, url: str, size: tuple[int, int] = DESKTOP, **options: Any
) -> Iterator[tuple[Page, Seen, BrowserContext]]:
    """The page in a context of its own; whatever went wrong in it fails the test at its end."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce", accept_downloads=True, **options
    )
    context.set_default_timeout(PATIENCE_MS)
    seen = Seen(url)
    context.on("page", seen.watch)
    page = context.new_page()
    try:
        page.goto(url)
        yield page, seen, context
        assert not seen.errors, seen.errors
        assert seen.dialogs == []
        assert seen.outside == []
    finally:
        context.close()


def ask(page: Page, question: str) -> None:
    page.get_by_label("Question", exact=True).fill(question)
    page.keyboard.press("Enter")


def last_turn(page: Page) -> Any:
    return page.locator("article").last


def wait_status(page: Page, *statuses: str) -> None:
    """Until the last turn is in one of these states."""
    wanted = ", ".join(f"article[data-status={status}]:last-of-type" for status in statuses)
    page.locator(wanted).first.wait_for()


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window; what sticks out, where anything does."""
    return max(0, int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")))


def sticking_out(page: Page) -> list[str]:
    script = """() => [...document.querySelectorAll('body *')].filter(one => {
        const box = one.getBoundingClientRect();
        if (!box.width || box.right <= innerWidth + 1) return false;
        for (let at = one.parentElement; at; at = at.parentElement) {
            if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return false;
        }
        return true;
    }).slice(0, 5).map(one => one.outerHTML.slice(0, 160))"""
    return list(page.evaluate(script))


def serious_faults(page: Page) -> list[str]:
    """What axe finds that is serious or worse."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations"
        ".filter(one => one.impact === 'serious' || one.impact === 'critical')"
        ".map(one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 200)).join(' | ')}`))"
    )
    return list(found)
