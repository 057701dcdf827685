"""Fixed words of the engine around quoted sentences. They claim nothing of their own, so verification reads past them.

A dated lead-in says when a daily note was written, so that its "today" can be understood; its date is the note's title.
A property is read out after the title of its note, which is what it is a property of, and so is a sentence that names
nothing: "My favorite editor" is the one the heading above it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.domain.answers import PreparedSource
from citewell.synthesis.markup import readable

OUTDATED = "Earlier note, since corrected: "
NOT_FOUND = "Nothing you saved answers this directly."
_NOTED = "Noted on {day} {month} {year}: "
_TITLED = "In “{title}”: "
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip
_DATED = re.compile(rf"Noted on \d{{1,2}} (?:{'|'.join(_MONTHS)}) \d{{4}}: ")
_TITLED_LEAD = re.compile(r"In “[^“”\n]{1,200}”: ")
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_DAILY_TITLE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")


def dated_lead_in(source: PreparedSource) -> str:
    """`Noted on 23 May 2024: ` for a daily note, whose title is its date; empty for any other source."""
    match = _DAILY_TITLE.match(source.title)
    if match is None:
        return ""
    return _NOTED.format(day=int(match[3]), month=_MONTHS[int(match[2]) - 1], year=match[1])


def titled_lead_in(source: PreparedSource) -> str:
    """`In “Blade Runner”: `, before a property of that note; empty where the title cannot be told from other words."""
    lead = _TITLED.format(title=" ".join(source.title.split()))
    return lead if _TITLED_LEAD.fullmatch(lead) else ""


def headed_lead_in(heading: str) -> str:
    """The same with a heading of the note."""
    lead = _TITLED.format(title=" ".join(heading.split()))
    return lead if _TITLED_LEAD.fullmatch(lead) else ""


def lead_in_of(text: str) -> str:
    """The engine's own words at the start of a sentence, if any."""
    lead = OUTDATED if text.startswith(OUTDATED) else ""
    told = _DATED.match(text, len(lead)) or _TITLED_LEAD.match(text, len(lead))
    return lead + (told.group() if told else "")


def without_lead_in(text: str) -> str:
    """The sentence without the engine's own words before it."""
    return text[len(lead_in_of(text)) :]


def is_told_falsely(text: str, sources: list[PreparedSource]) -> bool:
    """Whether the engine's words give a sentence another date, title or heading than its source has."""
    told = lead_in_of(text).removeprefix(OUTDATED)
    if not told or told in {lead(source) for source in sources for lead in (dated_lead_in, titled_lead_in)}:
        return False
    return not any(told == headed_lead_in(heading) for source in sources for heading in _headings(source))


def _headings(source: PreparedSource) -> Iterator[str]:
    """The headings that stand in a source's window or above it."""
    yield from (readable(match[1]) for match in _HEADING.finditer(source.text))
    yield from (readable(one.text) for one in source.context if one.kind == "heading")
