"""A file may hold many documents: each has its own key, and the file's next export brings them into step."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from citewell import AddReport, Citewell

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]


def bookmarks(*names: str) -> str:
    rows = "".join(
        f'<DT><A HREF="https://{name}.example/page" ADD_DATE="1700000000" TAGS="{name}tag">About {name} kettles</A>\n'
        for name in names
    )
    return f"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n{rows}</DL><p>\n"


def again(root: Path, name: str, text: str) -> None:
    path = root / name
    before = path.stat().st_mtime_ns
    path.write_text(text, "utf-8")
    os.utime(path, ns=(before + 2_000_000_000, before + 2_000_000_000))


def test_each_bookmark_is_an_item_of_its_own(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    report = add_path(vault({"bookmarks.html": bookmarks("copper", "enamel")}))
    assert (report.indexed, report.documents) == (1, 2)
    (row,) = engine.search("enamel").results
    assert (row.kind, row.source_type, row.url) == ("item", "bookmark", "https://enamel.example/page")
    assert "enameltag" in row.user_tags


def test_a_new_export_keeps_adds_and_forgets(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"bookmarks.html": bookmarks("copper", "enamel")})
    add_path(root)
    (before,) = engine.search("copper").results
    again(root, "bookmarks.html", bookmarks("copper", "brass"))
    report = add_path(root)
    assert (report.updated, report.documents) == (1, 2)
    assert engine.search("enamel").results == ()
    assert [row.source_key for row in engine.search("copper").results] == [before.source_key]
    assert len(engine.search("brass").results) == 1


def test_one_document_of_a_file_can_be_forgotten(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    add_path(vault({"bookmarks.html": bookmarks("copper", "enamel")}))
    (row,) = engine.search("copper").results
    engine.corpus.remove(row.source_key)
    assert engine.search("copper").results == ()
    assert len(engine.search("enamel").results) == 1
    assert engine.store.check_integrity() == []


def test_a_bookmark_leads_to_the_page_it_points_at(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    page = "---\nurl: https://copper.example/page\n---\nThe page about copper itself."
    add_path(vault({"bookmarks.html": bookmarks("copper"), "page.md": page}))
    found = next(row for row in engine.search("copper").results if row.source_type == "bookmark")
    assert [(row.source_key, row.relationship) for row in engine.corpus.related(found.source_key).related] == [
        ("note:vault/page", "has_source")
    ]


def test_lines_of_json_become_documents(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    lines = [{"_id": "d1", "title": "Kettles", "text": "Copper boils fast."}, {"_id": "d2", "text": "Enamel chips."}]
    report = add_path(vault({"corpus.jsonl": "\n".join(map(json.dumps, lines))}))
    assert report.documents == 2
    (row,) = engine.search("enamel").results
    assert row.source_key == "text:vault/corpus/d2"
