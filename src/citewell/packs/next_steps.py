"""Next steps: what is worth doing after a pack, named by the action and never by a tool. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import Coverage, NextStep, NextStepParams
from citewell.domain.queries import QueryPlan
from citewell.retrieval.spelling import Spelling

_INSPECT = 5


def next_steps(
    plan: QueryPlan,
    rows: Sequence[EvidenceRow],
    tagged: Sequence[EvidenceRow],
    coverage: Coverage,
    spellings: Sequence[Spelling] = (),
) -> tuple[NextStep, ...]:
    """Steps for this pack; there is always at least one, also with no evidence."""
    steps = tuple(_steps(plan, rows, tagged, coverage))
    return (*steps, _ask_put_right(plan, spellings)) if spellings else steps


def _ask_put_right(plan: QueryPlan, spellings: Sequence[Spelling]) -> NextStep:
    """The question with the words that something has; only who asked knows whether they were meant."""
    meant = tuple(variant.query for variant in plan.query_variants if variant.kind == "spelling")
    return NextStep("reformulate", "; ".join(str(one) for one in spellings), NextStepParams(suggestions=meant))


def _steps(
    plan: QueryPlan, rows: Sequence[EvidenceRow], tagged: Sequence[EvidenceRow], coverage: Coverage
) -> Iterator[NextStep]:
    keys = tuple(row.source_key for row in rows[:_INSPECT])
    if keys:
        params = NextStepParams(lookups=keys, content_mode="evidence", query=plan.text_query)
        yield NextStep("inspect_top_evidence", f"Read more around the question in the top {len(keys)} rows", params)
        yield NextStep("expand_related", f"Follow the links of '{rows[0].title}'", NextStepParams(lookup=keys[0]))
    for row in tagged[:1]:
        if row.source_key not in keys:
            label = f"Open '{row.title}', tagged {', '.join(row.user_tags[:3])}"
            yield NextStep("open_lookup", label, NextStepParams(lookup=row.source_key, content_mode="full"))
    if not keys or coverage.missing_concepts:
        suggestions = _reformulations(plan, coverage)
        yield NextStep("reformulate", _reason(keys, coverage), NextStepParams(suggestions=suggestions))


def _reason(keys: Sequence[str], coverage: Coverage) -> str:
    if not keys:
        return "Nothing was found: ask with other words, fewer filters, or add what is missing"
    return f"Nothing shown is about {', '.join(coverage.missing_concepts)}: ask with other words"


def _reformulations(plan: QueryPlan, coverage: Coverage) -> tuple[str, ...]:
    """Shorter questions that may find what this one did not."""
    missing = set(coverage.missing_concepts)
    anchors = [concept.name for concept in plan.concepts if concept.role == "anchor"]
    found = [concept.name for concept in plan.concepts if concept.required and concept.name not in missing]
    content = [concept.name for concept in plan.concepts if concept.role == "content"]
    candidates = (" ".join(anchors), " ".join(found), " ".join(content[:2]), " ".join(content[-2:]))
    return tuple(dict.fromkeys(text for text in candidates if text and text != plan.text_query))
