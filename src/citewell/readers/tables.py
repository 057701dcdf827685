"""Tables: CSV and TSV files, and the rows of any table as lines that can be read on their own.

Each row names its columns (`Site: Kirkhaven; Depth: 4.2`), so that a passage cut from the middle of a long table still
says what its numbers are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from citewell.errors import Unreadable
from citewell.readers.compose import TextBlock, compose
from citewell.readers.decode import decode
from citewell.text.documents import ReadDocument

MAX_ROWS = 20_000
MAX_COLUMNS = 200
MAX_CHARS = 10_000_000

_NUMBER = re.compile(r"[-+]?[\d.,\s]{1,40}%?")
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 100


def read_table(data: bytes) -> ReadDocument:
    """The table in these bytes; raises Unreadable when it has no rows."""
    decoded = decode(data)
    try:
        rows, is_cut = bounded(_rows(decoded.text))
    except csv.Error as error:
        raise Unreadable(f"not a readable table: {error}") from error
    composed = compose(TextBlock(line) for line in row_lines(rows))
    if not composed.text:
        raise Unreadable("the table is empty")
    return ReadDocument(
        text=composed.text,
        title=None,
        sections=composed.sections,
        links=composed.links,
        warnings=decoded.warnings + cut_warning(len(rows), is_cut=is_cut),
    )


def bounded(rows: Iterable[Sequence[str]]) -> tuple[list[list[str]], bool]:
    """The rows that are not empty, up to the limits, and whether there were more."""
    kept: list[list[str]] = []
    chars = 0
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row[:MAX_COLUMNS]]
        if not any(cells):
            continue
        chars += sum(map(len, cells))
        if len(kept) >= MAX_ROWS or chars > MAX_CHARS:
            return kept, True
        kept.append(cells)
    return kept, False


def cut_warning(count: int, *, is_cut: bool, where: str = "") -> tuple[str, ...]:
    """What to say of a table that is longer than what was read of it."""
    return (f"only the first {count} rows{where} were read",) if is_cut else ()


def row_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row as a line: `Header: value; Header: value`, or the bare values where no header tells their names."""
    if not _has_header(rows):
        yield from (" | ".join(cell for cell in row if cell) for row in rows)
        return
    header, *body = rows
    for row in body:
        names = [*header, *[""] * (len(row) - len(header))]
        yield "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell)


def markdown_rows(rows: Sequence[Sequence[str]]) -> str:
    """A small table within a document, as Markdown."""
    width = max(map(len, rows), default=0)
    lines = ["| " + " | ".join(_cell(cell) for cell in [*row, *[""] * (width - len(row))]) + " |" for row in rows]
    return "\n".join([*lines[:1], "|" + " --- |" * width, *lines[1:]]) if lines else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Names of columns are words, all different, and more than one row follows or stands under them."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    names = [name for name in rows[0] if name]
    return (
        len(names) >= 0.8 * len(rows[0])
        and len(names) >= 0.8 * max(map(len, rows))
        and len(set(names)) == len(names)
        and not any(_NUMBER.fullmatch(name) or len(name) > _LONGEST_HEADER for name in names)
    )


def _rows(text: str) -> Iterator[list[str]]:
    # A quote that never closes would make one cell of the whole file: csv's own limit of a cell ends that.
    return csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=False)


def _delimiter(text: str) -> str:
    """What parts the most cells on the first lines."""
    head = "\n".join(text[:8_192].split("\n", 5)[:5])
    return max(_DELIMITERS, key=head.count)
