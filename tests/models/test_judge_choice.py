"""Which judge and reader are used, and what `doctor` says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citewell import Check, Citewell, Settings
from citewell.models import entailment
from support.toy_models import write_judge, write_reader


def checks(tmp_path: Path, **values: Any) -> dict[str, Check]:
    report = Citewell(Settings(data_dir=tmp_path / "data", **values)).doctor()
    return {check.name: check for check in report.checks if check.name in ("judge", "reader of answers")}


def test_off_and_builtin_without_weights_are_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entailment, "BUILTIN_JUDGE", tmp_path / "none")
    monkeypatch.setattr(entailment, "BUILTIN_READER", tmp_path / "none")
    engine = Citewell(Settings(data_dir=tmp_path))
    assert (engine.judge, engine.reader) == (None, None)
    found = checks(tmp_path)
    assert {check.state for check in found.values()} == {"ok"}
    assert "the model that writes reads each sentence it wrote" in found["judge"].detail
    assert checks(tmp_path, judge="off")["judge"].detail == "off: sentences are not judged"


def test_builtin_is_what_came_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entailment, "BUILTIN_JUDGE", write_judge(tmp_path / "judge_int8", {"yes": (1.0, 0.0)}, None))
    found = Citewell(Settings(data_dir=tmp_path)).judge
    assert found is not None
    assert found.name == "judge_int8"


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
    assert found["judge"].detail.endswith("Sentences are not judged.")
    assert "CITEWELL_JUDGE=off" in found["judge"].fix
