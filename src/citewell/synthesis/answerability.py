"""Answerability: how likely it is that the evidence answers the question at all. Pure.

A logistic formula over the features of the sentence that comes nearest (`answerability_features`), never over a raw
score. Its coefficients come from half the articles of SQuAD 2.0 and from questions asked of a collection they do not
belong to, by the method of `evals/answerability.py`, which measures them; docs/benchmarks.md says on what they were
chosen. It tells foreign questions well; a question that only swaps who did what to whom is told by chance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from citewell.domain.evidence import Answerability
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan
from citewell.synthesis.answerability_features import AnswerabilityFeatures, EvidenceText, read_answerability_features
from citewell.synthesis.asking import Asked, asked
from citewell.synthesis.packing import term_weights, unseen_terms
from citewell.synthesis.topic import topic_of

INTERCEPT = -1.789
COEFFICIENTS: dict[str, float] = {
    "around": 1.618,
    "names_missing": -1.380,
    "exact_missing": -0.093,
    "unseen": -2.278,
    "matched": 1.163,
    "document_matched": 0.285,
    "no_value": -0.881,
    "reversed": 0.226,
    "spread": 1.435,
    "opposed": -2.749,
    "denied": -1.293,
    "denies": -1.400,
    "length": -1.318,
}
# Below this the judge does not call evidence enough. On held-out SQuAD 2.0 articles 4% of the questions that can be
# answered lie below it, and 15% of those that cannot.
UNLIKELY = 0.15
_MOST_REASONS = 3
_ASKED_FOR = {"when": "when", "how_many": "how many or how much"}


def answerability(
    plan: QueryPlan, rows: Sequence[EvidenceText], weights: Mapping[str, float], unseen: Collection[str], chunks: int
) -> Answerability:
    """The estimate for these rows; a question of several parts is as answerable as its best part."""
    if not rows:
        return Answerability(0.0, ("nothing in the corpus matches the question",))
    topic = topic_of(plan, weights, unseen, ("en",))
    best: tuple[float, AnswerabilityFeatures, Asked] | None = None
    for part in asked(plan.text_query):
        for features in read_answerability_features(part, topic, plan.concepts, rows, chunks):
            logit = logit_of(features)
            if best is None or logit > best[0]:
                best = (logit, features, part)
    if best is None:
        return Answerability(0.0, ("no sentence has a word of the question",))
    logit, features, part = best
    return Answerability(round(1.0 / (1.0 + math.exp(-logit)), 3), reasons_of(features, part))


def logit_of(features: AnswerabilityFeatures) -> float:
    parts = (weight * getattr(features, name) for name, weight in COEFFICIENTS.items())
    return max(-30.0, min(30.0, INTERCEPT + math.fsum(parts)))


def reasons_of(features: AnswerabilityFeatures, part: Asked) -> tuple[str, ...]:
    """What the nearest sentence lacks, in words; nothing where it lacks nothing."""
    found: list[str] = []
    if features.missing:
        named = " and ".join(f"'{word}'" for word in features.missing[:3])
        found.append(f"no passage has {named} together with the rest")
    if features.no_value:
        wanted = _ASKED_FOR.get(part.kind, part.value or part.kind)
        found.append(f"asks {wanted}, and nothing of the kind stands near")
    if features.contrary:
        found.append(f"the nearest passage says the contrary of '{features.contrary[0]}'")
    if features.denied:
        found.append("the question and the nearest passage differ in what they deny")
    return tuple(found[:_MOST_REASONS])


def estimate(pack: ResearchPack) -> Answerability:
    """The estimate for a pack: over the rows it found itself, not their neighbours."""
    rows = [row for row in pack.evidence if row.related_to is None]
    return answerability(pack.query_plan, rows, term_weights(pack), unseen_terms(pack), pack.coverage.corpus_chunks)


def with_estimate(pack: ResearchPack) -> ResearchPack:
    return replace(pack, coverage=replace(pack.coverage, answerability=estimate(pack)))
