"""Merging evidence: a retry, an expansion or an inspection adds to what is there and never replaces it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.documents import DocumentView
from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import Coverage, ResearchPack
from citewell.domain.runs import MergeRecord
from citewell.packs.coverage import note_after_retry


def concepts_met(row: EvidenceRow) -> frozenset[str]:
    """The concepts a row was found to be about."""
    return frozenset(
        signal.name.removeprefix("concept:") for signal in row.signals if signal.name.startswith("concept:")
    )


def merge_retry(pack: ResearchPack, found: ResearchPack) -> tuple[ResearchPack, MergeRecord]:
    """A retry's row is accepted only if it matches an anchor or fills a concept that was missing."""
    anchors = {concept.name for concept in pack.query_plan.concepts if concept.role == "anchor"}
    missing = set(pack.coverage.missing_concepts)
    known = {row.source_key for row in pack.evidence}
    accepted: list[EvidenceRow] = []
    rejected: list[str] = []
    for row in found.evidence:
        if row.source_key in known:
            continue
        if concepts_met(row) & (anchors | missing) or not pack.evidence:
            accepted.append(row)
        else:
            rejected.append(row.source_key)
    merged = replace(
        pack,
        evidence=(*pack.evidence, *accepted),
        coverage=_recovered(pack, accepted),
    )
    return merged, _record(pack.evidence, accepted, rejected)


def _recovered(pack: ResearchPack, accepted: Sequence[EvidenceRow]) -> Coverage:
    filled = {name for row in accepted for name in concepts_met(row)}
    missing = tuple(name for name in pack.coverage.missing_concepts if name not in filled)
    count = pack.coverage.evidence_count + len(accepted)
    note = note_after_retry(pack.coverage.recall_note, pack.coverage.missing_concepts, missing)
    return replace(pack.coverage, missing_concepts=missing, evidence_count=count, recall_note=note)


def merge_expansion(pack: ResearchPack, rows: Sequence[EvidenceRow], limit: int) -> tuple[ResearchPack, MergeRecord]:
    """Related rows come last, at most `limit`, none twice."""
    known = {row.source_key for row in pack.evidence}
    fresh = [row for row in rows if row.source_key not in known]
    accepted, rejected = fresh[:limit], [row.source_key for row in fresh[limit:]]
    merged = replace(pack, evidence=(*pack.evidence, *accepted))
    return merged, _record(pack.evidence, accepted, rejected)


def _record(before: Sequence[EvidenceRow], accepted: Sequence[EvidenceRow], rejected: Sequence[str]) -> MergeRecord:
    return MergeRecord(
        preserved=tuple(row.source_key for row in before),
        accepted=tuple(row.source_key for row in accepted),
        rejected=tuple(rejected),
    )


def merge_inspection(pack: ResearchPack, views: Sequence[DocumentView]) -> ResearchPack:
    """Inspected rows show the wider window that was read; the text of a changed document is left as it was found."""
    by_key = {view.source_key: view for view in views}
    return replace(pack, evidence=tuple(_widened(row, by_key.get(row.source_key)) for row in pack.evidence))


def _widened(row: EvidenceRow, view: DocumentView | None) -> EvidenceRow:
    if view is None or view.content_hash != row.span.content_hash or len(view.text) <= len(row.text):
        return row
    span = replace(row.span, start=view.start, end=view.end)
    outside = tuple(one for one in row.context if not span.start <= one.span.start < span.end)
    return replace(row, text=view.text, span=span, sections=view.sections, excerpt_kind="inspected", context=outside)
