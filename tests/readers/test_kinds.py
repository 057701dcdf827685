"""Which files are read, by whom, and why the others are not."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.kinds import FileKind, Skip, detect, read_file
from citewell.text.documents import Link, ReadDocument, Section


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/Note.md", FileKind("vault_note", "markdown")),
        ("NOTE.MARKDOWN", FileKind("vault_note", "markdown")),
        ("minutes.txt", FileKind("text", "plain")),
        ("page.htm", FileKind("web", "html")),
        ("Paper v1.2.PDF", FileKind("pdf", "pdf")),
        ("talk.vtt", FileKind("transcript", "subtitles")),
        ("report.docx", FileKind("office", "office")),
        ("page.mhtml", Skip("web archives (.mhtml): this kind is not imported yet")),
        ("data.xyz", Skip("unknown kind of file (.xyz)")),
        ("Makefile", Skip("unknown kind of file (no extension)")),
        (".md", Skip("unknown kind of file (no extension)")),
    ],
)
def test_the_name_decides(name: str, kind: FileKind | Skip) -> None:
    assert detect(name, b"") == kind


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\r\n"])
def test_a_bookmark_file_is_not_a_page(mark: bytes) -> None:
    head = mark + b"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>"
    assert detect("bookmarks.html", head) == Skip("browser bookmarks: this kind is not imported yet")


def test_plain_text_is_one_section_with_its_urls() -> None:
    text = "Minutes.\n\nSee https://x.org/a.\n"
    assert read_file(text.encode(), "minutes.txt") == ReadDocument(
        text=text,
        title=None,
        sections=(Section("user_note", 0, len(text)),),
        links=(Link("url", "https://x.org/a", 14, 29),),
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.7\n...", "binary data (PDF) in a .md file"),
        (b"PK\x03\x04rest", "binary data (zip) in a .md file"),
        (b"\x89PNG\r\n\x1a\n", "binary data (PNG) in a .md file"),
        (b"\xff\xd8\xff\xe0", "binary data (JPEG) in a .md file"),
        (b"\x7fELF\x02\x01", "binary data (ELF) in a .md file"),
        (b"abc\x00\xff\xfe\x00def", "binary data in a .md file"),
        (b"\x01\x02\x03\x04 text", "binary data in a .md file"),
    ],
)
def test_binary_data_under_a_text_name_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_file(data, "x.md")
    assert refused.value.message == reason


@pytest.mark.parametrize(
    "data", ["text".encode("utf-16"), "plain text".encode("utf-16-le"), b"", b"a stray \x00 in prose"]
)
def test_text_in_any_encoding_is_not_binary(data: bytes) -> None:
    assert read_file(data, "x.md").text in {"text", "plain text", "", "a stray � in prose"}


def test_a_skipped_kind_cannot_be_read() -> None:
    with pytest.raises(Unreadable, match="not imported yet"):
        read_file(b"", "a.mhtml")
