"""Bookmarks: folders are nested tags, notes are the user's words, a page kept twice is one document."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from citewell.errors import Unreadable
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

HEAD = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n"
CHROME = f"""{HEAD}<DL><p>
    <DT><H3 ADD_DATE="1572609600" PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>
    <DL><p>
        <DT><H3>Sea</H3>
        <DL><p>
            <DT><H3>Tides/gauges</H3>
            <DD>about the folder
            <DL><p>
                <DT><A HREF="https://x.example/a?b=1&amp;c=2" ADD_DATE="1700000000"
                 ICON="data:image/png;base64,AA>BB==">A &quot;tide&quot; &amp; more</A>
                <DD>Read   this
twice.
            </DL><p>
        </DL><p>
        <DT><A HREF="javascript:(function(){{a>b}})()" ADD_DATE="1">Bookmarklet</A>
    </DL><p>
    <DT><A HREF="https://x.example/a?b=1&amp;c=2" TAGS="later,sea">Again</A>
    <DT><A HREF="http://www.y.example/" ADD_DATE="0"></A>
</DL><p>
"""


def test_a_browser_export_becomes_bookmarks() -> None:
    first, second = documents_in(CHROME.encode(), "bookmarks.html")
    text = 'A "tide" & more\n\nhttps://x.example/a?b=1&c=2\n\nRead   this\ntwice.'
    assert first.read == ReadDocument(
        text=text,
        title='A "tide" & more',
        sections=(Section("raw_source", 0, 44), Section("user_note", 46, len(text))),
        links=(Link("url", "https://x.example/a?b=1&c=2", 17, 44),),
        tags=("Sea/Tides-gauges", "later", "sea"),
        url="https://x.example/a?b=1&c=2",
    )
    assert (first.part, first.kind, first.saved) == ("https://x.example/a?b=1&c=2", "item", "2023-11-14T22:13:20+00:00")
    assert (second.part, second.read.title, second.saved) == ("https://y.example", "http://www.y.example/", None)
    assert second.read.warnings == ("entries left out, without text or damaged: 1",)


@pytest.mark.parametrize("body", ["", "<DL><p></DL>", '<DT><A HREF="place:sort=8">Recent</A>', "<DT><A>no address</A>"])
def test_a_file_without_bookmarks_is_unreadable(body: str) -> None:
    with pytest.raises(Unreadable, match="no bookmarks in this file"):
        list(documents_in((HEAD + body).encode(), "b.html"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_a_file_in_another_encoding_is_read(encoding: str) -> None:
    data = f'{HEAD}<DT><A HREF="https://x.example/é">Müller</A>'.encode(encoding)
    assert [document.read.title for document in documents_in(data, "b.html")] == ["Müller"]


@pytest.mark.parametrize(
    "piece", ["<a ", '<a href="', "<dl>", "<DT><H3>", "<", "<dd>", '="', "</dl>", '<a href="https://a.example">']
)
def test_endless_repetition_takes_no_time(piece: str) -> None:
    started = time.process_time()
    with suppress(Unreadable):
        list(documents_in((HEAD + piece * (100_000 // len(piece))).encode(), "b.html"))
    assert time.process_time() - started < 5
