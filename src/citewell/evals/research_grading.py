"""Grading a report against what its brief should have brought out. Pure.

    expected: "The lamp burned 812 gallons of oil in 1859."
    claim:    "The Orrin Head lamp burned 812 gallons of colza oil in 1859."   ->   covered

A claim covers what is expected where it says it, or its quotes do, as the verifier reads them. Citations resolve where
the item they name was kept and holds the quote. Credibility is that of the cited sources from outside; where there are
none, it is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from citewell.domain.eval_cases import ResearchBriefSpec
from citewell.domain.eval_reports import EvalFailure
from citewell.reports.models import ResearchCitation, ResearchReport, ResearchRun, RetrievedItem, TextSpan
from citewell.synthesis.checking.claim import check_text
from citewell.synthesis.checking.rarity import Rarity
from citewell.text.folding import folded_text


@dataclass(frozen=True, slots=True)
class ResearchGrade:
    """How a report did, each as a share between 0 and 1."""

    claim_coverage: float
    citation_resolution: float
    source_credibility: float
    missing_claims: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


def grade_research_run(run: ResearchRun, spec: ResearchBriefSpec) -> ResearchGrade:
    """The grade of a run; without a report nothing is covered and nothing resolves."""
    if run.report is None:
        covered = 0.0 if spec.expected_claims else 1.0
        return ResearchGrade(covered, 0.0, 0.0, spec.expected_claims)
    missing = tuple(one for one in spec.expected_claims if not _is_covered(one, run.report))
    unresolved = tuple(_unresolved(run, run.report))
    cited = run.report.citations
    return ResearchGrade(
        claim_coverage=_share(len(spec.expected_claims) - len(missing), len(spec.expected_claims)),
        citation_resolution=_share(len(cited) - len(unresolved), len(cited)),
        source_credibility=_credibility(run, cited),
        missing_claims=missing,
        unresolved=unresolved,
    )


def failures_of(grade: ResearchGrade, spec: ResearchBriefSpec) -> Iterator[EvalFailure]:
    """What the rubric asks for and the grade does not reach."""
    rubric = spec.rubric
    if grade.claim_coverage < rubric.claim_coverage:
        told = "; ".join(grade.missing_claims)
        yield EvalFailure(
            "claim_coverage", f"{grade.claim_coverage:.2f}; not claimed: {told}", rubric.claim_coverage, told
        )
    if grade.citation_resolution < rubric.citation_resolution:
        told = "; ".join(grade.unresolved) or "there is no report"
        yield EvalFailure(
            "citation_resolution", f"{grade.citation_resolution:.2f}: {told}", rubric.citation_resolution, told
        )
    if grade.source_credibility < rubric.source_credibility:
        yield EvalFailure(
            "source_credibility",
            f"{grade.source_credibility:.2f} is below {rubric.source_credibility:.2f}",
            rubric.source_credibility,
            grade.source_credibility,
        )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def _is_covered(expected: str, report: ResearchReport) -> bool:
    wanted = folded_text(expected).strip(" .")
    told = [(one.text, one.citations) for one in report.claims]
    told += [(one.text, one.citations) for one in report.summary_sentences]
    texts = [" ".join((text, *(one.quote for one in citations))) for text, citations in told]
    rarity = Rarity.in_texts(texts)
    return any(
        wanted in folded_text(text) or check_text(expected, text, rarity).verdict == "supported" for text in texts
    )


def _unresolved(run: ResearchRun, report: ResearchReport) -> Iterator[str]:
    kept = {item.ref_id: item for items in run.retrieved_items.values() for item in items if item.retained}
    for citation in report.citations:
        item = kept.get(citation.ref_id)
        if item is None or not _holds(item, citation):
            yield f"[{citation.n}] {citation.ref_id}"


def _holds(item: RetrievedItem, citation: ResearchCitation) -> bool:
    """Whether the quote is what the item has at that place; what stands above its window came with the item."""
    own, cited = _span(item.citation), _span(citation)
    if own.content_hash != cited.content_hash or not citation.quote:
        return False
    inside = own.start <= cited.start <= cited.end <= own.end
    return not inside or item.snippet[cited.start - own.start : cited.end - own.start] == citation.quote


def _span(citation: ResearchCitation) -> TextSpan:
    locator = citation.locator
    return locator.citation.span if locator.family == "knowledge" else locator.span


def _credibility(run: ResearchRun, cited: tuple[ResearchCitation, ...]) -> float:
    scores = {one.ref_id: one.score for one in run.credibility}
    outside = {one.ref_id for one in cited if one.locator.family != "knowledge"}
    if not outside:
        return 1.0
    return round(sum(scores.get(ref, 0.0) for ref in outside) / len(outside), 4)
