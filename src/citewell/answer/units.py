"""Answer units: what is shown of a passage, so that an answer never stops at the colon. Pure.

A sentence with the code or the list it leads into, a list in its order, a row under its header, a sentence that opens
with "It" after the one it leans on, and a short paragraph whole. Each piece is an exact slice of the source; the block
around all of them is what is quoted.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from citewell.answer.evidence import Quote
from citewell.answer.passages import Passage, headed_lead_in, titled_lead_in
from citewell.answer.question import QuestionPart, leans_back, reverses
from citewell.check.tokens import content_stems
from citewell.text.blocks import Block, whole_blocks_of

# Quoted blocks: the stretch of a source that is quoted around a statement, so that nothing of it is lost.
#
# A paragraph whole; a list whole, with the line that leads into it; code under its sentence; a table. What follows and
# reverses a statement stands in its paragraph and is therefore seen.
#
# Example:
#     text:      You can carry over leave.\n\nSteps:\n\n1. Ask.\n2. Wait.
#     statement: Wait.
#     block:     Steps:\n\n1. Ask.\n2. Wait.


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


# One piece is read at a glance, and a unit leaves room for another one beside it.
MAX_PIECE_CHARS = 390
MAX_UNIT_CHARS = 1_000
# What stands around a sentence in its block often is the answer: over two sets of questions that nothing was chosen on,
# 48 and 35 of 90 answers are right with it and 41 and 32 without.
_AROUND_CHARS = 400
_PROSE = ("sentence", "line", "item")
_MARK = re.compile(r"[ \t>]*([-*+•‣◦]|\d{1,3}[.)])[ \t]+")
# A sentence that says what something is and leaves it to its title to name it.
_DESCRIBES = re.compile(
    r"(?:my|our|an?|one of|this is|it is|it's|the (?:best|only|most|main|favou?rite))\s", re.IGNORECASE
)
# A capital inside of it, a figure, something quoted: it names something itself.
_NAMES = re.compile(r"(?<![.!?:] )\b[A-HJ-Z]\w|\d|[\"“`«]")
_MOSTLY, _AS_WELL = 0.5, 0.95
# So many steps are a list, though each goes on for so many sentences.
_STEPS, _EXPLAINED = 3, 4
# Kinds of questions that a list answers as a whole, and not by one of its items.
_WANT_ALL = frozenset({"list", "how", "compare", "why"})


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """The passages shown together for one of them, in the order of the text."""

    best: Passage
    passages: tuple[Passage, ...]

    @property
    def text(self) -> str:
        return "\n".join(passage.shown for passage in self.passages)

    @property
    def span(self) -> tuple[int, int]:
        return min(one.start for one in self.passages), max(one.end for one in self.passages)

    @property
    def block(self) -> tuple[int, int]:
        """The window offsets of the quote: the whole block, or what is shown where that is wider."""
        start, end = self.span
        block = block_at(self.best.source.text, start) or block_at(self.best.source.text, self.best.start)
        return block.around(self.best.source.text, start, end) if block else (start, end)


@dataclass(frozen=True, slots=True)
class UnitPiece:
    """A few passages as one text, and the slice of the source's window behind it."""

    text: str
    start: int
    end: int
    header: Quote | None = None


def pieces_of(unit: AnswerUnit) -> list[UnitPiece]:
    """What is shown of a unit: sentences and rows one by one, items together as far as they are read at a glance."""
    found: list[UnitPiece] = []
    for passage in unit.passages:
        lines = _code_lines(passage) if passage.kind == "code" else [_line(passage, alone=len(unit.passages) == 1)]
        for piece in lines:
            last = found[-1] if found else None
            if last is not None and passage.kind in ("item", "code") and _joins(unit, last, piece):
                found[-1] = UnitPiece(f"{last.text}\n{piece.text}", last.start, piece.end)
            else:
                found.append(piece)
    return found


def named_above(asked: QuestionPart, unit: AnswerUnit) -> str:
    """The engine's words that name what a unit is about, where it says only what that is.

    "My favorite editor that I use to write code in." answers which editor only under its title, VS Code.
    """
    best = unit.best
    asks_name = asked.kind in ("what", "who") and not asked.defines and best.kind in _PROSE
    is_one = asks_name and _DESCRIBES.match(best.shown) and content_stems(" ".join(asked.attributes))
    if not is_one or not is_one <= content_stems(best.shown) or _NAMES.search(best.shown, 1):
        return ""
    said = content_stems(f"{asked.text} {unit.text}")
    heading = best.heading.rpartition(" › ")[2]
    if heading and not content_stems(heading) <= said:
        return headed_lead_in(heading)
    return titled_lead_in(best.source) if not content_stems(best.source.title) <= said else ""


def _joins(unit: AnswerUnit, last: UnitPiece, piece: UnitPiece) -> bool:
    between = unit.best.source.text[last.end : piece.start]
    return len(last.text) + len(piece.text) < MAX_PIECE_CHARS and last.header is None and len(between) < 60


def _line(passage: Passage, *, alone: bool) -> UnitPiece:
    """A passage as a line; an item among others with its own mark."""
    if passage.kind == "property":
        return UnitPiece(f"{titled_lead_in(passage.source)}{passage.shown}", passage.start, passage.end)
    if passage.kind != "item" or alone:
        return UnitPiece(passage.shown, passage.start, passage.end, passage.header)
    start = passage.source.text.rfind("\n", 0, passage.start) + 1
    mark = _MARK.match(passage.source.text, start, passage.start)
    if mark is None:
        return UnitPiece(passage.shown, passage.start, passage.end)
    return UnitPiece(f"{mark[1]} {passage.shown}", mark.start(1), passage.end)


def _code_lines(passage: Passage) -> list[UnitPiece]:
    """Code in pieces of whole lines."""
    found: list[UnitPiece] = []
    at = passage.start
    for line in passage.source.text[passage.start : passage.end].split("\n"):
        end = at + len(line)
        last = found[-1] if found else None
        if last is not None and end - last.start < MAX_PIECE_CHARS:
            found[-1] = UnitPiece(passage.source.text[last.start : end], last.start, end)
        elif line.strip():
            found.append(UnitPiece(line, at, end))
        at = end + 1
    return [UnitPiece(textwrap.dedent(one.text).rstrip(), one.start, one.end) for one in found]


def unit_of(
    passage: Passage,
    neighbours: Sequence[Passage],
    asked: QuestionPart,
    own: Mapping[int, float] | None = None,
    *,
    says_all: bool = False,
) -> AnswerUnit:
    """What is shown of a passage; `neighbours` are the passages of its source, in order.

    `own` is, by where it starts, how much of the question each of them says in its own words. A passage that `says_all`
    needs nothing around it.
    """
    at = next(place for place, one in enumerate(neighbours) if one.start == passage.start)
    block = block_at(passage.source.text, passage.start)
    if block is not None and block.kind == "list" and (whole := _listed(at, neighbours, block, asked, own or {})):
        best = passage if passage in whole else whole[0]
        return AnswerUnit(best, _fitting(whole, best))
    shown = _with_company(at, neighbours)
    return AnswerUnit(passage, _fitting(shown if says_all else _in_its_block(passage, shown, neighbours), passage))


def _listed(
    at: int, neighbours: Sequence[Passage], block: QuotedBlock, asked: QuestionPart, own: Mapping[int, float]
) -> list[Passage]:
    """The list with its lead-in, where the lead-in was found or the question wants all of it.

    Where some of its items name what is asked for and others do not, those that do: which buoys are *at Fara*.
    """
    passage = neighbours[at]
    inside = [one for one in neighbours if block.start <= one.start < block.end]
    items = [one for one in inside if one.start >= block.body]
    before = [one for one in inside if one.start < block.body]
    leads = passage.start < block.body and passage is before[-1]
    wanted = passage.start >= block.body and (asked.kind in _WANT_ALL or asked.plural)
    if not items or not (leads or wanted) or not _is_list(items, asked):
        return []
    said = own.get(passage.start, 0.0)
    matching = [one for one in items if one.kind == "item" and own.get(one.start, 0.0) >= _AS_WELL * said]
    if wanted and asked.kind != "how" and said > 0 and passage in matching and 1 < len(matching) < len(items):
        return matching
    return [*before[-1:], *items]


def _is_list(items: Sequence[Passage], asked: QuestionPart) -> bool:
    """Minutes and chapters that are numbered are no list: what stands between their numbers is prose.

    A step may be explained in a few sentences.
    """
    marked = sum(one.kind in ("item", "code") for one in items)
    if marked >= _MOSTLY * len(items):
        return True
    return asked.kind == "how" and marked >= _STEPS and len(items) <= _EXPLAINED * marked


def _with_company(at: int, neighbours: Sequence[Passage]) -> list[Passage]:
    """A passage with what it cannot be understood without: what it leans on, its code, what reverses it."""
    passage = neighbours[at]
    before = neighbours[at - 1] if at else None
    shown = [passage]
    if passage.kind == "code":
        if before is not None and passage.lead and before.kind != "code":
            shown.insert(0, before)
    elif passage.kind == "sentence" and before is not None and leans_back(passage) and _is_beside(before, passage):
        shown.insert(0, before)
    after = neighbours[at + 1 :]
    if passage.kind in ("sentence", "line", "item"):
        following = after[0] if after else None
        if following is not None and following.kind == "code" and following.lead == passage.shown:
            shown += takewhile(lambda one: one.kind == "code", after)
        elif passage.shown.endswith(":"):
            shown += takewhile(lambda one: one.lead == passage.shown, after)
        elif following is not None and _is_beside(passage, following) and following.shown.endswith(":"):
            led = block_at(passage.source.text, following.start)
            end = led.end if led is not None and led.kind == "list" else following.end
            shown += [following, *takewhile(lambda one: one.start < end, after[1:])]
        elif following is not None and _is_beside(passage, following) and _goes_on(following):
            shown.append(following)
    return shown


def _in_its_block(passage: Passage, shown: Sequence[Passage], neighbours: Sequence[Passage]) -> list[Passage]:
    """What is shown, with as much of what follows and stands before it in its block as is read at a glance."""
    if passage.kind not in _PROSE:
        return list(shown)
    first, last = neighbours.index(shown[0]), neighbours.index(shown[-1])
    room = _AROUND_CHARS - sum(len(one.shown) for one in shown)

    def has_room(place: int) -> bool:
        inside = 0 <= place < len(neighbours) and neighbours[place].block == passage.block
        return inside and neighbours[place].kind in _PROSE and len(neighbours[place].shown) <= room

    while has_room(last + 1) or has_room(first - 1):
        place = last + 1 if has_room(last + 1) else first - 1
        first, last = min(first, place), max(last, place)
        room -= len(neighbours[place].shown)
    return list(neighbours[first : last + 1])


def _goes_on(following: Passage) -> bool:
    """Whether a sentence cannot be read without the one before it, or that one not without it."""
    return leans_back(following) or reverses(following.shown)


def _is_beside(one: Passage, other: Passage) -> bool:
    return one.block == other.block and one.kind == other.kind == "sentence"


def _fitting(whole: Sequence[Passage], passage: Passage) -> tuple[Passage, ...]:
    """As many of the passages as fit, the found one among them, without a gap."""
    at = whole.index(passage)
    first = 0 if sum(len(one.shown) for one in whole[: at + 1]) <= MAX_UNIT_CHARS else at
    last = at
    size = sum(len(one.shown) for one in whole[first : at + 1])
    while True:
        if last + 1 < len(whole) and size + len(whole[last + 1].shown) <= MAX_UNIT_CHARS:
            last += 1
            size += len(whole[last].shown)
        elif first > 0 and size + len(whole[first - 1].shown) <= MAX_UNIT_CHARS:
            first -= 1
            size += len(whole[first].shown)
        else:
            return tuple(whole[first : last + 1])
