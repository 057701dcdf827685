"""Results within a number of characters: rows are left out from the end, whole, and it is said how many. Pure.

fitted(SearchResult(…, results=(a, b, c)), 1_000, (("results",),))  ->  SearchResult(…, results=(a, b)), {"results": 1}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from citewell.domain.documents import DocumentView

_Value = TypeVar("_Value")
Path = tuple[str, ...]


def fitted(value: _Value, most: int, lists: Sequence[Path]) -> tuple[_Value, dict[str, int]]:
    """A value whose lists are shortened, the first named first, until its JSON fits; and how many each has lost.

    The list named last keeps one entry, however long it is: an empty result would say that there is nothing.
    """
    over = _size(value) - most
    left_out: dict[str, int] = {}
    for path in lists:
        entries = _at(value, path)
        least = 1 if path == lists[-1] else 0
        kept = len(entries)
        while over > 0 and kept > least:
            kept -= 1
            over -= _size(entries[kept]) + 1
        if kept < len(entries):
            left_out[path[-1]] = len(entries) - kept
            value = _put(value, path, entries[:kept])
    return value, left_out


def _size(value: object) -> int:
    return len(msgspec.json.encode(value).decode("utf-8"))


def _at(value: Any, path: Path) -> tuple[Any, ...]:
    for name in path:
        value = getattr(value, name) if value is not None else None
    return value or ()


def _put(value: Any, path: Path, entries: tuple[Any, ...]) -> Any:
    name, *rest = path
    return replace(value, **{name: _put(getattr(value, name), tuple(rest), entries) if rest else entries})


def page_of(view: DocumentView, start: int, most: int) -> DocumentView:
    """A part of a whole text, its offsets and sections still those of the whole."""
    begin = min(max(start, view.start), view.end)
    end = min(begin + most, view.end)
    sections = tuple(one for one in view.sections if one.start < end and one.end > begin)
    return replace(view, text=view.text[begin - view.start : end - view.start], start=begin, end=end, sections=sections)
