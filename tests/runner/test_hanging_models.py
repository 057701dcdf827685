"""A model that hangs is not waited for once a person wants the answer, or the end: from this process or another."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import pytest

from citewell import AddReport, Citewell, RunResult, Settings
from citewell.runs.run import Control
from citewell.store.sqlite import fetch_value
from conftest import sqlite_runs
from durability.programs import command, run
from runner.scripted_runs import QUESTION
from runner.test_runs import NOTES
from support.model_script import Reply, silent, stalls
from support.model_server import ScriptedModelServer

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
Role = Literal["writer", "planner"]
# What a person is promised, on the run's own clock.
PROMISED_SECONDS = 2.0
# From the request in the store to the end in the store, with room for a machine that is busy with other things.
SLACK_SECONDS = 6.0


@pytest.fixture
def data(vault: Write, add_path: AddPath, engine: Citewell) -> Path:
    add_path(vault(NOTES))
    engine.close()
    return engine.settings.data_dir


@contextmanager
def opened(data: Path, **settings: str) -> Iterator[Citewell]:
    engine = Citewell(Settings(data_dir=data, **settings))  # type: ignore[arg-type]
    try:
        yield engine
    finally:
        engine.close()


def assert_prompt(engine: Citewell, run_id: str, control: Control) -> RunResult:
    """The run ended in time, counted from the request to the end; its record replays to the same bytes."""
    assert engine.runs.replay(run_id).identical
    events = engine.run_store.checked_events(run_id)
    finished = next(event for event in events if event.kind == "run_finished")
    (seen,) = [event for event in events if event.body.get("kind") == "control"]
    assert seen.body["observation"] == {"control": control}
    result = engine.runs.result(run_id)
    assert result.metrics.seconds - seen.body["elapsed"] < PROMISED_SECONDS
    with sqlite_runs(engine).database.read() as reader:
        asked = fetch_value(reader, "SELECT at FROM controls WHERE run_id = ? AND control = ?", (run_id, control))
    took = (datetime.fromisoformat(finished.at) - datetime.fromisoformat(str(asked))).total_seconds()
    print(f"{control}: {took:.3f} s from the request to the end")
    assert took < SLACK_SECONDS
    return result


def assert_quoted(result: RunResult) -> None:
    """Quoted from the evidence found, and said to be not all."""
    assert (result.status, result.answer_status, result.tool) == ("done", "ok", "extractive")
    assert {"incomplete", "extractive"} <= set(result.answer_warnings)
    assert "Josiah Pell" in result.answer
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}


def assert_cancelled(result: RunResult, *, has_evidence: bool) -> None:
    assert (result.status, result.stop_reason, result.answer) == ("cancelled", "cancelled", "")
    assert "no_evidence" not in (result.answer_status, *result.answer_warnings)
    assert "incomplete" in result.answer_warnings
    assert bool(result.pack and result.pack.evidence) == has_evidence


HANGING = [silent(), stalls("Josiah Pell lit the lamp [1.1]. And th")]


@pytest.mark.parametrize("reply", HANGING, ids=["silent", "stalls"])
@pytest.mark.parametrize("role", ["writer", "planner"])
@pytest.mark.parametrize("control", ["finish", "cancel"])
def test_a_person_who_asks_does_not_wait_for_a_model(data: Path, control: Control, role: Role, reply: Reply) -> None:
    with ScriptedModelServer(reply) as server, opened(data, model_base_url=server.base_url) as engine:
        models = {"model": "openai:test"} if role == "writer" else {"planner_model": "openai:test"}
        # Vague enough that a planner is worth asking.
        question = QUESTION if role == "writer" else "How did they come to keep the lamp lit through the long winter?"
        run_id = engine.start(question, **models)
        assert server.wait_until_asked()
        engine.runs.control(run_id, control)
        engine.runs.wait(run_id, timeout=60)
        result = assert_prompt(engine, run_id, control)
        assert server.wait_until_left(), "the connection to the model was closed"
    if control == "cancel":
        assert_cancelled(result, has_evidence=role == "writer")
    elif role == "writer":
        assert_quoted(result)
    else:
        assert result.status == "done"
        assert "incomplete" in result.answer_warnings
        assert result.flow.retrieved


@pytest.mark.slow
@pytest.mark.parametrize("control", ["finish", "cancel"])
def test_a_person_in_another_process_does_not_wait_for_a_model_either(data: Path, control: Control) -> None:
    with ScriptedModelServer(HANGING[1]) as server:
        env = {**os.environ, "CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": server.base_url}
        executing = subprocess.Popen(
            command(data, "research", QUESTION, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        assert server.wait_until_asked()
        with opened(data) as engine:
            (running,) = engine.runs.latest(10).runs
            assert running.status == "running"
            asked = run(data, "runs", control, running.run_id)
            assert asked.returncode == 0, asked.stderr
            said, _ = executing.communicate(timeout=60)
            result = assert_prompt(engine, running.run_id, control)
    assert json.loads(said)["run_id"] == running.run_id
    if control == "cancel":
        assert_cancelled(result, has_evidence=True)
        assert executing.returncode == 130
    else:
        assert_quoted(result)
        assert executing.returncode == 0
