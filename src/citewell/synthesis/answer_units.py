"""Answer units: what is shown of a passage, so that an answer never stops at the colon. Pure.

A sentence with the code or the list it leads into, a list in its order, a row under its header, a sentence that opens
with "It" after the one it leans on, and a short paragraph whole. Each piece is an exact slice of the source; the block
around all of them is what is quoted.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from citewell.domain.answers import Quote
from citewell.synthesis.asking import Asked
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.lead_ins import headed_lead_in, titled_lead_in
from citewell.synthesis.passages import Passage
from citewell.synthesis.quoted_blocks import QuotedBlock, block_at
from citewell.synthesis.topic import leans_back, reverses

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
class Piece:
    """A few passages as one text, and the slice of the source's window behind it."""

    text: str
    start: int
    end: int
    header: Quote | None = None


def pieces_of(unit: AnswerUnit) -> list[Piece]:
    """What is shown of a unit: sentences and rows one by one, items together as far as they are read at a glance."""
    found: list[Piece] = []
    for passage in unit.passages:
        lines = _code_lines(passage) if passage.kind == "code" else [_line(passage, alone=len(unit.passages) == 1)]
        for piece in lines:
            last = found[-1] if found else None
            if last is not None and passage.kind in ("item", "code") and _joins(unit, last, piece):
                found[-1] = Piece(f"{last.text}\n{piece.text}", last.start, piece.end)
            else:
                found.append(piece)
    return found


def named_above(asked: Asked, unit: AnswerUnit) -> str:
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


def _joins(unit: AnswerUnit, last: Piece, piece: Piece) -> bool:
    between = unit.best.source.text[last.end : piece.start]
    return len(last.text) + len(piece.text) < MAX_PIECE_CHARS and last.header is None and len(between) < 60


def _line(passage: Passage, *, alone: bool) -> Piece:
    """A passage as a line; an item among others with its own mark."""
    if passage.kind == "property":
        return Piece(f"{titled_lead_in(passage.source)}{passage.shown}", passage.start, passage.end)
    if passage.kind != "item" or alone:
        return Piece(passage.shown, passage.start, passage.end, passage.header)
    start = passage.source.text.rfind("\n", 0, passage.start) + 1
    mark = _MARK.match(passage.source.text, start, passage.start)
    if mark is None:
        return Piece(passage.shown, passage.start, passage.end)
    return Piece(f"{mark[1]} {passage.shown}", mark.start(1), passage.end)


def _code_lines(passage: Passage) -> list[Piece]:
    """Code in pieces of whole lines."""
    found: list[Piece] = []
    at = passage.start
    for line in passage.source.text[passage.start : passage.end].split("\n"):
        end = at + len(line)
        last = found[-1] if found else None
        if last is not None and end - last.start < MAX_PIECE_CHARS:
            found[-1] = Piece(passage.source.text[last.start : end], last.start, end)
        elif line.strip():
            found.append(Piece(line, at, end))
        at = end + 1
    return [Piece(textwrap.dedent(one.text).rstrip(), one.start, one.end) for one in found]


def unit_of(
    passage: Passage,
    neighbours: Sequence[Passage],
    asked: Asked,
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
    at: int, neighbours: Sequence[Passage], block: QuotedBlock, asked: Asked, own: Mapping[int, float]
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
    # Steps are wanted whole, though one of them may name the goal.
    branch = _named_branch(items, own) if asked.kind != "how" else []
    if branch and (leads or passage in branch):
        return [*before[-1:], *branch] if branch[0] is items[0] else branch
    said = own.get(passage.start, 0.0)
    matching = [one for one in items if one.kind == "item" and own.get(one.start, 0.0) >= _AS_WELL * said]
    if wanted and asked.kind != "how" and said > 0 and passage in matching and 1 < len(matching) < len(items):
        return matching
    return [*before[-1:], *items]


def _is_list(items: Sequence[Passage], asked: Asked) -> bool:
    """Minutes and chapters that are numbered are no list: what stands between their numbers is prose.

    A step may be explained in a few sentences.
    """
    marked = sum(one.kind in ("item", "code") for one in items)
    if marked >= _MOSTLY * len(items):
        return True
    return asked.kind == "how" and marked >= _STEPS and len(items) <= _EXPLAINED * marked


def _named_branch(items: Sequence[Passage], own: Mapping[int, float]) -> list[Passage]:
    """Of a list of lists the one item that the question names, with what stands below it: what is in the *red* box."""
    depths = [_depth(one) for one in items]
    heads = [
        place
        for place, (depth, below) in enumerate(pairwise((*depths, -1)))
        if below > depth == min(depths) and items[place].kind == "item"
    ]
    if len(heads) < 2:
        return []
    said = {place: own.get(items[place].start, 0.0) for place in heads}
    best = max(heads, key=lambda place: said[place])
    if said[best] <= 0 or any(other != best and said[other] >= _AS_WELL * said[best] for other in heads):
        return []
    below = takewhile(lambda place: depths[place] > depths[best], range(best + 1, len(items)))
    return [items[best], *(items[place] for place in below)]


def _depth(item: Passage) -> int:
    """How far a line is indented."""
    text = item.source.text
    start = text.rfind("\n", 0, item.start) + 1
    return sum(4 if character == "\t" else 1 for character in takewhile(str.isspace, text[start : item.start]))


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
