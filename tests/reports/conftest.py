"""A data folder with the notes about a lighthouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Citewell
from reports.lighthouse import NOTES


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    with Citewell(tmp_path / "data", embeddings="off") as cw:
        cw.add(folder)
    return tmp_path / "data"
