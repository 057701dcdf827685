"""A row of a table read out under its header: `Year: 2023; Weight: 3.4 t`. Pure.

It is verbatim where every part is a header of the table with the cell under it, all of one row; nothing is composed
from cells that do not belong together.

Example:
    claim:   Boat: Ada; Built: 1902
    passage: | Boat | Built |\\n|---|---|\\n| Ada | 1902 |\\n| Bell | 1911 |
    verdict: supported

Example:
    claim:   Boat: Ada; Built: 1911
    passage: | Boat | Built |\\n|---|---|\\n| Ada | 1902 |\\n| Bell | 1911 |
    verdict: contradicted
    reason:  the table has '1902' under 'Built'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.synthesis.markup import readable
from citewell.text.folding import folded_text
from citewell.text.table_lines import cells_of

_RULE = re.compile(r"[|:\-\s]+")
_CELL = re.compile(r"(?<!\\)\|")
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Whether a row says it, what it has instead, and its place."""

    holds: bool
    reason: str
    start: int
    end: int


def read_out(row: str, header: str) -> str:
    """A row of a table as it is read out under its header."""
    pairs = zip(cells_of(header), cells_of(row), strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def statements_of(row: str, header: str) -> list[tuple[str, str]]:
    """What a row says, column by column: the name of the column, and what its first cell is said to have there."""
    first, *others = zip(cells_of(header), cells_of(row), strict=False)
    subject = first[1]
    return [(name, f"{subject} {name} {cell}") for name, cell in others if cell] or [(first[0], subject)]


def check_row(said: str, quoted: str) -> RowCheck | None:
    """What the tables of a text say of a row read out; None where the sentence is none, or no table has its header."""
    parts = [part.partition(": ") for part in said.rstrip(".").split("; ")]
    if not parts or not all(name and sign for name, sign, _ in parts):
        return None
    claimed = [(_folded(name), _folded(value)) for name, _, value in parts]
    rows = list(_rows(quoted))
    nearest: RowCheck | None = None
    for header, _, _ in rows:
        places = [header.index(name) if name in header else None for name, _ in claimed]
        if None in places:
            continue
        for cells, start, end in rows:
            if cells is header or len(cells) < len(header):
                continue
            wrong = [(at, n) for n, at in enumerate(places) if at is not None and cells[at] != claimed[n][1]]
            if not wrong:
                return RowCheck(True, "", start, end)
            at, n = wrong[0]
            if n and nearest is None:  # the row that begins alike
                reason = f"the table has '{cells[at]}' under '{parts[n][0]}'"
                nearest = RowCheck(False, reason, start, end)
    return nearest


def _rows(text: str) -> Iterator[tuple[list[str], int, int]]:
    at = found = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.count("|") > 1 and not _RULE.fullmatch(bare) and found < _MOST_ROWS:
            found += 1
            start = at + line.index(bare)
            yield [_folded(cell) for cell in _CELL.split(bare.strip("|"))], start, start + len(bare)
        at += len(line)


def _folded(cell: str) -> str:
    return folded_text(readable(cell.strip()))
