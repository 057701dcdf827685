"""Binding: each citation of a report to the retained item it stands in. Pure.

    [3] quotes characters 120–188 of note:notes/kelp   ->   knowledge-0-2, whose passage is 90–700 of that text

What stands in no retained item is unresolved: a report with one is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.answers import Citation
from citewell.domain.briefs import BoundCitation, ReportItem


class CitationBinder:
    """Resolves citations by key, hash and span."""

    name = "citation"

    def bind(
        self, citations: Sequence[Citation], retained: Sequence[ReportItem]
    ) -> tuple[tuple[BoundCitation, ...], tuple[int, ...]]:
        """The citations with their items, and the numbers of those that resolve to none."""
        bound: list[BoundCitation] = []
        unresolved: list[int] = []
        for citation in citations:
            item = next((one for one in retained if _holds(one, citation)), None)
            if item is None:
                unresolved.append(citation.n)
            else:
                bound.append(BoundCitation(item.ref_id, item.family, citation))
        return tuple(bound), tuple(unresolved)


def _holds(item: ReportItem, citation: Citation) -> bool:
    row, span = item.row, citation.span
    if row.source_key != citation.source_key or row.span.content_hash != span.content_hash:
        return False
    inside = row.span.start <= span.start <= span.end <= row.span.end
    # What stands above a window and belongs to it, such as the header of its table, came with the item.
    return inside or any((one.span.start, one.span.end) == (span.start, span.end) for one in row.context)
