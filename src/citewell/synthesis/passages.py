"""Passages: what a source says, one statement at a time, each an exact slice of the source's window.

Sentences, list items, table rows, properties, pieces of code and the short lines of a flattened table, each with what
it needs to be understood: the headings above it, the line that leads into its list or its code, the header of its
table. A fragment cut off by the window's edge is no passage, nor is anything that stands in one paragraph with
instructions to an assistant.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from citewell.domain.answers import PreparedSource, Quote
from citewell.synthesis.instructions import is_instruction
from citewell.synthesis.markup import readable, trimmed
from citewell.text.folding import folded_text
from citewell.text.properties import properties_of
from citewell.text.sentences import sentences
from citewell.text.structure import whole_blocks_of

PassageKind = Literal["sentence", "item", "row", "line", "heading", "code", "property"]

# Longer than anyone reads as one sentence: minified code, word lists, hostile input.
MAX_PASSAGE_CHARS = 1_200
MAX_PASSAGES = 600
# A longer piece of code is a program, not an answer.
MAX_CODE_CHARS = 2_000

_TABLE_LINE = re.compile(r"[ \t]*\|")
_SEPARATOR = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}[ \t:|-]*$", re.MULTILINE)
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+\S")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S")
_NUMBER_ALONE = re.compile(r"(?:\d{1,3}[.)]|\(?[a-z]\))$")
_MARK_ALONE = re.compile(r"(?:\^[\w-]+|(?:#[^\W\d_][\w/-]*\s*)+)$")
_NUMBERED = re.compile(r"\d{1,3}[.)][ \t]+\S")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(?:`{3,}|~{3,})")
_BOX = re.compile(r"\[[ xX]\]")
# Ends that the sentence splitter leaves open: bold sentences, and a unit it takes for an initial ("by 3 m. The").
_EMPHASISED_END = re.compile(r"[.!?…][\"'”’)]?[*_]{1,3}(?=\s)|\d ?°?[A-Za-z]\.(?=\s+[A-Z])")
_OPENS_LINE = re.compile(r"[\"'“‘«(\[£$€]?[A-Z0-9À-ÖØ-Þ£$€•]")
_GOES_ON = re.compile(r"(?:[,;–—(-]|\b(?:and|or|of|the|a|an|to|in|for|with|by|at|on|from|that|is|are|was))$")
_ENDED = re.compile(r"[.!?…。！？｡:][\"'”’»)\]*_」』]*$")


@dataclass(frozen=True, slots=True)
class Passage:
    """One statement of a source; `start` and `end` count inside the source's window."""

    source: PreparedSource
    start: int
    end: int
    kind: PassageKind
    shown: str
    block: int
    ordinal: int
    heading: str = ""
    lead: str = ""
    before: str = ""
    after: str = ""
    header: Quote | None = None

    @property
    def stated(self) -> str:
        """What the passage itself says: of a table row its cells, without the header."""
        return "; ".join(_cells(self.source.text[self.start : self.end])) if self.kind == "row" else self.shown

    @property
    def header_text(self) -> str:
        return self.header.text if self.header else ""

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The exact slices behind what is shown: the statement, and its table's header where it has one."""
        return (quote_at(self.source, self.start, self.end), *([self.header] if self.header else []))


def quote_at(source: PreparedSource, start: int, end: int) -> Quote:
    """The exact slice of a source's window, in offsets of the stored text."""
    base = source.span.start
    return Quote(source.source_key, source.span.content_hash, base + start, base + end, source.text[start:end])


def passages_of(source: PreparedSource) -> list[Passage]:
    """The statements of a source in order."""
    found: list[Passage] = []
    blocks = _block_starts(source.text)
    setting = _Setting(source)
    properties, body = properties_of(source.text)
    code = [(block.start, block.end) for block in whole_blocks_of(source.text) if block.kind == "code"]
    pieces = [piece for piece in _without_cut_edges(source, list(_pieces(source.text))) if piece[0] >= body]
    for start, end in sorted((*properties, *_outside(pieces, code), *code)):
        block = bisect_right(blocks, start)
        if start < body:
            passage = _property(source, start, end)
        elif (start, end) in code:
            passage = setting.place_code(source, start, end, block)
        else:
            passage = setting.place(source, start, end, block)
        if passage is not None:
            found.append(replace(passage, ordinal=len(found)))
        if len(found) == MAX_PASSAGES:
            break
    return _with_neighbours(_without_instructions(found))


def _outside(pieces: list[tuple[int, int]], code: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pieces of prose, without what of them is code."""
    for start, end in pieces:
        low = start
        for first, last in code:
            if first < end and last > low:
                if low < first:
                    yield low, first
                low = max(low, last)
        if low < end:
            yield low, end


def _property(source: PreparedSource, start: int, end: int) -> Passage | None:
    """`key: value`, or `key: one, another` where the value is a list; an empty property says nothing."""
    key, _, value = source.text[start:end].partition(":")
    inline = value.strip().startswith("[") and not value.strip().startswith("[[")
    lines = value.strip().strip("[]").split(",") if inline else value.splitlines()
    values = [readable(line.strip().removeprefix("- ").strip("\"' ")) for line in lines]
    stated = ", ".join(one for one in values if any(map(str.isalnum, one)))
    if not stated or "{{" in stated or end - start > MAX_PASSAGE_CHARS:
        return None
    if folded_text(stated) == folded_text(source.title):
        return None  # what everyone sees already
    return Passage(source, start, end, "property", f"{key.strip()}: {stated}", -1, 0)


class _Setting:
    """What the reader has seen on the way down: heading, table header, the line before a list."""

    def __init__(self, source: PreparedSource) -> None:
        # Headings above the window are given without their marks: the outermost is taken for a first one.
        above = [readable(one.text) for one in source.context if one.kind == "heading"]
        self.path: dict[int, str] = dict(enumerate(above, start=1))
        # The header of the table that is being read, and whether one is being read at all: it may have none.
        self.header: Quote | None = None
        self.in_table = False
        self.lead = next((readable(one.text) for one in source.context if one.kind == "lead_in"), "")
        self.lead_block = -1
        self.list_block = -1
        self.said = ""

    def place_code(self, source: PreparedSource, start: int, end: int, block: int) -> Passage | None:
        """A piece of code, its fence left out, under the sentence before it."""
        low, high = _inside_fence(source.text, start, end)
        if high - low > MAX_CODE_CHARS or not any(map(str.isalnum, source.text[low:high])):
            return None
        shown = textwrap.dedent(source.text[low:high]).strip("\n")
        return Passage(source, low, high, "code", shown, block, 0, self.headings, self.said)

    @property
    def headings(self) -> str:
        """The headings above, outermost first."""
        return " › ".join(self.path.values())

    def place(self, source: PreparedSource, start: int, end: int, block: int) -> Passage | None:
        raw = source.text[start:end]
        kind = _kind(raw, source.text[end : end + 80])
        if end - start > MAX_PASSAGE_CHARS or _MARK_ALONE.match(raw):
            return None
        if kind == "row":
            return self._row(source, start, end, block)
        self.header, self.in_table = None, False
        low, high = trimmed(source.text, start, end)
        shown = readable(source.text[low:high])
        if not any(map(str.isalnum, shown)):
            return None
        if kind == "heading":
            self._open(raw, shown)
        elif box := _BOX.search(source.text[start:low]):
            low, shown = start + box.start(), f"{box.group()} {shown}"
        lead = self._lead(kind, shown, block)
        self.said = "" if kind == "heading" else shown
        return Passage(source, low, high, kind, shown, block, 0, self.headings, lead)

    def _open(self, raw: str, shown: str) -> None:
        """A heading closes those below its own level."""
        level = len(raw) - len(raw.lstrip("# \t")) if raw.lstrip().startswith("#") else 7
        self.path = {above: heading for above, heading in self.path.items() if above < level} | {level: shown}

    def _lead(self, kind: PassageKind, shown: str, block: int) -> str:
        """What leads into this passage: the line before its list, or the first line of its run of lines."""
        if kind == "item":
            self.list_block = block
            return self.lead
        if kind == "line" and self.lead and block == self.lead_block:
            return self.lead
        if block != self.list_block:
            self.lead, self.lead_block = ("", -1) if kind == "heading" else (shown, block)
        return ""

    def _row(self, source: PreparedSource, start: int, end: int, block: int) -> Passage | None:
        raw = source.text[start:end]
        if _SEPARATOR.match(raw):
            return None
        if not self.in_table:
            self.in_table = True
            top = _top_of_table(source.text, start)
            first = (top, source.text.find("\n", top))
            # A window may begin in the middle of a table: its header stands in the context then, and no row is one.
            is_cut = source.span.start > 0 and not source.text[:top].strip()
            above = _header_above(source) if is_cut else None
            if above is not None or (is_cut and not _SEPARATOR.match(source.text, first[1] + 1)):
                self.header = above
            else:
                self.header = quote_at(source, *(first if top < start else (start, end)))
                if top == start:
                    return None
        names = _cells(self.header.text) if self.header else []
        return Passage(
            source,
            start,
            end,
            "row",
            _spoken_row(names, _cells(raw)),
            block,
            0,
            self.headings,
            self.lead,
            header=self.header,
        )


def _top_of_table(text: str, start: int) -> int:
    """Where the lines of the table begin that has a row here."""
    top = text.rfind("\n", 0, start) + 1
    while top and _TABLE_LINE.match(text, above := text.rfind("\n", 0, top - 1) + 1, top):
        top = above
    return top + len(text[top:start]) - len(text[top:start].lstrip()) if top < start else start


def _header_above(source: PreparedSource) -> Quote | None:
    """The header of the table that the window begins in the middle of."""
    found = next((one for one in source.context if one.kind == "table_header"), None)
    if found is None:
        return None
    return Quote(source.source_key, found.span.content_hash, found.span.start, found.span.end, found.text)


def _inside_fence(text: str, start: int, end: int) -> tuple[int, int]:
    """The lines between the fences."""
    low = text.find("\n", start, end) + 1 or end
    last = text.rfind("\n", low, end) + 1 or low
    return low, (last - 1 if last > low and _FENCE.match(text, last) else end)


def _kind(raw: str, following: str) -> PassageKind:
    if _TABLE_LINE.match(raw):
        return "row"
    # A numbered line that no numbered line follows is the heading of a section: `4. Maintenance intervals`.
    numbered = _NUMBERED.match(raw) and not _ENDED.search(raw) and len(raw) < 80
    shouted = raw.isupper() and not _ENDED.search(raw) and len(raw) < 80
    if _HEADING.match(raw) or shouted or (numbered and following.strip() and not _NUMBERED.match(following.lstrip())):
        return "heading"
    if _ITEM.match(raw):
        return "item"
    return "sentence" if _ENDED.search(raw) or len(raw) > 160 else "line"


def _cells(row: str) -> list[str]:
    return [readable(cell) for cell in row.strip().strip("|").replace("\\|", "¦").split("|")]


def _spoken_row(names: list[str], cells: list[str]) -> str:
    """`Header: value; Header: value`, leaving out what is empty."""
    named = [*names, *[""] * (len(cells) - len(names))]
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(named, cells, strict=False) if cell)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Sentences, taken apart further where a bold sentence ends or a line was broken on purpose."""
    width = _wrap_width(text)
    for start, end in _numbers_joined(text):
        inner = [match.end() for match in _EMPHASISED_END.finditer(text, start, end)]
        inner += _hard_breaks(text, start, end, width)
        for low, high in pairwise(sorted({start, *inner, end})):
            while low < high and text[low].isspace():
                low += 1
            while high > low and text[high - 1].isspace():
                high -= 1
            if low < high:
                yield low, high


def _numbers_joined(text: str) -> Iterator[tuple[int, int]]:
    """Sentences, with a number that stands for itself (`4.`) joined to the heading or item it numbers."""
    number: int | None = None
    for start, end in sentences(text):
        if _NUMBER_ALONE.match(text, start, end) and number is None:
            number = start
            continue
        yield (start if number is None else number), end
        number = None


def _wrap_width(text: str) -> int:
    lengths = sorted(len(line) for line in text.split("\n") if line)
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _hard_breaks(text: str, start: int, end: int, width: int) -> list[int]:
    """Line ends inside a sentence that wrapping does not explain: the next word would have fitted."""
    found: list[int] = []
    newline = text.find("\n", start, end)
    while newline != -1:
        line_start = max(text.rfind("\n", 0, newline) + 1, start)
        following = text[newline + 1 : newline + 80].lstrip(" \t>")
        first_word = following.split(maxsplit=1)[0] if following.strip() else ""
        fitted = newline - line_start + 1 + len(first_word) <= width * 9 // 10
        line = text[max(line_start, newline - 80) : newline].rstrip()
        if fitted and _OPENS_LINE.match(following) and not _GOES_ON.search(line):
            found.append(newline)
        newline = text.find("\n", newline + 1, end)
    return found


def _block_starts(text: str) -> list[int]:
    return [match.end() for match in re.finditer(r"\n[ \t]*\n", text)]


def _without_cut_edges(source: PreparedSource, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without a first or last sentence of which the window shows only a part."""
    text = source.text
    if pieces and source.span.start > 0 and len(pieces) > 1 and not _OPENS_LINE.match(_core(text, pieces[0])):
        pieces = pieces[1:]
    if len(pieces) > 1:
        raw = text[slice(*pieces[-1])]
        prose = not (_TABLE_LINE.match(raw) or _ITEM.match(raw) or _HEADING.match(raw) or raw.startswith("#"))
        if prose and not _ENDED.search(raw) and len(raw.split()) > 6:
            pieces = pieces[:-1]
    return pieces


def _core(text: str, span: tuple[int, int]) -> str:
    low, high = trimmed(text, *span)
    core = text[low:high].lstrip("[*_#|> ")
    # Scripts without capitals never look cut.
    return core if core[:1].lower() != core[:1].upper() else "A"


def _without_instructions(found: list[Passage]) -> list[Passage]:
    """Leaves out the whole paragraph around an instruction: its neighbours carry the payload."""
    tainted = {passage.block for passage in found if is_instruction(_as_written(passage))}
    return [passage for passage in found if passage.block not in tainted]


def _as_written(passage: Passage) -> str:
    """What is searched for instructions: of a property its source, where a link is seen to be one."""
    return passage.source.text[passage.start : passage.end] if passage.kind == "property" else passage.shown


def _with_neighbours(found: list[Passage]) -> list[Passage]:
    placed: list[Passage] = []
    for index, passage in enumerate(found):
        before = found[index - 1] if index else None
        after = found[index + 1] if index + 1 < len(found) else None
        placed.append(
            replace(
                passage,
                before=before.shown if before and before.block == passage.block and before.kind == "sentence" else "",
                after=after.shown if after and after.block == passage.block and after.kind == "sentence" else "",
            )
        )
    return placed
