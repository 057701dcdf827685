"""Support: how far the evidence supports a claim, between 0 and 1. Pure.

A logistic formula over the features (`support_features`). Its coefficients come from one half of the expert pairs of
SciFact and, at a twentieth of their weight, from pairs built of half the documents of SQuAD 2.0 and other collections,
by `bench/verifier_fit.py`; docs/verifier.md says what it comes to on the other halves. The number orders claims; the
verdict also obeys rules that no number can outweigh (`claim`). What no rule sees may cost support and not the verdict,
as "only" does here.

Example:
    claim:   The ferry runs in winter.
    passage: The ferry runs in winter and in spring.
    verdict: supported
    support: 0.85

Example:
    claim:   The ferry runs only in winter.
    passage: The ferry runs in winter and in spring.
    verdict: unsupported
    reason:  'only' is not in the quote
    support: 0.78
"""

from __future__ import annotations

import math

from citewell.synthesis.checking.support_features import SupportFeatures

INTERCEPT = -1.05
COEFFICIENTS: dict[str, float] = {
    "own": 0.74,
    "around": 1.77,
    "pairs": 0.26,
    "direction": 0.48,
    "quantity": 0.55,
    "contrary": -1.02,
    "none_found": -0.71,
    "none_shared": 1.35,
    "denies_alone": -1.15,
    "overstates": -0.46,
    "asks": -0.17,
    "values": -1.28,
    "names": -0.45,
    "denial": -1.39,
    "relation": -2.46,
}
# With the likeness a local model sees: fitted on the same half of the expert pairs; the rules weigh as they do above.
LIKENESS_INTERCEPT = -1.71
WITH_LIKENESS: dict[str, float] = {
    **COEFFICIENTS,
    "own": 0.46,
    "around": 1.24,
    "pairs": -0.17,
    "direction": 0.47,
    "quantity": 0.58,
    "contrary": -1.14,
    "none_found": -0.60,
    "none_shared": 1.32,
    "denies_alone": -1.19,
    "overstates": -0.30,
    "asks": -0.20,
    "names": -0.33,
    "likeness": 1.78,
}


def support_of(features: SupportFeatures) -> float:
    """The estimate for these features."""
    weights, intercept = (COEFFICIENTS, INTERCEPT) if features.likeness is None else (WITH_LIKENESS, LIKENESS_INTERCEPT)
    parts = [weight * float(getattr(features, name)) for name, weight in weights.items()]
    logit = intercept + math.fsum(parts)
    return round(1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit)))), 4)
