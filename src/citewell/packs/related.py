"""Related documents as evidence rows: neighbours in the link graph, each with the text that shows the relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from citewell.domain.corpus_port import CorpusReader
from citewell.domain.documents import Chunk, Document, Role, Span
from citewell.domain.evidence import EvidenceRow
from citewell.domain.ports import RelatedDocument
from citewell.domain.queries import LexicalQuery
from citewell.retrieval.matching import Match
from citewell.retrieval.row_context import with_context
from citewell.retrieval.rows import LOOK_THROUGH, evidence_row, read_around
from citewell.retrieval.windows import best_window


def related_rows(store: CorpusReader, key: str, max_chars: int, limit: int) -> list[EvidenceRow]:
    """The neighbours of a document, both ways, the most linked first, each with what belongs to its window."""
    return list(with_context(store, neighbour_rows(store, key, max_chars, limit)))


def neighbour_rows(store: CorpusReader, key: str, max_chars: int, limit: int) -> list[EvidenceRow]:
    """The same, for who chooses among them first."""
    return [_related_row(store, key, neighbour, max_chars) for neighbour in store.related(key, limit)]


def _related_row(store: CorpusReader, key: str, neighbour: RelatedDocument, max_chars: int) -> EvidenceRow:
    if neighbour.relationship in ("linked_from", "embedded_in", "source_of"):
        row = _around_link(store, neighbour, max_chars)
    else:
        row = opening_row(store, neighbour.document, LexicalQuery(()), {}, max_chars, _role(neighbour))
    return replace(
        row, lanes=("related",), related_to=key, relationship=neighbour.relationship, score=float(neighbour.links)
    )


def _role(neighbour: RelatedDocument) -> Role:
    """An embedded file belongs to the note as its attachment; an embedded note stays a note of its own."""
    is_file = neighbour.document.source_type != "vault_note"
    return "attachment" if neighbour.relationship == "embeds" and is_file else "graph_related"


def _around_link(store: CorpusReader, neighbour: RelatedDocument, max_chars: int) -> EvidenceRow:
    """The passage in which a document links here."""
    document = neighbour.document
    low = max(0, neighbour.start - max_chars)
    high = min(document.length, neighbour.end + max_chars)
    text = store.slice(document.content_hash, low, high)
    link = Match("link", neighbour.start - low, neighbour.end - low)
    first, last = best_window(text, [link], {}, max_chars, (link.start, link.end))
    row = opening_row(store, document, LexicalQuery(()), {}, max_chars, "backlink_context")
    start, end = low + first, low + last
    chunk_id = f"{document.content_hash[:12]}:{start}-{end}"
    return replace(
        row,
        text=text[first:last],
        span=Span(chunk_id, start, end, document.content_hash),
        sections=store.sections_between(document.source_key, document.content_hash, start, end),
    )


def opening_row(
    store: CorpusReader,
    document: Document,
    query: LexicalQuery,
    weights: Mapping[str, float],
    max_chars: int,
    role: Role,
) -> EvidenceRow:
    """A row for a document that no query ranked: its best window for the query, else where its text begins."""
    sections = store.sections_between(document.source_key, document.content_hash, 0, document.length)
    start = sections[0].start if sections else 0
    end = min(document.length, start + LOOK_THROUGH)
    whole = Chunk(f"{document.content_hash[:12]}:{start}-{end}", 0, start, end, role)
    reading = read_around(store, document, whole, query, max_chars)
    return evidence_row(document, whole, reading, query, weights, max_chars, score=0.0, lanes=("related",))
