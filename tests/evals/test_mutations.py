"""Damage to the engine is noticed by shipped cases: each is named here with what notices it (docs/evals.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import Settings
from citewell.evals.cases import load_cases
from citewell.evals.results import EvalReport
from citewell.evals.suite import SuiteOptions, run_suite
from evals import mutations
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow

CASES = load_cases([Path(__file__).parents[2] / "evals" / "cases"])
NOTICED: dict[Callable[[pytest.MonkeyPatch], None], tuple[str, ...]] = {
    mutations.ranking_weight: ("three-sensors", "rule-three", "big-maggie-everything"),
    mutations.window: ("interconnector-capacity", "selwick-jump", "clockwork-weight"),
    mutations.answer_gate: ("front-door-colour", "hub-height", "captains-name"),
    mutations.answer_gate_shut: ("first-lighting", "harvest-2023"),
    mutations.wording_open: ("first-lighting",),
    mutations.wording_shut: ("first-lighting",),
}
BY_A_MODEL = ("why-driftlog",)
WORDS = re.compile(r"\w{4,}")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(data_dir=tmp_path_factory.mktemp("mutations"), embeddings="off")


def asked(settings: Settings, names: Sequence[str]) -> EvalReport:
    files = [replace(file, cases=tuple(one for one in file.cases if one.case.id in names)) for file in CASES]
    assert sum(len(file.cases) for file in files) == len(names)
    *_, report = run_suite(files, settings, SuiteOptions(with_planner=False))
    assert isinstance(report, EvalReport)
    return report


@pytest.mark.parametrize("damage", NOTICED, ids=lambda damage: damage.__name__)
def test_damage_is_noticed(
    damage: Callable[[pytest.MonkeyPatch], None], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = NOTICED[damage]
    assert asked(settings, names).failed == 0
    damage(monkeypatch)
    assert {case.id for case in asked(settings, names).cases if case.status == "failed"} == {*names}


def literal(request: ModelRequest) -> Reply:
    """A model that does as it is told: told to stay with the evidence it copies from it, else it says what it likes."""
    if "Say only what the evidence says" not in request.prompt:
        return says("It is widely known that this depends on the weather.")
    lines = re.findall(r"^(⟦\d+\.\d+⟧) (.*\S)$", request.prompt, re.MULTILINE)
    question = set(WORDS.findall(request.prompt.split("⟦1⟧")[0].rpartition("Question")[2].casefold()))
    mark, text = max(lines, key=lambda line: len(question & set(WORDS.findall(line[1].casefold()))))
    return says(f"{text.rstrip('.')} {mark}.")


def test_a_prompt_without_its_rules_is_noticed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModelServer(literal) as server:
        with_model = replace(settings, model="openai:test", model_base_url=server.base_url, judge="off")
        before = asked(with_model, BY_A_MODEL)
        mutations.prompt_without_rules(monkeypatch)
        after = asked(with_model, BY_A_MODEL)
    assert [(case.id, case.arms[0].failures) for case in before.cases if case.status == "failed"] == []
    assert {case.id for case in after.cases if case.status == "failed"} == {*BY_A_MODEL}
