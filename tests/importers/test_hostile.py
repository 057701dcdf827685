"""Whatever is in a file, an importer or reader makes documents of it or says that it cannot; nothing else."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import Unreadable
from citewell.readers.importers.registry import documents_in
from citewell.text.canonical import is_canonical
from importers.test_bookmarks import CHROME
from importers.test_feeds import ATOM, OPML, RSS
from importers.test_github_stars import STAR
from importers.test_x_archive import POST, archive
from importers.test_youtube import NEW
from readers.test_epub import book
from readers.test_subtitles import VTT
from readers.zip_bytes import paragraph, shape, sheets_bytes, slides_bytes, word_bytes, zip_bytes

HISTORY = b'[{"header": "YouTube", "title": "Watched x", "titleUrl": "https://www.youtube.com/watch?v=dQw4w9WgXcQ"}]'
FILES: dict[str, bytes] = {
    "bookmarks.html": CHROME.encode(),
    "stars.json": json.dumps([STAR, STAR]).encode(),
    "tweets.js": archive(POST),
    "watch later.csv": NEW.encode(),
    "watch-history.json": HISTORY,
    "subs.opml": OPML.encode(),
    "feed.rss": RSS.encode(),
    "feed.atom": ATOM.encode(),
    "docs.jsonl": b'{"id": "1", "title": "t", "text": "x"}\n{"id": "2", "text": "y"}\n',
    "docs.json": b'[{"id": "1", "title": "t", "text": "x", "tags": ["a"]}]',
    "Apple Notes/a.html": b"<h1>Kelp</h1><p>words</p>",
    "talk.vtt": VTT.encode(),
    "talk [dQw4w9WgXcQ].en.srt": b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n",
    "call.txt": b"Ann: Hello.\nBo: Yes.\nAnn: Well.\nBo: So.\n",
    "table.csv": b"a,b\n1,2\n",
    "report.docx": word_bytes(paragraph("Title", "berschrift1") + paragraph("words")),
    "slides.pptx": slides_bytes([shape("Title", kind="title") + shape("words")]),
    "sheet.xlsx": sheets_bytes({"S": "<row><c><v>1</v></c></row>"}),
    "book.epub": zip_bytes(book()),
}


def outcome(data: bytes, path: str) -> int:
    """How many documents there are; every string of theirs can be stored and every span lies in its text."""
    try:
        found = list(documents_in(data, path))
    except Unreadable:
        return 0
    assert len({document.part for document in found}) == len(found)
    for document in found:
        read = document.read
        texts = (read.text, read.title or "", read.url or "", read.author or "", document.part, read.meta_text)
        assert all(map(is_canonical, (*texts, *read.tags)))
        spans = [(section.start, section.end) for section in read.sections]
        spans += [(link.start, link.end) for link in read.links]
        assert all(0 <= start < end <= len(read.text) for start, end in spans)
    return len(found)


@pytest.mark.parametrize("path", FILES)
def test_the_whole_file_has_documents(path: str) -> None:
    assert outcome(FILES[path], path) > 0
    assert list(documents_in(FILES[path], path)) == list(documents_in(FILES[path], path))


@pytest.mark.parametrize("path", FILES)
def test_a_file_cut_anywhere(path: str) -> None:
    data = FILES[path]
    for end in range(0, len(data), max(1, len(data) // 60)):
        outcome(data[:end], path)


@pytest.mark.parametrize("path", FILES)
def test_a_file_with_damaged_bytes(path: str) -> None:
    chance = random.Random(path)
    for _ in range(60):
        damaged = bytearray(FILES[path])
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        outcome(bytes(damaged), path)


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"\xff\xfe", b"null", b"[]", b"{}", b"\x89PNG\r\n\x1a\n", b"PK\x05\x06" + bytes(18), b"\xc3" * 99],
)
def test_something_else_under_that_name(path: str, data: bytes) -> None:
    outcome(data, path)


@pytest.mark.parametrize("path", ["stars.json", "tweets.js", "watch-history.json", "docs.json", "docs.jsonl"])
@pytest.mark.parametrize("value", ["null", "3", '"x"', "[]", "{}", "true", "1e999", '{"repo": null}', "[" * 10_000])
def test_json_of_another_shape(path: str, value: str) -> None:
    # The first entry makes the importer take the file; the others are what it must bear.
    head = FILES[path].decode().rstrip().removesuffix("]").rstrip()
    joint = "\n" if path.endswith("l") else ","
    outcome(f"{head}{joint}{value}{'' if path.endswith('l') else ']'}".encode(), path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3),
    max_leaves=6,
)
_NAMES = (
    *("tweet", "repo", "full_name", "html_url", "topics", "owner", "starred_at", "header", "titleUrl", "subtitles"),
    *("id", "_id", "id_str", "text", "full_text", "content", "tags", "entities", "extended_entities", "media", "urls"),
    *("created_at", "date", "author", "metadata", "details", "time", "title", "url", "like", "description", "license"),
)


@given(st.lists(st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=8), max_size=4))
def test_fields_of_any_type(entries: list[dict[str, object]]) -> None:
    started = [{"full_name": "a/b", "html_url": "https://x.example", "text": "x", "header": "YouTube"}, *entries]
    plain = json.dumps([{"text": "x"}, *entries])
    for data, path in (
        (json.dumps(started), "stars.json"),
        ("window.YTD.tweets.part0 = " + plain, "tweets.js"),
        (plain, "docs.json"),
        ("\n".join(map(json.dumps, [{"text": "x"}, *entries])), "docs.jsonl"),
        (json.dumps([{"header": "YouTube"}, *entries]), "watch-history.json"),
    ):
        outcome(data.encode(), path)
