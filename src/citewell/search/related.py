"""Related documents as evidence rows: neighbours in the link graph, each with the text that shows the relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from citewell.search.rows import (
    LOOK_THROUGH,
    EvidenceRow,
    RowWindow,
    evidence_row,
    opening_of,
    read_around,
    stretch,
    with_context,
)
from citewell.search.windows import Match, best_window
from citewell.store.port import CorpusReader, LexicalQuery, RelatedDocument
from citewell.text.documents import Document, Role, Span

# How many stretches of a long document are looked through for the part to show.
_MOST_STRETCHES = 40


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
    opening = opening_of(store, document, role)
    size = max(LOOK_THROUGH, max_chars)
    last = max(opening.start, document.length - size)
    starts = range(opening.start, max(document.length, opening.start + 1), size)[:_MOST_STRETCHES]
    stretches = [stretch(document, min(start, last), role, ordinal, size) for ordinal, start in enumerate(starts)]
    if query.is_empty:
        stretches = stretches[:1]
    read = [(one, read_around(store, document, one, query, max_chars)) for one in stretches]
    chunk, reading = max(read, key=lambda pair: _said(pair[1], weights))
    return evidence_row(document, chunk, reading, query, weights, max_chars, score=0.0, lanes=("related",))


def _said(reading: RowWindow, weights: Mapping[str, float]) -> float:
    """How much of the question a stretch of a long document has; the first of equal ones is shown."""
    return sum(weights.get(term, 1.0) for term in {match.term for match in reading.matches})
