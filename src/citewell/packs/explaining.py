"""Why a pack holds what it holds, in sentences, without a model: "Explain this result". Pure.

It speaks of the search only: what was looked for, where, what was found or missing, and what to try. It never answers
the question.
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import Explanation, ResearchPack
from citewell.domain.queries import Filters

_ROWS = 3


def explain_pack(pack: ResearchPack) -> Explanation:
    """What a search did and came to."""
    reasons = (*_searched(pack), *_missing(pack), *_won(pack))
    suggestions = tuple(text for step in pack.next_steps for text in step.params.suggestions)
    return Explanation(
        question=pack.question,
        answer_status="ok" if pack.evidence else "no_evidence",
        summary=_summary(pack),
        reasons=reasons,
        queries_tried=tuple(variant.query for variant in pack.query_plan.query_variants),
        missing_concepts=tuple(pack.coverage.missing_concepts),
        unseen_terms=tuple(term for term, count in pack.coverage.term_chunks.items() if count == 0),
        active_filters=tuple(_filters(pack.query_plan.filters)),
        suggestions=tuple(dict.fromkeys(suggestions)),
    )


def _summary(pack: ResearchPack) -> str:
    if pack.evidence:
        count = len(pack.evidence)
        return f"{count} {'row' if count == 1 else 'rows'} found. {pack.coverage.recall_note}"
    return f"Nothing was found. {pack.coverage.recall_note}"


def _searched(pack: ResearchPack) -> Iterator[str]:
    plan, coverage = pack.query_plan, pack.coverage
    queries = ", ".join(f"“{variant.query}”" for variant in plan.query_variants)
    yield f"Searched {coverage.eligible_documents} of {coverage.corpus_documents} documents for {queries}."
    if plan.planner_error:
        yield f"The planning model did not help: {plan.planner_error}."
    if filters := list(_filters(plan.filters)):
        yield f"Only what fits {', '.join(filters)} was looked at."
    if plan.excluded:
        yield f"Left out, as the question says: {', '.join(concept.name for concept in plan.excluded)}."


def _missing(pack: ResearchPack) -> Iterator[str]:
    unseen = [term for term, count in pack.coverage.term_chunks.items() if count == 0]
    if unseen:
        yield f"No document has the word {', '.join(f'“{term}”' for term in unseen)}."
    if missing := pack.coverage.missing_concepts:
        yield f"No row found mentions {', '.join(missing)}."
    if (likely := pack.coverage.answerability) is not None:
        yield f"The estimate {likely.spoken}."


def _won(pack: ResearchPack) -> Iterator[str]:
    for number, row in enumerate(pack.evidence[:_ROWS], start=1):
        yield f"Row {number}, {row.title}: {_why(row)}."


def _why(row: EvidenceRow) -> str:
    parts = [f"has {', '.join(row.matched_terms)}"] if row.matched_terms else []
    if row.missing_terms:
        parts.append(f"lacks {', '.join(row.missing_terms)}")
    strongest = sorted((signal for signal in row.signals if signal.value > 0), key=lambda one: -one.value)[:2]
    parts += [f"{signal.name.replace('_', ' ')} +{signal.value:.2f}" for signal in strongest]
    if row.related_to:
        parts.append(f"linked with {row.related_to}")
    return "; ".join(parts) or "found by its meaning"


def _filters(filters: Filters) -> Iterator[str]:
    for name in filters.__dataclass_fields__:
        value = getattr(filters, name)
        if value:
            shown = ", ".join(map(str, value)) if isinstance(value, (tuple, list, frozenset)) else str(value)
            yield f"{name.replace('_', ' ')} {shown}"
