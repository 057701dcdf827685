"""Subtitles (WebVTT, SRT) as a transcript: what was said, in paragraphs, with the time as heading of each section.

The text is an extraction: cue numbers, styling and the repeated lines of rolling captions are gone, and who speaks
stands before what they say. The times are those of the first cue of a section, not of each sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise

from citewell.errors import Unreadable
from citewell.readers.compose import TextBlock, compose
from citewell.readers.decode import decode
from citewell.readers.markup import is_web_address, url_links
from citewell.text.documents import ReadDocument, Section

# Sections longer than half of what the chunker merges keep their own time.
SECTION_CHARS = 600
_PARAGRAPH_CHARS = 600
_LONGEST_PARAGRAPH = 1_200
_PAUSE_SECONDS = 2.5
_LONGEST_TAG = 200

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)+")
_OFF_SCREEN = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t]|$)")
_VOICE = re.compile(rf"<v(?:\.[^ \t>]{{0,{_LONGEST_TAG}}})?[ \t]+([^>]{{1,{_LONGEST_TAG}}})>")
_TAG = re.compile(rf"</?[a-zA-Z0-9][^<>]{{0,{_LONGEST_TAG}}}>|\{{\\[^{{}}]{{0,{_LONGEST_TAG}}}\}}")
_FIELD = re.compile(r"([A-Za-z][A-Za-z ]{1,20}):[ \t]+(\S.{0,500})")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_TITLE_KEYS = ("title", "talk")
_URL_KEYS = ("source", "url", "link")
_AUTHOR_KEYS = ("speaker", "author", "by")
# Rolling captions repeat in nearly every cue; a person who says "Yes." twice does so once.
_ROLLING_SHARE = 0.3
_TOUCHING_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class _Cue:
    """Words on the screen: from when to when, and whose they are."""

    start: float
    end: float
    lines: tuple[str, ...]
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class _Paragraph:
    start: float
    text: str
    speaker: str


def read_subtitles(data: bytes) -> ReadDocument:
    """The transcript in these bytes; raises Unreadable when there are no cues in it."""
    decoded = decode(data)
    header, cues = _cues(decoded.text)
    spoken = compose(_sections(tuple(_paragraphs(_unrolled(cues)))))
    if not spoken.text:
        raise Unreadable("no subtitles in this file: it has no cue with text")
    about = dict(_fields(header))
    return ReadDocument(
        text=spoken.text,
        title=_first(about, _TITLE_KEYS) or _title(header),
        sections=spoken.sections,
        links=spoken.links,
        author=_first(about, _AUTHOR_KEYS),
        url=next((about[key] for key in _URL_KEYS if is_web_address(about.get(key, ""))), None),
        meta_text="\n".join(about.values()),
        warnings=decoded.warnings,
    )


def clock(seconds: float) -> str:
    """A time within a recording: `00:12:30`."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _cues(text: str) -> tuple[list[str], list[_Cue]]:
    """The lines before the first cue, and the cues."""
    header: list[str] = []
    cues: list[_Cue] = []
    for block in _BLANK_LINES.split(text):
        lines = block.strip("\n").split("\n")
        if _OFF_SCREEN.match(lines[0]) or (not cues and not any(map(_TIMING.match, lines))):
            header += lines if not cues else []
        else:
            cues += _block_cues(lines, cues[-1] if cues else None)
    return header, cues


def _block_cues(lines: Sequence[str], before: _Cue | None) -> Iterator[_Cue]:
    """The cues of a block. One without a time goes on with the cue before: some writers leave lines empty."""
    times = [number for number, line in enumerate(lines) if _TIMING.match(line)]
    if not times and before is not None:
        yield from _voices(replace(before, lines=()), lines)
    for number, following in zip(times, [*times[1:], len(lines)], strict=False):
        timing = _TIMING.match(lines[number])
        if timing is None:
            continue
        spoken = lines[number + 1 : following]
        if following < len(lines) and spoken and spoken[-1].strip().isdecimal():
            spoken = spoken[:-1]
        yield from _voices(_Cue(_seconds(timing.groups()[:4]), _seconds(timing.groups()[4:]), ()), spoken)


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _voices(cue: _Cue, lines: Sequence[str]) -> Iterator[_Cue]:
    """The words of a cue, taken apart where another voice begins."""
    opening, *voices = _VOICE.split("\n".join(lines))
    for speaker, words in zip([cue.speaker, *voices[0::2]], [opening, *voices[1::2]], strict=True):
        shown = tuple(filter(None, (" ".join(_plain(line).split()) for line in words.split("\n"))))
        if shown:
            yield replace(cue, lines=shown, speaker=" ".join(_plain(speaker).split()))


def _plain(markup: str) -> str:
    return unescape(_TAG.sub("", markup))


def _unrolled(cues: list[_Cue]) -> list[_Cue]:
    """Rolling captions without the lines that every cue repeats from the one before."""
    repeats = [_repeated(before, cue) for before, cue in pairwise(cues)]
    if sum(map(bool, repeats)) < max(2, _ROLLING_SHARE * len(repeats)):
        return cues
    kept = [replace(cue, lines=cue.lines[repeat:]) for cue, repeat in zip(cues, [0, *repeats], strict=True)]
    return [cue for cue in kept if cue.lines]


def _repeated(before: _Cue, cue: _Cue) -> int:
    """How many lines at the start of a cue were already on the screen."""
    if cue.start > before.end + _TOUCHING_SECONDS:
        return 0
    most = min(len(before.lines), len(cue.lines))
    return next((count for count in range(most, 0, -1) if before.lines[-count:] == cue.lines[:count]), 0)


def _paragraphs(cues: list[_Cue]) -> Iterator[_Paragraph]:
    """Cues joined until the speaker changes, a pause comes or the paragraph is long enough."""
    opened: _Cue | None = None
    words: list[str] = []
    length, end = 0, 0.0
    for cue in cues:
        if opened is not None and _is_over(cue, opened, words, length, end):
            yield _Paragraph(opened.start, " ".join(words), opened.speaker)
            opened, words, length = None, [], 0
        opened = opened or cue
        words += cue.lines
        length += sum(map(len, cue.lines)) + len(cue.lines)
        end = cue.end
    if opened is not None:
        yield _Paragraph(opened.start, " ".join(words), opened.speaker)


def _is_over(cue: _Cue, opened: _Cue, words: list[str], length: int, end: float) -> bool:
    if cue.speaker != opened.speaker or length >= _LONGEST_PARAGRAPH:
        return True
    has_ended = _ENDED.search(words[-1][-8:]) is not None
    return has_ended and (length >= _PARAGRAPH_CHARS or cue.start - end >= _PAUSE_SECONDS)


def _sections(paragraphs: Sequence[_Paragraph]) -> Iterator[TextBlock]:
    """Paragraphs under the time of the section they fall into; a last short section stays with the one before."""
    left = sum(len(paragraph.text) for paragraph in paragraphs)
    heading, speaker, length = "", "", 0
    for paragraph in paragraphs:
        if not heading or (length >= SECTION_CHARS and left >= SECTION_CHARS):
            heading, speaker, length = clock(paragraph.start), "", 0
        is_named = paragraph.speaker and paragraph.speaker != speaker
        text = f"{paragraph.speaker}: {paragraph.text}" if is_named else paragraph.text
        yield TextBlock(text, "transcript", (heading,))
        speaker = paragraph.speaker
        length += len(paragraph.text)
        left -= len(paragraph.text)


def _fields(header: list[str]) -> Iterator[tuple[str, str]]:
    """What the notes at the head say about the recording, such as `Speaker: Ann Lee`."""
    for line in header:
        field = _FIELD.match(line)
        if field is not None and field[1].lower() not in {"kind", "language"}:
            yield field[1].lower(), field[2].strip()


def _title(header: list[str]) -> str | None:
    """What stands after the signature: `WEBVTT - A talk`."""
    signature = header[0].lstrip("\ufeff") if header else ""
    return signature.removeprefix("WEBVTT").strip(" \t-") or None if signature.startswith("WEBVTT") else None


def _first(about: dict[str, str], keys: Sequence[str]) -> str | None:
    return next((about[key] for key in keys if about.get(key)), None)


# Plain text transcripts: `Ann: Shall we begin?`, with or without times. The file is the text; turns make sections.


_TURN_TIME = r"[\[(]?(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2})(?:[.,]\d{1,3})?[\])]?"
_NAME = r"(?P<name>[^\W\d_][\w.'’-]*(?: [\w.'’()-]+){0,4})"
# `[00:12:30] Ann: Well.`, `Ann: Well.`, and a line of its own as meeting services write it: `Ann Lee  0:03`.
_TURN = re.compile(rf"(?:{_TURN_TIME}[ \t]+)?{_NAME}[ \t]*:[ \t]+\S")
_TIMED_NAME = re.compile(rf"{_NAME}[ \t]+{_TURN_TIME}[ \t]*$")
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
        sections=tuple(_turn_sections(text)),
        links=url_links(text),
        warnings=decoded.warnings,
    )


def _turn(line: str) -> re.Match[str] | None:
    short = line[:_LONGEST_LINE].strip()
    return _TURN.match(short) or _TIMED_NAME.match(short)


def _turn_sections(text: str) -> Iterator[Section]:
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
