"""Excel: each sheet is a section under its name, one line a row; dates as dates, formulas by their last value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from citewell.readers.blocks import Block
from citewell.readers.office import RELATION_ID, OfficeText, Package
from citewell.readers.tables import MAX_COLUMNS, bounded, cut_warning, row_lines
from citewell.readers.xml_tree import local_name, xml_elements

MAX_SHEETS = 500
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_WHAT = "the document"
_CELL = re.compile(r"([A-Z]{1,3})\d+")
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_LITERAL = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\\.")
_DATE_LETTERS = re.compile(r"[ydhs]", re.IGNORECASE)
# Excel believes that 1900 was a leap year, so from March of that year on its days count from 30 December 1899.
_EPOCH = datetime(1899, 12, 30)
_EPOCH_1904 = datetime(1904, 1, 1)
_LAST_DAY = 2_958_466

Format = Callable[[str], str]


def sheets_text(package: Package, root: Any) -> OfficeText:
    """The sheets in the order of their tabs, hidden ones too."""
    parts = package.relations(package.main)
    reader = _Cells(package, root)
    sheets = list(root.iter(f"{_S}sheet"))
    blocks: list[Block] = []
    warnings: tuple[str, ...] = ()
    for number, sheet in enumerate(sheets[:MAX_SHEETS], 1):
        name = sheet.get("name") or f"Sheet {number}"
        part = parts.get(sheet.get(RELATION_ID) or "", "")
        if "worksheets" not in part:
            continue
        rows, is_cut = bounded(reader.rows(package.data(part)))
        warnings += cut_warning(len(rows), is_cut=is_cut, where=f" of sheet {name[:60]}")
        if rows:
            blocks.append(Block(f"## {' '.join(name.split())}", heading_path=(name,), page=number))
            blocks += [Block(line, heading_path=(name,), page=number) for line in row_lines(rows)]
    return OfficeText(tuple(blocks), warnings)


class _Cells:
    """How the cells of one workbook are to be read."""

    def __init__(self, package: Package, root: Any) -> None:
        self._shared = _shared_strings(package)
        self._date_styles = _date_styles(package)
        properties = root.find(f"{_S}workbookPr")
        is_1904 = properties is not None and properties.get("date1904") in {"1", "true"}
        self._epoch = _EPOCH_1904 if is_1904 else _EPOCH

    def rows(self, data: bytes) -> Iterator[list[str]]:
        """Each row of a sheet, with empty cells where the file leaves them out."""
        for row in xml_elements(data, f"{_S}row", _WHAT):
            cells: list[str] = []
            for cell in row.iterfind(f"{_S}c"):
                column = _column(cell.get("r") or "", len(cells))
                if column >= MAX_COLUMNS:
                    break
                cells += [""] * (column - len(cells))
                cells.append(self._value(cell))
            yield cells

    def _value(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _rich_text(cell)
        value = cell.findtext(f"{_S}v") or ""
        if kind == "s":
            return self._shared[int(value)] if value.isdecimal() and int(value) < len(self._shared) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "n":
            return self._number(value, cell.get("s") or "")
        return value

    def _number(self, written: str, style: str) -> str:
        try:
            number = float(written)
        except ValueError:
            return written
        if style in self._date_styles and 0 <= number < _LAST_DAY:
            return _date(self._epoch, number)
        # Binary fractions as the file stores them (4.2000000000000002) are not what anyone typed.
        return f"{number:.15g}" if "." in written else written


def _date(epoch: datetime, days: float) -> str:
    moment = epoch + timedelta(seconds=round(days * 86_400))
    if days < 1:
        return moment.strftime("%H:%M:%S").removesuffix(":00")
    if days == int(days):
        return moment.date().isoformat()
    return moment.isoformat(sep=" ", timespec="seconds")


def _column(reference: str, following: int) -> int:
    """Where a cell stands, counted from 0; without a reference it follows the one before."""
    match = _CELL.fullmatch(reference)
    if match is None:
        return following
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return max(column - 1, following)


def _rich_text(element: Any) -> str:
    """The runs of a string, without the phonetic guides that stand above it."""
    return "".join(
        part.text or ""
        for part in element.iter(f"{_S}t")
        if not any(local_name(above) == "rPh" for above in part.iterancestors())
    )


def _shared_strings(package: Package) -> list[str]:
    name = package.related(package.main, "/sharedStrings")
    return [] if name is None else [_rich_text(item) for item in xml_elements(package.data(name), f"{_S}si", _WHAT)]


def _date_styles(package: Package) -> frozenset[str]:
    """The numbers of the cell styles that show a date or a time."""
    name = package.related(package.main, "/styles")
    root = package.part(name) if name else None
    formats = None if root is None else root.find(f"{_S}cellXfs")
    if root is None or formats is None:
        return frozenset()
    own = {item.get("numFmtId") for item in root.iter(f"{_S}numFmt") if _shows_date(item.get("formatCode") or "")}
    built_in = set(map(str, _DATE_FORMATS))
    return frozenset(str(number) for number, item in enumerate(formats) if item.get("numFmtId") in own | built_in)


def _shows_date(code: str) -> bool:
    return _DATE_LETTERS.search(_LITERAL.sub("", code)) is not None
