"""Support: how far the evidence supports a claim, between 0 and 1. Pure.

A logistic formula over the features (`support_features`). Its coefficients come from one half of the expert pairs of
SciFact and, at a twentieth of their weight, from pairs built of half the documents of SQuAD 2.0 and other collections,
by `bench/verifier_fit.py`; docs/verifier.md says what it comes to on the other halves. The number orders claims; the
verdict also obeys rules that no number can outweigh (`claim`).

Example:
    claim:   The ferry runs in winter.
    passage: The ferry runs in winter and in spring.
    verdict: supported
    support: 0.84

Example:
    claim:   The ferry runs in summer.
    passage: The ferry runs in winter and in spring.
    verdict: partial
    reason:  not in the quote: summer
    support: 0.64
"""

from __future__ import annotations

import math

from citewell.synthesis.checking.support_features import SupportFeatures

INTERCEPT = -1.08
COEFFICIENTS: dict[str, float] = {
    "own": 0.69,
    "around": 1.92,
    "pairs": 0.16,
    "values": -1.18,
    "names": -0.51,
    "denial": -2.50,
    "relation": -2.08,
}


def support_of(features: SupportFeatures) -> float:
    """The estimate for these features."""
    logit = INTERCEPT + math.fsum(weight * float(getattr(features, name)) for name, weight in COEFFICIENTS.items())
    return round(1.0 / (1.0 + math.exp(-logit)), 4)
