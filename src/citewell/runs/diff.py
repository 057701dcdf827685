"""How two runs differ: answer, evidence, citations, plan, cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.runs.run import RunResult
from citewell.runs.summaries import AnswerChange, Change, CitationChange, CostChange, EvidenceChange, RunDiff

# Parts of a plan that say how it was made, not what it is.
_INCIDENTAL = ("planner_model", "planner_error")


def diff_runs(before: RunResult, after: RunResult) -> RunDiff:
    """What changed from one run to another."""
    answer = AnswerChange(before.answer == after.answer, before.answer, after.answer)
    evidence = _evidence(_keys(before), _keys(after))
    citations = _citations(before, after)
    plan = _plan(before, after)
    return RunDiff(
        a=before.run_id,
        b=after.run_id,
        same=answer.same
        and not any((evidence.added, evidence.removed, evidence.reordered, plan))
        and not (citations.added or citations.removed),
        answer=answer,
        evidence=evidence,
        citations=citations,
        plan=plan,
        cost=CostChange(before.metrics.cost_usd, after.metrics.cost_usd),
        stop_reason=Change(before.stop_reason, after.stop_reason),
    )


def _keys(result: RunResult) -> tuple[str, ...]:
    return tuple(row.source_key for row in result.pack.evidence) if result.pack else ()


def _evidence(before: Sequence[str], after: Sequence[str]) -> EvidenceChange:
    kept_before = [key for key in before if key in after]
    kept_after = [key for key in after if key in before]
    return EvidenceChange(
        added=tuple(key for key in after if key not in before),
        removed=tuple(key for key in before if key not in after),
        reordered=tuple(old for old, new in zip(kept_before, kept_after, strict=True) if old != new),
    )


def _citations(before: RunResult, after: RunResult) -> CitationChange:
    old = {(citation.source_key, citation.quote) for citation in before.citations}
    new = {(citation.source_key, citation.quote) for citation in after.citations}
    return CitationChange(
        added=tuple(sorted(f"{key}: {quote}" for key, quote in new - old)),
        removed=tuple(sorted(f"{key}: {quote}" for key, quote in old - new)),
    )


def _plan(before: RunResult, after: RunResult) -> dict[str, Change]:
    if before.pack is None or after.pack is None:
        return {}
    old, new = (msgspec.to_builtins(result.pack.query_plan) for result in (before, after) if result.pack)
    return {
        name: Change(old[name], new[name]) for name in old if name not in _INCIDENTAL and old[name] != new.get(name)
    }
