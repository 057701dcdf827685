"""A data folder that cannot be written: it is searched and read, and what needs writing says why it cannot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from durability.programs import TIMEOUT_S, command, run, write_notes
from support.http_server import started_server
from support.read_only import give_up_rights, read_only

QUESTION = "What is under word1x0?"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small corpus and a recorded run."""
    home = tmp_path_factory.mktemp("sound")
    write_notes(home / "vault", 8)
    assert run(home / "data", "add", str(home / "vault")).returncode == 0
    assert run(home / "data", "research", QUESTION).returncode == 0
    return home / "data"


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "data"))


def held_to_permissions(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program run to its end, with no more rights than permissions give."""
    return subprocess.run(
        command(data, *arguments),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
        preexec_fn=give_up_rights,
    )


READING = (
    ("search", "kelp"),
    ("status",),
    ("stats",),
    ("collections",),
    ("get", "note:vault/folder-1/note-001"),
    ("related", "note:vault/folder-1/note-001"),
    ("runs", "list"),
    ("runs", "show", "last"),
    ("runs", "replay", "last"),
)


def found(data: Path) -> list[Any]:
    """What each command that reads says, as a document."""
    answers = []
    for arguments in READING:
        done = held_to_permissions(data, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        answers.append({k: v for k, v in json.loads(done.stdout).items() if k not in ("seconds", "took_ms")})
    return answers


@pytest.mark.attack("D5")
def test_a_folder_that_cannot_be_written_is_searched_and_read_like_any_other(data: Path, tmp_path: Path) -> None:
    before = found(data)
    files = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with read_only(data):
        assert found(data) == before
        assert held_to_permissions(data, "research", QUESTION, "--no-trace").returncode == 0
        assert held_to_permissions(data, "backup", str(tmp_path / "all.zip")).returncode == 0
        doctor = held_to_permissions(data, "doctor")
        assert doctor.returncode == 1
        assert doctor.stdout.count("ERROR") == 1
        assert "is not writable" in doctor.stdout
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == files


@pytest.mark.attack("D5")
@pytest.mark.parametrize(
    "arguments",
    [
        ("research", QUESTION),
        ("report", "What is under word1x0?"),
        ("add", "{vault}"),
        ("remove", "note:vault/folder-1/note-001"),
        ("summarize", "--all"),
        ("runs", "prune"),
    ],
)
def test_what_needs_writing_says_that_the_folder_cannot_be_written(
    sound: Path, data: Path, arguments: tuple[str, ...]
) -> None:
    vault = str(sound.parent / "vault")
    with read_only(data):
        done = held_to_permissions(data, *(one.replace("{vault}", vault) for one in arguments))
    said, fix = done.stderr.splitlines()
    assert done.returncode == 4
    assert said.startswith(f"citewell: {data} cannot be written: ")
    assert fix.startswith("  → Make the folder and its files writable")


@pytest.mark.attack("D5")
def test_a_server_over_such_a_folder_searches_and_refuses_runs(data: Path) -> None:
    with read_only(data), started_server(data, preexec_fn=give_up_rights) as server:
        assert len(server.get("/api/search?q=kelp").json["results"]) == 8
        assert len(server.get("/api/runs").json["runs"]) == 1
        reply = server.post("/api/runs", {"question": QUESTION})
        assert (reply.status, reply.code) == (503, "unavailable")
        assert "cannot be written" in reply.json["error"]["message"]


def test_a_server_starts_over_such_a_folder_though_no_run_was_ever_recorded(data: Path) -> None:
    (data / "runs.db").unlink()
    with read_only(data), started_server(data, preexec_fn=give_up_rights) as server:
        assert len(server.get("/api/search?q=kelp").json["results"]) == 8
        assert "has no runs.db and cannot be written" in server.post("/api/runs", {"question": QUESTION}).body.decode()


# Adds a document and is killed before its log is folded into the file.
KILLED = """
import os, signal, sys
from pathlib import Path
from citewell import Citewell
cw = Citewell(sys.argv[1])
cw.add(sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.attack("D5")
def test_what_a_killed_program_left_in_the_log_is_read_too_or_the_log_is_named(data: Path, tmp_path: Path) -> None:
    """With the log's locks there it is read; without them it cannot be, and an older state is not passed off as new."""
    write_notes(tmp_path / "late", 1)
    subprocess.run([sys.executable, "-c", KILLED, str(data), str(tmp_path / "late")], check=False, timeout=TIMEOUT_S)
    assert (data / "corpus.db-wal").stat().st_size
    with read_only(data):
        status = held_to_permissions(data, "stats", "--json")
        assert json.loads(status.stdout)["documents"] == 9
    (data / "corpus.db-shm").unlink()
    with read_only(data):
        refused = held_to_permissions(data, "stats")
        assert refused.returncode == 4
        assert "corpus.db was not closed properly" in refused.stderr
    assert json.loads(run(data, "stats", "--json").stdout)["documents"] == 9


def test_a_file_of_an_earlier_schema_is_not_brought_up_to_date_where_it_cannot_be_written(data: Path) -> None:
    from citewell.backup import RUNS
    from citewell.store.sqlite import Schema, connect, migrate

    schema = RUNS.schema()
    (data / "runs.db").unlink()
    (data / "runs.db").touch(0o600)
    connection = connect(data / "runs.db")
    migrate(connection, Schema(schema.name, schema.application_id, schema.scripts[:1]))
    connection.close()
    with read_only(data):
        done = held_to_permissions(data, "runs", "list")
    assert done.returncode == 4
    assert "earlier Citewell" in done.stderr
    assert run(data, "runs", "list").returncode == 0
