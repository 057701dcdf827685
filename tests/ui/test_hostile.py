"""What documents, questions and models may write is text on the page: nothing runs, nothing is fetched, nothing breaks.

Every check that nothing was asked for has a control beside it: the same beacon in a page that lets it through is seen.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from citewell import Citewell
from citewell.api.security import HEADERS
from support.browser import PHONE, ask, last_turn, opened, overflow, sticking_out, wait_status
from support.http_server import RunningServer, running_server

QUESTION = "Who lit the lantern of Brusk?"


class Canary:
    """Somebody else's server on this machine: it remembers everything it was asked."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        canary = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                canary.hits.append(self.path)
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                # With an icon of its own: else a browser that was let through asks for one whenever it likes.
                self.wfile.write(b'<link rel="icon" href="data:,">somewhere else')

            def log_message(self, format: str, *args: object) -> None:
                """Tests read what was asked."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    made = Canary()
    yield made
    made.close()


def beacons(url: str) -> list[str]:
    """Ways to have a page fetch something, or run something: as HTML, as Markdown, as addresses."""
    return [
        f'<img src="{url}/img" onerror="alert(1)">',
        f'<script src="{url}/script"></script><script>alert(2)</script>',
        f'<svg onload="fetch(`{url}/svg`)"><image href="{url}/svgimage"/></svg>',
        f'<iframe src="{url}/frame"></iframe><object data="{url}/object"></object>',
        f'<link rel="stylesheet" href="{url}/style"><style>@import "{url}/import";</style>',
        f'<video poster="{url}/poster"></video><audio src="{url}/audio" autoplay></audio>',
        f'<form action="{url}/form"><input autofocus onfocus="alert(3)"></form>',
        f'<meta http-equiv="refresh" content="0;url={url}/refresh"><base href="{url}/">',
        f"![beacon]({url}/markdown) ![ref][r]\n\n[r]: {url}/reference",
        f"[click]({url}/link) <{url}/auto> {url}/bare",
        "[x](javascript:alert(4)) [y](data:text/html,<script>alert(5)</script>) [z](vbscript:msgbox(6))",
        '"><details open ontoggle=alert(7)>{{constructor.constructor("alert(8)")()}}${alert(9)}',
        "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(10)>",
        '<noscript><p title="</noscript><img src=x onerror=alert(11)>">',
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, canary: Canary) -> Iterator[RunningServer]:
    """A corpus whose titles, texts and keys are attacks, long, or written in other directions."""
    root = tmp_path_factory.mktemp("hostile")
    notes = root / "notes"
    notes.mkdir()
    for number, attack in enumerate(beacons(canary.url)):
        title = json.dumps(attack.split("\n")[0][:200])
        front = f"---\ntitle: {title}\ntags: [lantern]\n---\n"
        text = f"{front}# {attack}\n\nThe lantern of Brusk was lit by keeper {number}. {attack}\n"
        (notes / f"lantern-{number:02}.md").write_text(text, "utf-8")
    deep = notes / ("k" * 100) / ("e" * 100) / ("y" * 90)
    deep.mkdir(parents=True)
    (deep / "Lantern.md").write_text("# Lantern\nThe lantern of Brusk hung in the tower, lit by Ada.\n", "utf-8")
    (notes / "rtl.md").write_text(
        "# فانوس بروسك\nThe lantern of Brusk: أُضيء الفانوس في عام 1859 بواسطة آدا.\n", "utf-8"
    )
    (notes / "cjk.md").write_text("# 灯台\nThe lantern of Brusk: 灯台は一八五九年に点灯された𠮷。\n", "utf-8")
    with Citewell(root / "data") as cw:
        cw.add(notes)

    with running_server(root / "data") as running:
        yield running


@pytest.mark.attack("P3")
@pytest.mark.attack("W6")
def test_the_control_an_external_request_and_a_dialog_would_be_seen(browser: Browser, canary: Canary) -> None:
    """Without it, "nothing was seen" would say nothing."""
    canary.hits.clear()
    page = browser.new_page()
    dialogs: list[str] = []

    def dismiss(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.set_content("".join(beacons(canary.url)))
    page.wait_for_timeout(300)
    page.close()
    assert "/img" in canary.hits
    assert "/script" in canary.hits
    assert "1" in dialogs
    canary.hits.clear()


def walk(page: Page) -> None:
    """Everything of a turn that can be opened."""
    for chip in last_turn(page).get_by_test_id("citation").all()[:4]:
        chip.hover()
        page.get_by_role("tooltip").wait_for()
    last_turn(page).get_by_role("button", name="Show all").click()
    for button in last_turn(page).get_by_role("button", name="why it won").all()[:3]:
        button.click()
    last_turn(page).get_by_text("Query plan").click()
    for number in range(4):
        last_turn(page).get_by_test_id("evidence").locator(".title").nth(number).click()
        page.get_by_test_id("source").locator("div.text").wait_for()
    page.keyboard.press("Escape")


@pytest.mark.attack("P3")
@pytest.mark.attack("W6")
@pytest.mark.attack("W7")
def test_hostile_titles_and_notes_stay_text(browser: Browser, hostile: RunningServer, canary: Canary) -> None:
    with opened(browser, hostile.url) as (page, _, _):
        ask(page, QUESTION)
        wait_status(page, "ready")
        walk(page)
        page.goto(f"{hostile.url}#/search?q=lantern")
        page.get_by_test_id("results").locator("li").first.wait_for()
        page.goto(f"{hostile.url}#/search?topic=lantern")
        page.get_by_label("Graph of lantern").wait_for()
        page.goto(f"{hostile.url}#/corpus")
        page.get_by_label("Kinds").wait_for()
        assert page.locator('a[href^="javascript:"], a[href^="data:"], iframe, object, embed').count() == 0
    assert canary.hits == []


@pytest.mark.attack("P3")
@pytest.mark.attack("W7")
def test_a_model_that_writes_beacons_gets_nothing_fetched(
    browser: Browser, hostile: RunningServer, canary: Canary
) -> None:
    """Where its answer fails the checks it is not shown; here the page is given it as if it had passed."""
    run = hostile.start_run(QUESTION)
    done = hostile.finished(run)
    for number, attack in enumerate(beacons(canary.url)):
        done["sentences"].append({**done["sentences"][0], "text": attack, "reason": attack, "citations": [1]})
        done["warnings"].append(attack)
        done["citations"][0]["title"] = beacons(canary.url)[number]
    done["citations"][0]["quote"] = " ".join(beacons(canary.url))

    def changed(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=f"id: 1\nevent: done\ndata: {json.dumps(done)}\n\n")

    with opened(browser, hostile.url) as (page, seen, context):
        page.route("**/events", changed)
        ask(page, QUESTION)
        wait_status(page, "ready")
        answer = last_turn(page).get_by_test_id("answer")
        expect(answer).to_contain_text("<img src=")
        answer.get_by_test_id("citation").first.hover()
        link = answer.get_by_role("button", name="click").first
        link.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("127.0.0.1")
        assert (canary.hits, seen.outside) == ([], [])
        dialog.get_by_role("button", name="Stay here").click()
        assert len(context.pages) == 1
        # And the control: a person who says yes does go there.
        link.click()
        with context.expect_page() as left:
            dialog.get_by_role("link", name="Open in a new tab").click()
        left.value.wait_for_load_state()
        assert "/link" in canary.hits
        seen.outside.clear()
    canary.hits.clear()


@pytest.mark.attack("W6")
def test_hostile_questions_and_errors_stay_text(browser: Browser, server: RunningServer, canary: Canary) -> None:
    with opened(browser, server.url) as (page, _, _):
        for attack in beacons(canary.url)[:6]:
            ask(page, attack)
            expect(last_turn(page).locator("h2")).to_contain_text(attack.split("\n")[0][:30])
            wait_status(page, "ready", "error")
        page.goto(f"{server.url}#/lab/run/<img src=x onerror=alert(1)>")
        expect(page.get_by_role("alert")).to_be_visible()
        page.goto(f"{server.url}#/search?q=<img src=x onerror=alert(1)>&tag=<script>alert(2)</script>")
        expect(page.get_by_role("heading", name="Nothing has these words")).to_be_visible()
    assert canary.hits == []


@pytest.mark.attack("W8")
def test_the_page_and_every_file_of_it_have_the_policies(browser: Browser, server: RunningServer) -> None:
    answers: dict[str, dict[str, str]] = {}
    context = browser.new_context()
    page = context.new_page()
    page.on("response", lambda response: answers.__setitem__(response.url, response.headers))
    page.goto(server.url)
    page.get_by_role("heading", name="Ask what you have saved").wait_for()
    context.close()
    assert len(answers) > 5
    for url, headers in answers.items():
        for name in set(HEADERS) - {"cache-control", "content-security-policy"}:
            assert headers[name] == HEADERS[name], (url, name)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


@pytest.mark.attack("W6")
def test_the_policy_itself_stops_what_would_get_through(
    browser: Browser, server: RunningServer, canary: Canary
) -> None:
    """Were text ever to become markup, the browser still runs and fetches nothing of it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.evaluate(
        "url => { const image = new Image(); image.src = `${url}/img`; document.body.append(image);"
        " try { document.body.innerHTML += '<b>x</b>' } catch (error) { console.log(`refused ${error.name}`) }"
        " fetch(`${url}/fetch`).catch(() => console.log('refused fetch')) }",
        canary.url,
    )
    page.wait_for_timeout(300)
    context.close()
    assert canary.hits == []
    assert any("refused TypeError" in line for line in said)
    assert any("refused fetch" in line for line in said)


@pytest.mark.attack("W9")
def test_what_is_exported_is_a_file_and_never_a_page_of_ours(browser: Browser, hostile: RunningServer) -> None:
    run = hostile.start_run(QUESTION)
    hostile.finished(run)
    for form in ("md", "json", "bibtex", "ris", "docx", "zip"):
        headers = hostile.get(f"/api/runs/{run}/export?format={form}").headers
        assert headers["content-disposition"].startswith("attachment"), form
    with opened(browser, f"{hostile.url}/api/runs/{run}/share") as (page, _, _):
        expect(page.locator("h1")).to_have_text(QUESTION)
        assert page.locator("img, script, iframe, a[href]").count() == 0


def test_long_keys_right_to_left_and_other_scripts_fit_a_phone(browser: Browser, hostile: RunningServer) -> None:
    with opened(browser, hostile.url, PHONE) as (page, _, _):
        for question in (QUESTION, "W" * 300, "من أضاء فانوس بروسك؟", "灯台は何年に点灯されましたか"):
            ask(page, question)
            expect(page.locator("article h2").last).to_have_text(question)
            wait_status(page, "ready")
            assert (overflow(page), sticking_out(page)) == (0, []), question
        page.locator("article").first.get_by_role("button", name="Show all").click()
        for number in range(6):
            page.locator("article").first.get_by_role("button", name="why it won").nth(number).click()
        assert (overflow(page), sticking_out(page)) == (0, [])
        for place in ("search?q=lantern", "search?topic=lantern", "corpus", "lab", "lab/evals"):
            page.goto(f"{hostile.url}#/{place}")
            page.wait_for_timeout(250)
            assert (overflow(page), sticking_out(page)) == (0, []), place
        page.goto(f"{hostile.url}#/corpus")
        page.get_by_role("button", name="All files").click()
        page.get_by_role("button", name="kkkkkk").first.click()
        page.get_by_test_id("source").get_by_text("lit by Ada").wait_for()
        assert (overflow(page), sticking_out(page)) == (0, [])


def test_offsets_are_code_points_also_beyond_the_first_plane(browser: Browser, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "cat.md").write_text(
        "# 𠮷野家 😀😀😀\n😀 The purple cat of Brusk was called Mirabel 𠮷. 😀 It slept.\n", "utf-8"
    )
    with Citewell(tmp_path / "data") as cw:
        cw.add(notes)
    with running_server(tmp_path / "data") as own, opened(browser, own.url) as (page, _, _):
        ask(page, "What was the purple cat of Brusk called?")
        wait_status(page, "ready")
        chip = last_turn(page).get_by_test_id("citation").first
        chip.hover()
        expect(page.get_by_role("tooltip").locator("mark")).to_contain_text("called Mirabel")
        chip.click()
        marks = page.get_by_test_id("source").locator("mark")
        expect(marks.first).to_be_visible()
        run = json.loads(page.evaluate("sessionStorage.getItem('citewell.session.v1')"))["turns"][0]["runId"]
        quote = own.get(f"/api/runs/{run}").json["result"]["citations"][0]["quote"]
        assert "".join(marks.all_text_contents()) == quote.replace("\n", "")
