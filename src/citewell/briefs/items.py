"""What was found, as the items of a report: each with a name, its family, and how near it came. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from citewell.domain.briefs import MAX_SNIPPET_CHARS, Family, ReportItem
from citewell.domain.evidence import EvidenceRow
from citewell.domain.web import PageFacts, PaperFacts


def knowledge_items(sub_query: int, rows: Sequence[EvidenceRow]) -> tuple[ReportItem, ...]:
    """The rows of the corpus for a sub-query."""
    best = max((row.score for row in rows), default=0.0)
    return tuple(
        ReportItem(f"knowledge-{sub_query}-{n}", sub_query, "knowledge", _relevance(row, best), _cut(row))
        for n, row in enumerate(rows, start=1)
    )


def page_items(
    sub_query: int,
    rows: Sequence[EvidenceRow],
    pages: Mapping[str, PageFacts],
    families: Mapping[str, tuple[Family, str]],
    papers: Mapping[str, PaperFacts],
) -> tuple[ReportItem, ...]:
    """The passages of pages for a sub-query; `families` says of each page whence it came and who found it."""
    best = max((row.score for row in rows), default=0.0)
    found: list[ReportItem] = []
    for n, row in enumerate((one for one in rows if one.source_key in pages), start=1):
        page = pages[row.source_key]
        family, provider = families.get(row.source_key, ("web", ""))
        found.append(
            ReportItem(
                f"{family}-{sub_query}-{n}",
                sub_query,
                family,
                _relevance(row, best),
                # A page's own date, or none: when it was fetched says nothing of it.
                replace(_cut(row), dated=page.published),
                provider,
                replace(page, sketch=()),
                papers.get(row.source_key),
            )
        )
    return tuple(found)


def _relevance(row: EvidenceRow, best: float) -> float:
    return round(min(1.0, max(0.0, row.score / best)), 4) if best > 0 else 0.0


def _cut(row: EvidenceRow) -> EvidenceRow:
    """A row no longer than a snippet may be."""
    if len(row.text) <= MAX_SNIPPET_CHARS:
        return row
    span = replace(row.span, end=row.span.start + MAX_SNIPPET_CHARS)
    return replace(row, text=row.text[:MAX_SNIPPET_CHARS], span=span)
