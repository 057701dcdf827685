"""The surgery: a note's text with its `## Research` section put in, and every byte outside of it as it was. Pure.

    # Halvard                                # Halvard
    She sailed in 1893.                      She sailed in 1893.

                                      ->     ## Research

                                             - 214 passengers ([[Harbour ledger]])
                                             <!-- citewell:research … -->

Markdown: the section is a heading of the second level that says exactly `Research` (underlined, or with closing hashes
too), up to the next heading of the first or second level. Of several, the first with our signature, else the first.
The heading stays as it is written. Lines in it that our signature does not name are the user's: those above the
signature move below it, under `### Kept from your notes`; those below it stay where they are.

Plain text has no headings, so only what we wrote is a section: from the line `## Research` to our signature. Without a
signature a new section goes to the end of the file.

What would not come out as a section (the note ends in an open code fence or comment) is refused, with a Conflict.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock

from citewell.errors import Conflict
from citewell.readers.written_sections import (
    HEADING,
    KEPT_HEADING,
    MARK,
    NEWLINE,
    TITLE,
    Line,
    Signature,
    exact_hash,
    lines_of,
    read_signature,
    signature_line,
)

# The headings of a note as CommonMark has them, with their exact places in the file.
#
#     ```            <- what stands in a fence, a comment, a quote, a list or the front matter
#     ## Research       is no heading of the note
#     ```
#
# Two things of Obsidian's are known besides: `%%` comments and `$$` formulas that begin a line. A note that opens with
# a `---` line and has a second one (or `...`) begins after it, whatever stands between: where that is prose, a heading
# in it is not seen, which costs nothing.


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


NoteFormat = Literal["markdown", "plain"]


@dataclass(frozen=True, slots=True)
class SectionContent:
    """What is to stand in a section: its lines, and the run that wrote them."""

    lines: tuple[str, ...]
    run_id: str
    date: str


@dataclass(frozen=True, slots=True)
class NoteSection:
    """Where a section stands: `start` to `inner` is its heading, `inner` to `end` what stands below it."""

    start: int
    inner: int
    end: int
    # Where its signature stands, if it has one.
    signed: Line | None = None
    signature: Signature | None = None


def format_of(name: str) -> NoteFormat | None:
    """What a file of this name is, None where it is no note."""
    lowered = name.lower()
    if lowered.endswith((".md", ".markdown")):
        return "markdown"
    return "plain" if lowered.endswith(".txt") else None


def find_section(text: str, form: NoteFormat) -> NoteSection | None:
    """The section of a note, if it has one."""
    if form == "plain":
        return _plain_section(text)
    found = list(_markdown_sections(text))
    return next((section for section in found if section.signature is not None), found[0] if found else None)


def _markdown_sections(text: str) -> Iterable[NoteSection]:
    if TITLE not in text:
        return
    headings = headings_of(text)
    for number, heading in enumerate(headings):
        if heading.level == 2 and heading.text == TITLE:
            end = next((later.start for later in headings[number + 1 :] if later.level <= 2), len(text))
            yield _signed(text, NoteSection(heading.start, heading.stop, end))


def _signed(text: str, section: NoteSection) -> NoteSection:
    if MARK not in text[section.inner : section.end]:
        return section
    for line in reversed(lines_of(text[section.inner : section.end])):
        place = Line(section.inner + line.start, section.inner + line.end, section.inner + line.stop)
        signature = read_signature(text[place.start : place.end])
        if signature is not None and is_own_line(text, place.start):
            return NoteSection(section.start, section.inner, section.end, place, signature)
    return section


def _plain_section(text: str) -> NoteSection | None:
    if MARK not in text:
        return None
    heading: Line | None = None
    found: NoteSection | None = None
    for line in lines_of(text):
        content = text[line.start : line.end]
        if content.rstrip().removeprefix(BOM) == HEADING:
            heading = line
        signature = read_signature(content)
        if signature is not None and heading is not None:
            found = NoteSection(heading.start, heading.stop, line.stop, line, signature)
    return found


@dataclass(frozen=True, slots=True)
class SectionPlacement:
    """A note with its section; `changed` is false where nothing but the run and the date would have differed."""

    text: str
    changed: bool


def place_section(text: str, form: NoteFormat, written: SectionContent) -> SectionPlacement:
    """The note with this section in it, in place of the one it had; raises Conflict where none can be put in."""
    section = find_section(text, form)
    if section is not None and _says_already(text, section, written.lines):
        return SectionPlacement(text, changed=False)
    newline = _newline_of(text[: section.inner] if section is not None else text)
    if section is None:
        start, after, block = len(text), "", _appended(text, written, newline)
    else:
        start, after = section.start, text[section.end :]
        block = text[section.start : section.inner] + _renewed(text, section, written, newline)
    whole = text[:start] + block + after
    _check(whole, form, written, start if section is not None else None, len(after))
    return SectionPlacement(whole, changed=True)


def _newline_of(text: str) -> str:
    """The newline that the text before a section ends with, so that the two make no third; else its first one."""
    found = [one for one in ("\r\n", "\n", "\r") if text.endswith(one)] or NEWLINE.findall(text)
    return found[0] if found else "\n"


def _appended(text: str, written: SectionContent, newline: str) -> str:
    """A section at the end of a note, with an empty line before it."""
    pad = _pad_before(text)
    signed = signature_line((HEADING, *written.lines), written.run_id, written.date, pad)
    return newline * pad + newline.join((HEADING, "", *written.lines, "", signed, ""))


def _pad_before(text: str) -> int:
    """How many newlines it takes so that an empty line stands before what is put at the end."""
    if not text.removeprefix(BOM):
        return 0
    lines = lines_of(text)
    last = text[lines[-1].start : lines[-1].end]
    if lines[-1].end == lines[-1].stop:
        return 2
    return 1 if last.strip() else 0


def _renewed(text: str, section: NoteSection, written: SectionContent, newline: str) -> str:
    """What stands below the heading: our lines, the signature, and everything of the user's."""
    old = section.signature
    heading = text[section.start : section.inner]
    is_our_heading = old is not None and old.wrote(NEWLINE.sub("", heading))
    ours = (*((HEADING,) if is_our_heading else ()), *written.lines)
    signed = signature_line(ours, written.run_id, written.date, old.pad if old is not None and is_our_heading else 0)
    opening = "" if NEWLINE.search(heading) else newline
    block = opening + newline + newline.join((*written.lines, "", signed, ""))
    return block + _below(text, section, newline)


def _below(text: str, section: NoteSection, newline: str) -> str:
    """The user's lines of a section, below its signature: those that stood there, then those that stood among ours."""
    rest = text[section.signed.stop : section.end] if section.signed is not None else ""
    moved = _foreign(text, section)
    if not moved:
        return rest
    if rest and not NEWLINE.search(rest[-1]):
        rest += newline
    already = any(rest[line.start : line.end].rstrip() == KEPT_HEADING for line in lines_of(rest))
    marker = "" if already else newline + KEPT_HEADING + newline
    gap = newline if marker or _pad_before(rest) else ""
    ending = newline if section.end < len(text) else ""
    return rest + marker + gap + moved + ("" if NEWLINE.search(moved[-1]) else newline) + ending


def _foreign(text: str, section: NoteSection) -> str:
    """What stands above the signature and is not ours, line by line as it was written."""
    stop = section.signed.start if section.signed is not None else section.end
    lines = lines_of(text[section.inner : stop])
    pieces = [text[section.inner + line.start : section.inner + line.stop] for line in lines]
    left = Counter(section.signature.exact if section.signature is not None else ())
    kept: list[str] = []
    blanks: list[str] = []
    for piece in pieces:
        if not piece.strip():
            blanks += [piece] if kept else []
            continue
        name = exact_hash(NEWLINE.sub("", piece))
        if left[name] > 0:
            left[name] -= 1
            # An empty line parts what stood in two places.
            blanks = blanks[:1] or [_line_end(piece)] if kept else []
            continue
        kept += [*blanks, piece]
        blanks = []
    return "".join(kept)


def _line_end(piece: str) -> str:
    found = NEWLINE.search(piece)
    return "\n" if found is None else found[0]


def _says_already(text: str, section: NoteSection, lines: Sequence[str]) -> bool:
    """Whether the lines above the signature are these, and nothing else."""
    if section.signed is None:
        return False
    inner = text[section.inner : section.signed.start]
    there = [inner[line.start : line.end].rstrip() for line in lines_of(inner)]
    return [line for line in there if line] == [line.rstrip() for line in lines if line.strip()]


def _check(whole: str, form: NoteFormat, written: SectionContent, start: int | None, after: int) -> None:
    """What was put in must be found again as what it is, where it is; else the note would not say what we mean."""
    section = find_section(whole, form)
    signature = section.signature if section is not None else None
    fits = (
        section is not None
        and signature is not None
        and signature.run_id == written.run_id
        and _says_already(whole, section, written.lines)
        and (start is None or section.start == start)
        and (form == "plain" or section.end == len(whole) - after)
    )
    if not fits:
        raise Conflict(
            "A section cannot be put into this note: it would stand inside an open code block, comment or quotation.",
            fix="Close what is open at the end of the note (```, %%, <!--), and try again.",
        )


def without_section(text: str, form: NoteFormat) -> str:
    """The note without its section, as topics are drawn from it: the user's own lines of the section stay."""
    section = find_section(text, form)
    if section is None:
        return text
    if section.signed is None:
        # Somebody's own `## Research`: every word in it is the user's.
        return text
    rest = text[section.signed.stop : section.end]
    foreign = _foreign(text, section)
    return text[: section.start] + foreign + rest + text[section.end :]


def own_lines(text: str, form: NoteFormat) -> list[str]:
    """The user's lines of a note, in the order that putting a section in leaves them in; blank ones do not count.

    Two texts with the same ones differ in nothing but our section: what was found out about one holds for the other.
    """
    section = find_section(text, form)
    if section is None:
        parts = [text]
    else:
        rest = text[section.signed.stop : section.end] if section.signed is not None else ""
        parts = [text[: section.start], rest, _foreign(text, section), text[section.end :]]
    lines = (part[line.start : line.end].rstrip() for part in parts for line in lines_of(part))
    return [line for line in lines if line and line != KEPT_HEADING]
