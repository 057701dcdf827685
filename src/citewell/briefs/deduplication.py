"""Copies among the items of a report, found before anything is paid for. Pure.

    two sub-queries find the same window, or two pages carry one press release   ->   one is kept, the others name it

Same place, same content, same address with nearly the same text, or three-word runs shared by 85 in 100. The user's own
document is kept where a page carries the same; else the one that came nearer.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.briefs import Duplicate, ReportItem
from citewell.evidence.copies import are_copies, sketch
from citewell.text.urls import canonical_url


class LexicalDeduplicator:
    """Tells copies by their words."""

    name = "lexical"

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]:
        """Every item that another one makes needless."""
        kept: list[tuple[ReportItem, tuple[int, ...]]] = []
        found: list[Duplicate] = []
        for item in sorted(items, key=lambda one: (one.is_external, one.sub_query, -one.relevance, one.ref_id)):
            marks = sketch(item.row.text)
            same = next(((other, why) for other, known in kept if (why := _same(item, marks, other, known))), None)
            if same is None:
                kept.append((item, marks))
            else:
                found.append(Duplicate(item.ref_id, same[0].ref_id, same[1]))
        return tuple(found)


class NoDeduplicator:
    """Keeps everything but the very same window."""

    name = "off"

    def duplicates(self, items: Sequence[ReportItem]) -> tuple[Duplicate, ...]:
        first: dict[tuple[str, int, int], str] = {}
        found: list[Duplicate] = []
        for item in items:
            known = first.setdefault(_place(item), item.ref_id)
            if known != item.ref_id:
                found.append(Duplicate(item.ref_id, known, "the same passage"))
        return tuple(found)


def _place(item: ReportItem) -> tuple[str, int, int]:
    return item.row.source_key, item.row.span.start, item.row.span.end


def _same(one: ReportItem, marks: tuple[int, ...], other: ReportItem, known: tuple[int, ...]) -> str:
    if _place(one) == _place(other):
        return "the same passage"
    if one.row.source_key != other.row.source_key and one.row.text.strip() == other.row.text.strip():
        return "the same text"
    if are_copies(marks, known):
        return "the same address" if _address(one) and _address(one) == _address(other) else "nearly the same text"
    return ""


def _address(item: ReportItem) -> str | None:
    return canonical_url(item.row.url) if item.row.url else None
