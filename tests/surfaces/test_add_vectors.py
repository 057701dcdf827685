"""`citewell add` and meaning: what was added is found by words at once, then encoded for as long as it may."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from citewell.models.minilm import has_bundled
from conftest import Write

pytestmark = pytest.mark.skipif(not has_bundled(), reason="this installation was built without the model")


def run(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
    env = {**os.environ, "CITEWELL_EMBEDDINGS": "on", **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def left(data: Path) -> tuple[int, int]:
    vectors = json.loads(run(data, "status", "--json").stdout)["vectors"]
    return vectors["encoded"], vectors["left"]


def test_add_encodes_what_it_added_and_meaning_finds_it(tmp_path: Path, vault: Write) -> None:
    folder = vault({"leave.md": "Staff get 25 days of annual leave.", "tide.md": "The tide is low at noon."})
    run(tmp_path / "data", "add", str(folder))
    assert left(tmp_path / "data") == (2, 0)
    found = json.loads(run(tmp_path / "data", "search", "vacation", "--json").stdout)
    assert (found["mode"], found["results"][0]["note_path"]) == ("hybrid", "leave.md")


def test_without_vectors_or_time_it_returns_at_once_and_the_rest_goes_on_later(tmp_path: Path, vault: Write) -> None:
    folder, data = vault({"leave.md": "Staff get 25 days of annual leave."}), tmp_path / "data"
    run(data, "add", str(folder), "--no-vectors")
    assert left(data) == (0, 1)
    assert "1 passages are not encoded yet" in run(data, "add", str(folder), CITEWELL_ENCODE_MINUTES="0").stderr
    assert left(data) == (0, 1)
    run(data, "add", str(folder))
    assert left(data) == (1, 0)
