"""The real model, end to end on this machine. Skipped where `citewell[semantic]` or its weights are not installed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from citewell import Unavailable
from citewell.models.minilm import INSTALL, MiniLm, open_minilm, weights_folder
from durability.programs import opened, run, start

pytestmark = pytest.mark.slow


def _is_installed() -> bool:
    try:
        weights_folder()
    except Unavailable:
        return False
    return True


needs_model = pytest.mark.skipif(not _is_installed(), reason=f"the semantic lane is not installed: {INSTALL}")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> MiniLm:
    return open_minilm("", tmp_path_factory.mktemp("models"))


@needs_model
def test_vectors_have_length_one_and_know_synonyms(model: MiniLm) -> None:
    vectors = model.encode_passages(["a car", "an automobile", "kelp in the sea", ""])
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > 0.4 > vectors[0] @ vectors[2]


@needs_model
def test_a_text_has_the_same_vector_whatever_stands_beside_it(model: MiniLm) -> None:
    alone = model.encode_passages(["tide gauge calibration"])[0]
    beside = model.encode_passages(["x " * 2_000, "tide gauge calibration"])[1]
    assert alone.tobytes() == beside.tobytes()


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as error:
        open_minilm(str(tmp_path), tmp_path / "models")
    assert str(tmp_path) in error.value.message or INSTALL in error.value.fix


@needs_model
@pytest.mark.slow
def test_car_finds_automobile_and_a_killed_encoding_goes_on(tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    (vault / "garage.md").write_text("# Garage\n\nThe automobile needs new tyres.\n")
    for number in range(150):
        text = f"Kelp line {number} hangs at {number} metres below the harbour wall. " * 30
        (vault / f"n{number:03}.md").write_text(f"# Line {number}\n\n{text}\n")
    assert run(data, "add", str(vault)).returncode == 0
    process = start(data, "embed")
    with opened(data) as engine:
        while engine.store.vectors.coverage().encoded < 32:
            assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with opened(data) as engine:
        before = engine.store.vectors.coverage()
        assert before.encoded
        assert before.left
        assert not engine.store.check_integrity()
    assert run(data, "embed").returncode == 0
    with opened(data) as engine:
        assert engine.store.vectors.coverage().left == 0
        assert not engine.search("car", mode="lexical").results
        assert engine.search("car", mode="hybrid").results[0].source_key == "note:vault/garage"
