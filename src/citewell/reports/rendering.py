"""A report as plain text, for agents and logs. Pure; surfaces with a layout of their own have their own."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.reports.models import ResearchCitation, ResearchClaim, ResearchReport, ResearchRun

_FLAGS = {"unsupported": " (not proven by its quote)", "partial": " (proven in part)"}


def report_text(run: ResearchRun) -> str:
    """The run as text: the report, or why there is none."""
    head = [f"# {_line(run.brief.question)}", ""]
    if run.report is None:
        why = run.error or ("It is under way." if run.status not in ("failed", "cancelled", "done") else "No report.")
        return "\n".join([*head, f"{run.status}: {why}", "", f"run {run.run_id}"])
    return "\n".join([*head, *_report(run.report, run), "", f"run {run.run_id}, brief {run.brief_id}"])


def _report(report: ResearchReport, run: ResearchRun) -> Iterator[str]:
    yield from ("## Summary", "")
    yield from (
        f"{_line(one.text)} {marks(one.citations)}{_FLAGS.get(one.verdict, '')}" for one in report.summary_sentences
    )
    yield from ("", "## Claims", "")
    for claim in report.claims:
        yield f"- {claim.type}: {_line(claim.text)} {marks(claim.citations)}{_FLAGS.get(claim.verdict, '')}"
    for claim in report.withdrawn:
        yield f"- taken back ({_line(claim.reason) or 'its source says otherwise'}): {_line(claim.text)}"
    if report.gaps:
        yield from ("", "## Open", "", *(f"- {_line(gap)}" for gap in report.gaps))
    yield from ("", "## Sources", "")
    yield from (source_line(one) for one in report.citations)
    yield from ("", methodology_line(run))


def marks(citations: tuple[ResearchCitation, ...]) -> str:
    return " ".join(f"[{one.n}]" for one in citations)


def source_line(citation: ResearchCitation) -> str:
    title, where = place_of(citation)
    return f"[{citation.n}] {_line(title)} ({_line(where)}): “{_line(citation.quote)[:400]}”"


def place_of(citation: ResearchCitation) -> tuple[str, str]:
    """The title of a source, and where it stands."""
    locator = citation.locator
    if locator.family == "knowledge":
        found = locator.citation
        where = found.note_path or found.url or found.source_key
        return found.title, f"{where}, p. {found.page}" if found.page is not None else where
    return locator.title, locator.url


def methodology_line(run: ResearchRun) -> str:
    """How it was made, in one line."""
    counted = run.methodology
    if counted is None:
        return ""
    parts = [
        f"{counted.sub_queries} sub-queries",
        f"{counted.items_retrieved} passages found",
        f"{counted.duplicates} copies",
        f"{counted.below_floor} below the credibility floor",
        f"{counted.items_retained} kept",
        f"{counted.items_cited} cited",
    ]
    skipped = "".join(f"; {one.family} left out ({one.reason})" for one in counted.skipped)
    return f"{', '.join(parts)}{skipped}. Written by {run.model or 'nobody'}."


def claims_by_query(report: ResearchReport) -> dict[int | None, list[ResearchClaim]]:
    """The claims under the sub-query each belongs to, in order."""
    grouped: dict[int | None, list[ResearchClaim]] = {}
    for claim in report.claims:
        grouped.setdefault(claim.sub_query, []).append(claim)
    return grouped


def _line(text: str) -> str:
    return " ".join(text.split())
