"""The headings of a note as CommonMark has them, with their exact places in the file.

    ```            <- what stands in a fence, a comment, a quote, a list or the front matter
    ## Research       is no heading of the note
    ```

Two things of Obsidian's are known besides: `%%` comments and `$$` formulas that begin a line. A note that opens with a
`---` line and has a second one (or `...`) begins after it, whatever stands between: where that is prose, a heading in
it is not seen, which costs nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

from citewell.readers.written_sections import NEWLINE

BOM = "\ufeff"
_FRONT_MATTER = re.compile(r"---[ \t]*(?:\r\n?|\n)(?:.*?(?:\r\n?|\n))??(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoteHeading:
    """A heading of the note itself: its level, what it says, where its lines start and where they stop."""

    level: int
    text: str
    start: int
    stop: int


def headings_of(text: str) -> list[NoteHeading]:
    """The headings of a note, in order; those inside other blocks are not among them."""
    begin = body_start(text)
    body = text[begin:]
    starts = [0, *(newline.end() for newline in NEWLINE.finditer(body))]
    starts.append(len(body))
    tokens = _PARSER.parse(body)
    found: list[NoteHeading] = []
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map is not None:
            first, last = (min(number, len(starts) - 1) for number in opening.map)
            found.append(
                NoteHeading(int(opening.tag[1]), content.content.strip(), begin + starts[first], begin + starts[last])
            )
    return found


def is_own_line(text: str, start: int) -> bool:
    """Whether the line at this place is a comment of the note itself, not one in a fence, a quote or a list."""
    begin = body_start(text)
    if start < begin:
        return False
    body = text[begin:]
    starts = [0, *(newline.end() for newline in NEWLINE.finditer(body))]
    number = bisect_right(starts, start - begin) - 1
    return any(
        token.type == "html_block" and token.level == 0 and token.map is not None and token.map[0] == number
        for token in _PARSER.parse(body)
    )


def body_start(text: str) -> int:
    """Where the note begins, after a byte order mark and its front matter."""
    begin = len(BOM) if text.startswith(BOM) else 0
    front = _FRONT_MATTER.match(text, begin)
    return begin if front is None else front.end()


def _enclosed(state: StateBlock, start_line: int, end_line: int, silent: bool, marks: str, *, to_the_end: bool) -> bool:
    """A block between two marks, the first of which begins a line."""
    first = state.bMarks[start_line] + state.tShift[start_line]
    line = state.src[first : state.eMarks[start_line]]
    if state.is_code_block(start_line) or not line.startswith(marks) or marks in line[len(marks) :]:
        return False
    closing = _closing_line(state, start_line + 1, end_line, marks)
    if closing is None and not to_the_end:
        return False
    if silent:
        return True
    state.line = end_line if closing is None else closing + 1
    token = state.push("enclosed", "", 0)
    token.map = [start_line, state.line]
    return True


def _closing_line(state: StateBlock, start: int, end: int, marks: str) -> int | None:
    for number in range(start, end):
        if marks in state.src[state.bMarks[number] : state.eMarks[number]]:
            return number
    return None


def _comment(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    # Obsidian hides everything below a comment that is never closed.
    return _enclosed(state, start_line, end_line, silent, "%%", to_the_end=True)


def _formula(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    return _enclosed(state, start_line, end_line, silent, "$$", to_the_end=False)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "obsidian_comment", _comment, interrupts)
    parser.block.ruler.before("fence", "obsidian_formula", _formula, interrupts)
    # Where blocks stand is all that is asked: what is in their lines is not looked at.
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


_PARSER = _parser()
