"""What belongs to an evidence row but stands above its window: headings, the line that leads in, a table's header.

A window is one contiguous slice, so the middle of a long table comes without its header and the end of a long list
without the sentence that says what it lists. Both stand in the document, and are given beside the row at their exact
spans. Headings come outermost first, then the lead-in, then the header.

Example:
    document: ## Moorings\\n\\nWe pay a night:\\n\\n| Port | Fee |\\n|---|---|\\n| Aith | 9 |\\n| Voe | 7 |
    window:   | Voe | 7 |
    context:  heading "Moorings", lead_in "We pay a night:", table_header "| Port | Fee |"
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.domain.documents import SectionView, Span
from citewell.domain.evidence import Context, ContextKind, EvidenceRow
from citewell.domain.values import dataclass
from citewell.text.chunking import trim
from citewell.text.sentences import sentence_breaks
from citewell.text.structure import Block, whole_blocks_of

if TYPE_CHECKING:
    from citewell.domain.corpus_port import TextSource

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
    below = [row for row in rows if row.span.start > 0]
    sections = texts.sections_of([(row.source_key, row.span.content_hash, 0, row.span.start + 1) for row in below])
    spans = [(max(0, row.span.start - _LOOK_ABOVE), row.span.end + _LOOK_BELOW) for row in below]
    slices = texts.slices([(row.span.content_hash, *span) for row, span in zip(below, spans, strict=True)])
    found = {
        id(row): context_of(row.span, text, start, above)
        for row, text, (start, _), above in zip(below, slices, spans, sections, strict=True)
    }
    return tuple(replace(row, context=found[id(row)]) if found.get(id(row)) else row for row in rows)


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
