"""Labelled claims: by wording alone no false one is supported and no true one contradicted, on any of the sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.evals.verifier import SHIPPED_CLAIMS, measure_verifier, read_pairs

CLAIMS = Path(__file__).parents[2] / "evals" / "claims"
SETS = (CLAIMS / "near_wording.jsonl", SHIPPED_CLAIMS, CLAIMS / "fluent.jsonl")


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_the_wording_approves_nothing_false_and_removes_nothing_true(path: Path) -> None:
    called = measure_verifier(read_pairs(path)).called
    assert called["refuted"]["supported"] == called["unsupported"]["supported"] == 0
    assert called["supported"]["contradicted"] == called["supported"]["partial"] == 0


def test_of_what_is_nearly_the_wording_some_is_decided() -> None:
    called = measure_verifier(read_pairs(CLAIMS / "near_wording.jsonl")).called
    assert called["supported"]["supported"] >= 6
    assert called["refuted"]["contradicted"] >= 27
