"""From a run's record to its document: `ReportRecord` becomes `ResearchRun`. Pure; the same record, the same bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from citewell.check.verdict import Citation
from citewell.errors import BadInput, WorkFailed
from citewell.reports.brief import (
    BoundCitation,
    Brief,
    ReportItem,
    ReportRecord,
    ReportStatement,
    ReportTask,
    WrittenReport,
)
from citewell.reports.model import (
    AcademicLocator,
    CodeLocator,
    CorpusCitation,
    FamilyMethodology,
    KnowledgeLocator,
    Locator,
    ReportContradiction,
    ReportMethodology,
    ReportSentence,
    ResearchBrief,
    ResearchCitation,
    ResearchClaim,
    ResearchQueryPlan,
    ResearchReport,
    ResearchRun,
    ResearchRunSummary,
    RetrievedItem,
    SkippedSource,
    SourceCredibility,
    SubQuery,
    TextSpan,
    WebLocator,
)
from citewell.runs.events import canonical_json
from citewell.runs.run import RunRequest, RunResult, RunStatus
from citewell.runs.trace import RUN_ID
from citewell.text.documents import Span

# The ids of briefs and their runs: they follow from the request, so that the same request is the same run. Pure.
#
# a brief                                 ->   brief-5b1f…      its content, whatever asks for it
# the brief, the models, the strategies   ->   report-09ac…-1   the first attempt; a fresh one is report-09ac…-2


MAX_ATTEMPTS = 9_999
_ATTEMPT = re.compile(r"report-[0-9a-f]{16}-([0-9]{1,4})")


def brief_id(brief: Brief) -> str:
    """The id of a brief: the same words and limits, the same id."""
    return f"brief-{_hash([brief])}"


def run_stem(request: RunRequest) -> str:
    """What the ids of all attempts at a request begin with: the brief, who may be asked, and how it is done."""
    task = request.report
    assert isinstance(task, ReportTask)
    how: list[object] = [task.planner, task.triage, task.deduplicator, task.binder, task.families]
    # What was added since counts only where it is used: the ids of earlier requests stay.
    how += [name for name in (task.own("retrieval"), task.own("synthesizer"), task.own("verifier")) if name]
    use = request.models
    asked = [use.writer, use.planner, use.judge, request.semantic, request.judge, request.filters]
    return f"report-{_hash([task.brief, how, asked])}"


def run_id_of(stem: str, attempt: int) -> str:
    if attempt > MAX_ATTEMPTS:
        raise BadInput("This brief was run too often.", fix="Change its words or its limits.")
    return f"{stem}-{attempt}"


def attempt_of(run_id: str) -> int:
    """The number of an attempt; a run with an id of its own is the first."""
    found = _ATTEMPT.fullmatch(run_id)
    return int(found[1]) if found else 1


def check_run_id(run_id: str) -> str:
    """An id that can be one of a run."""
    if not RUN_ID.fullmatch(run_id):
        raise BadInput(f"{run_id!r} is no id of a run.", fix="Derive it with ResearchService.run_id_for(brief).")
    return run_id


def _hash(values: list[object]) -> str:
    import msgspec

    return hashlib.sha256(canonical_json(msgspec.to_builtins(values))).hexdigest()[:16]


def run_document(result: RunResult, created_at: str) -> ResearchRun:
    """A run of a brief that has ended."""
    record = result.report
    assert record is not None
    items = {item.ref_id: item for item in record.items}
    methodology = _methodology(record)
    return ResearchRun(
        run_id=result.run_id,
        brief_id=record.brief_id,
        attempt=attempt_of(result.run_id),
        status=result.status,
        brief=ResearchBrief.of_value(record.brief),
        plan=_plan(record),
        retrieved_items=_retrieved(record),
        credibility=tuple(
            SourceCredibility(
                ref_id=one.ref_id,
                source_key=one.source_key,
                score=one.score,
                reasons=one.reasons,
                kept=one.kept,
                judged_by=one.judged_by,
            )
            for one in record.credibility
        ),
        report=_report(record.report, items, methodology) if record.report is not None else None,
        methodology=methodology,
        error=record.error or None,
        warnings=tuple(dict.fromkeys((*result.answer_warnings, *result.warnings))),
        stop_reason=result.stop_reason,
        created_by=record.created_by,
        created_at=created_at,
        model=result.model if result.tool == "extractive" else f"{result.provider}:{result.model}",
        cost_usd=result.metrics.cost_usd,
        seconds=result.metrics.seconds,
        trace_path=result.trace_path,
    )


def begun_document(run_id: str, record: ReportRecord, status: RunStatus, created_at: str) -> ResearchRun:
    """A run of a brief that has not ended yet."""
    return ResearchRun(
        run_id=run_id,
        brief_id=record.brief_id,
        attempt=attempt_of(run_id),
        status=status,
        brief=ResearchBrief.of_value(record.brief),
        created_by=record.created_by,
        created_at=created_at,
    )


def stored_text(run: ResearchRun) -> str:
    """The document as it is stored: canonical JSON."""
    return canonical_json(run.document()).decode("utf-8")


def read_text(document: str) -> ResearchRun:
    return ResearchRun.model_validate_json(document)


def summary_of(run: ResearchRun) -> ResearchRunSummary:
    return ResearchRunSummary(
        run_id=run.run_id,
        brief_id=run.brief_id,
        project_id=run.brief.scope.project_id,
        status=run.status,
        created_at=run.created_at,
        question=run.brief.question,
        claims=len(run.report.claims) if run.report else 0,
        citations=len(run.report.citations) if run.report else 0,
    )


def _plan(record: ReportRecord) -> ResearchQueryPlan | None:
    if record.plan is None:
        return None
    queries = tuple(SubQuery(index=one.index, query=one.query, why=one.why) for one in record.plan.sub_queries)
    return ResearchQueryPlan(sub_queries=queries, planned_by=record.plan.planned_by)


def _retrieved(record: ReportRecord) -> dict[int, tuple[RetrievedItem, ...]]:
    copies = {one.ref_id: one.duplicate_of for one in record.duplicates}
    kept = set(record.retained)
    by_query: dict[int, list[RetrievedItem]] = {}
    for item in record.items:
        row = item.row
        place = CorpusCitation(
            source_key=row.source_key,
            title=row.title,
            note_path=row.note_path,
            url=row.url,
            quote=row.text,
            span=_span(row.span),
        )
        found = RetrievedItem(
            ref_id=item.ref_id,
            snippet=row.text,
            content_hash=row.span.content_hash,
            relevance=item.relevance,
            citation=ResearchCitation(ref_id=item.ref_id, quote=row.text, locator=_locator(item, place)),
            duplicate_of=copies.get(item.ref_id),
            retained=item.ref_id in kept,
        )
        by_query.setdefault(item.sub_query, []).append(found)
    return {index: tuple(found) for index, found in sorted(by_query.items())}


def _span(span: Span) -> TextSpan:
    return TextSpan(content_hash=span.content_hash, start=span.start, end=span.end, chunk_id=span.chunk_id)


def _locator(item: ReportItem, place: CorpusCitation) -> Locator:
    """Where a passage stands, as its family is told."""
    page, paper = item.page, item.paper
    url = (page.final_url if page else place.url) or ""
    fetched = page.fetched_at if page else None
    common: dict[str, Any] = {"url": url, "title": place.title, "source_key": place.source_key, "span": place.span}
    match item.family:
        case "knowledge":
            return KnowledgeLocator(citation=place)
        case "web":
            return WebLocator(
                **common,
                provider=item.provider,
                author=page.author if page else None,
                published=page.published if page else None,
                fetched_at=fetched,
            )
        case "academic":
            return AcademicLocator(
                **common,
                provider=item.provider,
                doi=(paper.doi or None) if paper else None,
                authors=paper.authors if paper else (),
                year=paper.year if paper else None,
                venue=(paper.venue or None) if paper else None,
                fetched_at=fetched,
            )
        case "code":
            return CodeLocator(**common, provider=item.provider, repository=_repository(url), fetched_at=fetched)


def _repository(url: str) -> str | None:
    parts = [part for part in urlsplit(url).path.split("/") if part]
    return "/".join(parts[:2]) if len(parts) >= 2 else None


def _report(written: WrittenReport, items: dict[str, ReportItem], methodology: ReportMethodology) -> ResearchReport:
    cited = {one.citation.n: _citation(one, items[one.ref_id]) for one in written.citations}
    return ResearchReport(
        summary=" ".join(one.text for one in written.summary),
        summary_sentences=tuple(ReportSentence(**_said(one, cited)) for one in written.summary),
        claims=tuple(_claim(one, cited) for one in written.claims),
        withdrawn=tuple(_claim(one, cited) for one in written.withdrawn),
        gaps=written.gaps,
        contradictions=tuple(
            ReportContradiction(about=one.about, values=one.values, newer=one.newer) for one in written.contradictions
        ),
        methodology=methodology,
    )


def _claim(one: ReportStatement, cited: dict[int, ResearchCitation]) -> ResearchClaim:
    return ResearchClaim(**_said(one, cited), type=one.type, sub_query=one.sub_query, reason=one.reason)


def _said(one: ReportStatement, cited: dict[int, ResearchCitation]) -> dict[str, Any]:
    return {
        "text": one.text,
        "verdict": one.verdict,
        "confidence": one.confidence,
        "citations": _of(one.citations, cited),
        "checked": one.check.kind,
        "judge": one.check.judge,
        "words": one.words,
    }


def _of(numbers: Iterable[int], cited: dict[int, ResearchCitation]) -> tuple[ResearchCitation, ...]:
    return tuple(cited[n] for n in numbers)


def _citation(bound: BoundCitation, item: ReportItem) -> ResearchCitation:
    citation: Citation = bound.citation
    place = CorpusCitation(
        source_key=citation.source_key,
        title=citation.title,
        note_path=citation.note_path,
        url=citation.url,
        page=citation.page,
        quote=citation.quote,
        span=_span(citation.span),
    )
    return ResearchCitation(n=citation.n, ref_id=bound.ref_id, quote=citation.quote, locator=_locator(item, place))


def _methodology(record: ReportRecord) -> ReportMethodology:
    counted = record.methodology
    return ReportMethodology(
        sub_queries=counted.sub_queries,
        items_retrieved=counted.items_retrieved,
        duplicates=counted.duplicates,
        below_floor=counted.below_floor,
        items_retained=counted.items_retained,
        items_cited=counted.items_cited,
        pages_read=counted.pages_read,
        families=tuple(
            FamilyMethodology(
                family=one.family,
                searches=one.searches,
                found=one.found,
                retained=one.retained,
                cited=one.cited,
            )
            for one in counted.families
        ),
        skipped=tuple(SkippedSource(family=one.family, reason=one.reason) for one in record.skipped),
    )


# What can go wrong with a report, beside what can go wrong with any run.


class ResearchSynthesisError(WorkFailed):
    """No report came of a run: what was written does not hold, or could not be written. `run` has all it gathered."""

    code = "synthesis_failed"

    def __init__(self, run: ResearchRun) -> None:
        message = run.error or f"The run ended without a report ({run.stop_reason})."
        fix = f"What was gathered is kept: 'citewell report --show {run.run_id}'. A fresh attempt: --fresh."
        super().__init__(message, fix=fix)
        self.run = run
        self.run_id = run.run_id
