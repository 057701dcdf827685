"""The same research for a note behind every door; agents and HTTP have it only where it is enabled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from citewell import BadInput, Citewell, json_schema
from support.http_server import running_server
from support.mcp_client import error_of, talk, text_of

pytestmark = pytest.mark.slow

NOTES = {
    "Lamp.md": "# Lamp oil\n\nHow much lamp oil did the Orrin Head Light burn in 1859?\n",
    "Oil.md": "# Oil\n\nThe Orrin Head Light burned 812 gallons of lamp oil in 1859.\n",
}
FOUND = "“The Orrin Head Light burned 812 gallons of lamp oil in 1859.” — [[Oil]]"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    with Citewell(tmp_path / "data") as cw:
        cw.add(folder)
    return tmp_path / "data"


@pytest.fixture
def lamp(data: Path) -> Path:
    return data.parent / "notes" / "Lamp.md"


def note(data: Path, *arguments: str, cwd: Path | None = None) -> tuple[int, Any, str]:
    program = [sys.executable, "-m", "citewell", "--data-dir", str(data), "note", *arguments, "--json"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)
    return ended.returncode, json.loads(ended.stdout), ended.stderr


def test_the_command_writes_shows_and_takes_back(data: Path, lamp: Path) -> None:
    code, shown, _ = note(data, str(lamp), "--dry-run")
    assert (code, shown["changed"], "backup" in shown) == (0, True, False)
    assert f"+- {FOUND}" in shown["diff"]
    assert lamp.read_text("utf-8") == NOTES["Lamp.md"]
    code, done, _ = note(data, "Lamp.md", cwd=lamp.parent)
    assert (code, done["path"], done["changed"], "diff" in done) == (0, "Lamp.md", True, False)
    assert done["topics_researched"] >= 1
    assert Path(done["backup"]).read_text("utf-8") == NOTES["Lamp.md"]
    assert FOUND in lamp.read_text("utf-8")
    for document in (shown, done):
        jsonschema.validate(document, json_schema("note"))
    assert note(data, str(lamp))[1]["changed"] is False
    code, undone, _ = note(data, str(lamp), "--undo")
    assert (code, undone["changed"]) == (0, True)
    assert lamp.read_text("utf-8") == NOTES["Lamp.md"]


def test_a_person_reads_what_was_written_and_how_to_take_it_back(data: Path, lamp: Path) -> None:
    program = [sys.executable, "-m", "citewell", "--data-dir", str(data), "note", str(lamp)]
    told = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True).stdout
    assert FOUND in told
    assert "--undo" in told


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("missing.md",), 3), (("picture.png",), 2), (("Lamp.md", "--undo"), 3), (("Lamp.md", "--undo", "--dry-run"), 2)],
)
def test_what_cannot_be_done_has_its_exit_code(data: Path, arguments: tuple[str, ...], code: int) -> None:
    ended, document, _ = note(data, *arguments)
    assert ended == code
    assert document["error"]["fix"]


def test_an_agent_writes_only_where_it_is_enabled(data: Path, lamp: Path) -> None:
    async def asking(client: Client) -> Any:
        return await client.call_tool("research_note", {"path": "Lamp.md"})

    assert error_of(talk(data, asking))["code"] == "unavailable"
    assert lamp.read_text("utf-8") == NOTES["Lamp.md"]
    steps: list[str] = []

    async def working(client: Client) -> Any:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            steps.append(message or "")

        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "research_note"]
        result = await client.call_tool("research_note", {"path": "Lamp.md"}, progress_callback=told)
        jsonschema.validate(result.structured_content, tool.output_schema or {})
        return result

    result = talk(data, working, CITEWELL_NOTE_TOOL="true")
    assert not result.is_error, text_of(result)
    assert (result.structured_content["path"], result.structured_content["changed"]) == ("Lamp.md", True)
    # The compact form for an agent's memory.
    assert text_of(result).startswith("path: Lamp.md\ntopics_researched: ")
    assert FOUND not in text_of(result)
    assert FOUND in lamp.read_text("utf-8")
    assert any("topics" in step for step in steps)


@pytest.mark.attack("V1")
def test_an_agent_cannot_leave_the_vault(data: Path, lamp: Path) -> None:
    outside = data.parent / "outside.md"
    outside.write_text("outside\n", "utf-8")

    async def asking(client: Client) -> list[Any]:
        paths = ["../outside.md", str(outside), "notes/../../outside.md", "Lamp.md/../../outside.md"]
        return [error_of(await client.call_tool("research_note", {"path": path})) for path in paths]

    errors = talk(data, asking, CITEWELL_NOTE_TOOL="true")
    assert {error["code"] for error in errors} <= {"not_found", "bad_input"}
    assert outside.read_text("utf-8") == "outside\n"


KEPT_OUT = (
    ".git/Lamp.md",
    ".obsidian/Lamp.md",
    ".trash/old/Lamp.md",
    ".claude/Lamp.md",
    "node_modules/pkg/README.md",
    "drafts/Lamp.md",
    "Lamp.secret.md",
    "inbox/.hidden.md",
    "data/note-backups/Lamp.md",
)


@pytest.fixture
def kept_out(tmp_path: Path) -> Path:
    """A data folder in a vault of which much is left out by `add`: by its own rules, or by the user's."""
    folder = tmp_path / "notes"
    for name in ("Lamp.md", "Oil.md", "Removed.md", "Tagged.md", *KEPT_OUT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(NOTES["Oil.md"] if name == "Oil.md" else NOTES["Lamp.md"], "utf-8")
    (folder / "Tagged.md").write_text(f"---\ntags: [private]\n---\n{NOTES['Lamp.md']}", "utf-8")
    with Citewell(folder / "data") as cw:
        cw.add(folder, excludes=["drafts/", "*.secret.md", "tag:private"])
        cw.corpus.remove(str(folder / "Removed.md"))
    return folder


@pytest.mark.attack("V1")
def test_nothing_is_written_where_add_does_not_read(kept_out: Path) -> None:
    before = {path: path.read_bytes() for path in kept_out.rglob("*.md")}
    with Citewell(kept_out / "data") as cw:
        for name in KEPT_OUT:
            for path in (name, str(kept_out / name)):
                with pytest.raises(BadInput, match="left out by 'citewell add'"):
                    cw.note(path)
        assert cw.note(kept_out / "Lamp.md").changed
    changed = [path for path, content in before.items() if path.read_bytes() != content]
    assert changed == [kept_out / "Lamp.md"]


@pytest.mark.attack("V1")
@pytest.mark.attack("S12")
def test_to_an_agent_outside_excluded_removed_and_missing_look_alike(kept_out: Path) -> None:
    (kept_out.parent / "outside.md").write_text("outside\n", "utf-8")
    (kept_out / "way-out").symlink_to(kept_out.parent)
    there = ["../outside.md", str(kept_out.parent / "outside.md"), "way-out/outside.md", "Removed.md", "Tagged.md"]
    missing = ["../nothing.md", str(kept_out.parent / "nothing.md"), "way-out/nothing.md", "Nothing.md", ".git/No.md"]
    paths = [*there, *KEPT_OUT, *(str(kept_out / name) for name in KEPT_OUT), *missing]
    before = {path: path.read_bytes() for path in kept_out.parent.rglob("*.md")}

    async def asking(client: Client) -> list[str]:
        results = [await client.call_tool("research_note", {"path": path}) for path in paths]
        assert all(result.is_error for result in results)
        return [text_of(result) for result in results]

    (told,) = set(talk(kept_out / "data", asking, CITEWELL_NOTE_TOOL="true"))
    with running_server(kept_out / "data", CITEWELL_NOTE_TOOL="true") as server:
        replies = [server.post("/api/notes/research", {"path": path}) for path in paths]
    ((status, body),) = {(reply.status, reply.body) for reply in replies}
    assert (status, json.loads(body)["error"]["message"]) == (404, json.loads(told)["error"]["message"])
    assert {path: path.read_bytes() for path in before} == before


def test_http_writes_only_where_it_is_enabled(data: Path, lamp: Path) -> None:
    with running_server(data) as server:
        refused = server.post("/api/notes/research", {"path": "Lamp.md"})
        assert (refused.status, refused.code) == (403, "disabled")
    assert lamp.read_text("utf-8") == NOTES["Lamp.md"]
    with running_server(data, CITEWELL_NOTE_TOOL="true") as server:
        shown = server.post("/api/notes/research", {"path": "Lamp.md", "dry_run": True})
        assert (shown.status, FOUND in shown.json["diff"]) == (200, True)
        done = server.post("/api/notes/research", {"path": "Lamp.md", "depth": "deep", "focus": "lamp oil"})
        assert (done.status, done.json["changed"]) == (200, True)
        assert server.post("/api/notes/research", {"path": "nowhere.md"}).status == 404
        assert server.post("/api/notes/research", {"path": "../x.md"}).status in (404, 422)
        assert server.post("/api/notes/research", {"path": "Lamp.md", "depth": "abyss"}).status == 422
    assert FOUND in lamp.read_text("utf-8")


def test_a_run_of_the_profile_note_cannot_be_started_as_a_question(data: Path) -> None:
    with running_server(data, CITEWELL_NOTE_TOOL="true") as server:
        started = server.post("/api/runs", {"question": "x", "profile": "note"})
    assert started.status in (422, 503)


def test_a_killed_run_is_resumed_and_writes_once(data: Path, lamp: Path) -> None:
    """A run that was interrupted after its search goes on from its record."""
    with Citewell(data) as cw:
        run_id = cw.start_note(lamp)
        cw.runs.interrupt(run_id)
        status = cw.runs.status(run_id)
    with Citewell(data) as cw:
        if status == "interrupted":
            cw.runs.resume(run_id)
        cw.runs.wait(run_id)
        assert cw.note_result(run_id).changed
    assert lamp.read_text("utf-8").count("citewell:research") == 1
    assert sorted(path.name for path in lamp.parent.iterdir()) == sorted(NOTES)
