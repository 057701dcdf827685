"""Evidence: a ranked row that shows one contiguous window of one document."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from citewell.models.rerank import Signal
from citewell.search.windows import Match, best_window, find_matches, wider_window
from citewell.store.port import LexicalQuery, Relationship
from citewell.text.blocks import Block, whole_blocks_of
from citewell.text.chunks import trim
from citewell.text.documents import Chunk, Document, Kind, Role, SectionView, SourceType, Span
from citewell.text.sentences import sentence_breaks

if TYPE_CHECKING:
    from citewell.store.port import LexicalIndex, TextSource


Lane = Literal["lexical", "semantic", "exact_tag", "related", "exact_title", "pinned"]


ContextKind = Literal["heading", "lead_in", "table_header", "property"]


# From here on the evidence is taken to answer; below, an answer without a model is refused.
LIKELY = 0.7
# From here on an answer is called likely: of 70 so rated over real notes 61 were right, of 101 below 61.
RELIABLE = 0.9
# Below this no answer is to be expected, and a run looks further before it gives up.
UNLIKELY = 0.3


@dataclass(frozen=True, slots=True)
class Answerability:
    """How likely it is that the evidence answers the question at all, from 0 to 1, and what speaks against it."""

    probability: float
    reasons: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """One line for a person: how likely, and what speaks against it."""
        words = "unlikely" if self.probability < UNLIKELY else "likely" if self.probability >= LIKELY else "uncertain"
        against = f": {'; '.join(self.reasons)}" if self.reasons and self.probability < LIKELY else ""
        return f"that your corpus answers this is {words} ({self.probability:.0%}){against}"


@dataclass(frozen=True, slots=True)
class Context:
    """What belongs to a row or a quote but stands elsewhere in its document, such as the header of its table.

    `text` is `canonical_text[span.start:span.end]`.
    """

    kind: ContextKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row of evidence; `text` is `canonical_text[span.start:span.end]`."""

    source_key: str
    kind: Kind
    source_type: SourceType
    title: str
    role: Role
    text: str
    span: Span
    score: float
    url: str | None = None
    note_path: str | None = None
    dated: str | None = None
    user_tags: tuple[str, ...] = ()
    summary_kind: str | None = None
    excerpt_kind: str | None = None
    sections: tuple[SectionView, ...] = ()
    signals: tuple[Signal, ...] = ()
    matched_terms: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    related_to: str | None = None
    relationship: Relationship | None = None
    context: tuple[Context, ...] = ()


GivenLane = Literal["primary", "exact_tag", "related"]


@dataclass(frozen=True, slots=True)
class GivenRow:
    """The place of a row somebody else holds: enough to read it anew, and nothing that could be forged."""

    source_key: str
    content_hash: str
    start: int
    end: int
    lane: GivenLane = "primary"
    related_to: str | None = None
    relationship: Relationship | None = None


# Evidence rows: a chunk that was found, shown as a window with exact offsets and the terms it matched.


# How much of a document is looked through for the part to show.
LOOK_THROUGH = 60_000


@dataclass(frozen=True, slots=True)
class RowWindow:
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


def read_around(texts: TextSource, document: Document, chunk: Chunk, query: LexicalQuery, max_chars: int) -> RowWindow:
    """Read a chunk, and as much around it as a window of `max_chars` may need."""
    return read_many(texts, [(document, chunk)], query, max_chars)[0]


def read_many(
    texts: TextSource, chunks: Sequence[tuple[Document, Chunk]], query: LexicalQuery, max_chars: int
) -> list[RowWindow]:
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


def shown_from(
    texts: TextSource, document: Document, chunk: Chunk, query: LexicalQuery, beside: Collection[str] = ()
) -> Chunk:
    """The place a row is shown from: the chunk that was found, or where a long document begins that is only named.

    A question that says nothing but what a document is called is answered by its opening; in a document too long to be
    looked through whole the chunk that was found may lie far from there. Words that only say what is wanted of it are
    given as `beside`.
    """
    if document.length <= LOOK_THROUGH or not query.terms or chunk.ordinal == 0:
        return chunk
    names = " ".join((document.title, *document.aliases))
    named = {match.term for match in find_matches(names, query, document.language)}
    if not {term.text for term in query.terms} - {*beside} <= named:
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
) -> RowWindow:
    title = " ".join((document.title, *document.aliases, *chunk.heading_path, *document.user_tags))
    titled = frozenset(match.term for match in find_matches(title, query, document.language))
    names = " ".join((document.title, *document.aliases))
    named_by = frozenset(match.term for match in find_matches(names, query, document.language)) if titled else titled
    return RowWindow(text, start, tuple(find_matches(text, query, document.language)), titled, named_by, sections)


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
    reading: RowWindow,
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


# What belongs to an evidence row but stands above its window: headings, the line that leads in, a table's header.
#
# A window is one contiguous slice, so the middle of a long table comes without its header and the end of a long list
# without the sentence that says what it lists. Both stand in the document, and are given beside the row at their exact
# spans. Headings come outermost first, then the lead-in, then the header.
#
# Example:
#     document: ## Moorings\n\nWe pay a night:\n\n| Port | Fee |\n|---|---|\n| Aith | 9 |\n| Voe | 7 |
#     window:   | Voe | 7 |
#     context:  heading "Moorings", lead_in "We pay a night:", table_header "| Port | Fee |"


# How far above a window is looked for what belongs to it.
_LOOK_ABOVE = 400_000
# How much after a window is read too: a piece of code is told by where it closes.
_LOOK_BELOW = 4_000
# Of a longer paragraph only its last sentence leads into what stands below it.
_LEAD_CHARS = 300
_HEADER_CHARS = 1_000

_MARKS = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(?=\S)")
_CLOSING_MARKS = re.compile(r"[ \t]+#+[ \t]*$")
_UNDERLINE = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[ \t:|-]*$")


@dataclass(frozen=True, slots=True)
class _Part:
    """A kind of context and where it stands."""

    kind: ContextKind
    start: int
    end: int
    level: int = 0


def with_context(texts: TextSource, rows: Sequence[EvidenceRow]) -> tuple[EvidenceRow, ...]:
    """The rows, each with what stands above its window and belongs to it."""
    found = contexts_of(texts, [(row.source_key, row.span) for row in rows])
    return tuple(replace(row, context=above) if above else row for row, above in zip(rows, found, strict=True))


def contexts_of(texts: TextSource, places: Sequence[tuple[str, Span]]) -> list[tuple[Context, ...]]:
    """What stands above each of these spans of documents and belongs to it."""
    below = [at for at, (_, span) in enumerate(places) if span.start > 0]
    under = [places[at] for at in below]
    sections = texts.sections_of([(key, span.content_hash, 0, span.start + 1) for key, span in under])
    looked = [(max(0, span.start - _LOOK_ABOVE), span.end + _LOOK_BELOW) for _, span in under]
    slices = texts.slices([(places[at][1].content_hash, *look) for at, look in zip(below, looked, strict=True)])
    found: list[tuple[Context, ...]] = [()] * len(places)
    for at, text, (start, _), above in zip(below, slices, looked, sections, strict=True):
        found[at] = context_of(places[at][1], text, start, above)
    return found


def context_of(span: Span, text: str, offset: int, sections: Sequence[SectionView]) -> tuple[Context, ...]:
    """What belongs to a span and stands above it; `text` is the document from `offset` on, `sections` those above."""
    begin = span.start - offset
    starts = [section.start - offset for section in sections]
    headings = _headings(text, begin, [at for at, one in zip(starts, sections, strict=True) if one.heading and at >= 0])
    opened = bisect_right(starts, begin) - 1
    low = max(0, starts[opened]) if opened >= 0 else 0
    parts = (*headings, *_leading(text[low:], begin - low, low))
    return tuple(
        Context(
            part.kind,
            text[part.start : part.end],
            replace(
                span,
                chunk_id=f"{span.content_hash[:12]}:{offset + part.start}-{offset + part.end}",
                start=offset + part.start,
                end=offset + part.end,
            ),
        )
        for part in parts
    )


def _headings(text: str, begin: int, starts: Sequence[int]) -> list[_Part]:
    """The headings that a place stands under, outermost first, without those it begins with."""
    path: list[_Part] = []
    for start in starts:
        heading = _heading(text, start)
        if heading is None or start > begin:
            continue
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    return [heading for heading in path if heading.end <= begin]


def _heading(text: str, start: int) -> _Part | None:
    """The words of the heading a section opens with, its marks left out."""
    end = _line_end(text, start)
    line = text[start:end]
    marks = _MARKS.match(line)
    if marks:
        closing = _CLOSING_MARKS.search(line, marks.end())
        span = trim(text, start + marks.end(), start + closing.start() if closing else end)
        return _Part("heading", *span, level=len(marks[1])) if span[0] < span[1] else None
    underline = _UNDERLINE.match(text[end + 1 : _line_end(text, end + 1)])
    return _Part("heading", *trim(text, start, end), level=1 if underline[1][0] == "=" else 2) if underline else None


def _leading(text: str, begin: int, offset: int) -> Iterator[_Part]:
    """What leads into the block a window begins in, where the window has lost it."""
    blocks = whole_blocks_of(text)
    number = next((number for number, block in enumerate(blocks) if block.end > begin), None)
    if number is None:
        return
    block = blocks[number]
    lead = _lead(blocks, number)
    if lead is not None and lead.end <= begin:
        start = _last_sentence(text, lead)
        yield _Part("lead_in", offset + start, offset + lead.end)
    if block.kind == "table":
        header = _table_header(text, block)
        if header is not None and header[1] <= begin:
            yield _Part("table_header", offset + header[0], offset + header[1])


def _lead(blocks: Sequence[Block], number: int) -> Block | None:
    """The paragraph that leads into a list, a table or code; for code below an item of a list, that item."""
    block = blocks[number]
    if block.kind == "code" and number and blocks[number - 1].kind == "item":
        return blocks[number - 1]
    return blocks[block.lead] if block.lead is not None and blocks[block.lead].kind == "paragraph" else None


def _last_sentence(text: str, block: Block) -> int:
    """Where the sentence begins that leads into what follows; the whole of a short paragraph."""
    if block.end - block.start <= _LEAD_CHARS:
        return block.start
    breaks = [at for at in sentence_breaks(text[block.start : block.end]) if 0 < at < block.end - block.start]
    start = block.start + breaks[-1] if breaks else text.rfind("\n", block.start, block.end) + 1 or block.start
    return trim(text, start, block.end)[0]


def _table_header(text: str, table: Block) -> tuple[int, int] | None:
    """The first line of a table that has a rule below it."""
    end = _line_end(text, table.start)
    is_ruled = _TABLE_RULE.match(text[end + 1 : _line_end(text, end + 1)])
    return trim(text, table.start, end) if is_ruled and end - table.start <= _HEADER_CHARS else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end != -1 else len(text)
