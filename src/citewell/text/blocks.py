"""Structure: the blocks a text is made of (headings, paragraphs, list items, code, tables), at their exact offsets.

By layout alone, for Markdown and for text that readers put together from paragraphs. A list item, a table or a piece of
code knows the line that leads into it: "You need:" above a list, the sentence above a command, the header of a table.
Every character that is not white space or a rule (`---`) lies in exactly one block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from citewell.text.sentences import properties_of, sentence_breaks

BlockKind = Literal["heading", "paragraph", "item", "code", "table", "properties"]

# A longer paragraph is several blocks, so that the part of it that answers can be told from the rest.
MAX_BLOCK_CHARS = 400
_LONGEST = MAX_BLOCK_CHARS * 3 // 2

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]|$)")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_TABLE = re.compile(r"[ \t]*\|")
# What a line that is no plain part of a paragraph can begin with, after its indentation.
_MARKS = frozenset("#-*_=`~>+•|0123456789")
_LEADS = (":", "：", ":**", ":*", ":_")


class Block(NamedTuple):
    """A stretch of a text. `level` is a heading's; `lead` is the number of the block that leads into this one.

    A tuple, since every row of a search makes hundreds.
    """

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    lead: int | None = None


@lru_cache(maxsize=64)
def blocks_of(text: str) -> tuple[Block, ...]:
    """The blocks of a text, in order; remembered, since a document is often looked at again."""
    pieces: list[Block] = []
    for block in _blocks(text):
        if block.end - block.start <= _LONGEST:
            pieces.append(block)
        else:
            pieces.extend(_parts(text, block))
    return _with_leads(text, pieces)


@lru_cache(maxsize=64)
def whole_blocks_of(text: str) -> tuple[Block, ...]:
    """The blocks of a text, in order, the long ones too in one piece."""
    return _with_leads(text, _blocks(text))


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


@lru_cache(maxsize=16)
def _blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a text, the long ones in one piece."""
    return tuple(_read_blocks(text))


def _read_blocks(text: str) -> Iterator[Block]:
    properties, body = properties_of(text)
    if properties:
        yield Block(properties[0][0], properties[-1][1], "properties")
    if body and text[body - 1 : body] != "\n":
        body = text.find("\n", body) + 1 or len(text)
    lines = text[body:].split("\n")
    number, start = 0, body
    # The block that is open: its kind, where it began, and where its last line ended.
    current: BlockKind | None = None
    begun = ended = 0
    while number < len(lines):
        line = lines[number]
        kind = _kind(line)
        if current is not None and not _goes_on(current, kind, line):
            yield Block(begun, ended, current)
            current = None
        if kind == "code":
            count = _fenced(lines, number)
            length = sum(map(len, lines[number : number + count])) + count - 1
            yield Block(start, start + length, "code")
            number, start = number + count, start + length + 1
            continue
        end = start + len(line)
        if kind == "heading":
            yield Block(start, end, "heading", _level(line))
        elif kind is not None:
            if current is None:
                current, begun = kind, start
            ended = end
        number, start = number + 1, end + 1
    if current is not None:
        yield Block(begun, ended, current)


def _fenced(lines: Sequence[str], first: int) -> int:
    """How many lines a fenced block has; one that is never closed ends at a blank line."""
    opening = _FENCE.match(lines[first])
    marks = opening[1] if opening else ""
    for number in range(first + 1, len(lines)):
        stripped = lines[number].strip(" \t>")
        if stripped.startswith(marks) and not stripped.strip(marks[0]):
            return number + 1 - first
    return next((number for number in range(first + 1, len(lines)) if not lines[number].strip()), len(lines)) - first


def _level(line: str) -> int:
    marks = _HEADING.match(line)
    return len(marks[1]) if marks else 0


def _kind(line: str) -> BlockKind | None:
    """What a line begins or goes on with; `code` where it opens a fence, None where it is blank or a rule."""
    stripped = line.lstrip()
    if not stripped:
        return None
    if stripped[0] not in _MARKS:
        return "paragraph"
    if _FENCE.match(line):
        return "code"
    if _RULE.match(line):
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
    while block.end - start > _LONGEST:
        cut = _cut(text, start, start + MAX_BLOCK_CHARS, block.kind)
        yield block._replace(start=start, end=_trimmed(text, start, cut))
        start = cut
        while start < block.end and text[start].isspace():
            start += 1
    if start < block.end:
        yield block._replace(start=start) if start != block.start else block


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


def _with_leads(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
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
        is_led = lead is not None and block.kind in ("item", "code", "table")
        found.append(block._replace(lead=lead) if is_led else block)
    return tuple(found)


# Lines of a Markdown table: cells, and a row with something said beside it. Pure.


_CELL = re.compile(r"(?<!\\)\|")
_CODE_IN_ROW = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_HEADER_RULE = re.compile(r"\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?")


def is_row(text: str) -> bool:
    """Whether a line is a row: it begins and ends with a bar and has a cell between."""
    bare = text.strip()
    return len(bare) > 2 and bare[0] == bare[-1] == "|" and "\n" not in bare


def is_rule(text: str) -> bool:
    """The line of dashes under a header."""
    return "|" in text and _HEADER_RULE.fullmatch(text.strip()) is not None


def cells_of(row: str) -> tuple[str, ...]:
    """The cells of a row; a bar in code is a part of it, whether or not it is escaped."""
    bare = _CODE_IN_ROW.sub(lambda code: _CELL.sub(r"\\|", code.group()), row.strip())
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.removeprefix("|").removesuffix("|")))


def row_of(cells: tuple[str, ...]) -> str:
    whole = " | ".join(_CELL.sub(r"\\|", cell) for cell in cells)
    return f"| {whole} |"


def rule_under(header: str) -> str:
    return "|" + "---|" * len(cells_of(header))


def with_note(row: str, note: str) -> str:
    """A row with something said behind its last cell."""
    *cells, last = cells_of(row)
    return row_of((*cells, f"{last} {note}".strip())) if note else row


def struck(row: str) -> str:
    return row_of(tuple(f"~~{cell}~~" if cell else "" for cell in cells_of(row)))
