"""Every kind of run behind every door that offers it: one golden document each, and one golden stream.

`make golden` writes them anew; what differs from run to run is left out of them (`normalising.py`).
"""

from __future__ import annotations

import difflib
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from doors.asking import Outcome, ask
from doors.cases import CASES, Case
from doors.normalising import gathered_at_once, normalised
from doors.world import World, made_world

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", CASES)
def test_every_door_gives_the_golden_document(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    case = CASES[name]
    writes = bool(request.config.getoption("--write-golden"))
    script = case.script() if case.script else None
    written: set[str] = set()
    with made_world(tmp_path, case.notes, script=script, pages=case.pages, settings=case.settings) as world:
        for door in case.doors:
            outcome = ask(case, door, world)
            found = {}
            for file, document in ((f"{name}.json", outcome.document), (f"{name}.run.json", outcome.run)):
                if document is not None:
                    plain = normalised(document, world, case)
                    found[file] = json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True)
            if outcome.events:
                found[f"{name}.sse.json"] = _stream(case, outcome, world)
            if case.kind == "note":
                note = (world.notes / case.question).read_text("utf-8")
                found[f"{name}.md"] = normalised(note, world, case).rstrip()
            for file, text in found.items():
                if writes and file not in written:
                    written.add(file)
                    (GOLDEN / file).write_text(f"{text}\n", "utf-8")
                _compare(file, f"{text}\n", door)
            if outcome.exit_code is not None:
                assert outcome.exit_code == case.exit_code


def _stream(case: Case, outcome: Outcome, world: World) -> str:
    """The stream, an event a line; the document it ends with is not written a second time."""
    *before, (last, ending) = outcome.events
    if ending in (outcome.document, outcome.run):
        ending = "the document"
    events: list[Any] = [*before, (last, ending)]
    steps = normalised(gathered_at_once(events) if case.gathers_at_once else events, world, case)
    lines = (json.dumps(step, ensure_ascii=False, sort_keys=True) for step in steps)
    return "[\n" + ",\n".join(lines) + "\n]"


def _compare(file: str, text: str, door: str) -> None:
    path = GOLDEN / file
    golden = path.read_text("utf-8") if path.exists() else ""
    if text != golden:
        changes = difflib.unified_diff(golden.splitlines(), text.splitlines(), file, door, lineterm="", n=1)
        pytest.fail("\n".join([f"{door} does not give {file}:", *islice(changes, 80)]), pytrace=False)
