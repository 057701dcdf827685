"""No room left: a typed error, everything before it intact, and the same command goes on once there is room."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell import Citewell, StoreFull, SyncProgress
from conftest import sqlite_corpus
from durability.programs import TIMEOUT_S, add, assert_sound, command, opened, run, size, texts, write_notes
from support.http_server import running_server
from support.mcp_client import pipe


def add_until_full(data: Path, vault: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """`add -v` in a process whose files may not grow beyond a limit."""
    return subprocess.run(
        command(data, "add", str(vault), "-v"),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


@pytest.mark.attack("D4")
@pytest.mark.slow
@pytest.mark.parametrize("limit", [300_000, 500_000, 800_000])
def test_add_stops_when_the_disk_is_full_and_goes_on_when_it_is_not(tmp_path: Path, limit: int) -> None:
    """D4, with a real limit on the size of files: exit 1, what was stored is there, the rest comes later."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    notes = write_notes(vault, 300)
    stopped = add_until_full(data, vault, limit)
    *stored, said, fix = stopped.stderr.splitlines()
    names = {line.removeprefix("stored ") for line in stored}
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "everything before it is safe" in said
    assert fix.startswith("  → ")
    with opened(data) as engine:
        assert texts(engine) == {name: notes[name] for name in names}
        assert len(engine.search("kelp", limit=1_000).results) == len(names)
        assert_sound(engine)
    assert run(data, "add", str(vault)).returncode == 0
    with opened(data) as engine:
        assert texts(engine) == notes
        assert_sound(engine)


def note_committed(engine: Citewell, vault: Path, names: set[str]) -> None:
    """Add a vault, noting what is reported as stored while it lasts."""
    for event in engine.corpus.sync(vault):
        if isinstance(event, SyncProgress):
            names.update(event.committed)


@pytest.mark.attack("D4")
def test_a_full_database_undoes_the_batch_and_the_same_engine_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """D4, with SQLite's own SQLITE_FULL in a process that lives on."""
    vault, notes = tmp_path / "vault", write_notes(tmp_path / "vault", 200)
    with opened(tmp_path / "data") as engine:
        with sqlite_corpus(engine).database.write() as connection:
            connection.execute(f"PRAGMA max_page_count = {connection.pragma('page_count') + 50}").fetchall()
        names: set[str] = set()
        with pytest.raises(StoreFull, match="No room left"):
            note_committed(engine, vault, names)
        assert 0 < len(names) < 200
        assert texts(engine) == {name: notes[name] for name in names}
        assert_sound(engine)
        with sqlite_corpus(engine).database.write() as connection:
            connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        report = add(engine, vault)
        assert (report.indexed, report.unchanged) == (200 - len(names), len(names))
        assert texts(engine) == notes
        assert_sound(engine)


@pytest.mark.attack("D4")
@pytest.mark.slow
def test_a_disk_with_no_room_for_the_database_gets_none(tmp_path: Path) -> None:
    """Creation fails whole: no half-made file, no leftovers, and the next command creates it."""
    write_notes(tmp_path / "vault", 3)
    stopped = add_until_full(tmp_path / "data", tmp_path / "vault", 20_000)
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("citewell: ")
    assert list((tmp_path / "data").iterdir()) == []
    assert run(tmp_path / "data", "add", str(tmp_path / "vault")).returncode == 0


@contextmanager
def no_room_beyond(pid: int, limit: int) -> Iterator[None]:
    """The files of a running process may not grow beyond a limit, until the end."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a few notes and one run."""
    write_notes(tmp_path / "vault", 3)
    assert run(tmp_path / "data", "add", str(tmp_path / "vault")).returncode == 0
    assert run(tmp_path / "data", "research", "What is under word1x0?").returncode == 0
    return tmp_path / "data"


@pytest.mark.attack("D4")
def test_a_run_that_a_server_accepts_is_found_again_and_one_without_room_is_refused(data: Path) -> None:
    """D4: whatever was answered 202 while the disk filled up is there afterwards."""
    accepted: list[str] = []
    with running_server(data) as server:
        accepted.append(server.start_run("What is under word1x0?"))
        server.finished(accepted[0])
        with no_room_beyond(server.process.pid, size(data / "runs.db-wal") + 150_000):
            for _ in range(60):
                reply = server.post("/api/runs", {"question": "What is under word1x0?"})
                if reply.status != 202:
                    break
                accepted.append(reply.json["run_id"])
                server.finished(accepted[-1])
            assert (reply.status, reply.code) == (500, "store_full")
            assert "The run was not begun" in reply.json["error"]["message"]
            assert {server.get(f"/api/runs/{run_id}").status for run_id in accepted} == {200}
            report = server.post("/api/runs", {"question": "What is under word1x0?", "profile": "report"})
            assert report.code == "store_full"
        assert {server.get(f"/api/runs/{run_id}").status for run_id in accepted} == {200}
        accepted.append(server.start_run("What is under word2x0?"))
        assert server.finished(accepted[-1])["stop_reason"] != "trace_failed"
    with running_server(data) as server:
        assert {server.get(f"/api/runs/{run_id}").status for run_id in accepted} == {200}
        assert len(server.get("/api/runs?limit=200").json["runs"]) == len(accepted) + 1


@pytest.mark.attack("D4")
def test_an_agent_is_told_that_there_is_no_room_to_record_its_run(data: Path) -> None:
    with pipe(data) as server:
        server.greet()
        server.call("research_run", {"question": "What is under word1x0?"})
        assert not server.read()["result"]["isError"]
        with no_room_beyond(server.process.pid, size(data / "runs.db-wal")):
            server.call("research_run", {"question": "What is under word1x0?"})
            refused = server.read()["result"]
        assert refused["isError"]
        assert '"store_full"' in refused["content"][0]["text"]
        server.call("research_run", {"question": "What is under word1x0?"})
        assert not server.read()["result"]["isError"]


@pytest.mark.attack("D4")
def test_the_program_does_not_begin_a_run_that_it_cannot_record(data: Path) -> None:
    """There is room to open the files, and none for a question as long as this one."""
    question = f"What is under word1x0? {'It was seen near the tide gauges. ' * 200}"
    stopped = subprocess.run(
        command(data, "research", question, "--json"),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (32_768, 32_768)),
    )
    assert stopped.returncode == 1
    assert '"store_full"' in stopped.stdout
    with opened(data) as engine:
        assert len(engine.runs.latest(10).runs) == 1
