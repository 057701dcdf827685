"""`citewell models`: listed, fetched from a loopback host that serves a real model folder, used, measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citewell.cli.main import EXIT_NOT_FOUND, EXIT_UNAVAILABLE, run
from citewell.models.download import CatalogueModel, catalogue
from support.model_host import ModelHost
from support.toy_models import write_judge

# A model whose files the catalogue knows no hash of, so that any folder can stand in for it.
NAME = "nli-deberta-v3-xsmall"
PAIRS = [
    {"claim": "The lamp was lit.", "evidence": "Yes, the lamp was lit.", "label": "supported"},
    {"claim": "The oil came by sea.", "evidence": "Yes, by sea.", "label": "supported"},
    {"claim": "The lamp was sold.", "evidence": "No, it never was.", "label": "refuted"},
    {"claim": "Agnes has a boat.", "evidence": "The tower is white.", "label": "unsupported"},
]


def served(folder: Path, model: CatalogueModel) -> dict[str, bytes]:
    """A folder as the host of a model has it."""
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64}', "utf-8")
    return {
        f"/{model.repository}/resolve/{model.revision}/{file.remote}": (folder / file.path).read_bytes()
        for file in model.files
    }


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    weights = {"yes": (6.0, 0.0, 0.0), "no": (0.0, 0.0, 6.0), "never": (0.0, 0.0, 6.0)}
    return write_judge(tmp_path / "toy", weights, bias=(0.0, 3.0, 0.0))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS), "utf-8")
    return path


def call(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON document of one command line."""
    capsys.readouterr()
    code = run(["--data-dir", str(tmp_path / "data"), *arguments, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


def test_the_catalogue_is_listed_with_licence_size_and_published_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = call(tmp_path, capsys, "models", "list")
    assert code == 0
    assert [one["name"] for one in found["models"]] == list(catalogue())
    for one in found["models"]:
        assert one["licence"]
        assert one["megabytes"] > 0
        assert one["published"]
        assert not one["is_fetched"]
    assert run(["--data-dir", str(tmp_path), "models", "list"]) == 0
    assert "as its authors say" in capsys.readouterr().out


def test_a_model_is_fetched_named_and_measured(
    tmp_path: Path, toy: Path, pairs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelHost(served(toy, catalogue()[NAME])) as host:
        monkeypatch.setenv("CITEWELL_MODELS_URL", host.url)
        code, report = call(tmp_path, capsys, "models", "get", NAME)
        assert code == 0
        assert len(host.asked) == 4
        _, again = call(tmp_path, capsys, "models", "get", NAME)
        assert again["fetched_bytes"] == 0
        assert len(host.asked) == 4
    folder = tmp_path / "data" / "models" / NAME
    assert report["setting"] == f"CITEWELL_JUDGE={folder}"
    monkeypatch.setenv("CITEWELL_JUDGE", NAME)
    _, listed = call(tmp_path, capsys, "models", "list")
    assert [one["name"] for one in listed["models"] if one["is_fetched"] and one["is_used"]] == [NAME]
    _, checked = call(tmp_path, capsys, "models", "check", str(pairs))
    assert (checked["judge"], checked["n"]) == (NAME, 4)
    assert checked["auroc"] == {"refuted": 1.0, "unsupported": 1.0}
    assert checked["called"] == {
        "supported": {"entails": 2, "neutral": 0, "contradicts": 0},
        "unsupported": {"entails": 0, "neutral": 1, "contradicts": 0},
        "refuted": {"entails": 0, "neutral": 0, "contradicts": 1},
    }
    assert checked["pairs_per_second"] > 0
    _, doctor = call(tmp_path, capsys, "doctor")
    (judge,) = [check for check in doctor["checks"] if check["name"] == "judge"]
    assert judge["state"] == "ok"
    assert "reads 64 tokens" in judge["detail"]


def test_offline_the_way_out_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelHost({}) as host:
        monkeypatch.setenv("CITEWELL_MODELS_URL", host.url)
    code, found = call(tmp_path, capsys, "models", "get", NAME)
    assert code == EXIT_UNAVAILABLE
    assert "CITEWELL_MODELS_URL" in found["error"]["fix"]
    assert "fetch the folder elsewhere" in found["error"]["fix"]
    code, found = call(tmp_path, capsys, "models", "get", "gpt-9")
    assert code == EXIT_NOT_FOUND
    assert NAME in found["error"]["fix"]


def test_the_verifier_is_measured_with_and_without_a_judge(
    tmp_path: Path, toy: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = call(tmp_path, capsys, "bench-verifier", str(pairs), "--judge", str(toy))
    assert found["judge"] == "toy"
    assert found["pairs_per_second"] > 0
    _, without = call(tmp_path, capsys, "bench-verifier", str(pairs), "--judge", "off")
    assert without["judge"] == ""
    for report in (found, without):
        assert report["called"].keys() == {"supported", "unsupported", "refuted"}
        assert {len(verdicts) for verdicts in report["called"].values()} == {len(report["called"]["supported"])}
        assert {"supported", "partial", "unsupported", "not_a_claim"} <= report["called"]["refuted"].keys()
        assert {label: sum(verdicts.values()) for label, verdicts in report["called"].items()} == {
            "supported": 2,
            "unsupported": 1,
            "refuted": 1,
        }
    code, broken = call(tmp_path, capsys, "bench-verifier", str(pairs), "--judge", str(tmp_path / "nowhere"))
    assert code == EXIT_UNAVAILABLE
    assert "has no model.onnx" in broken["error"]["message"]
    code, _ = call(tmp_path, capsys, "models", "check", str(pairs), "--judge", "off")
    assert code == 2
