"""A ceiling for all runs of a day: it holds over runs, and a run at it is like one at its own ceiling."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Citewell, Settings, SummaryReport
from citewell.flows.play import egress_of
from support.model_script import ModelRequest, Reply, says, silent
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow

QUESTION = "Who lit the lamp of the Orrin Head Light?"
NOTES = {
    "Lamp.md": "# Lamp\n\nThe lamp of the Orrin Head Light was lit by Josiah Pell in 1859.\n",
    "Oil.md": "# Orrin Head Light\n\nWho lit the lamp of the Orrin Head Light?\n",
}
# What every call of the scripted model costs, at a dollar for a thousand tokens.
COST = 1.5
LIMIT = 20.0


def script(request: ModelRequest) -> Reply:
    return replace(says("The lamp was lit by Josiah Pell in 1859 [1.1]."), usage=(1_000, 500))


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(script) as server:
        yield server


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    with Citewell(tmp_path / "data", embeddings="off") as cw:
        cw.add(folder)
    return folder


def settings_of(model: ScriptedModelServer) -> dict[str, Any]:
    chosen = {"embeddings": "off", "judge": "off", "reader": "off", "max_output_tokens": 1_000}
    return {"model": "openai:test", "model_base_url": model.base_url, "prices": "openai:test=1000/1000", **chosen}


@pytest.fixture
def opened(tmp_path: Path, vault: Path, model: ScriptedModelServer) -> Iterator[Callable[..., Citewell]]:
    engines: list[Citewell] = []

    def opening(limit: float = LIMIT, clock: Any = None, **more: Any) -> Citewell:
        chosen = {**settings_of(model), "max_cost_usd_day": limit, **more}
        engines.append(Citewell(Settings(tmp_path / "data", **chosen), clock))
        return engines[-1]

    yield opening
    for engine in engines:
        engine.close()


def test_twenty_runs_of_two_engines_spend_no_more_than_the_day_has(
    opened: Callable[..., Citewell], model: ScriptedModelServer
) -> None:
    engines = [opened(), opened()]

    def ask(number: int) -> Any:
        engine = engines[number % 2]
        return engine.runs.wait(engine.start(QUESTION))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(20)))
    spent = sum(result.metrics.cost_usd or 0.0 for result in results)
    assert spent == COST * len(model.requests)
    assert 0 < spent <= LIMIT
    quoted = [result for result in results if result.stop_reason == "cost_limit_reached"]
    assert len(quoted) == 20 - len(model.requests)
    for result in quoted:
        assert (result.status, result.answer_status, result.tool) == ("done", "ok", "extractive")
        assert "incomplete" in result.answer_warnings
        assert "day_limit_reached" in result.warnings
        assert "Josiah Pell" in result.answer


def test_the_run_says_which_limit_it_is_and_when_it_starts_again(
    opened: Callable[..., Citewell], model: ScriptedModelServer
) -> None:
    engine = opened(limit=0.01)
    run_id = engine.start(QUESTION)
    engine.runs.wait(run_id)
    (told,) = [one.data["of_day"] for one in engine.runs.decisions(run_id) if one.name == "cost_limit_reached"]
    assert "The day's limit of 0.01 USD" in told
    assert "starts again at 00:00 UTC on " in told
    assert model.requests == []
    # Nothing left, and replaying asks neither the model nor the day.
    assert egress_of(engine.runs.events(run_id)).entries == ()
    engine.close()
    assert opened(limit=0.0).runs.replay(run_id).identical


def test_the_next_day_has_its_own_limit(opened: Callable[..., Citewell], model: ScriptedModelServer) -> None:
    class Tomorrow:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def now(self) -> str:
            return f"2999-01-01{self._inner.now()[10:]}"

        def monotonic(self) -> float:
            return float(self._inner.monotonic())

    def cost(engine: Citewell) -> float | None:
        return engine.runs.wait(engine.start(QUESTION)).metrics.cost_usd

    today = opened(limit=4.0)
    assert [cost(today), cost(today), cost(today)] == [COST, COST, 0.0]
    tomorrow = opened(limit=4.0, clock=Tomorrow(today.clock))
    assert cost(tomorrow) == COST


def test_at_the_limit_a_note_and_a_report_are_quoted(
    opened: Callable[..., Citewell], model: ScriptedModelServer, vault: Path, tmp_path: Path
) -> None:
    result = opened(limit=0.01).note("Oil.md", depth="deep")
    assert (result.changed, "day_limit_reached" in result.warnings) == (True, True)
    assert "“The lamp of the Orrin Head Light was lit by Josiah Pell in 1859.” — [[Lamp]]" in (
        vault / "Oil.md"
    ).read_text("utf-8")
    with Citewell(tmp_path / "data", **settings_of(model), max_cost_usd_day=0.01) as cw:
        report = cw.report(QUESTION)
    assert (report.stop_reason, report.model) == ("cost_limit_reached", "extractive")
    assert report.report is not None
    assert model.requests == []


def test_a_note_whose_topics_a_model_named_is_quoted_where_the_day_ends_before_it_writes(
    opened: Callable[..., Citewell], tmp_path: Path, vault: Path
) -> None:
    topics = json.dumps([{"topic": "Orrin Head Light lamp lit", "context": "", "type": "question"}])
    with ScriptedModelServer([replace(says(topics), usage=(2_900, 1_000))]) as server:
        result = opened(limit=4.0, model_base_url=server.base_url).note("Oil.md")
        assert len(server.requests) == 1
    assert (result.changed, "day_limit_reached" in result.warnings) == (True, True)


def test_summaries_stop_at_the_limit(opened: Callable[..., Citewell], model: ScriptedModelServer) -> None:
    *_, report = opened(limit=1.8).corpus.summarize(model="openai:test", max_cost_usd=100.0)
    assert isinstance(report, SummaryReport)
    assert (report.stopped, report.documents, len(model.requests)) == ("cost_limit_reached", 1, 1)
    assert "The day's limit of 1.8 USD" in report.failed[0][1]


def test_a_model_whose_price_is_not_known_is_not_started(opened: Callable[..., Citewell]) -> None:
    engine = opened(prices="", model="openai:nobody-knows-this", model_base_url="https://models.example/v1")
    with pytest.raises(BadInput, match="price of openai:nobody-knows-this is not known"):
        engine.start(QUESTION)


def test_what_a_killed_process_had_reserved_counts_for_the_day(
    opened: Callable[..., Citewell], vault: Path, tmp_path: Path
) -> None:
    with ScriptedModelServer(silent()) as hanging:
        set_to = {f"CITEWELL_{name.upper()}": str(value) for name, value in settings_of(hanging).items()}
        command = [sys.executable, "-m", "citewell", "--data-dir", str(tmp_path / "data"), "research", QUESTION]
        environment = {**set_to, "CITEWELL_MAX_COST_USD_DAY": "2", "PATH": "/usr/bin:/bin"}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        assert hanging.wait_until_asked()
        process.kill()
        process.wait()
    engine = opened(limit=2.0)
    assert engine.runs.wait(engine.start(QUESTION)).stop_reason == "cost_limit_reached"


def test_a_person_is_told_at_the_terminal_and_by_doctor(vault: Path, model: ScriptedModelServer) -> None:
    data = vault.parent / "data"
    set_to = {f"CITEWELL_{name.upper()}": str(value) for name, value in settings_of(model).items()}

    def citewell(*arguments: str, limit: str) -> str:
        command = [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]
        environment = {**set_to, "CITEWELL_MAX_COST_USD_DAY": limit, "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120).stdout

    assert "Josiah Pell" in citewell("research", QUESTION, limit="5")
    assert len(model.requests) == 1
    told = " ".join(citewell("research", QUESTION, limit="2").split())
    assert "CITEWELL_MAX_COST_USD_DAY) is reached; it starts again at 00:00 UTC" in told
    checks = {one["name"]: one["detail"] for one in json.loads(citewell("doctor", "--json", limit="5"))["checks"]}
    assert checks["models: spent today"].startswith("1.5 of 5 USD on ")
