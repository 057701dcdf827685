"""The Corpus view in a real browser: which folders are watched, as a real `citewell add --watch` follows them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from citewell import Citewell
from support.browser import PHONE, opened, overflow, serious_faults
from support.http_server import running_server


def test_a_folder_that_is_followed_has_a_badge_until_it_is_no_more(browser: Browser, tmp_path: Path) -> None:
    watched, other, data = tmp_path / "harbour", tmp_path / "other", tmp_path / "data"
    for folder in (watched, other):
        folder.mkdir()
        (folder / "a.md").write_text("The first kettle.", "utf-8")
    with Citewell(data) as cw:
        cw.add(other)
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "add", str(watched), "--watch"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    try:
        assert "1 new" in process.stderr.readline()
        next(line for line in process.stderr if "0 new" in line)
        with running_server(data) as server, opened(browser, server.url, PHONE) as (page, _, _):
            page.goto(f"{server.url}#/corpus")
            folders = page.get_by_label("Folders")
            expect(folders.locator(".folder", has_text=str(watched)).get_by_text("watched")).to_be_visible()
            expect(folders.locator(".folder", has_text=str(other)).locator(".badge")).to_have_count(0)
            assert serious_faults(page) == []
            assert overflow(page) == 0
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            page.get_by_role("button", name="Look again").click()
            expect(folders).to_contain_text("Nothing is watched.")
            expect(folders.locator(".badge")).to_have_count(0)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
