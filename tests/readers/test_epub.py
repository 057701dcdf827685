"""E-books: chapters in reading order; protected ones say so."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.kinds import FileKind, detect, read_file
from citewell.readers.office import read_epub
from citewell.text.documents import ReadDocument, Section
from readers.zip_bytes import zip_bytes

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
    "<dc:title>Tides</dc:title><dc:creator>Ann Lee</dc:creator><dc:creator>Bo Ek</dc:creator><dc:date>1999</dc:date>"
    "<dc:subject>Sea</dc:subject></metadata><manifest>"
    '<item id="two" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="font" href="a.ttf" media-type="font/ttf"/></manifest>'
    '<spine><itemref idref="one"/><itemref idref="two"/><itemref idref="one"/></spine></package>'
)
PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">'
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'
)


def book(**changes: str) -> dict[str, str | bytes]:
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE,
        "OEBPS/text/one.xhtml": PAGE.format("<h1>One</h1><p>The moon &eacute;bbs.</p>"),
        "OEBPS/text/two b.xhtml": PAGE.format("<h1>Two</h1><p>The sun.</p>"),
        **changes,
    }


def test_chapters_come_in_reading_order_under_their_headings() -> None:
    text = "# One\n\nThe moon ébbs.\n\n# Two\n\nThe sun."
    assert read_file(zip_bytes(book()), "tides.epub") == ReadDocument(
        text=text,
        title="Tides",
        sections=(
            Section("raw_source", 0, 23, "One", ("One",)),
            Section("raw_source", 23, len(text), "Two", ("Two",)),
        ),
        tags=("Sea",),
        author="Ann Lee, Bo Ek",
        created="1999",
        meta_text="Tides",
    )
    assert detect("tides.epub", b"") == FileKind("text", "epub", "source")


def test_a_missing_chapter_is_a_warning() -> None:
    members = book()
    del members["OEBPS/text/one.xhtml"]
    read = read_epub(zip_bytes(members))
    assert (read.text, read.warnings) == ("# Two\n\nThe sun.", ("chapters that are missing: 1",))


def test_a_locked_font_is_no_matter_but_a_locked_chapter_is() -> None:
    locked = '<encryption xmlns:enc="x"><enc:CipherReference URI="{}"/></encryption>'
    assert read_epub(zip_bytes({**book(), "META-INF/encryption.xml": locked.format("OEBPS/a.ttf")})).text
    with pytest.raises(Unreadable, match="protected against copying"):
        read_epub(zip_bytes({**book(), "META-INF/encryption.xml": locked.format("OEBPS/text/one.xhtml")}))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "container.xml is missing"),
        ({"META-INF/container.xml": "<container/>"}, "names no content"),
        ({"META-INF/container.xml": '<!DOCTYPE c [<!ENTITY a "b">]><c/>'}, "declares entities"),
        ({"META-INF/container.xml": '<c><rootfile full-path="../../../etc/passwd"/></c>'}, "is missing"),
        ({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": "<package/>"}, "no text in this e-book"),
    ],
)
def test_a_book_that_cannot_be_read_says_why(members: dict[str, str | bytes], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_epub(zip_bytes(members))
