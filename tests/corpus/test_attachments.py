"""What a note embeds or links to is found: as a document of its own, or as a file with the reason why it is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from citewell import AddReport, Citewell
from citewell.store.links import LinkTarget, choose_target
from citewell.text.documents import Attachment
from readers.pdf_bytes import pdf_bytes

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

AUDIO = "audio (.mp3): this kind is not imported yet"
ARCHIVE = "archives (.zip): this kind is not imported yet"


def test_files_that_are_no_documents_are_attached_with_the_reason(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    note = "![[Interview.MP3|the interview]] then [the data](../files/raw%20data.zip), ![[gone.mov]] and [[Nobody]]."
    add_path(vault({"notes/Talk.md": note, "audio/interview.mp3": b"ID3", "files/raw data.zip": b"PK\3\4"}))
    related = engine.corpus.related("note:vault/notes/talk")
    assert related.attachments == (
        Attachment("audio/interview.mp3", is_embedded=True, reason=AUDIO),
        Attachment("files/raw data.zip", is_embedded=False, reason=ARCHIVE),
    )
    assert related.unresolved == ("gone.mov", "Nobody")
    (document,) = engine.corpus.get("note:vault/notes/talk").documents
    assert document.attachments == related.attachments
    assert document.links_out == ("audio/interview.mp3", "files/raw data.zip", "gone.mov", "Nobody")
    assert engine.corpus.stats().resolved_links == 2


def test_an_embedded_pdf_is_a_document_with_the_role_of_an_attachment(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    paper = pdf_bytes([["Barnacles foul the stilling well."], ["Copper paint keeps them off."]])
    add_path(vault({"Well.md": "![[well.pdf#page=2]] says how.", "papers/Well.pdf": paper}))
    related = engine.corpus.related("note:vault/well")
    assert [(row.source_key, row.relationship, row.role) for row in related.related] == [
        ("pdf:vault/papers/well", "embeds", "attachment")
    ]
    assert related.attachments == (Attachment("papers/Well.pdf", is_embedded=True, source_key="pdf:vault/papers/well"),)
    (found,) = engine.search("copper paint").results
    assert (found.role, found.source_key) == ("raw_source", "pdf:vault/papers/well")


def test_an_embedded_note_is_a_note_and_no_attachment(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    add_path(vault({"Home.md": "![[Part]]", "Part.md": "A part of it."}))
    related = engine.corpus.related("note:vault/home")
    assert [(row.source_key, row.role) for row in related.related] == [("note:vault/part", "graph_related")]
    assert related.attachments == ()


def test_an_attachment_that_comes_later_or_goes_away_is_noticed(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({"Home.md": "![[a.mp3]]"})
    add_path(root)
    assert engine.corpus.related("note:vault/home").unresolved == ("a.mp3",)
    vault({"sub/a.mp3": b"ID3"})
    add_path(root)
    assert engine.corpus.related("note:vault/home").attachments == (
        Attachment("sub/a.mp3", is_embedded=True, reason=AUDIO),
    )
    (root / "sub/a.mp3").unlink()
    add_path(root)
    after = engine.corpus.related("note:vault/home")
    assert (after.attachments, after.unresolved) == ((), ("a.mp3",))


def test_a_file_that_becomes_a_document_is_linked_as_one_and_back(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({"Home.md": "See [[Draft]].", "Draft.md": ""})
    add_path(root)
    before = engine.corpus.related("note:vault/home")
    assert before.attachments == (Attachment("Draft.md", is_embedded=False, reason="empty file"),)
    vault({"Draft.md": "Now it says something."})
    add_path(root)
    after = engine.corpus.related("note:vault/home")
    assert (after.attachments, [row.source_key for row in after.related]) == ((), ["note:vault/draft"])
    vault({"Draft.md": ""})
    add_path(root)
    assert engine.corpus.related("note:vault/home").attachments == before.attachments


def test_a_link_to_an_export_of_many_documents_leads_to_the_file(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    lines = '{"_id": "a", "text": "Kelp."}\n{"_id": "b", "text": "Dulse."}\n'
    add_path(vault({"Home.md": "From [[weeds.jsonl]].", "weeds.jsonl": lines}))
    assert engine.corpus.related("note:vault/home").attachments == (
        Attachment("weeds.jsonl", is_embedded=False, reason="holds many documents"),
    )


def test_a_relative_path_means_the_file_below_the_notes_own_folder() -> None:
    pictures = [LinkTarget(None, path, False, number) for number, path in enumerate(("a/img/x.png", "b/img/x.png"))]
    chosen = choose_target("img/x.png", "b/Note.md", pictures)
    assert chosen is not None
    assert chosen.path == "b/img/x.png"


def test_a_saved_item_has_the_page_at_its_address_as_its_source(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    bookmarks = (
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n"
        '<DT><A HREF="https://kelp.example/drying?utm_source=x">Drying kelp</A>\n<DD>Read before harvest.\n</DL>'
    )
    page = (
        '<html><head><title>Drying kelp</title><link rel="canonical" href="https://kelp.example/drying"></head><body>'
        "<article><h1>Drying kelp</h1><p>" + "Hang the blades in moving air below forty degrees. " * 8
    )
    note = "---\nurl: https://kelp.example/drying\n---\nMy notes on drying."
    add_path(vault({"a-note.md": note, "bookmarks.html": bookmarks, "page.html": page}))
    item = next(row for row in engine.search("harvest").results if row.source_type == "bookmark")
    assert [(row.source_key, row.relationship) for row in engine.corpus.related(item.source_key).related] == [
        ("web:vault/page", "has_source")
    ]
    back = [row for row in engine.corpus.related("web:vault/page").related if row.source_key == item.source_key]
    assert [(row.relationship, row.role) for row in back] == [("source_of", "backlink_context")]
