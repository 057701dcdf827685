"""Rows of a pack that comes from outside, read anew: a row is evidence only as the store has it, by key and hash.

Of what the caller sends, nothing but the place of each row is used. Its text, title, role and tags come from the store,
and a row whose place does not exist there is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.search.pack import ResearchPack
from citewell.search.query import QueryPlan, lexical_query
from citewell.search.rows import EvidenceRow, GivenLane, GivenRow, with_context
from citewell.search.windows import find_matches
from citewell.store.port import CorpusReader
from citewell.text.documents import Document, Span


@dataclass(frozen=True, slots=True)
class Reread:
    """What the store has of the rows that were given, and what it does not have."""

    evidence: tuple[EvidenceRow, ...]
    exact_tag_evidence: tuple[EvidenceRow, ...]
    refused: tuple[tuple[str, str], ...]


def given_rows(pack: ResearchPack) -> tuple[GivenRow, ...]:
    """The places the rows of a pack name, in their order."""
    primary = (_given(row, "related" if row.related_to else "primary") for row in pack.evidence)
    return (*primary, *(_given(row, "exact_tag") for row in pack.exact_tag_evidence))


def _given(row: EvidenceRow, lane: GivenLane) -> GivenRow:
    span = row.span
    return GivenRow(
        *(row.source_key, span.content_hash, span.start, span.end),
        lane=lane,
        related_to=row.related_to,
        relationship=row.relationship,
    )


def reread(store: CorpusReader, plan: QueryPlan, given: Sequence[GivenRow]) -> Reread:
    """The given rows as the store has them."""
    evidence: list[EvidenceRow] = []
    tagged: list[EvidenceRow] = []
    refused: list[tuple[str, str]] = []
    for place in given:
        document = _document(store, place)
        if document is None:
            refused.append((place.source_key, "no such document, or not with this text"))
        elif not 0 <= place.start < place.end <= document.length:
            refused.append((place.source_key, "the row lies outside the document"))
        else:
            row = _row(store, plan, place, document, len(evidence) + 1)
            (tagged if place.lane == "exact_tag" else evidence).append(row)
    return Reread(with_context(store, evidence), with_context(store, tagged), tuple(refused))


def _document(store: CorpusReader, place: GivenRow) -> Document | None:
    document = store.find(place.source_key)
    if document is not None and document.content_hash == place.content_hash:
        return document
    return store.find_kept(place.source_key, place.content_hash)


def _row(store: CorpusReader, plan: QueryPlan, place: GivenRow, document: Document, rank: int) -> EvidenceRow:
    text = store.slice(document.content_hash, place.start, place.end)
    sections = store.sections_between(document.source_key, document.content_hash, place.start, place.end)
    query = lexical_query(plan.text_query, store.languages())
    found = {match.term for match in find_matches(f"{document.title}\n{text}", query, document.language)}
    wanted = tuple(dict.fromkeys(term.text for term in query.terms))
    role = sections[0].role if sections else "raw_source"
    chunk_id = f"{document.content_hash[:12]}:{place.start}-{place.end}"
    return EvidenceRow(
        source_key=document.source_key,
        kind=document.kind,
        source_type=document.source_type,
        title=document.title,
        role="graph_related" if place.lane == "related" else role,
        text=text,
        span=Span(chunk_id, place.start, place.end, place.content_hash),
        score=1.0 / rank,
        url=document.url,
        note_path=document.note_path,
        dated=document.modified or document.created,
        user_tags=document.user_tags,
        excerpt_kind="window" if place.end - place.start < document.length else "full",
        sections=sections,
        matched_terms=tuple(term for term in wanted if term in found),
        missing_terms=tuple(term for term in wanted if term not in found),
        lanes=("related",) if place.lane == "related" else ("lexical",),
        related_to=place.related_to,
        relationship=place.relationship,
    )
