"""`doctor` on models: where each is, whether it answers, its key, its price, and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citewell import Check, Citewell, Settings
from support.model_server import ScriptedModelServer, refused_url


def checks(tmp_path: Path, **values: Any) -> dict[str, Check]:
    report = Citewell(Settings(data_dir=tmp_path, **values)).doctor()
    return {check.name: check for check in report.checks if check.name.startswith(("model", "planner", "network"))}


def test_without_a_model_nothing_is_asked(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert found["model"].state == "ok"
    assert "never used" in found["network"].detail


@pytest.mark.parametrize("model", ["openai:test", "anthropic:test", "ollama:test"])
def test_a_local_model_that_answers_is_well(tmp_path: Path, model: str) -> None:
    with ScriptedModelServer() as server:
        found = checks(tmp_path, model=model, model_base_url=server.base_url)
    states = {name: check.state for name, check in found.items()}
    assert states == {"model": "ok", "model: price": "ok", "network": "ok"}
    assert "(local)" in found["model"].detail


def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with ScriptedModelServer() as server:
        found = checks(tmp_path, model="ollama:qwen3:8b", ollama_url=server.origin)
    assert found["model"].state == "error"
    assert "ollama pull qwen3:8b" in found["model"].fix


def test_a_server_that_is_not_there_says_how_to_start_it(tmp_path: Path) -> None:
    found = checks(tmp_path, planner_model="ollama:x", ollama_url=refused_url())
    assert found["planner model"].state == "error"
    assert "ollama serve" in found["planner model"].fix


def test_a_wrong_key_is_told_and_not_shown(tmp_path: Path) -> None:
    with ScriptedModelServer(key="right") as server:
        found = checks(tmp_path, model="openai:test", openai_url=server.base_url, model_api_key="wrong-key-1")
        right = checks(tmp_path, model="openai:test", openai_url=server.base_url, model_api_key="right")
    assert right["model"].state == "ok"
    assert found["model"].state == "error"
    assert "CITEWELL_MODEL_API_KEY" in found["model"].fix
    assert "wrong-key-1" not in str(found)


def test_a_name_nobody_knows_is_an_error_with_the_list(tmp_path: Path) -> None:
    found = checks(tmp_path, model="acme:large")
    assert found["model"].state == "error"
    assert "ollama" in found["model"].fix


def test_a_key_of_another_provider_is_a_warning(tmp_path: Path) -> None:
    with ScriptedModelServer() as server:
        chosen = {"model": "openai:test", "planner_model": "ollama:test", "model_api_key": "k"}
        found = checks(tmp_path, **chosen, model_base_url=server.base_url)
    assert found["model: key"].state == "ok"
    assert found["planner model: key"].state == "warning"
