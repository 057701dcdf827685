"""JSON documents: one a line or in a list, with whatever they say about themselves."""

from __future__ import annotations

import json

import pytest

from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

ENTRY = {
    "id": 7,
    "title": "Tides",
    "content": "The moon.\r\nSee https://x.example/a.",
    "url": "https://x.example/tides",
    "tags": "sea, moon",
    "date": 1700000000,
    "author": ["Ann Lee", {"name": "Bo"}, None],
}
READ = ReadDocument(
    text="The moon.\nSee https://x.example/a.",
    title="Tides",
    sections=(Section("raw_source", 0, 34),),
    links=(Link("url", "https://x.example/a", 14, 33),),
    tags=("sea", "moon"),
    author="Ann Lee, Bo",
    url="https://x.example/tides",
    created="2023-11-14T22:13:20+00:00",
)


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (json.dumps(ENTRY), "a.jsonl"),
        ("\ufeff" + json.dumps(ENTRY) + "\n\n", "a.ndjson"),
        (json.dumps([ENTRY], indent=1), "a.json"),
    ],
)
def test_an_object_with_text_is_a_document(written: str, path: str) -> None:
    assert list(documents_in(written.encode(), path)) == [ImportedDocument(READ, "text", part="7")]


def test_a_beir_corpus_is_read() -> None:
    lines = [
        {"_id": "d1", "title": "One", "text": "Words.", "metadata": {"url": "https://x.example/1"}},
        {"_id": "d2", "title": "Only a title", "text": ""},
    ]
    found = documents_in("\n".join(map(json.dumps, lines)).encode(), "corpus.jsonl")
    assert [(d.part, d.read.title, d.read.text, d.read.url) for d in found] == [
        ("d1", "One", "Words.", "https://x.example/1"),
        ("d2", "Only a title", "Only a title", None),
    ]


def test_a_document_without_an_id_is_named_by_its_line() -> None:
    assert [d.part for d in documents_in(b'{"text":"a"}\n\n{"text":"b"}', "a.jsonl")] == ["line 1", "line 3"]


def test_a_damaged_line_costs_that_line_only() -> None:
    lines = [b'{"text": "one"}', b'{"text": "tw', b"[" * 100_000, b"null", b'{"text": 5}', b'{"text": "two"}']
    first, last = documents_in(b"\n".join(lines), "a.jsonl")
    assert (first.read.text, last.read.text) == ("one", "two")
    assert last.read.warnings == ("entries left out, without text or damaged: 4",)


def test_what_no_database_holds_is_replaced_everywhere() -> None:
    entry = r'{"id": "a\ud800", "title": "t\u0000", "text": "x\udfff", "tags": ["\ud800g"], "author": "\ud800"}'
    (found,) = documents_in(entry.encode(), "a.jsonl")
    read = found.read
    assert (found.part, read.title, read.text, read.tags, read.author) == ("a�", "t�", "x�", ("�g",), "�")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b'[{"text": "x"', "damaged JSON near line 1"),
        (b'[\n{"text": "x"},\n]', "damaged JSON near line 3"),
        (b'[{"text": "x", "a": ' + b"[" * 10_000, "nested too deeply|damaged JSON"),
        (b'[{"text": "", "body": "' + b'"}]', "no documents in this file: 1 entries without text"),
        (b'[{"text": "x", "n": ' + b"9" * 5_000 + b"}]", "damaged JSON"),
    ],
)
def test_a_damaged_list_says_where(written: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        list(documents_in(written, "a.json"))
