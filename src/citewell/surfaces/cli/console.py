"""Writing to the terminal: results on stdout, everything else on stderr; no document can move the cursor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

from citewell.surfaces.cli.layout import Line, Piece, indented, shortened, table, wrapped

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
    from citewell.surfaces.wire import to_json

    sys.stdout.flush()
    sys.stdout.buffer.write(to_json(value) + b"\n")
    sys.stdout.buffer.flush()


def print_line(line: Line) -> None:
    """One line as it was laid out; colours only on a terminal."""
    styled = is_terminal()
    shown = (Piece(_OBEYED.sub("", piece.text.replace("\u00a0", " ")), piece.how) for piece in line)
    print("".join(_styled(piece) if styled else piece.text for piece in shown).rstrip())


def _styled(piece: Piece) -> str:
    if not piece.how or not piece.text:
        return piece.text
    codes = ";".join(_STYLES[how] for how in piece.how.split())
    return f"\x1b[{codes}m{piece.text}\x1b[0m"


def print_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        print_line(line)


def style(text: str, how: str) -> Piece:
    """Text in a style, such as bold or dim."""
    return Piece(text, how)


def print_text(*parts: str | Piece, indent: int = 0) -> None:
    """Paragraphs of the result, wrapped; each keeps its indentation, and an item of a list stands behind its mark."""
    paragraph: list[Piece] = []
    for part in parts:
        piece = part if isinstance(part, Piece) else Piece(part)
        first, *more = piece.text.split("\n")
        paragraph.append(Piece(first, piece.how))
        for line in more:
            print_lines(paragraph_lines(paragraph, page_width(), indent))
            paragraph = [Piece(line, piece.how)]
    print_lines(paragraph_lines(paragraph, page_width(), indent))


def print_as_it_is(text: str) -> None:
    """Text that is not wrapped: what somebody may copy."""
    print(safe(text))


def paragraph_lines(pieces: Sequence[Piece], width: int, indent: int = 0) -> list[Line]:
    """One paragraph as lines; what of it a terminal would obey is left out."""
    cleaned = [Piece(safe(piece.text), piece.how) for piece in pieces]
    lead = _LEAD.match("".join(piece.text for piece in cleaned))
    margin, mark = (len(lead[1]), len(lead[2])) if lead else (0, 0)
    body = _without_first(cleaned, margin)
    left = " " * (indent + margin)
    lines = wrapped(body, max(width - len(left) - mark, _LEAST_TEXT), first=mark)
    return indented(lines, left, left + " " * mark)


def _without_first(pieces: Sequence[Piece], count: int) -> list[Piece]:
    """Pieces without the first characters of them all."""
    kept: list[Piece] = []
    for piece in pieces:
        kept.append(Piece(piece.text[count:], piece.how))
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
