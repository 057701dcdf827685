"""Collections and files: what belongs where, how every file fared, what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citewell import BadInput, WorkFailed
from citewell.store.port import CorpusStore, Exclusion, FileFacts, FileOutcome
from conformance.stores import AT, ROOT, outcome, write


def test_a_path_belongs_to_the_deepest_collection_that_holds_it(store: CorpusStore) -> None:
    write(store, {"b.md": "Beta"}, f"{ROOT}/sub")
    write(store, {"a.md": "Alpha"})
    inside = store.open_collection(f"{ROOT}/sub/deeper", True, None, ())
    assert (inside.name, inside.root, inside.scope) == ("sub", f"{ROOT}/sub", "deeper")
    assert store.open_collection(f"{ROOT}/x", True, None, ()).name == "notes"
    assert store.roots_below(ROOT) == (f"{ROOT}/sub",)
    assert store.roots_below(f"{ROOT}/sub") == ()


def test_a_single_file_makes_a_collection_of_its_folder(store: CorpusStore) -> None:
    opened = store.open_collection("/home/ada/papers/one.md", False, None, ("*.tmp",))
    assert (opened.root, opened.scope, opened.excludes) == ("/home/ada/papers", "one.md", ("*.tmp",))


def test_names_are_unique_and_rules_add_up(store: CorpusStore) -> None:
    assert store.open_collection("/a/notes", True, None, ("x",)).name == "notes"
    assert store.open_collection("/b/notes", True, None, ()).name == "notes-2"
    assert store.open_collection("/a/notes", True, None, ("y", "x")).excludes == ("x", "y")
    with pytest.raises(BadInput, match="exists already"):
        store.open_collection("/c", True, "notes", ())
    with pytest.raises(BadInput, match="already belongs"):
        store.open_collection("/a/notes", True, "other", ())


def test_every_file_is_listed_with_how_it_fared(store: CorpusStore) -> None:
    collection = store.open_collection(ROOT, True, None, ())
    broken = FileOutcome(FileFacts("broken.pdf", 3, 7, "beef"), "failed", "no PDF")
    store.write_batch(collection, [outcome("a.md", "Alpha"), broken], AT, 4)
    store.finish_sync(collection, (), (("private", "tag:private"),), AT)
    assert [(file.path, file.status, file.reason, file.source_key) for file in store.files()] == [
        ("a.md", "indexed", "", "note:notes/a"),
        ("broken.pdf", "failed", "no PDF", None),
    ]
    known = store.known_files(collection.id, "")
    assert (known["broken.pdf"].mtime_ns, known["broken.pdf"].file_hash, known["broken.pdf"].reader_version) == (
        7,
        "beef",
        4,
    )
    assert store.known_files(collection.id, "a.md").keys() == {"a.md"}
    assert store.known_files(collection.id, "a").keys() == set()
    assert store.exclusions() == (Exclusion("notes", "private", "tag:private"),)
    (info,) = store.collections()
    assert (info.name, info.root, info.documents, info.files, info.last_sync) == ("notes", ROOT, 1, 2, AT)


def test_what_is_no_longer_there_is_forgotten(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha", "b.md": "Beta"})
    collection = store.open_collection(ROOT, True, None, ())
    store.finish_sync(collection, (store.known_files(collection.id, "")["a.md"],), (), AT)
    assert store.find("note:notes/a") is None
    assert [file.path for file in store.files()] == ["b.md"]


def test_a_file_that_cannot_be_opened_keeps_what_it_held(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha"})
    collection = store.open_collection(ROOT, True, None, ())
    unreadable = FileOutcome(FileFacts("a.md", 5, -1, None), "failed", "no permission", keeps_document=True)
    store.write_batch(collection, [unreadable], AT, 1)
    assert store.find("note:notes/a") is not None
    emptied = FileOutcome(FileFacts("a.md", 0, 2, None), "skipped", "empty file")
    store.write_batch(collection, [emptied], AT, 1)
    assert store.find("note:notes/a") is None


def test_keys_are_found_by_path(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha", "sub/b.md": "Beta", "sub2/c.md": "Gamma"})
    assert store.keys_under(f"{ROOT}/sub") == ["note:notes/sub/b"]
    assert store.keys_under(f"{ROOT}/sub/b.md") == ["note:notes/sub/b"]
    assert len(store.keys_under("/home/ada")) == 3
    assert store.keys_under("/elsewhere") == []


def test_files_with_a_tag_are_known(store: CorpusStore) -> None:
    write(store, {"a.md": "---\ntags: [private/diary]\n---\nAlpha", "b.md": "Beta"})
    collection = store.open_collection(ROOT, True, None, ())
    assert store.paths_tagged(collection.id, ["private"]) == {"a.md"}
    assert store.paths_tagged(collection.id, []) == set()


def test_a_collection_that_holds_nothing_is_dropped_and_a_batch_for_it_refused(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha"})
    collection = store.open_collection(ROOT, True, None, ())
    assert store.drop_empty_collections(ROOT) == ()
    store.remove(["note:notes/a"])
    assert store.drop_empty_collections("/elsewhere") == ()
    assert store.drop_empty_collections(None) == ("notes",)
    assert store.collections() == ()
    with pytest.raises(WorkFailed, match="removed while"):
        store.write_batch(collection, [outcome("b.md", "Beta")], AT, 1)


def test_a_batch_is_written_whole_or_not_at_all(store: CorpusStore) -> None:
    collection = store.open_collection(ROOT, True, None, ())

    def breaks_off() -> Iterator[FileOutcome]:
        yield outcome("a.md", "Alpha")
        raise RuntimeError("the reader died")

    with pytest.raises(RuntimeError, match="the reader died"):
        store.write_batch(collection, breaks_off(), AT, 1)
    assert (store.document_count(), store.files(), store.chunk_count()) == (0, (), 0)
    assert store.check_integrity() == []


def test_secrets_are_found_where_they_stand(store: CorpusStore) -> None:
    write(store, {"a.md": "The key is AKIAIOSFODNN7EXAMPLE, mind it.", "b.md": "Nothing."})
    assert [found.path for found in store.secrets()] == ["a.md"]


def test_the_statistics_add_up(store: CorpusStore) -> None:
    write(store, {"a.md": "# A\n\nSee [[B]] and [[C]]. #tag\n", "B.md": "# B\n\nBeta.\n"})
    stats = store.stats()
    assert (stats.documents, stats.collections, stats.links, stats.resolved_links) == (2, 1, 2, 1)
    assert (stats.chunks, stats.by_source_type) == (store.chunk_count(), {"vault_note": 2})
