"""From a verified draft to a report: statements with verdicts, citations bound to retained items, counts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewell.briefs.writing import OPEN, SUMMARY
from citewell.domain.answers import CheckedSentence, Contradiction, Verification
from citewell.domain.briefs import (
    BoundCitation,
    ClaimType,
    Duplicate,
    FamilyCount,
    FamilyUse,
    ItemCredibility,
    Methodology,
    ReportItem,
    ReportPlan,
    ReportStatement,
    WrittenReport,
)


@dataclass(frozen=True, slots=True)
class Composed:
    """A report that holds, or why there is none."""

    report: WrittenReport | None
    unresolved: tuple[str, ...] = ()


def compose_report(
    verification: Verification,
    plan: ReportPlan,
    types: Mapping[str, ClaimType],
    bound: tuple[BoundCitation, ...],
    loose: Sequence[int],
    *,
    by_model: bool,
) -> Composed:
    """The report of a draft that was checked; what rests on no retained item (`loose`) keeps it from being one."""
    numbers = {one.citation.n for one in bound}
    summary: list[ReportStatement] = []
    claims: list[ReportStatement] = []
    gaps: list[str] = []
    unresolved = [f"[{n}] stands in no passage that was kept" for n in loose]
    section, queries = SUMMARY, {one.query: one.index for one in plan.sub_queries}
    looked_into = {queries[one.text] for one in verification.sentences if one.kind == "heading" and one.text in queries}
    for sentence in verification.sentences:
        if sentence.kind == "heading":
            section = sentence.text
            continue
        if sentence.kind == "gap" or section == OPEN:
            gaps += [sentence.text] if sentence.verdict != "contradicted" else []
            continue
        if sentence.verdict == "not_a_claim":
            continue
        if not set(sentence.citations) & numbers:
            unresolved.append(f"nothing that was kept is cited for: {sentence.text[:160]}")
            continue
        told = _statement(sentence, numbers, types, None if section == SUMMARY else queries.get(section))
        (summary if section == SUMMARY else claims).append(told)
    standing = [one for one in claims if one.verdict != "contradicted"]
    held = [one for one in summary if one.verdict != "contradicted"]
    if not held or not standing:
        unresolved.append("no claim stands" if held else "the summary cites nothing that holds")
    if unresolved:
        return Composed(None, tuple(dict.fromkeys(unresolved)))
    withdrawn = [one for one in (*summary, *claims) if one.verdict == "contradicted"]
    missing = () if by_model else _unanswered(plan, looked_into)
    return Composed(
        WrittenReport(
            tuple(held),
            tuple(standing),
            bound,
            tuple(dict.fromkeys(withdrawn)),
            tuple(dict.fromkeys((*gaps, *missing))),
            _disputes(verification.contradictions, standing),
        )
    )


def _disputes(found: Sequence[Contradiction], claims: Sequence[ReportStatement]) -> tuple[Contradiction, ...]:
    """Disagreements about one thing: what different sub-queries found is about different things. Each is told once."""
    asked: dict[int, set[int | None]] = {}
    for claim in claims:
        for n in claim.citations:
            asked.setdefault(n, set()).add(claim.sub_query)
    told: dict[tuple[str, ...], Contradiction] = {}
    for one in found:
        shared = [asked.get(n, set()) for n in one.citations]
        if shared and set.intersection(*shared):
            told.setdefault(one.values, one)
    return tuple(told.values())


def _statement(
    sentence: CheckedSentence, numbers: set[int], types: Mapping[str, ClaimType], sub_query: int | None
) -> ReportStatement:
    cited = tuple(n for n in sentence.citations if n in numbers)
    return ReportStatement(
        sentence.text,
        sentence.verdict,
        round(sentence.support, 3),
        cited,
        types.get(sentence.text, "fact"),
        sub_query,
        sentence.reason,
    )


def _unanswered(plan: ReportPlan, answered: set[int]) -> tuple[str, ...]:
    """Sub-queries of which nothing was found; the question is answered by its parts, and nobody asked for a section."""
    return tuple(
        f"Nothing that was found speaks of: {one.query}"
        for one in plan.sub_queries
        if one.index not in answered and one.index > 0 and not one.places
    )


def count(
    plan: ReportPlan | None,
    families: Sequence[FamilyUse],
    searches: Mapping[str, int],
    items: Sequence[ReportItem],
    duplicates: Sequence[Duplicate],
    credibility: Sequence[ItemCredibility],
    retained: Sequence[str],
    report: WrittenReport | None,
    pages_read: int,
) -> Methodology:
    """How a report was made, in numbers."""
    kept = set(retained)
    cited = _cited(report.citations) if report else set()
    found = Counter(item.family for item in items)
    stayed = Counter(item.family for item in items if item.ref_id in kept)
    used = Counter(item.family for item in items if item.ref_id in cited)
    return Methodology(
        sub_queries=len(plan.sub_queries) if plan else 0,
        items_retrieved=len(items),
        duplicates=len(duplicates),
        below_floor=sum(not one.kept for one in credibility),
        items_retained=len(kept),
        items_cited=len(cited),
        pages_read=pages_read,
        families=tuple(
            FamilyCount(
                use.family,
                searches.get(use.family, 0),
                found[use.family],
                stayed[use.family],
                used[use.family],
            )
            for use in families
        ),
    )


def _cited(citations: Sequence[BoundCitation]) -> set[str]:
    return {one.ref_id for one in citations}
