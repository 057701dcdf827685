"""Fixed words of the engine around quoted sentences. They claim nothing of their own, so verification reads past them.

A dated lead-in says when a daily note was written, so that its "today" can be understood; its date is the note's title.
"""

from __future__ import annotations

import re

from citewell.domain.answers import PreparedSource

OUTDATED = "Earlier note, since corrected: "
NOT_FOUND = "Not found in your corpus: "
_NOTED = "Noted on {day} {month} {year}: "
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip
_DATED = re.compile(rf"Noted on \d{{1,2}} (?:{'|'.join(_MONTHS)}) \d{{4}}: ")
_DAILY_TITLE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")


def dated_lead_in(source: PreparedSource) -> str:
    """`Noted on 23 May 2024: ` for a daily note, whose title is its date; empty for any other source."""
    match = _DAILY_TITLE.match(source.title)
    if match is None:
        return ""
    return _NOTED.format(day=int(match[3]), month=_MONTHS[int(match[2]) - 1], year=match[1])


def lead_in_of(text: str) -> str:
    """The engine's own words at the start of a sentence, if any."""
    lead = OUTDATED if text.startswith(OUTDATED) else ""
    dated = _DATED.match(text, len(lead))
    return lead + (dated.group() if dated else "")


def without_lead_in(text: str) -> str:
    """The sentence without the engine's own words before it."""
    return text[len(lead_in_of(text)) :]


def is_dated_falsely(text: str, sources: list[PreparedSource]) -> bool:
    """Whether the engine's words date a sentence otherwise than its source does."""
    dated = lead_in_of(text).removeprefix(OUTDATED)
    return bool(dated) and dated not in {dated_lead_in(source) for source in sources}
