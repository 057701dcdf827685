"""Pruning as hard as it can be, by another process, while runs are executed, killed, resumed and exported."""

from __future__ import annotations

import os
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, CitewellError, RunResult, Settings
from conftest import add, sqlite_runs
from durability.programs import command, start_script
from runner.scripted_runs import QUESTION
from runner.test_clock_jumps import Gated
from runner.test_runs import NOTES
from support.model_script import silent
from support.model_server import ScriptedModelServer

# Everything that may go goes: no trace is kept for its place, none for its age.
HARD: dict[str, Any] = {"trace_keep": 0, "trace_max_age_days": 0, "embeddings": "off"}
PRUNER = """
import sys
import threading
from pathlib import Path

from citewell import Citewell
from citewell.settings import Settings

engine = Citewell(Settings(data_dir=Path(sys.argv[1]), trace_keep=0, trace_max_age_days=0, embeddings="off"))
print("ready", flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
rounds = removed = 0
while not stop.is_set() or rounds < 5:
    removed += len(engine.runs.prune().removed)
    rounds += 1
print(rounds, removed, flush=True)
engine.close()
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in NOTES.items():
        assert isinstance(text, str)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def engine(tmp_path: Path, vault: Path) -> Iterator[Citewell]:
    opened = Citewell(Settings(data_dir=tmp_path / "data", **HARD))
    add(opened, vault)
    yield opened
    opened.close()


@contextmanager
def pruning(data: Path) -> Iterator[None]:
    """Another process that prunes again and again."""
    process = start_script(PRUNER, str(data))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        said, _ = process.communicate(timeout=60)
    rounds, removed = map(int, said.split())
    assert process.returncode == 0
    assert rounds > 3
    assert removed > 0


def exported(engine: Citewell, run_id: str, target: Path) -> bool:
    """Whether a run could be exported: then the file is whole and plays back; else it is gone, and that is said."""
    try:
        engine.runs.export(run_id, target)
    except CitewellError:
        assert not target.exists()
        return False
    assert zipfile.ZipFile(target).testzip() is None
    assert engine.runs.replay(str(target)).identical
    return True


@pytest.mark.attack("T2")
def test_every_run_ends_well_while_another_process_prunes(engine: Citewell, tmp_path: Path) -> None:
    def ask(number: int) -> tuple[RunResult, bool]:
        result = engine.runs.wait(engine.start(QUESTION))
        return result, exported(engine, result.run_id, tmp_path / f"{number}.zip")

    with pruning(engine.settings.data_dir), ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(ask, range(16)))
    for result, _ in ended:
        assert (result.status, result.answer_status, result.stop_reason) == ("done", "ok", "enough_evidence")
        assert "Josiah Pell" in result.answer
        assert result.warnings == ()
    # Nothing of what was put away is left half: a run is in the list with its trace, or in neither.
    engine.runs.prune()
    listed = {run.run_id for run in engine.runs.latest(100).runs}
    assert {path.name for path in (engine.settings.data_dir / "research-runs").iterdir()} == listed


@pytest.mark.attack("T2")
def test_a_run_under_way_keeps_its_record_and_the_texts_it_cites(tmp_path: Path, engine: Citewell, vault: Path) -> None:
    for _ in range(3):
        engine.runs.wait(engine.start(QUESTION))
    model = Gated()
    with ScriptedModelServer(model) as server:
        chosen = {"model": "openai:test", "model_base_url": server.base_url}
        second = Citewell(Settings(data_dir=engine.settings.data_dir, **{**HARD, **chosen, "trace_keep": 1}))
        run_id = second.start(QUESTION)
        assert server.wait_until_asked()
        with pruning(engine.settings.data_dir):
            (vault / "Lamp.md").write_text("# Lamp\nThe lamp was lit by somebody else.\n", "utf-8")
            add(engine, vault)
            assert second.runs.status(run_id) == "running"
            for _ in range(2):  # so that there is something to remove
                engine.runs.wait(engine.start(QUESTION))
        model.may_write.set()
        result = second.runs.wait(run_id)
        assert result.status == "done"
        assert second.runs.prune().removed == ()
        assert result.citations
        for citation in result.citations:
            (view,) = engine.corpus.get(
                f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
            ).documents
            assert view.text[citation.span.start : citation.span.end] == citation.quote
        assert second.runs.replay(run_id).identical
        second.close()


@pytest.mark.attack("T2")
def test_the_run_of_a_killed_process_is_not_put_away_and_can_be_gone_on_with(engine: Citewell) -> None:
    with ScriptedModelServer(silent()) as server:
        environment = {**os.environ, "CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": server.base_url}
        asked = command(engine.settings.data_dir, "research", QUESTION)
        process = subprocess.Popen(asked, env=environment, stdout=subprocess.DEVNULL)
        assert server.wait_until_asked()
        process.kill()
        process.wait()
    (run,) = engine.runs.latest(9).runs
    assert run.status == "interrupted"
    with pruning(engine.settings.data_dir):
        engine.runs.wait(engine.start(QUESTION))
        engine.runs.wait(engine.start(QUESTION))
    engine.runs.resume(run.run_id, finish=True)
    assert engine.runs.wait(run.run_id).status == "done"


@pytest.mark.attack("T2")
def test_a_run_killed_between_its_trace_and_its_end_is_not_put_away(engine: Citewell) -> None:
    """Its trace is complete, and its record says that somebody who is gone executes it."""
    run_id = engine.start(QUESTION, model="extractive")
    engine.runs.wait(run_id)
    dead = f"{socket.gethostname()}:999999999:1#0"
    with sqlite_runs(engine).database.write() as connection:
        connection.execute("UPDATE runs SET status = 'running', stop_reason = NULL, owner = ?", (dead,))
    second = Citewell(Settings(data_dir=engine.settings.data_dir, **HARD))
    assert second.runs.status(run_id) == "interrupted"
    report = second.runs.prune()
    assert (report.removed, report.skipped_active) == ((), (run_id,))
    second.runs.resume(run_id)
    assert second.runs.wait(run_id).answer_status == "ok"
    second.close()
