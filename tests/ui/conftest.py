"""One sample corpus, one server without a model and one with a scripted one, one browser for each module."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from citewell import Citewell
from citewell.evals.suite import sample_corpus
from support.browser import PATIENCE_MS, ROOT, opened, running_browser
from support.http_server import RunningServer, running_server
from support.model_script import ModelRequest, Reply, judges, says
from support.model_server import ScriptedModelServer

# What is expected may take its time on a busy machine.
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("sample") / "data"
    with Citewell(data) as cw:
        for _ in cw.corpus.sync(sample_corpus(), collection="skelday"):
            pass
    return data


@pytest.fixture(scope="session")
def server(sample_data: Path) -> Iterator[RunningServer]:
    """The server over the sample corpus, without a model."""
    with running_server(sample_data, CITEWELL_HEARTBEAT_SECONDS="0.5") as running:
        yield running


class HeldModel:
    """A scripted model that answers once it is let: until then a run waits in the middle of writing."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.text: Callable[[ModelRequest], str | Reply] = lambda request: "The evidence does not say."

    def __call__(self, request: ModelRequest) -> Reply:
        if judged := judges(request, missing=("seagull",)):
            return judged
        if "You do not answer the question" in request.prompt:
            return says('{"queries": [], "concepts": [], "reason": "nothing to add"}')
        self.release.wait(60)
        said = self.text(request)
        return says(said) if isinstance(said, str) else said

    def let(self, text: Callable[[ModelRequest], str | Reply] | None = None) -> None:
        if text is not None:
            self.text = text
        self.release.set()


def mark(request: ModelRequest, words: str) -> str:
    """The mark of the passage that has these words, as the prompt shows it."""
    found = re.search(rf"^(⟦\d+\.\d+⟧) .*{re.escape(words)}", request.prompt, re.MULTILINE)
    assert found, f"{words!r} is not in the prompt:\n{request.prompt}"
    return found[1]


@pytest.fixture
def model() -> HeldModel:
    return HeldModel()


@pytest.fixture
def model_url(model: HeldModel) -> Iterator[str]:
    with ScriptedModelServer(model) as running:
        yield running.base_url
        model.release.set()


@pytest.fixture
def written(sample_data: Path, model_url: str) -> Iterator[RunningServer]:
    """A server of this test's own, over the same corpus, whose answers a scripted model writes."""
    with running_server(
        sample_data,
        CITEWELL_MODEL="openai:test",
        CITEWELL_MODEL_BASE_URL=model_url,
        CITEWELL_HEARTBEAT_SECONDS="0.5",
    ) as running:
        yield running


# The browser's loop runs in this thread for as long as it is there: not longer than the tests that need it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: RunningServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at desktop width; a test that fails leaves a picture of it in build/."""
    with opened(browser, server.url) as (shown, _, _):
        yield shown
        if getattr(request.node, "failed", False):
            shown.screenshot(path=ROOT / "build" / f"{request.node.name}.png")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    if report.when == "call" and report.failed:
        item.failed = True  # type: ignore[attr-defined]
    return report
