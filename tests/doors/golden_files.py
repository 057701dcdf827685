"""Golden files: a document, a stream or a note each, as text that can be reviewed."""

from __future__ import annotations

import difflib
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from doors.cases import Case
from doors.normalising import normalised
from doors.world import World

GOLDEN = Path(__file__).parent / "golden"


def document_text(document: Any, world: World, case: Case) -> str:
    return json.dumps(normalised(document, world, case), indent=1, ensure_ascii=False, sort_keys=True)


def write(file: str, text: str) -> None:
    (GOLDEN / file).write_text(f"{text}\n", "utf-8")


def compare(file: str, text: str, door: str) -> None:
    """Fail with what differs."""
    path = GOLDEN / file
    golden = path.read_text("utf-8") if path.exists() else ""
    if f"{text}\n" != golden:
        changes = difflib.unified_diff(golden.splitlines(), text.splitlines(), file, door, lineterm="", n=1)
        pytest.fail("\n".join([f"{door} does not give {file}:", *islice(changes, 80)]), pytrace=False)
