"""Plain text transcripts: `Ann: Shall we begin?`, with or without times. The file is the text; turns make sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from citewell.domain.documents import ReadDocument, Section
from citewell.readers.decode import decode
from citewell.readers.references import url_links
from citewell.readers.subtitles import SECTION_CHARS, clock

_TIME = r"[\[(]?(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2})(?:[.,]\d{1,3})?[\])]?"
_NAME = r"(?P<name>[^\W\d_][\w.'’-]*(?: [\w.'’()-]+){0,4})"
# `[00:12:30] Ann: Well.`, `Ann: Well.`, and a line of its own as meeting services write it: `Ann Lee  0:03`.
_TURN = re.compile(rf"(?:{_TIME}[ \t]+)?{_NAME}[ \t]*:[ \t]+\S")
_TIMED_NAME = re.compile(rf"{_NAME}[ \t]+{_TIME}[ \t]*$")
_LEAST_TURNS = 4
_LEAST_SHARE = 0.4
_LONGEST_LINE = 400


def is_transcript(head: str) -> bool:
    """Whether a text that begins like this is people talking: few names, each coming up again and again."""
    lines = [line for line in head.split("\n") if line.strip()]
    turns = [turn for turn in map(_turn, lines) if turn is not None]
    if len(turns) < max(_LEAST_TURNS, _LEAST_SHARE * len(lines)):
        return False
    speakers = Counter(turn["name"].casefold() for turn in turns)
    returning = sum(count for count in speakers.values() if count > 1)
    return len(speakers) > 1 and 2 * len(speakers) <= len(turns) and returning >= 0.8 * len(turns)


def read_transcript(data: bytes) -> ReadDocument:
    """The transcript in these bytes, in whatever encoding."""
    decoded = decode(data)
    text = decoded.text
    return ReadDocument(
        text=text,
        title=None,
        sections=tuple(_sections(text)),
        links=url_links(text),
        warnings=decoded.warnings,
    )


def _turn(line: str) -> re.Match[str] | None:
    short = line[:_LONGEST_LINE].strip()
    return _TURN.match(short) or _TIMED_NAME.match(short)


def _sections(text: str) -> Iterator[Section]:
    """Turns in groups, each from the start of a turn; the time of the first one is the heading."""
    start, heading, position = 0, "", 0
    for line in text.split("\n"):
        turn = _turn(line)
        if turn is not None and position - start >= SECTION_CHARS and len(text) - position >= SECTION_CHARS:
            yield _section(start, position, heading)
            start, heading = position, ""
        if turn is not None and not heading:
            heading = _time(turn)
        position += len(line) + 1
    if text[start:].strip():
        yield _section(start, len(text), heading)


def _section(start: int, end: int, heading: str) -> Section:
    return Section("transcript", start, end, heading or None, (heading,) if heading else ())


def _time(turn: re.Match[str]) -> str:
    if turn["seconds"] is None:
        return ""
    return clock(int(turn["hours"] or 0) * 3600 + int(turn["minutes"]) * 60 + int(turn["seconds"]))
