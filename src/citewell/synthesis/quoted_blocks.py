"""Quoted blocks: the stretch of a source that is quoted around a statement, so that nothing of it is lost.

A paragraph whole; a list whole, with the line that leads into it; code under its sentence; a table. What follows and
reverses a statement stands in its paragraph and is therefore seen.

Example:
    text:      You can carry over leave.\\n\\nSteps:\\n\\n1. Ask.\\n2. Wait.
    statement: Wait.
    block:     Steps:\\n\\n1. Ask.\\n2. Wait.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from citewell.text.structure import Block, whole_blocks_of

QuotedKind = Literal["paragraph", "list", "code", "table", "properties"]

# A longer block is quoted in part: whole lines around the statement.
MAX_QUOTE_CHARS = 1_600


@dataclass(frozen=True, slots=True)
class QuotedBlock:
    """A stretch of a text, with where its own lines begin: before `body` stands what leads into it."""

    start: int
    end: int
    kind: QuotedKind
    body: int

    def around(self, text: str, start: int, end: int) -> tuple[int, int]:
        """The whole block, or of a long one the whole lines around a statement in it."""
        low, high = min(self.start, start), max(self.end, end)
        if high - low <= MAX_QUOTE_CHARS:
            return low, high
        room = (MAX_QUOTE_CHARS - (end - start)) // 2
        if start - low > room:
            newline = text.find("\n", max(low, start - room), start)
            low = newline + 1 if newline != -1 else start
        if high - end > room:
            newline = text.rfind("\n", end, min(high, end + room))
            high = newline if newline != -1 else end
        return low, high


@lru_cache(maxsize=64)
def quoted_blocks(text: str) -> tuple[QuotedBlock, ...]:
    """The blocks of a text that can be quoted, in order; headings are none."""
    return tuple(_quoted_blocks(text))


def block_at(text: str, start: int) -> QuotedBlock | None:
    """The block a place of the text lies in."""
    blocks = quoted_blocks(text)
    at = bisect_right([block.start for block in blocks], start) - 1
    return blocks[at] if at >= 0 and start < blocks[at].end else None


def _quoted_blocks(text: str) -> Iterator[QuotedBlock]:
    blocks = whole_blocks_of(text)
    current: QuotedBlock | None = None
    for number, block in enumerate(blocks):
        joined = _joined(current, block, blocks[number - 1]) if current is not None else None
        if joined is not None:
            current = joined
            continue
        if current is not None:
            yield current
        current = _opened(block)
    if current is not None:
        yield current


def _opened(block: Block) -> QuotedBlock | None:
    match block.kind:
        case "heading":
            return None
        case "item":
            kind: QuotedKind = "list"
        case "paragraph" | "code" | "table" | "properties":
            kind = block.kind
    return QuotedBlock(block.start, block.end, kind, block.start)


def _joined(current: QuotedBlock, block: Block, before: Block) -> QuotedBlock | None:
    """The block with the next one, where that belongs to it."""
    longer = replace(current, end=block.end)
    match block.kind:
        case "item" if current.kind == "list":
            return longer
        case "item" | "table" | "code" if current.kind == "paragraph" and before.kind == "paragraph":
            kinds: dict[str, QuotedKind] = {"item": "list", "table": "table", "code": "code"}
            return replace(longer, kind=kinds[block.kind], body=block.start)
        case "code" if current.kind in ("list", "code"):
            return longer
        case _:
            return None
