"""Structure: the blocks a text is made of (headings, paragraphs, list items, code, tables), at their exact offsets.

By layout alone, for Markdown and for text that readers put together from paragraphs. A list item, a table or a piece of
code knows the line that leads into it: "You need:" above a list, the sentence above a command, the header of a table.
Every character that is not white space or a rule (`---`) lies in exactly one block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from citewell.text.properties import properties_of
from citewell.text.sentences import sentence_breaks

BlockKind = Literal["heading", "paragraph", "item", "code", "table", "properties"]

# A longer paragraph is several blocks, so that the part of it that answers can be told from the rest.
MAX_BLOCK_CHARS = 400

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]|$)")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_TABLE = re.compile(r"[ \t]*\|")
_LEADS = (":", "：", ":**", ":*", ":_")


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text. `level` is a heading's; `lead` is the number of the block that leads into this one."""

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    lead: int | None = None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a text, in order."""
    whole = [part for block in _blocks(text) for part in _parts(text, block)]
    return _with_leads(text, whole)


def whole_blocks_of(text: str) -> list[Block]:
    """The blocks of a text, in order, the long ones too in one piece."""
    return _with_leads(text, list(_blocks(text)))


def headings_above(blocks: Sequence[Block]) -> list[tuple[int, ...]]:
    """For each block the numbers of the headings it stands under, outermost first; a heading stands under itself."""
    paths: list[tuple[int, ...]] = []
    open_headings: list[int] = []
    for number, block in enumerate(blocks):
        if block.kind == "heading":
            while open_headings and blocks[open_headings[-1]].level >= block.level:
                open_headings.pop()
            open_headings.append(number)
        paths.append(tuple(open_headings))
    return paths


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end == -1 else end
        yield start, end
        start = end + 1


def _blocks(text: str) -> Iterator[Block]:
    lines = list(_lines(text))
    properties, body = properties_of(text)
    if properties:
        yield Block(properties[0][0], properties[-1][1], "properties")
    at = next((number for number, (start, _) in enumerate(lines) if start >= body), len(lines))
    current: Block | None = None
    while at < len(lines):
        start, end = lines[at]
        line = text[start:end]
        fence = _FENCE.match(line)
        if fence:
            if current is not None:
                yield current
            at, end = _fence_end(text, lines, at, fence[1])
            yield Block(start, end, "code")
            current = None
            continue
        kind = _kind(line)
        if current is not None and not _goes_on(current.kind, kind, line):
            yield current
            current = None
        if kind is None:
            pass
        elif kind == "heading":
            match = _HEADING.match(line)
            assert match is not None
            yield Block(start, end, "heading", len(match[1]))
        elif current is None:
            current = Block(start, end, kind)
        else:
            current = replace(current, end=end)
        at += 1
    if current is not None:
        yield current


def _fence_end(text: str, lines: Sequence[tuple[int, int]], at: int, marks: str) -> tuple[int, int]:
    """The line after a fenced block, and where the block ends; one that is never closed ends at a blank line."""
    for number in range(at + 1, len(lines)):
        stripped = text[slice(*lines[number])].strip(" \t>")
        if stripped.startswith(marks) and not stripped.strip(marks[0]):
            return number + 1, lines[number][1]
    for number in range(at + 1, len(lines)):
        if not text[slice(*lines[number])].strip():
            return number, lines[number - 1][1]
    return len(lines), lines[-1][1]


def _kind(line: str) -> BlockKind | None:
    if not line.strip() or _RULE.match(line):
        return None
    if _HEADING.match(line):
        return "heading"
    if _TABLE.match(line):
        return "table"
    return "item" if _ITEM.match(line) else "paragraph"


def _goes_on(current: BlockKind, kind: BlockKind | None, line: str) -> bool:
    """Whether a line belongs to the block before it."""
    match current:
        case "paragraph" | "table":
            return kind == current
        case "item":
            # What is wrapped or indented below an item is part of it; the next item is one of its own.
            return kind == "paragraph" or (kind == "item" and line[:2].isspace())
        case _:
            return False


def _parts(text: str, block: Block) -> Iterator[Block]:
    """A block cut into pieces that are short enough, at sentences or lines; tables and code at lines."""
    start = block.start
    while block.end - start > MAX_BLOCK_CHARS * 3 // 2:
        cut = _cut(text, start, start + MAX_BLOCK_CHARS, block.kind)
        yield replace(block, start=start, end=_trimmed(text, start, cut))
        start = cut
        while start < block.end and text[start].isspace():
            start += 1
    if start < block.end:
        yield replace(block, start=start)


def _cut(text: str, start: int, most: int, kind: BlockKind) -> int:
    low = start + MAX_BLOCK_CHARS // 3
    if kind in ("paragraph", "item"):
        breaks = [start + at for at in sentence_breaks(text[start:most])]
        if breaks and breaks[-1] > low:
            return breaks[-1]
    for separator in ("\n", " "):
        found = text.rfind(separator, low, most)
        if found != -1:
            return found + 1
    return most


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _with_leads(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Each item, table and piece of code with the paragraph that leads into it; parts of a table with its header."""
    found: list[Block] = []
    lead: int | None = None
    for number, block in enumerate(blocks):
        before = found[-1] if found else None
        if block.kind == "heading" or block.kind == "properties":
            lead = None
        elif block.kind == "paragraph":
            lead = number if text[block.start : block.end].rstrip().endswith(_LEADS) else None
        elif before is not None and before.kind == block.kind:
            lead = before.lead if block.kind != "table" or before.lead is not None else number - 1
        elif before is not None and before.kind == "paragraph":
            lead = number - 1
        found.append(replace(block, lead=lead) if block.kind in ("item", "code", "table") else block)
    return found
