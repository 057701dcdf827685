"""GitHub stars: each starred repository is an item, found by its name, description, topics and homepage."""

from __future__ import annotations

import json

import pytest

from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

REPOSITORY = {
    "id": 1,
    "name": "tide",
    "full_name": "ann/tide",
    "owner": {"login": "ann"},
    "html_url": "https://git.example/ann/tide",
    "description": "A tide gauge 🌊",
    "homepage": "https://tide.example",
    "language": "Rust",
    "topics": ["tides", "tides", "sea"],
    "license": {"key": "mit", "name": "MIT License"},
    "stargazers_count": 3,
    "created_at": "2020-01-02T03:04:05Z",
    "pushed_at": "2024-01-02T03:04:05Z",
}
STAR = {"starred_at": "2025-05-06T07:08:09Z", "repo": REPOSITORY}
TEXT = (
    "ann/tide\n\nA tide gauge 🌊\n\nLanguage: Rust\nTopics: tides, sea\nLicense: MIT License\n"
    "Homepage: https://tide.example\nhttps://git.example/ann/tide"
)
READ = ReadDocument(
    text=TEXT,
    title="ann/tide",
    sections=(Section("raw_source", 0, len(TEXT)),),
    links=(Link("url", "https://tide.example", 91, 111), Link("url", "https://git.example/ann/tide", 112, 140)),
    tags=("tides", "sea"),
    author="ann",
    url="https://git.example/ann/tide",
    created="2020-01-02T03:04:05+00:00",
    modified="2024-01-02T03:04:05+00:00",
)


def test_a_star_keeps_when_it_was_given() -> None:
    assert list(documents_in(json.dumps([STAR]).encode(), "stars.json")) == [
        ImportedDocument(READ, "github", part="ann/tide", kind="item", saved="2025-05-06T07:08:09+00:00")
    ]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps([REPOSITORY]),
        json.dumps([[REPOSITORY], [REPOSITORY]]),
        json.dumps([REPOSITORY]) + json.dumps([REPOSITORY]),
        json.dumps(REPOSITORY) + "\n" + json.dumps(REPOSITORY),
    ],
)
def test_every_way_of_listing_repositories_reads_the_same(written: str) -> None:
    found = list(documents_in(written.encode(), "repos.json"))
    assert found == [ImportedDocument(READ, "github", part="ann/tide", kind="item")]


def test_fields_of_the_wrong_type_are_left_out() -> None:
    odd: dict[str, object] = dict.fromkeys(REPOSITORY, 7) | {
        "full_name": "a/b",
        "html_url": "javascript:x",
        "topics": [None, {}, 3, "ok"],
    }
    star, none = {"starred_at": [], "repo": odd}, {"repo": {"full_name": None}}
    (found,) = documents_in(json.dumps([star, none, None, "x"]).encode(), "s.json")
    assert (found.read.url, found.read.tags, found.saved) == (None, ("3", "ok"), None)
    assert found.read.warnings == ("entries left out, without text or damaged: 3",)
