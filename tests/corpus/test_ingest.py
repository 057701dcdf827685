"""`add` brings the corpus into step with a folder, counts every file once, and never deletes by accident."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import AddReport, BadInput, Citewell, NotFound, WorkFailed
from conftest import sqlite_corpus
from corpus.hostile_files import nested_forms
from readers.pdf_bytes import pdf_bytes

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]


def counts(report: AddReport) -> dict[str, int]:
    names = ("indexed", "updated", "renamed", "unchanged", "deleted", "skipped", "failed")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def touch(path: Path, text: str) -> None:
    """Change a file so that its time differs however coarse the disk's clock is."""
    before = path.stat().st_mtime_ns
    path.write_text(text, "utf-8")
    os.utime(path, ns=(before + 2_000_000_000, before + 2_000_000_000))


def test_every_file_is_counted_exactly_once(vault: Write, add_path: AddPath) -> None:
    root = vault({"a.md": "Alpha", "b.txt": "Beta", "c.bin": b"\0\1", "d.md": b"\x89PNG\r\n\x1a\n\0\0", "e.md": ""})
    report = add_path(root)
    assert counts(report) == {"indexed": 2, "skipped": 2, "failed": 1}
    assert {problem.path: problem.reason.split(":")[0] for problem in report.problems} == {
        "c.bin": "unknown kind of file (.bin)",
        "d.md": "binary data (PNG) in a .md file",
        "e.md": "empty file",
    }


def test_an_unchanged_tree_is_not_read_again(vault: Write, add_path: AddPath) -> None:
    root = vault({"a.md": "Alpha", "b.md": "Beta", "c.bin": b"\0"})
    add_path(root)
    report = add_path(root)
    assert counts(report) == {"unchanged": 2, "skipped": 1}
    assert report.bytes == 0


def test_an_edited_note_is_found_by_its_new_words_only(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "The kettle is copper."})
    add_path(root)
    touch(root / "a.md", "The kettle is enamel.")
    assert counts(add_path(root)) == {"updated": 1}
    assert [row.text for row in engine.search("enamel").results] == ["The kettle is enamel."]
    assert engine.search("copper").results == ()


def test_an_earlier_text_can_still_be_read_by_its_hash(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "First words."})
    add_path(root)
    (before,) = engine.corpus.get("note:vault/a", content_mode="full").documents
    touch(root / "a.md", "Second words.")
    add_path(root)
    (earlier,) = engine.corpus.get(f"note:vault/a@{before.content_hash}", content_mode="full").documents
    assert (earlier.text, earlier.is_current) == ("First words.", False)


def test_a_renamed_file_keeps_its_key_and_its_links(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"Kettle.md": "Copper.", "Home.md": "See [[Kettle]] and [[Pot]]."})
    add_path(root)
    (root / "Kettle.md").rename(root / "Pot.md")
    assert counts(add_path(root)) == {"renamed": 1, "unchanged": 1}
    (document,) = engine.corpus.get("note:vault/kettle").documents
    assert (document.note_path, document.title) == ("Pot.md", "Pot")
    related = engine.corpus.related("note:vault/home")
    assert [row.source_key for row in related.related] == ["note:vault/kettle"]
    assert related.unresolved == ("Kettle",)


def test_a_key_once_used_is_never_given_to_another_document(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"Kettle.md": "Copper."})
    add_path(root)
    (root / "Kettle.md").rename(root / "Pot.md")
    add_path(root)
    vault({"Kettle.md": "A new kettle."})
    add_path(root)
    assert [document.text for document in engine.corpus.get("note:vault/kettle", "note:vault/kettle~2").documents] == [
        "Copper.",
        "A new kettle.",
    ]


def test_a_file_that_comes_back_gets_its_key_again(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    """Switching a branch of a vault kept in git must not change every key."""
    root = vault({"a.md": "Alpha", "b.md": "Beta"})
    add_path(root)
    (root / "a.md").unlink()
    add_path(root)
    vault({"a.md": "Alpha"})
    add_path(root)
    assert [row.source_key for row in engine.search("alpha").results] == ["note:vault/a"]


def test_a_deleted_file_is_forgotten(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Alpha words.", "b.md": "Beta words."})
    add_path(root)
    (root / "a.md").unlink()
    assert counts(add_path(root)) == {"deleted": 1, "unchanged": 1}
    assert engine.search("alpha").results == ()
    assert engine.corpus.stats().documents == 1


def test_an_emptied_folder_deletes_nothing_and_says_so(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Alpha"})
    add_path(root)
    (root / "a.md").unlink()
    with pytest.raises(WorkFailed, match="nothing was deleted"):
        add_path(root)
    assert engine.corpus.stats().documents == 1


def test_a_missing_path_is_not_found(tmp_path: Path, add_path: AddPath) -> None:
    with pytest.raises(NotFound, match="no file or folder"):
        add_path(tmp_path / "nowhere")


def test_adding_one_file_leaves_its_neighbours_alone(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Alpha", "b.md": "Beta"})
    assert counts(add_path(root / "a.md")) == {"indexed": 1}
    assert counts(add_path(root / "b.md")) == {"indexed": 1}
    assert engine.corpus.stats().documents == 2


def test_excluded_files_are_left_out_and_shown_and_the_rule_is_remembered(vault: Write, add_path: AddPath) -> None:
    root = vault({"a.md": "Alpha", "Templates/t.md": "T", "x.draft.md": "D", ".obsidian/app.json": "{}"})
    report = add_path(root, excludes=["Templates/*", "*.draft.md"])
    assert counts(report) == {"indexed": 1}
    assert set(report.excluded) == {
        ".obsidian/ (hidden)",
        "Templates/t.md (--exclude Templates/*)",
        "x.draft.md (--exclude *.draft.md)",
    }
    assert counts(add_path(root)) == {"unchanged": 1}


def test_a_folder_inside_another_collection_belongs_to_it(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Alpha", "sub/b.md": "Beta"})
    add_path(root)
    assert counts(add_path(root / "sub")) == {"unchanged": 1}
    with pytest.raises(BadInput, match="already belongs to the collection 'vault'"):
        add_path(root / "sub", collection="other")
    assert [info.name for info in engine.corpus.collections().collections] == ["vault"]


def test_a_parent_of_a_collection_does_not_index_it_twice(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Alpha", "sub/b.md": "Beta"})
    add_path(root / "sub")
    report = add_path(root)
    assert counts(report) == {"indexed": 1}
    assert engine.corpus.stats().documents == 2


def test_links_resolve_whichever_note_comes_first(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "To [[z]] and [the page](https://www.pages.example/tide/?utm_source=x#top)."})
    add_path(root)
    assert engine.corpus.related("note:vault/a").related == ()
    vault({"z.md": "---\nurl: http://pages.example/tide\n---\nZed"})
    add_path(root)
    assert {(row.source_key, row.relationship) for row in engine.corpus.related("note:vault/a").related} == {
        ("note:vault/z", "links_to")
    }
    (back,) = engine.corpus.related("note:vault/z").related
    assert (back.relationship, back.role, "[[z]]" in back.text) == ("linked_from", "backlink_context", True)


def test_removing_a_folder_forgets_texts_chunks_and_the_collection(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({"a.md": "Alpha", "b.md": "Beta"})
    add_path(root)
    report = engine.corpus.remove(str(root))
    assert (report.documents, report.collections) == (2, ("vault",))
    stats = engine.corpus.stats()
    assert (stats.documents, stats.chunks, stats.characters, stats.collections) == (0, 0, 0, 0)
    with sqlite_corpus(engine).database.read() as connection:
        texts = connection.execute("SELECT count(*) FROM texts").fetchall()
    assert texts == [(0,)]


def test_a_saved_ai_answer_is_not_evidence_and_is_visible_as_such(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault(
        {"chat.md": "---\nsource: chatgpt\nai_generated: true\n---\nThe lamp was lit in 1900.", "a.md": "Lamp."}
    )
    report = add_path(root)
    assert counts(report) == {"indexed": 1, "skipped": 1}
    assert "AI answer" in report.problems[0].reason
    assert [row.source_key for row in engine.search("lamp").results] == ["note:vault/a"]


def test_the_data_folder_is_never_indexed(tmp_path: Path, add_path: AddPath, engine: Citewell, vault: Write) -> None:
    vault({"a.md": "Alpha"})
    engine.corpus.stats()
    (tmp_path / "data" / "trace.md").write_text("secret trace", "utf-8")
    add_path(tmp_path)
    assert engine.search("secret trace").results == ()


@pytest.mark.slow
def test_a_document_whose_reader_was_lost_stays_and_is_read_again_next_time(
    tmp_path: Path, add_path: AddPath, engine: Citewell
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    paper = folder / "report.pdf"
    paper.write_bytes(pdf_bytes([["The breakwater was rebuilt in 1931."]]))
    add_path(folder)
    paper.write_bytes(nested_forms())
    lost = add_path(folder)
    assert (lost.failed, lost.deleted, lost.documents) == (1, 0, 1)
    assert engine.search("breakwater").results
    paper.write_bytes(pdf_bytes([["The lighthouse was rebuilt in 1932."]]))
    assert add_path(folder).updated == 1
    assert engine.search("lighthouse").results
