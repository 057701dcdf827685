"""Which importer a file gets, and what becomes of files that share names or are no documents at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import citewell.evals
from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import IMPORTERS, documents_in, importer_for, recognise
from citewell.readers.kinds import FileKind, Skip
from citewell.text.documents import Link, ReadDocument, Section

SAMPLE = Path(citewell.evals.__file__).parent / "sample_corpus"


@pytest.mark.parametrize(
    ("path", "head", "name"),
    [
        ("bookmarks.html", b"\xef\xbb\xbf<!DOCTYPE NETSCAPE-Bookmark-file-1>", "bookmarks"),
        ("Apple Notes/bookmarks.html", b"<!DOCTYPE NETSCAPE-Bookmark-file-1>", "bookmarks"),
        ("data/tweets.js", b"window.YTD.tweets.part0 = [ {", "x_archive"),
        ("data/tweet.js", b"\xef\xbb\xbfwindow.YTD.tweet.part12 = [", "x_archive"),
        ("like.js", b"window.YTD.like.part0 = [", "x_archive"),
        ("stars.json", b'[{"starred_at": "x", "repo": {"full_name": "a/b"', "github_stars"),
        ("repos.jsonl", b'{"full_name":"a/b","html_url":"https://x"}', "github_stars"),
        ("watch-history.json", b'[{"header": "YouTube","title"', "youtube_history"),
        ("Watch later-videos.csv", b"Video ID,Playlist Video Creation Timestamp\n", "youtube_playlist"),
        ("A talk [dQw4w9WgXcQ].en.vtt", b"WEBVTT", "youtube_captions"),
        ("subs.opml", b'<?xml version="1.0"?><opml version="2.0">', "opml"),
        ("feed.xml", b'<?xml version="1.0"?><rss version="2.0">', "feed"),
        ("a.atom", b'<feed xmlns="http://www.w3.org/2005/Atom">', "feed"),
        ("iCloud Notes/Ideas/Kelp/Kelp.txt", b"Kelp", "apple_notes"),
        ("corpus.jsonl", b'{"_id": "1", "title": "", "text": "x"}', "json_lines"),
        ("docs.json", b'[\n {"id": 1, "body": "x"}]', "json_list"),
    ],
)
def test_an_export_is_told_by_its_name_and_first_bytes(path: str, head: bytes, name: str) -> None:
    importer = importer_for(path, head)
    assert importer is not None
    assert importer.name == name


@pytest.mark.parametrize(
    ("path", "head", "known"),
    [
        ("note.md", b"", FileKind("vault_note", "markdown")),
        ("table.csv", b"a,b\n", FileKind("text", "table")),
        ("talk.vtt", b"WEBVTT", FileKind("transcript", "subtitles")),
        ("package.json", b'{"name": "x"}', Skip("JSON (.json): not an export that Citewell knows")),
        ("rows.jsonl", b'{"count": 3}', Skip("JSON (.jsonl): not an export that Citewell knows")),
        ("layout.xml", b"<layout/>", Skip("XML (.xml): not an export that Citewell knows")),
        ("account.js", b"window.YTD.account.part0 = [", Skip("unknown kind of file (.js)")),
        ("song.mp3", b"ID3", Skip("audio (.mp3): this kind is not imported yet")),
    ],
)
def test_what_no_importer_knows_is_read_or_skipped(path: str, head: bytes, known: FileKind | Skip) -> None:
    assert recognise(path, head) == known


def test_names_of_importers_are_distinct() -> None:
    assert len({importer.name for importer in IMPORTERS}) == len(IMPORTERS)


def test_a_plain_file_is_one_document_without_a_part() -> None:
    assert list(documents_in(b"Hello.", "a.txt")) == [
        ImportedDocument(ReadDocument("Hello.", None, (Section("user_note", 0, 6),)), "text")
    ]


def test_a_skipped_file_has_no_documents() -> None:
    with pytest.raises(Unreadable, match="not an export that Citewell knows"):
        list(documents_in(b"{}", "a.json"))


def test_the_same_entry_twice_is_one_document_and_two_that_share_an_id_are_two() -> None:
    one, two, three = b'{"id": "a", "text": "one"}', b'{"id": "a", "text": "two"}', b'{"id": "a~2", "text": "3"}'
    lines = b"\n".join([one, one, two, three])
    found = [(document.part, document.read.text) for document in documents_in(lines, "a.jsonl")]
    assert found == [("a", "one"), ("a~2", "two"), ("a~2~2", "3")]


def sample(name: str) -> list[ImportedDocument]:
    return list(documents_in((SAMPLE / name).read_bytes(), name))


def check_spans(documents: Iterable[ImportedDocument]) -> None:
    for document in documents:
        read = document.read
        assert all(read.text[section.start : section.end].strip() for section in read.sections)
        assert all(read.text[link.start : link.end] for link in read.links)


def test_the_sample_bookmarks_are_imported() -> None:
    documents = sample("bookmarks.html")
    check_spans(documents)
    assert len(documents) == 25
    url = "https://syncdigest.example/p/merge-is-a-user-interface"
    title = "Merge is a user interface (and why it matters) - Sync Digest"
    text = f"{title}\n\n{url}\n\nRe-post. Do not cite."
    assert next(document for document in documents if document.read.url == url) == ImportedDocument(
        ReadDocument(
            text=text,
            title=title,
            sections=(Section("raw_source", 0, 116), Section("user_note", 118, len(text))),
            links=(Link("url", url, 62, 116),),
            tags=("Local-first", "crdt", "repost"),
            url=url,
        ),
        "bookmark",
        part=url,
        kind="item",
        saved="2024-10-20T12:00:00+00:00",
    )


def test_the_sample_stars_are_imported() -> None:
    documents = sample("stars.json")
    check_spans(documents)
    assert len(documents) == 16
    tidewick = next(document for document in documents if document.part == "nokafor/tidewick")
    assert tidewick.read.url == "https://github.example/nokafor/tidewick"
    assert tidewick.read.tags == ("tide-gauge", "open-hardware", "oceanography")
    assert "Formerly Limpet." in tidewick.read.text


def test_the_sample_talk_is_imported() -> None:
    (talk,) = sample("talks/merging-without-a-middle.vtt")
    check_spans([talk])
    assert (talk.source_type, talk.read.title) == ("transcript", "Merging Without a Middle")
    assert talk.read.url == "https://smallsync.example/2025/talks/merging-without-a-middle"
    assert {section.role for section in talk.read.sections} == {"transcript"}
    assert "Nadia Okafor: We sync in the harbour. It is where the biscuits are." in talk.read.text
