"""Claims that keep nearly the wording of their passage: hardly a false one is called supported, most true ones are."""

from __future__ import annotations

from pathlib import Path

from citewell.evals.verifier import measure_verifier, read_pairs

NEAR = Path(__file__).parents[2] / "evals" / "claims" / "near_wording.jsonl"


def test_of_claims_near_the_wording_hardly_a_false_one_is_supported_and_most_true_ones_are() -> None:
    called = measure_verifier(read_pairs(NEAR)).called
    false, true = called["refuted"], called["supported"]
    assert false["supported"] <= 0.01 * sum(false.values())
    assert true["supported"] >= 0.75 * sum(true.values())
    assert not true["contradicted"]
