"""`citewell research` with a model: exit codes, the one JSON document, what a person reads, what it costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import json_schema
from runner.scripted_runs import GOOD, PRICES, plans, writes
from runner.test_runs import NOTES
from support.model_script import Script, fails, says, stalls
from support.model_server import ScriptedModelServer, refused_url
from surfaces.test_cli import Program, closed

QUESTION = "Who lit the lamp?"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("models")
    (folder / "vault").mkdir()
    for name, text in NOTES.items():
        (folder / "vault" / name).write_text(str(text), "utf-8")
    program = Program(folder)
    program.json("add", str(folder / "vault"))
    return program


def research(
    corpus: Program, script: Script, *options: str, url: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    with ScriptedModelServer(script) as server:
        return corpus.run(
            *("research", QUESTION, *options),
            CITEWELL_MODEL="openai:test",
            CITEWELL_MODEL_BASE_URL=url or server.base_url,
            CITEWELL_JUDGE="off",
            **environment,
        )


def document(done: subprocess.CompletedProcess[str]) -> Any:
    found = json.loads(done.stdout)
    jsonschema.validate(found, closed(json_schema("error" if "error" in found else "research")))
    return found


def test_an_answer_names_who_wrote_it_and_what_it_cost(corpus: Program) -> None:
    done = research(corpus, writes(GOOD), "--max-cost", "50", CITEWELL_PRICES=PRICES)
    assert done.returncode == 0, done.stderr
    assert "Josiah Pell lit the lamp on 14 November 1859. [1]" in done.stdout
    assert "openai:test" in done.stdout
    assert "1 model calls, 18 tokens, 0.0180 USD" in done.stdout


def test_the_json_document_has_calls_and_cost(corpus: Program) -> None:
    found = document(research(corpus, plans("{}"), "--planner", "--json"))
    assert (found["provider"], found["model"], found["tool"]) == ("openai", "test", "model")
    assert [call["purpose"] for call in found["metrics"]["calls"]] == ["plan", "write"]
    assert found["metrics"]["cost_usd"] == 0.0


def test_the_model_can_be_chosen_for_one_question(corpus: Program) -> None:
    with ScriptedModelServer(says("never")) as server:
        done = corpus.run("research", QUESTION, "--model", "extractive", CITEWELL_MODEL_BASE_URL=server.base_url)
    assert (done.returncode, server.requests) == (0, [])


@pytest.mark.parametrize(
    ("script", "code", "status"),
    [
        (fails(401, "bad key", code="invalid_api_key"), 4, "unavailable"),
        (fails(500, "oops"), 1, "error"),
        (says("Pell lit the lamp [99]."), 1, "error"),
        (says("I'm sorry, I can't help with that."), 1, "error"),
    ],
    ids=["wrong key", "5xx", "citation out of range", "refusal"],
)
def test_a_failure_has_its_exit_code_and_still_prints_the_run(
    corpus: Program, script: Script, code: int, status: str
) -> None:
    done = research(corpus, script, "--json")
    found = document(done)
    assert (done.returncode, found["answer_status"]) == (code, status)
    # Where no model can be reached, what was found is quoted instead.
    assert ("Josiah Pell" in found["answer"]) == (status == "unavailable")
    assert found["pack"]["evidence"]
    assert found["metrics"]["model_calls"] >= 1


def test_a_person_sees_why_what_to_do_and_the_evidence(corpus: Program) -> None:
    done = research(corpus, (), url=refused_url())
    assert done.returncode == 4
    assert "No answer was written" in done.stdout
    assert "Quoted from what you saved instead:" in done.stdout
    assert "lit by Josiah Pell" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_rejected_answer_is_not_printed_and_the_evidence_is(corpus: Program) -> None:
    done = research(corpus, says("Pell ate the lamp [99]."))
    assert done.returncode == 1
    assert "failed verification (marks_in_evidence" in done.stdout
    assert "ate the lamp" not in done.stdout
    assert "lit by Josiah Pell" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("--model", "qwen"), {}, "provider"),
        (("--model", "nobody:x"), {}, "nobody"),
        (("--max-cost", "-1"), {}, "--max-cost"),
        (("--planner", "--model", "extractive"), {}, "--planner-model"),
        (("--planner-timeout", "0"), {}, "between 1 and 600"),
        ((), {"CITEWELL_PRICES": "cheap"}, "CITEWELL_PRICES"),
        ((), {"CITEWELL_MAX_OUTPUT_TOKENS": "0"}, "CITEWELL_MAX_OUTPUT_TOKENS"),
        (("--model", "openai:x", "--max-cost", "1"), {"CITEWELL_MODEL_BASE_URL": "https://m.example/v1"}, "price"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(
    corpus: Program, arguments: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    environment = {"CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": refused_url(), **environment}
    done = corpus.run("research", QUESTION, *arguments, **environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr


def test_the_ceiling_stops_the_run_with_an_answer_marked_incomplete(corpus: Program) -> None:
    done = research(corpus, writes(GOOD), "--max-cost", "0.1", "--json", CITEWELL_PRICES=PRICES)
    found = document(done)
    assert (done.returncode, found["stop_reason"], found["tool"]) == (0, "cost_limit_reached", "extractive")
    assert "incomplete" in found["answer_warnings"]
    assert found["metrics"]["cost_usd"] == 0.0


@pytest.fixture
def stalled() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(stalls("Josiah Pell lit")) as server:
        yield server


def test_ctrl_c_while_the_model_writes_leaves_a_run_that_can_be_resumed(
    corpus: Program, stalled: ScriptedModelServer
) -> None:
    environment = {**os.environ, "CITEWELL_MODEL": "openai:test", "CITEWELL_MODEL_BASE_URL": stalled.base_url}
    command = [sys.executable, "-m", "citewell", "--data-dir", str(corpus.data), "research", QUESTION]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert stalled.wait_until_asked()
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    run_id = errors.split("runs resume ")[1].split("'")[0]
    with ScriptedModelServer(writes(GOOD)) as server:
        done = corpus.run(
            "runs", "resume", run_id, CITEWELL_MODEL="openai:test", CITEWELL_MODEL_BASE_URL=server.base_url
        )
    assert done.returncode == 0, done.stderr
    assert "Josiah Pell lit the lamp" in done.stdout
    assert corpus.run("runs", "replay", run_id).returncode == 0


def test_the_trace_tells_what_was_asked_of_the_planner(corpus: Program, tmp_path: Path) -> None:
    found = document(research(corpus, plans("{}"), "--planner", "--json"))
    trace = corpus.data / found["trace_path"]
    assert "You do not answer the question" in (trace / "planner-input.md").read_text("utf-8")
    assert "asked openai:test to plan" in (trace / "run.md").read_text("utf-8")
