"""How well a judge judges by itself: supported claims from refuted and from unsupported ones, and how fast.

The rules of the verifier have no part in this: `bench-verifier --judge` measures both together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from citewell.domain.answers import Entails
from citewell.domain.benchmarks import VerifierAuroc
from citewell.domain.model_reports import JudgeReport
from citewell.domain.ports import Entailment
from citewell.evals.measures import auroc
from citewell.evals.verifier_bench import LABELS, Label, LabelledPair, judge_pairs

_MEANINGS = ("entails", "neutral", "contradicts")


def measure_judge(judge: Entailment, pairs: Sequence[LabelledPair]) -> JudgeReport:
    """What the judge makes of labelled pairs; loading it is not counted."""
    judge_pairs(judge, pairs[:1])
    began = time.perf_counter()
    scores = judge_pairs(judge, pairs)
    seconds = time.perf_counter() - began
    of = {label: [score for pair, score in zip(pairs, scores, strict=True) if pair.label == label] for label in LABELS}
    return JudgeReport(
        judge=judge.name,
        n=len(pairs),
        auroc=VerifierAuroc(_refuted(of), _unsupported(of)),
        called={label: _called(of[label]) for label in LABELS},
        pairs_per_second=round(len(pairs) / seconds, 1) if seconds > 0 else 0.0,
    )


def _refuted(of: dict[Label, list[Entails]]) -> float | None:
    return _ranked(*([one.entails - one.contradicts for one in of[label]] for label in ("supported", "refuted")))


def _unsupported(of: dict[Label, list[Entails]]) -> float | None:
    """By entailment; by how little it contradicts, for a judge that tells nothing else."""
    if any(one.entails for scores in of.values() for one in scores):
        return _ranked(*([one.entails for one in of[label]] for label in ("supported", "unsupported")))
    return _ranked(*([-one.contradicts for one in of[label]] for label in ("supported", "unsupported")))


def _ranked(yes: Sequence[float], no: Sequence[float]) -> float | None:
    return round(auroc(list(yes), list(no)), 4) if yes and no else None


def _called(scores: Sequence[Entails]) -> dict[str, int]:
    likeliest = [_likeliest(one) for one in scores]
    return {name: likeliest.count(name) for name in _MEANINGS}


def _likeliest(score: Entails) -> str:
    shares = dict(zip(_MEANINGS, (score.entails, score.neutral, score.contradicts), strict=True))
    return max(_MEANINGS, key=lambda name: shares[name])
