"""Every kind of run behind every door that offers it: one golden document each, and one golden stream.

`make golden` writes them anew; what differs from run to run is left out of them (`normalising.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doors.asking import Outcome, ask
from doors.cases import CASES, Case
from doors.golden_files import compare, document_text, write
from doors.normalising import gathered_at_once, normalised
from doors.world import World, made_world


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
                    found[file] = document_text(document, world, case)
            if outcome.events:
                found[f"{name}.sse.json"] = _stream(case, outcome, world)
            if case.kind == "note":
                note = (world.notes / case.question).read_text("utf-8")
                found[f"{name}.md"] = normalised(note, world, case).rstrip()
            for file, text in found.items():
                if writes and file not in written:
                    written.add(file)
                    write(file, text)
                compare(file, text, door)
            if outcome.exit_code is not None:
                assert outcome.exit_code == case.exit_code


def _stream(case: Case, outcome: Outcome, world: World) -> str:
    """The stream, an event a line; the document it ends with is not written a second time."""
    *before, (last, ending) = outcome.events
    if ending in (outcome.document, outcome.run):
        ending = "the document"
    events: list[Any] = [*before, (last, ending)]
    steps = normalised(gathered_at_once(events, case) if case.gathers_at_once else events, world, case)
    lines = (json.dumps(step, ensure_ascii=False, sort_keys=True) for step in steps)
    return "[\n" + ",\n".join(lines) + "\n]"
