"""Which judge and reader are used, and what `doctor` says of them; a search loads nothing of either."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell.app import Engine
from citewell.domain.library import Check
from citewell.models import judges
from citewell.settings import Settings
from support.toy_models import write_judge, write_reader


def checks(tmp_path: Path, **values: Any) -> dict[str, Check]:
    report = Engine(Settings(data_dir=tmp_path / "data", **values)).doctor()
    return {check.name: check for check in report.checks if check.name in ("judge", "reader of answers")}


def test_off_and_builtin_without_weights_are_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "BUILTIN_JUDGE", tmp_path / "none")
    monkeypatch.setattr(judges, "BUILTIN_READER", tmp_path / "none")
    engine = Engine(Settings(data_dir=tmp_path))
    assert (engine.judge, engine.reader) == (None, None)
    found = checks(tmp_path)
    assert {check.state for check in found.values()} == {"ok"}
    assert found["judge"].detail == "none is built in: sentences are checked by rules alone"
    assert checks(tmp_path, judge="off")["judge"].detail == "off: sentences are checked by rules alone"


def test_builtin_is_what_came_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "BUILTIN_JUDGE", write_judge(tmp_path / "judge_int8", {"yes": (1.0, 0.0)}, None))
    judge = Engine(Settings(data_dir=tmp_path)).judge
    assert judge is not None
    assert judge.name == "judge_int8"


def test_a_folder_or_the_name_of_a_fetched_model_is_opened(tmp_path: Path) -> None:
    fetched = write_judge(tmp_path / "data" / "models" / "small-judge", {"yes": (1.0, 0.0, 0.0)})
    reader = write_reader(tmp_path / "reader", {"pell": (1.0, 1.0)})
    for named in (str(fetched), "small-judge"):
        found = checks(tmp_path, judge=named, reader=str(reader))
        assert found["judge"].detail == "small-judge: tells entails, neutral, contradicts; reads 512 tokens"
        assert found["reader of answers"].detail == "reader: finds answers; reads 512 tokens"


def test_a_folder_that_cannot_be_used_is_a_warning_with_the_way_out(tmp_path: Path) -> None:
    found = checks(tmp_path, judge=str(tmp_path / "nowhere"), reader=str(tmp_path / "nowhere"))
    for check in found.values():
        assert check.state == "warning"
        assert "has no model.onnx" in check.detail
        assert "by rules alone" in check.detail
    assert "CITEWELL_JUDGE=off" in found["judge"].fix


def test_a_search_loads_nothing_of_judge_reader_and_servers(tmp_path: Path) -> None:
    """Not even where a folder is named: only a run that has something to ask opens it."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Lamp.md").write_text("# Lamp\nLit by Pell.", "utf-8")
    engine = Engine(Settings(data_dir=tmp_path / "data", embeddings="off"))
    for _ in engine.add(tmp_path / "vault"):
        pass
    engine.close()
    arguments = ["--data-dir", str(tmp_path / "data"), "search", "lamp", "--mode", "lexical", "--json"]
    ours = [f"citewell.models.{name}" for name in ("judges", "onnx_folder", "entailment", "span_reader", "classes")]
    never = [
        "onnxruntime",
        "tokenizers",
        "mcp",
        "mcp_types",
        "starlette",
        "pydantic",
        "citewell.surfaces.mcp",
        "citewell.domain.answers",
        "citewell.synthesis.judging",
        *ours,
    ]
    program = (
        "import sys; from citewell.surfaces.cli.main import run\n"
        f"assert run({arguments}) == 0\n"
        f"print([name for name in {never} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
