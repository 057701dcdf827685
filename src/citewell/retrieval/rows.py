"""Evidence rows: a chunk that was found, shown as a window with exact offsets and the terms it matched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.domain.documents import Chunk, Document, Role, SectionView, Span
from citewell.domain.evidence import EvidenceRow, Lane, Signal
from citewell.domain.queries import LexicalQuery
from citewell.domain.values import dataclass
from citewell.retrieval.matching import Match, find_matches
from citewell.retrieval.windows import best_window, wider_window

if TYPE_CHECKING:
    from citewell.domain.corpus_port import LexicalIndex, TextSource

# How much of a document is looked through for the part to show.
LOOK_THROUGH = 60_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The part of a document around a chunk, with what the query matches in it and above it.

    `named_by` are the terms that stand in the document's own names; `is_opening` says that the document begins here.
    """

    text: str
    offset: int
    matches: tuple[Match, ...]
    title_matches: frozenset[str]
    named_by: frozenset[str]
    sections: tuple[SectionView, ...]
    is_opening: bool = True

    def matched(self) -> frozenset[str]:
        """The terms that stand in the text or above it."""
        return frozenset(match.term for match in self.matches) | self.title_matches


def term_chunks(index: LexicalIndex, query: LexicalQuery) -> dict[str, int]:
    """In how many chunks each term of the query occurs, in its most common form."""
    counts = index.frequencies([form for term in query.terms for form in term.forms])
    return {term.text: max((counts.get(form, 0) for form in term.forms), default=0) for term in query.terms}


def rarity(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """The weight of each term: the rarer in the corpus, the heavier."""
    return {term: math.log(1 + max(total, 1) / max(1, count)) for term, count in counts.items()}


def read_around(texts: TextSource, document: Document, chunk: Chunk, query: LexicalQuery, max_chars: int) -> Reading:
    """Read a chunk, and as much around it as a window of `max_chars` may need."""
    return read_many(texts, [(document, chunk)], query, max_chars)[0]


def read_many(
    texts: TextSource, chunks: Sequence[tuple[Document, Chunk]], query: LexicalQuery, max_chars: int
) -> list[Reading]:
    """The same for several chunks at once."""
    allowed = [_allowance(document, chunk, max_chars) for document, chunk in chunks]
    sections = texts.sections_of(
        [
            (document.source_key, document.content_hash, *span)
            for (document, _), span in zip(chunks, allowed, strict=True)
        ]
    )
    spans = [_within(chunk, *span, found) for (_, chunk), span, found in zip(chunks, allowed, sections, strict=True)]
    slices = texts.slices([(document.content_hash, *span) for (document, _), span in zip(chunks, spans, strict=True)])
    return [
        replace(_reading(document, chunk, text, start, found, query), is_opening=low == 0 or chunk.ordinal == 0)
        for (document, chunk), text, (start, _), found, (low, _) in zip(
            chunks, slices, spans, sections, allowed, strict=True
        )
    ]


def shown_from(texts: TextSource, document: Document, chunk: Chunk, query: LexicalQuery) -> Chunk:
    """The place a row is shown from: the chunk that was found, or where a long document begins that is only named.

    A question that says nothing but what a document is called is answered by its opening; in a document too long to be
    looked through whole the chunk that was found may lie far from there.
    """
    if document.length <= LOOK_THROUGH or not query.terms or chunk.ordinal == 0:
        return chunk
    names = " ".join((document.title, *document.aliases))
    named = {match.term for match in find_matches(names, query, document.language)}
    if not {term.text for term in query.terms} <= named:
        return chunk
    return opening_of(texts, document, chunk.role)


def opening_of(texts: TextSource, document: Document, role: Role) -> Chunk:
    """What a document begins with, as much as is looked through at once."""
    sections = texts.sections_between(document.source_key, document.content_hash, 0, document.length)
    return stretch(document, sections[0].start if sections else 0, role, 0)


def stretch(document: Document, start: int, role: Role, ordinal: int, size: int = LOOK_THROUGH) -> Chunk:
    """As much of a document from here on as is looked through at once."""
    end = min(document.length, start + size)
    return Chunk(f"{document.content_hash[:12]}:{start}-{end}", ordinal, start, end, role)


def _within(chunk: Chunk, low: int, high: int, sections: Sequence[SectionView]) -> tuple[int, int]:
    """What may be shown, but not beyond the document's sections: front matter is no evidence."""
    if not sections:
        return chunk.start, chunk.end
    return max(low, min(sections[0].start, chunk.start)), min(high, max(sections[-1].end, chunk.end))


def _reading(
    document: Document,
    chunk: Chunk,
    text: str,
    start: int,
    sections: tuple[SectionView, ...],
    query: LexicalQuery,
) -> Reading:
    title = " ".join((document.title, *document.aliases, *chunk.heading_path, *document.user_tags))
    titled = frozenset(match.term for match in find_matches(title, query, document.language))
    names = " ".join((document.title, *document.aliases))
    named_by = frozenset(match.term for match in find_matches(names, query, document.language)) if titled else titled
    return Reading(text, start, tuple(find_matches(text, query, document.language)), titled, named_by, sections)


def _allowance(document: Document, chunk: Chunk, max_chars: int) -> tuple[int, int]:
    """The chunk, widened to what may be shown.

    A chunk begins at a heading or a paragraph, so what follows it is shown rather than what comes before, until there
    is room for both.
    """
    size = chunk.end - chunk.start
    spare = max_chars - size
    if spare <= 0:
        return chunk.start, chunk.end
    before = spare // 2 if spare > size else 0
    return max(0, chunk.start - before), min(document.length, chunk.end + spare - before)


def evidence_row(
    document: Document,
    chunk: Chunk,
    reading: Reading,
    query: LexicalQuery,
    weights: Mapping[str, float],
    max_chars: int,
    *,
    score: float,
    signals: tuple[Signal, ...] = (),
    lanes: tuple[Lane, ...] = ("lexical",),
) -> EvidenceRow:
    """The row that shows this chunk's best window."""
    inside = (max(0, chunk.start - reading.offset), max(0, chunk.end - reading.offset))
    low, high = best_window(
        reading.text,
        reading.matches,
        weights,
        max_chars,
        inside,
        reading.named_by,
        is_opening=reading.is_opening,
    )
    start, end = reading.offset + low, reading.offset + high
    wanted = tuple(dict.fromkeys(term.text for term in query.terms))
    matched = reading.matched()
    return EvidenceRow(
        source_key=document.source_key,
        kind=document.kind,
        source_type=document.source_type,
        title=document.title,
        role=chunk.role,
        text=reading.text[low:high],
        span=Span(chunk.chunk_id, start, end, document.content_hash),
        score=score,
        url=document.url,
        note_path=document.note_path,
        dated=document.modified or document.created,
        user_tags=document.user_tags,
        excerpt_kind="window" if (end - start) < document.length else "full",
        sections=tuple(section for section in reading.sections if section.start < end and section.end > start),
        signals=signals,
        matched_terms=tuple(term for term in wanted if term in matched),
        missing_terms=tuple(term for term in wanted if term not in matched),
        lanes=lanes,
    )


def wider_span(
    texts: TextSource,
    document: Document,
    shown: tuple[int, int],
    query: LexicalQuery,
    weights: Mapping[str, float],
    max_chars: int,
) -> tuple[int, int]:
    """What a row shows of a document and more around it, up to `max_chars`."""
    chunk = Chunk(f"{document.content_hash[:12]}:{shown[0]}-{shown[1]}", 0, *shown, "raw_source")
    reading = read_around(texts, document, chunk, query, max(LOOK_THROUGH, max_chars))
    inside = (shown[0] - reading.offset, shown[1] - reading.offset)
    low, high = wider_window(reading.text, reading.matches, weights, max_chars, inside)
    return reading.offset + low, reading.offset + high
