"""Dates as files write them, normalised to ISO 8601; what is ambiguous or unknown stays out.

No time zone is ever applied: a date says what its author wrote, on every machine.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_REDUCED = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")
_YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.? ([A-Za-z]{3,9})\.?,? (\d{4})")
_MONTH_DAY = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? ", re.IGNORECASE)
_PDF = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:(Z)|([+-])(\d{2})'?(\d{2})?)?")
_LONGEST = 64


def iso_date(written: str) -> str | None:
    """The date as ISO 8601, as precise as it was written, or None."""
    written = written.strip().strip("[]").strip()
    if not written or len(written) > _LONGEST:
        return None
    if _REDUCED.fullmatch(written):
        return written
    return _iso(written) or _spelled(_WEEKDAY.sub("", written, count=1))


def pdf_date(written: str) -> str | None:
    """A PDF date such as `D:20240131120000+01'00'` as ISO 8601."""
    match = _PDF.match(written.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, zulu, sign, zone_hour, zone_minute = match.groups()
    if day is None:
        return iso_date(f"{year}-{month}" if month else year)
    if hour is None:
        return iso_date(f"{year}-{month}-{day}")
    zone = "Z" if zulu else f"{sign}{zone_hour}:{zone_minute or '00'}" if sign else ""
    return iso_date(f"{year}-{month}-{day}T{hour}:{minute or '00'}:{second or '00'}{zone}")


def _iso(written: str) -> str | None:
    """What `fromisoformat` understands, also with a blank before the zone."""
    compact = re.sub(r" (?=[+-]\d\d|Z$)", "", written)
    try:
        moment = datetime.fromisoformat(compact)
    except ValueError:
        return None
    is_day = moment.time() == time() and moment.tzinfo is None and ":" not in compact
    return moment.date().isoformat() if is_day else moment.isoformat(timespec="seconds")


def _spelled(written: str) -> str | None:
    """Numbers in an unambiguous order, or an English month by its name."""
    if match := _YEAR_FIRST.fullmatch(written):
        return _day(match[1], int(match[2]), match[3])
    if match := _DAY_FIRST.fullmatch(written):
        return _day(match[3], int(match[2]), match[1])
    if match := _DAY_MONTH.fullmatch(written):
        return _day(match[3], _month(match[2]), match[1])
    if match := _MONTH_DAY.fullmatch(written):
        return _day(match[3], _month(match[1]), match[2])
    return None


def _month(name: str) -> int:
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


def _day(year: str, month: int, day: str) -> str | None:
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return None
