"""One small corpus and one server for the tests that change nothing about either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import Citewell
from support.http_server import RunningServer, running_server

NOTES = {
    "Lamp.md": (
        "---\ntags: [lighthouse]\n---\n# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Halvard]].\n"
    ),
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in casks, as [[Lamp]] says.\n",
    "Halvard.md": "# Halvard\nThe ferry Halvard carried 212 passengers and twelve cars.\n",
    "Light.md": "# Orrin Head Light\nThe Orrin Head Light was kept by Magnus Tulloch.\n",
}


def make_corpus(folder: Path) -> Path:
    """A data folder with these notes in it."""
    notes = folder / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text, "utf-8")
    with Citewell(folder / "data") as cw:
        cw.add(notes)
    return folder / "data"


@pytest.fixture(scope="session")
def served_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def server(served_data: Path) -> Iterator[RunningServer]:
    """A server that many tests share: they start runs and read, and stop nothing that is not theirs."""
    with running_server(served_data, CITEWELL_HEARTBEAT_SECONDS="0.2") as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of this test's own."""
    return make_corpus(tmp_path)
