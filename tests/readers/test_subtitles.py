"""Subtitles become a transcript: paragraphs, speakers, times; rolling captions say everything once."""

from __future__ import annotations

import time

import pytest

from citewell.errors import Unreadable
from citewell.readers.kinds import FileKind, detect, read_file
from citewell.readers.subtitles import read_subtitles
from citewell.text.chunks import chunk_document
from citewell.text.documents import ReadDocument, Section

VTT = """\
WEBVTT - A talk

NOTE
Speaker: Ann Lee
Source: https://x.example/talk

STYLE
::cue { color: white }

1
00:00:01.000 --> 00:00:03.000 position:10%
<v Ann Lee>Good <i>morning</i> &amp; welcome.</v>

2
00:00:03.500 --> 00:00:05.000
<v.loud Ann Lee>Sit
down.

3
00:00:09.000 --> 00:00:10.000
Let us begin.

NOTE not spoken

4
00:00:10.000 --> 00:00:12.000
<v Bo>Yes!</v> <v Ann Lee>Good.</v>
"""


def test_cues_become_paragraphs_by_speaker_and_pause() -> None:
    text = "Ann Lee: Good morning & welcome. Sit down.\n\nLet us begin.\n\nBo: Yes!\n\nAnn Lee: Good."
    assert read_file(VTT.encode(), "talk.vtt") == ReadDocument(
        text=text,
        title="A talk",
        sections=(Section("transcript", 0, len(text), "00:00:01", ("00:00:01",)),),
        author="Ann Lee",
        url="https://x.example/talk",
        meta_text="Ann Lee\nhttps://x.example/talk",
    )


def test_srt_without_blank_lines_or_with_too_many_reads_the_same() -> None:
    tidy = "1\n00:00:01,000 --> 00:00:02,000\nOne {\\an8}line.\n\n2\n00:00:02,000 --> 00:00:03,000\nTwo\nlines.\n"
    dense = tidy.replace("\n\n", "\n")
    loose = tidy.replace("\n\n", "\n\n\n\n").replace("Two\n", "Two\n\n").replace("\n", "\r\n")
    assert {read_subtitles(srt.encode()).text for srt in (tidy, dense, loose)} == {"One line. Two lines."}


def test_rolling_captions_say_everything_once() -> None:
    cues = [
        "00:00:00.000 --> 00:00:02.000\n \nso<00:00:00.500><c> today</c>",
        "00:00:02.000 --> 00:00:02.010\nso today\n ",
        "00:00:02.010 --> 00:00:04.000\nso today\nwe<00:00:03.000><c> talk</c>",
        "00:00:04.000 --> 00:00:04.010\nwe talk\n ",
        "00:00:04.010 --> 00:00:06.000\nwe talk\nabout tides",
    ]
    vtt = "WEBVTT\nKind: captions\nLanguage: en\n\n" + "\n\n".join(cues)
    read = read_subtitles(vtt.encode())
    assert (read.text, read.title, read.meta_text) == ("so today we talk about tides", None, "")


def test_a_word_said_twice_stays_twice() -> None:
    cues = "\n\n".join(
        f"00:00:0{n}.000 --> 00:00:0{n + 1}.000\n{word}" for n, word in enumerate("No. No. Well. So. Go.".split())
    )
    assert read_subtitles(f"WEBVTT\n\n{cues}".encode()).text == "No. No. Well. So. Go."


def test_a_long_talk_keeps_the_time_of_each_stretch_through_chunking() -> None:
    cues = "\n\n".join(
        f"{n // 60:02d}:{n % 60:02d}:00.000 --> {n // 60:02d}:{n % 60:02d}:50.000\n"
        f"Sentence number {n} of this long talk."
        for n in range(120)
    )
    read = read_subtitles(f"WEBVTT\n\n{cues}".encode())
    chunks = chunk_document(read.text, read.sections, "0" * 64)
    assert len(chunks) > 3
    for chunk in chunks:
        assert len(chunk.heading_path) == 1
        hour, minute, _ = map(int, chunk.heading_path[0].split(":"))
        assert read.text[chunk.start : chunk.end].startswith(f"Sentence number {hour * 60 + minute} ")


def test_captions_without_full_stops_are_cut_all_the_same() -> None:
    cues = "\n\n".join(
        f"00:{n // 60:02d}:{n % 60:02d}.000 --> 00:{n // 60:02d}:{n % 60:02d}.900\nand so on and on" for n in range(400)
    )
    read = read_subtitles(f"WEBVTT\n\n{cues}".encode())
    assert max(section.end - section.start for section in read.sections) < 2_500


@pytest.mark.parametrize("data", [b"", b"WEBVTT\n\n", b"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n\n", b"no subtitles"])
def test_a_file_without_words_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable, match="no subtitles in this file"):
        read_subtitles(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_every_encoding_reads_the_same(encoding: str) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\nCafé au lait à la crème.\n"
    assert read_subtitles(srt.encode(encoding)).text == "Café au lait à la crème."


@pytest.mark.parametrize("char", ["<", "<v ", "a", "\n", " ", "0:", "{\\", "-->", "&", "&lt;", "1\n"])
def test_endless_repetition_takes_no_time(char: str) -> None:
    started = time.process_time()
    read_subtitles(b"1\n00:00:01,000 --> 00:00:02,000\nx\n" + char.encode() * 100_000)
    assert time.process_time() - started < 5


def test_subtitles_are_transcripts() -> None:
    assert detect("a/Talk.SRT", b"") == FileKind("transcript", "subtitles")
