"""Answerability of a pack: the estimate that an answer without a model rests on, before there is one. Pure.

The same estimate (`confidence`) goes with a pack, is what the judge of a run looks at, and decides whether an answer is
given; a run that compares passages by meaning knows more at its end than at its beginning.
"""

from __future__ import annotations

from dataclasses import replace

from citewell.domain.answers import Likeness, PreparedSynthesis
from citewell.domain.evidence import Answerability
from citewell.domain.packs import ResearchPack
from citewell.synthesis.extract import estimate_answer
from citewell.synthesis.packing import prepare_synthesis

_NOTHING = Answerability(0.0, ("nothing in the corpus matches the question",))


def direct_evidence(pack: ResearchPack) -> PreparedSynthesis:
    """The rows a pack found itself, without their neighbours, made ready to be read."""
    primary = tuple(row for row in pack.evidence if row.related_to is None)
    return prepare_synthesis(replace(pack, evidence=primary, exact_tag_evidence=(), topic_brief=None))


def estimate(pack: ResearchPack, likeness: Likeness | None = None) -> Answerability:
    """The estimate for a pack: over the rows it found itself."""
    prepared = direct_evidence(pack)
    return estimate_answer(prepared, pack.query_plan, likeness) if prepared.sources else _NOTHING


def with_estimate(pack: ResearchPack, likeness: Likeness | None = None) -> ResearchPack:
    return replace(pack, coverage=replace(pack.coverage, answerability=estimate(pack, likeness)))
