"""The evidence of several searches as one: each window once, numbered anew. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.answers import PreparedSource, PreparedSynthesis, Truncation
from citewell.domain.packs import ResearchPack


def merge_prepared(question: str, parts: Sequence[PreparedSynthesis]) -> PreparedSynthesis:
    """The prepared evidence of several searches as one."""
    windows: dict[tuple[str, int, int], PreparedSource] = {}
    for part in parts:
        for source in part.sources:
            windows.setdefault((source.source_key, source.span.start, source.span.end), source)
    sources = tuple(replace(source, n=n) for n, source in enumerate(windows.values(), start=1))
    weights = {term: weight for part in parts for term, weight in part.term_weights.items()}
    dropped = tuple(dict.fromkeys(key for part in parts for key in part.truncation.dropped_source_keys))
    budget = sum(part.truncation.evidence_budget_chars for part in parts)
    used = sum(part.truncation.evidence_chars_used for part in parts)
    withheld = tuple(dict.fromkeys(key for part in parts for key in part.withheld_source_keys))
    truncation = Truncation(budget, used, dropped)
    return PreparedSynthesis(question, sources, truncation, "", weights, withheld_source_keys=withheld)


def merge_packs(packs: Sequence[ResearchPack]) -> ResearchPack | None:
    """The rows of several packs as one pack, each document once."""
    if not packs:
        return None
    rows = {row.source_key: row for pack in reversed(packs) for row in reversed(pack.evidence)}
    tagged = {row.source_key: row for pack in packs for row in pack.exact_tag_evidence}
    ordered = tuple(dict.fromkeys(row.source_key for pack in packs for row in pack.evidence))
    return replace(
        packs[0], evidence=tuple(rows[key] for key in ordered), exact_tag_evidence=tuple(tagged.values()), next_steps=()
    )
