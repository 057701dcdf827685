"""Apple Notes: told by their folder; folders and hashtags are tags, the words are the user's."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in, recognise
from citewell.readers.kinds import FileKind
from citewell.text.documents import ReadDocument, Section


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("Apple Notes/Sea/Kelp/Kelp.txt", ("Sea", "farm")),
        ("export/iCloud Notes/Sea/Farm/Kelp/Kelp.txt", ("Sea/Farm", "farm")),
        ("Apple Notes/Kelp.txt", ("farm",)),
    ],
)
def test_folders_and_hashtags_are_tags(path: str, tags: tuple[str, ...]) -> None:
    text = "Kelp\nSeed in #farm at https://x.example/#no, not #1.\n"
    (found,) = documents_in(text.encode(), path)
    assert (found.source_type, found.part, found.read.title, found.read.tags) == ("apple_note", "", "Kelp", tags)
    assert (found.read.text, found.read.sections) == (text, (Section("user_note", 0, len(text)),))


def test_a_note_in_html_is_read_whole() -> None:
    page = "<html><head><title>Kelp</title></head><body><h1>Kelp</h1><div>Two</div><div>lines</div></body></html>"
    text = "# Kelp\n\nTwo\n\nlines"
    assert list(documents_in(page.encode(), "Apple Notes/Kelp.html")) == [
        ImportedDocument(
            ReadDocument(text, "Kelp", (Section("user_note", 0, len(text), "Kelp", ("Kelp",)),)),
            "apple_note",
        )
    ]


def test_a_note_in_markdown_keeps_its_own_tags_and_links() -> None:
    (found,) = documents_in(b"# Kelp\n\n#farm and [[Rope]]\n", "Apple Notes/Sea/Kelp.md")
    assert found.read.tags == ("Sea", "farm")
    assert [link.target for link in found.read.links] == ["Rope"]


def test_attachments_are_read_as_what_they_are() -> None:
    assert recognise("Apple Notes/Kelp/plan.pdf", b"%PDF-") == FileKind("pdf", "pdf")


def test_an_empty_page_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no readable text"):
        list(documents_in(b"<html><body></body></html>", "Apple Notes/x.html"))
