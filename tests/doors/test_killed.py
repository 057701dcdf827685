"""Real programs killed while somebody they asked is silent: `runs resume` gives the golden document, and asks nothing
again that is on record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell import to_json
from doors.asking import command_line
from doors.cases import CASES
from doors.golden_files import compare, document_text
from doors.normalising import normalised
from doors.test_cut_and_resumed import recorded
from doors.world import World, made_world, program_environment
from support.model_script import ModelRequest
from support.processes import wait_for


@dataclass(frozen=True)
class Silence:
    """Who is silent: the model from its n-th request on, or an address of the sites."""

    case: str
    model: int = 0
    site: str = ""


SILENCES = {
    "a model that writes": Silence("with-a-model", model=1),
    "a model that repairs": Silence("repaired", model=2),
    "a model that plans": Silence("planned-by-a-model", model=1),
    "a model that writes what was planned": Silence("planned-by-a-model", model=2),
    "a search": Silence("chat", site="/search"),
    "a page": Silence("chat", site="/register"),
    "a page of many": Silence("deep", site="/paper"),
    "a model between rounds": Silence("chat-with-a-model", model=2),
    "a model that reads a note": Silence("note-with-a-model", model=1),
    "a model that writes for a note": Silence("note-with-a-model", model=2),
    "a page for a note": Silence("note-deep-on-the-web", site="/light"),
    "a model that plans a report": Silence("report-with-a-model", model=1),
    "a model that writes a report": Silence("report-with-a-model", model=2),
}


@pytest.mark.parametrize("name", SILENCES)
def test_a_killed_program_is_gone_on_with_to_the_golden_document(name: str, tmp_path: Path) -> None:
    silence = SILENCES[name]
    case = CASES[silence.case]
    script = case.script() if case.script else None
    with made_world(tmp_path, case.notes, script=script, pages=case.pages, settings=case.settings) as world:
        begin_silence(silence, world)
        killed = subprocess.Popen(
            command_line(case, world),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=program_environment(world),
        )
        wait_for(lambda: is_waited_for(silence, world), 120)
        killed.kill()
        killed.wait()
        prompts, sites = asked(world)
        with world.opened() as cw:
            (left,) = cw.runs.list().runs
            assert left.status == "interrupted"
            known, _ = recorded(cw, left.run_id)
        end_silence(world)
        resumed = subprocess.run(
            [sys.executable, "-m", "citewell", "--data-dir", str(world.data), "runs", "resume", "last", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=program_environment(world),
        )
        assert resumed.returncode == case.exit_code, resumed.stderr
        document = json.loads(resumed.stdout)
        if case.kind == "research":
            compare(f"{silence.case}.json", document_text(document, world, case), name)
        if case.kind == "report":
            compare(f"{silence.case}.run.json", document_text(document, world, case), name)
        if case.kind == "note":
            with world.opened() as cw:
                told = json.loads(to_json(cw.note_result(left.run_id)))
            compare(f"{silence.case}.json", document_text(told, world, case), name)
            note = (world.notes / case.question).read_text("utf-8")
            compare(f"{silence.case}.md", normalised(note, world, case).rstrip(), name)
        all_prompts, all_sites = asked(world)
        prompts_again, sites_again = all_prompts - prompts, all_sites - sites
        # Every reply that came before the silence was on record, since what was asked next is made from it.
        assert known["model", ""] == sum(prompts.values()) - (1 if silence.model else 0)
        answered = list(prompts)[: known["model", ""]]
        assert not [prompt for prompt in answered if prompts_again[prompt]]
        assert not [at for at in known if at in sites_again]


def begin_silence(silence: Silence, world: World) -> None:
    if world.sites is not None:
        world.sites.held = silence.site
    if silence.model:
        seen: list[ModelRequest] = []

        def is_held(request: ModelRequest) -> bool:
            seen.append(request)
            return len(seen) >= silence.model

        world.is_model_held = is_held


def is_waited_for(silence: Silence, world: World) -> bool:
    if silence.model:
        return world.holds.is_set()
    assert world.sites is not None
    return world.sites.is_asked.is_set()


def end_silence(world: World) -> None:
    world.is_model_held = lambda request: False
    if world.sites is not None:
        world.sites.held = ""
        world.sites.released.set()


def asked(world: World) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """What was asked so far: prompts of the model in their order, searches and pages."""
    prompts = Counter(request.prompt for request in world.model.requests) if world.model else Counter[str]()
    sites = Counter[tuple[str, str]]()
    if world.sites is not None:
        sites.update(("search", query) for query in world.sites.searched)
        sites.update(("page", path) for path in world.sites.read)
    return prompts, sites
