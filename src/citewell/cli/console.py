"""Writing to the terminal: results on stdout, everything else on stderr; no document can move the cursor."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import itemgetter

# Text laid out for a screen: how wide it shows, where a line ends, how columns stand under each other. Pure.
#
# Widths are those a terminal gives: two cells for a Chinese character or an emoji, none for an accent on its own.
#
#     >>> [plain(line) for line in wrapped([StyledText("The kelp lines sit 1.8 m down.", "bold")], 16)]
#     ['The kelp lines', 'sit 1.8 m down.']
#     >>> [plain(line) for line in table(("run", "question"), [("a1", "海带 how deep?"), ("b22", "why?")], None)]
#     ['run  question', 'a1   海带 how deep?', 'b22  why?']


GAP = 2  # cells between two columns
_NARROWEST_COLUMN = 8  # a column is not made narrower than this to save space
_SIMPLE = re.compile(
    "[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2211\u2500-\u25fc]*"
)
# What a line does not begin with, in scripts that are written without spaces.
_CLOSING = frozenset("、。，．）」』】！？：；,.)]!?:;’”…")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
LEFT_TO_RIGHT = "\u200e"  # keeps what follows a word of Hebrew or Arabic in its place


@dataclass(frozen=True, slots=True)
class StyledText:
    """Some text in one style; the empty style is plain."""

    text: str
    how: str = ""


Line = tuple[StyledText, ...]


def plain(line: Iterable[StyledText]) -> str:
    """A line without its styles."""
    return "".join(piece.text for piece in line)


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if _SIMPLE.fullmatch(text):
        return len(text)
    # Not imported above: most lines need no table of widths, and a search is to start fast.
    from rich.cells import cell_len

    return cell_len(text)


def shortened(text: str, width: int) -> str:
    """Text that takes at most so many cells, with … where it was cut."""
    if cells(text) <= width:
        return text
    kept, used = [], 0
    for cluster in _clusters(text):
        used += cells(cluster)
        if used > width - 1:
            break
        kept.append(cluster)
    return "".join(kept).rstrip() + "…"


def kept_in_place(text: str) -> str:
    """Text after which a line goes on from left to right, whatever script it ends in."""
    return text + LEFT_TO_RIGHT if _RIGHT_TO_LEFT.search(text) else text


def _clusters(text: str) -> Iterator[str]:
    """What a terminal shows as one: a character with the accents and joiners that belong to it."""
    if _SIMPLE.fullmatch(text):
        yield from text
        return
    cluster = ""
    for character in text:
        joins = (
            unicodedata.combining(character) or character in "\u200d\ufe0f" or "\U0001f3fb" <= character <= "\U0001f3ff"
        )
        if cluster and not joins and not cluster.endswith("\u200d"):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _sized_clusters(text: str) -> Iterator[tuple[str, int]]:
    """The same, each with the cells it takes."""
    if _SIMPLE.fullmatch(text):
        return zip(text, repeat(1))
    return ((cluster, cells(cluster)) for cluster in _clusters(text))


def wrapped(pieces: Iterable[StyledText], width: int, first: int = 0) -> list[Line]:
    """Pieces of one paragraph as lines of at most `width` cells, broken at spaces, or where there are none, anywhere.

    The first line may be wider by `first` cells.
    """
    lines: list[Line] = []
    line: list[tuple[str, str, int]] = []  # clusters of the line so far: text, style, cells
    used = breakable = 0  # breakable: a line may end before this cluster
    for piece in pieces:
        for cluster, size in _sized_clusters(piece.text):
            if (size == 2 or (line and line[-1][2] == 2)) and cluster not in _CLOSING:
                breakable = len(line)
            if used + size > width + (0 if lines else first) and line and cluster != " ":
                end = breakable or len(line)
                lines.append(_joined(line[:end]))
                line = line[end:]
                while line and line[0][0] == " ":
                    line.pop(0)
                used, breakable = sum(entry[2] for entry in line), 0
            line.append((cluster, piece.how, size))
            used += size
            if cluster == " ":
                breakable = len(line)
    if line or not lines:
        lines.append(_joined(line))
    return lines


def _joined(clusters: Sequence[tuple[str, str, int]]) -> Line:
    """Clusters as pieces, without the spaces at the end."""
    end = len(clusters)
    while end and clusters[end - 1][0].isspace():
        end -= 1
    styled = groupby(clusters[:end], key=itemgetter(1))
    return tuple(StyledText("".join(text for text, *_ in run), how) for how, run in styled)


def indented(lines: Iterable[Line], first: str, rest: str | None = None, how: str = "") -> list[Line]:
    """Lines behind a margin: `first` before the first of them, `rest` (else as many spaces) before the others."""
    margin = " " * cells(first) if rest is None else rest
    return [(StyledText(margin if number else first, how), *line) for number, line in enumerate(lines)]


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], width: int | None, bold: Iterable[int] = ()
) -> list[Line]:
    """A header and rows in aligned columns; in `width` cells what is too long goes on below, in its own column.

    The numbers of rows in `bold` are set in bold. Without a header (all of it empty) there are only rows.
    """
    strong = set(bold)
    shown = [tuple(row) for row in rows]
    titled = any(header)
    everything = ([tuple(header)] if titled else []) + shown
    if not everything:
        return []
    count = max(len(row) for row in everything)
    everything = [row + ("",) * (count - len(row)) for row in everything]
    sizes = [max(cells(row[column]) for row in everything) for column in range(count)]
    if width is not None:
        sizes = _narrowed(sizes, width - GAP * (count - 1))
    lines: list[Line] = []
    for number, row in enumerate(everything):
        is_header = titled and number == 0
        how = "dim" if is_header else "bold" if number - titled in strong else ""
        lines += _row(row, sizes, how)
    return lines


def _narrowed(sizes: list[int], width: int) -> list[int]:
    """Column sizes that fit, taken from the widest columns first."""
    sizes = list(sizes)
    while sum(sizes) > width:
        widest = max(range(len(sizes)), key=lambda column: (sizes[column], column))
        if sizes[widest] <= _NARROWEST_COLUMN:
            break
        sizes[widest] -= 1
    return sizes


def _row(row: Sequence[str], sizes: Sequence[int], how: str) -> list[Line]:
    folded = [wrapped([StyledText(cell)], max(size, 1)) for cell, size in zip(row, sizes, strict=True)]
    lines: list[Line] = []
    for depth in range(max(len(cell) for cell in folded)):
        text = ""
        at = 0
        for cell, size in zip(folded, sizes, strict=True):
            part = plain(cell[depth]) if depth < len(cell) else ""
            text += " " * (at - cells(text)) + kept_in_place(part)
            at += size + GAP
        lines.append((StyledText(text.rstrip(), how),))
    return lines


# Escape sequences in a saved page must not reach the terminal as commands; bidi controls must not reorder a line.
_SEQUENCE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)|\x1b[@-Z\\\\^_]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f]")

_STYLES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "cyan": "36", "red": "31"}

# How a line begins: its indentation, and the mark of an item.
_LEAD = re.compile(r"( *)((?:[-*+•·] |\d{1,3}[.)] )?(?:\[[ xX]\] )?)")

_LEAST_TEXT = 20
_UNKNOWN_WIDTH = 100  # of output that is no terminal, where COLUMNS does not say
_WIDEST, _NARROWEST = 110, 40  # longer lines are hard to read, shorter ones hold too little


def safe(text: str) -> str:
    """Text without anything that a terminal would obey."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text)).replace("\t", "    ")


def one_line(text: str, width: int = 160) -> str:
    """Text on one line, shortened to a width."""
    return shortened(" ".join(safe(text).split()), width)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def page_width() -> int:
    """How wide a page of prose is here: as the terminal, but no wider than one reads with ease."""
    return max(_NARROWEST, min(_WIDEST, screen_width()))


def screen_width() -> int:
    import shutil

    return shutil.get_terminal_size((_UNKNOWN_WIDTH, 24)).columns


def print_json(value: object) -> None:
    """Exactly one JSON document on stdout, UTF-8 whatever the locale says."""
    from citewell.wire import to_json

    sys.stdout.flush()
    sys.stdout.buffer.write(to_json(value) + b"\n")
    sys.stdout.buffer.flush()


def print_line(line: Line) -> None:
    """One line as it was laid out; colours only on a terminal."""
    styled = is_terminal()
    shown = (StyledText(_OBEYED.sub("", piece.text.replace("\u00a0", " ")), piece.how) for piece in line)
    print("".join(_styled(piece) if styled else piece.text for piece in shown).rstrip())


def _styled(piece: StyledText) -> str:
    if not piece.how or not piece.text:
        return piece.text
    codes = ";".join(_STYLES[how] for how in piece.how.split())
    return f"\x1b[{codes}m{piece.text}\x1b[0m"


def print_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        print_line(line)


def style(text: str, how: str) -> StyledText:
    """Text in a style, such as bold or dim."""
    return StyledText(text, how)


def print_text(*parts: str | StyledText, indent: int = 0) -> None:
    """Paragraphs of the result, wrapped; each keeps its indentation, and an item of a list stands behind its mark."""
    paragraph: list[StyledText] = []
    for part in parts:
        piece = part if isinstance(part, StyledText) else StyledText(part)
        first, *more = piece.text.split("\n")
        paragraph.append(StyledText(first, piece.how))
        for line in more:
            print_lines(paragraph_lines(paragraph, page_width(), indent))
            paragraph = [StyledText(line, piece.how)]
    print_lines(paragraph_lines(paragraph, page_width(), indent))


def print_as_it_is(text: str) -> None:
    """Text that is not wrapped: what somebody may copy."""
    print(safe(text))


def paragraph_lines(pieces: Sequence[StyledText], width: int, indent: int = 0) -> list[Line]:
    """One paragraph as lines; what of it a terminal would obey is left out."""
    cleaned = [StyledText(safe(piece.text), piece.how) for piece in pieces]
    lead = _LEAD.match("".join(piece.text for piece in cleaned))
    margin, mark = (len(lead[1]), len(lead[2])) if lead else (0, 0)
    body = _without_first(cleaned, margin)
    left = " " * (indent + margin)
    lines = wrapped(body, max(width - len(left) - mark, _LEAST_TEXT), first=mark)
    return indented(lines, left, left + " " * mark)


def _without_first(pieces: Sequence[StyledText], count: int) -> list[StyledText]:
    """Pieces without the first characters of them all."""
    kept: list[StyledText] = []
    for piece in pieces:
        kept.append(StyledText(piece.text[count:], piece.how))
        count = max(0, count - len(piece.text))
    return kept


def note(text: str) -> None:
    """A line for the person watching; never part of the result."""
    print(safe(text), file=sys.stderr, flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str = "") -> None:
    """Rows in aligned columns on a terminal, tab-separated with a header when piped; `empty` is said of none."""
    shown = [[" ".join(safe(cell).split()) for cell in row] for row in rows]
    if not shown and empty:
        print_text(empty)
    elif is_terminal():
        print_lines(table(columns, shown, screen_width()))
    else:
        print("\n".join("\t".join(row) for row in (columns, *shown)))


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, aligned."""
    listed = [(name, safe(value)) for name, value in pairs]
    print_lines(table((), listed, screen_width() if is_terminal() else None))
