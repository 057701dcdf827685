"""Fits the coefficients of `check/claim.py` anew and prints them.

On the first half of the experts' claims and, at a twentieth of their weight, on the first half of the built pairs.
`python bench/verifier_fit.py [DATA]` from the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from verifier import EXPERTS, TUNED_ON, half_of
from verifier_pairs import pairs_of

from citewell.check.alignment import align_to_nearest
from citewell.check.claim import COEFFICIENTS, SupportFeatures, read_support_features
from citewell.check.tokens import Rarity, match_evidence, read_evidence
from citewell.evals.verifier import LabelledPair, read_pairs

_BUILT_WEIGHT = 0.05
_CHANGED_WEIGHT = 0.3
_PAIRS = 200


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared" / "data"
    experts = read_pairs(data / EXPERTS)
    chosen = [at for at, pair in enumerate(experts) if half_of(pair.claim) == 0]
    features = features_of(experts)
    truth = [experts[at].label == "supported" for at in chosen]
    weights = [1.1 if experts[at].label == "refuted" else 1.0 for at in chosen]
    kept = [features[at] for at in chosen]
    for name in TUNED_ON:
        built = [pair for pair in pairs_of(data / name, _PAIRS) if pair.half == 0]
        kept += features_of([LabelledPair(pair.claim, pair.evidence, pair.label) for pair in built])
        truth += [pair.label == "supported" for pair in built]
        plain = ("supported", "wrong passage")
        weights += [_BUILT_WEIGHT * (1.0 if pair.made.startswith(plain) else _CHANGED_WEIGHT) for pair in built]
    print(fit(kept, truth, weights, list(COEFFICIENTS)))


def features_of(pairs: Sequence[LabelledPair]) -> list[SupportFeatures]:
    rarity = Rarity.in_texts(dict.fromkeys(pair.evidence for pair in pairs))
    found: list[SupportFeatures] = []
    for pair in pairs:
        matched = match_evidence(pair.claim, read_evidence(pair.evidence), rarity)
        found.append(read_support_features(matched, align_to_nearest(matched), pair.evidence))
    return found


def fit(
    features: Sequence[SupportFeatures], truth: Sequence[bool], weights: Sequence[float], names: list[str]
) -> dict[str, float]:
    """Logistic regression with a ridge of 1, by Newton's method."""
    values = np.array([[*(float(getattr(one, name)) for name in names), 1.0] for one in features])
    wanted, weight = np.array(truth, float), np.array(weights)
    ridge = np.diag([1.0] * len(names) + [1e-6])
    beta = np.zeros(len(names) + 1)
    for _ in range(30):
        likely = 1.0 / (1.0 + np.exp(-(values @ beta)))
        slope = values.T @ (weight * (wanted - likely)) - ridge @ beta
        curve = (values * (weight * likely * (1.0 - likely))[:, None]).T @ values + ridge
        beta = beta + np.linalg.solve(curve, slope)
    return {name: round(float(value), 2) for name, value in zip([*names, "intercept"], beta, strict=True)}


if __name__ == "__main__":
    main()
