"""Plain transcripts: told by speakers that return, read unchanged, with the time as heading."""

from __future__ import annotations

import time

import pytest

from citewell.readers.kinds import FileKind, detect, read_file
from citewell.readers.subtitles import is_transcript, read_transcript
from citewell.text.documents import Section

TALK = "Ann Lee: Shall we begin?\nBo: Yes.\nAnn Lee: The gauge is wet.\nBo: It is a tide gauge.\n"
TIMED = "[00:00:01] Ann: One.\n[00:00:05] Bo: Two.\n[00:01:10] Ann: Three.\n[00:02:00] Bo: Four.\n"
SERVICE = "Ann Lee  0:03\nShall we begin?\n\nBo  0:07\nYes.\n\nAnn Lee  0:09\nGood.\n\nBo  0:12\nFine.\n"
MAIL = "From: Ann\nTo: Bo\nSubject: Tides\nDate: today\n\nDear Bo,\n\nall is well.\n"
LOG = "12:00 kirkhaven level 4.2\n12:10 kirkhaven level 4.3\n12:20 kirkhaven level 4.4\n12:30 kirkhaven level 4.4\n"
LIST = "Milk: 2\nEggs: 12\nFlour: 1 kg\nButter: 250 g\nSalt: a little\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(TALK, True), (TIMED, True), (SERVICE, True), (MAIL, False), (LOG, False), (LIST, False), ("", False)],
)
def test_people_talking_are_told_from_other_texts(text: str, expected: bool) -> None:
    assert is_transcript(text) is expected


def test_the_text_of_a_transcript_is_the_file() -> None:
    read = read_file(TIMED.encode(), "call.txt")
    assert read.text == TIMED
    assert read.sections == (Section("transcript", 0, len(TIMED), "00:00:01", ("00:00:01",)),)
    assert detect("call.txt", TIMED.encode()) == FileKind("transcript", "transcript")


def test_a_long_one_has_sections_that_start_with_a_turn() -> None:
    text = "".join(f"[{n:02d}:00] {'Ann' if n % 2 else 'Bo'}: {'word ' * 40}\n" for n in range(40))
    sections = read_transcript(text.encode()).sections
    assert [section.start for section in sections][1:] == [section.end for section in sections][:-1]
    assert sections[-1].end == len(text)
    for section in sections:
        minute = int(text[section.start + 1 : section.start + 3])
        assert section.heading == f"00:{minute:02d}:00"


@pytest.mark.parametrize("char", ["a", "A ", "1:", "[", ":", "A: b\n", "'", "-", "a.", "A(", "\t"])
def test_endless_repetition_takes_no_time(char: str) -> None:
    started = time.process_time()
    is_transcript(char * 100_000)
    read_transcript(char.encode() * 100_000)
    assert time.process_time() - started < 5
