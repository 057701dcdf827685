"""Runs of every kind cut behind every entry of their record and resumed: the same document, and nothing done twice.

What reaches outside is counted at the servers: what is on record in the cut, by the ledger of the run, and what the
resumed run asks are together what the whole run asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, to_json
from doors.asking import controlled
from doors.cases import Case
from doors.cut_cases import ASKED_TWICE, CUT_CASES
from doors.normalising import normalised
from doors.world import World, made_world
from support.cut_runs import StoredRun

Asked = Counter[tuple[str, str]]


@pytest.mark.parametrize("name", CUT_CASES)
def test_a_run_that_is_cut_anywhere_goes_on_to_the_same_document(name: str, tmp_path: Path) -> None:
    cut_everywhere(CUT_CASES[name], tmp_path)


def test_a_call_under_way_is_not_on_record_as_answered_where_an_earlier_one_asked_the_same(tmp_path: Path) -> None:
    cut_everywhere(ASKED_TWICE, tmp_path)


def cut_everywhere(case: Case, tmp_path: Path) -> None:
    script = case.script() if case.script else None
    with (
        made_world(tmp_path, case.notes, script=script, pages=case.pages, settings=case.settings) as world,
        world.opened() as cw,
    ):
        with controlled(case, world):
            run_id = started(case, cw, world)
            whole = ended(case, cw, run_id, world)
        assert cw.runs.replay(run_id).identical
        asked, stored, notes = taken(world), StoredRun(world.data, run_id), _Notes(case, world)
        for kept in range(1, stored.entries + 1, case.every):
            stored.cut(kept)
            notes.put_back()
            known, unknown = recorded(cw, run_id)
            with controlled(case, world):
                cw.runs.resume(run_id)
                resumed = ended(case, cw, run_id, world)
            where = f"cut behind entry {kept} of {stored.entries}"
            assert resumed == whole, where
            asked_again = taken(world)
            assert known + asked_again <= asked <= known + unknown + asked_again, where
            # Where somebody wants the end, or it is late, what was under way need not be asked again.
            assert case.stops_early or known + asked_again == asked, where
            notes.look()
        assert cw.runs.replay(run_id).identical
        notes.check()


class _Notes:
    """The note that a run writes: before it is on record as written it is written, and then never again."""

    def __init__(self, case: Case, world: World) -> None:
        self._path = world.notes / case.question if case.kind == "note" else None
        self._before = case.notes.get(case.question, "")
        self._after = self._path.read_text("utf-8") if self._path else ""
        self._is_written: list[bool] = []

    def put_back(self) -> None:
        if self._path:
            self._path.write_text(self._before, "utf-8")

    def look(self) -> None:
        if self._path:
            found = self._path.read_text("utf-8")
            assert found in (self._before, self._after)
            self._is_written.append(found == self._after)

    def check(self) -> None:
        if self._after != self._before:
            assert self._is_written[0]
            assert not self._is_written[-1]
            assert self._is_written == sorted(self._is_written, reverse=True)


def started(case: Case, cw: Citewell, world: World) -> str:
    match case.kind:
        case "note":
            return cw.start_note(world.notes / case.question, **case.options)
        case "report":
            return cw.start_report(case.question).run_id
        case _:
            return cw.start(case.question, **case.options)


def ended(case: Case, cw: Citewell, run_id: str, world: World) -> Any:
    """What a run came to, without what differs from run to run."""
    documents: list[object] = [cw.runs.wait(run_id, timeout=60)]
    if case.kind == "note":
        documents.append(cw.note_result(run_id))
    return normalised([json.loads(to_json(one)) for one in documents], world, case)


def taken(world: World) -> Asked:
    """What was asked of the servers since this was last looked at."""
    found: Asked = Counter()
    if world.model is not None:
        found["model", ""] = len(world.model.requests)
        world.model.requests.clear()
    if world.sites is not None:
        found.update(("search", query) for query in world.sites.searched)
        found.update(("page", path) for path in world.sites.read)
        world.sites.searched.clear()
        world.sites.read.clear()
    return +found


def recorded(cw: Citewell, run_id: str) -> tuple[Asked, Asked]:
    """What a run asked and knows the outcome of, by its record, and what it asked and does not."""
    known: Asked = Counter()
    unknown: Asked = Counter()
    for entry in cw.runs.egress(run_id).entries:
        found = unknown if entry.outcome == "unknown" else known
        match entry.kind:
            case "model":
                found["model", ""] += 1
            case "search":
                found["search", entry.purpose.removeprefix("search: ")] += 1
            case "page":
                found["page", "/" + entry.purpose.rpartition("/")[2]] += 1
    return known, unknown


# The most different of them.
REPLAYED = (
    *("quoted", "repaired", "finished-early", "chat", "deep-with-a-model", "note-with-a-model"),
    *("report-with-a-model", "judged-model"),
)
_REPLAY = """
import json, sys
from citewell import Citewell
for data, run_id in json.load(sys.stdin):
    with Citewell(data) as cw:
        report = cw.runs.replay(run_id)
        print(json.dumps([report.identical, report.sha256]))
"""


def test_runs_replay_to_the_same_bytes_under_another_clock_language_and_hash_seed(tmp_path: Path) -> None:
    runs: list[tuple[str, str]] = []
    digests: list[list[Any]] = []
    for name in REPLAYED:
        case = CUT_CASES[name]
        script = case.script() if case.script else None
        (tmp_path / name).mkdir()
        with (
            made_world(tmp_path / name, case.notes, script=script, pages=case.pages, settings=case.settings) as world,
            world.opened() as cw,
            controlled(case, world),
        ):
            run_id = started(case, cw, world)
            ended(case, cw, run_id, world)
            runs.append((str(world.data), run_id))
            digests.append([True, cw.runs.replay(run_id).sha256])
    elsewhere = {
        **os.environ,
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONHASHSEED": "4242",
    }
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY],
        input=json.dumps(runs),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=elsewhere,
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == digests
