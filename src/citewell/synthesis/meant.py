"""A question as it was meant: words that nothing has, read as the nearest that something has. Pure.

The pack says which words (its variant `spelling`). A word with a capital inside a question is a name, and a name that
nothing has is told apart from all others: it stays as it is written, and so does what was given exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from citewell.domain.queries import Concept, QueryPlan
from citewell.planning.spelling import put_right
from citewell.text.words import query_tokens


def read_as(plan: QueryPlan) -> dict[str, str]:
    """The words of the question that are read as others: what is written, and what is meant."""
    meant = next((variant.query for variant in plan.query_variants if variant.kind == "spelling"), "")
    written, read = query_tokens(plan.text_query), query_tokens(meant)
    if len(written) != len(read):
        return {}
    shouted = plan.text_query == plan.text_query.title()
    return {
        one.folded: other.folded
        for number, (one, other) in enumerate(zip(written, read, strict=True))
        if one.folded != other.folded and (shouted or number == 0 or one.text[:1].islower())
    }


def as_meant(plan: QueryPlan, read: Mapping[str, str]) -> QueryPlan:
    """The plan with these words read as others."""
    if not read:
        return plan
    return replace(
        plan,
        text_query=put_right(plan.text_query, read),
        terms=tuple(dict.fromkeys(read.get(term, term) for term in plan.terms)),
        concepts=tuple(_meant(concept, read) for concept in plan.concepts),
    )


def _meant(concept: Concept, read: Mapping[str, str]) -> Concept:
    if concept.protected is not None:
        return concept
    return replace(
        concept,
        name=put_right(concept.name, read),
        terms=tuple(dict.fromkeys(read.get(term, term) for term in concept.terms)),
    )
