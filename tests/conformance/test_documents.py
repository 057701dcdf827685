"""Documents and texts: what goes in comes out code point by code point, and goes for good when it is removed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import Filters
from citewell.readers.importers.entries import ImportedDocument
from citewell.search.query import lexical_query
from citewell.store.port import CorpusStore, FileFacts, FileOutcome
from citewell.store.prepare import prepare_document
from citewell.text.canonical import content_hash
from citewell.text.documents import ReadDocument, Section
from conformance.stores import AT, ROOT, STORES, OpenStore, outcome, ranked, whole_text, write

LAMP = "---\ntags: [light/house]\naliases: [The Light]\n---\n# Lamp\n\nLit in 1859.\n\n## Oil\n\nFrom Leith.\n"
# Beyond the basic plane, combining, right to left, joined, and what some stores take for an end of text.
HARD = "# Ünïcödé 🗼\n\n𝔏𝔞𝔪𝔭 e\u0301 \u202eabc\u202c 👩‍👩‍👧 שלום 北京 \u0001\u001a\ufeff\u2028' \" \\ %_ ; --\n"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=400)


def test_a_document_comes_back_with_all_it_says_of_itself(store: CorpusStore) -> None:
    write(store, {"Lamp.md": LAMP})
    document = store.find("note:notes/lamp")
    assert document is not None
    assert (document.title, document.collection, document.note_path) == ("Lamp", "notes", "Lamp.md")
    assert (document.user_tags, document.aliases, document.kind) == (("light/house",), ("The Light",), "item")
    assert (document.content_hash, document.length) == (content_hash(LAMP), len(LAMP))
    assert store.find("note:notes/lam") is None
    assert store.similar_keys("lam") == ["note:notes/lamp"]


def test_hard_unicode_comes_back_exactly(store: CorpusStore) -> None:
    write(store, {"hard.md": HARD, "long.md": HARD * 4_000})
    assert whole_text(store, "note:notes/hard") == HARD
    long, digest = HARD * 4_000, content_hash(HARD * 4_000)
    assert whole_text(store, "note:notes/long") == long
    for start in (0, 1, 65_535, 65_536, len(long) - 3):
        assert store.slice(digest, start, start + 70_000) == long[start : start + 70_000]


@given(texts=st.lists(TEXTS, min_size=1, max_size=4, unique=True), data=st.data())
def test_every_slice_of_any_text_is_exact(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    for make in STORES.values():
        store = make(tmp_path_factory.mktemp("any"))
        collection = store.open_collection(ROOT, True, None, ())
        store.write_batch(collection, [_plain(f"{n}.txt", text) for n, text in enumerate(texts)], AT, 1)
        starts = [data.draw(st.integers(0, len(text))) for text in texts]
        ends = [data.draw(st.integers(start, len(text))) for text, start in zip(texts, starts, strict=True)]
        spans = [(content_hash(text), start, end) for text, start, end in zip(texts, starts, ends, strict=True)]
        expected = [text[start:end] for text, start, end in zip(texts, starts, ends, strict=True)]
        assert store.slices(spans) == expected
        assert [store.slice(*span) for span in spans] == expected
        store.close()


def _plain(path: str, text: str) -> FileOutcome:
    read = ReadDocument(text, None, (Section("user_note", 0, len(text)),))
    document = prepare_document(ImportedDocument(read, "text"), path)
    return FileOutcome(FileFacts(path, len(text), 1, content_hash(text)), "indexed", "", (document,))


def test_chunks_are_spans_of_the_stored_text_under_their_headings(store: CorpusStore) -> None:
    write(store, {"Lamp.md": LAMP})
    (found,) = store.rank(lexical_query("Leith", store.languages()), Filters(), 5)
    chunk, document = found.chunk, found.document
    assert "From Leith." in store.slice(document.content_hash, chunk.start, chunk.end)
    assert chunk.chunk_id.startswith(document.content_hash[:12])
    span = (document.source_key, document.content_hash)
    oil = LAMP.index("## Oil")
    sections = store.sections_between(*span, oil, len(LAMP))
    assert [section.heading for section in sections] == ["Oil"]
    assert store.sections_of([(*span, 0, 1), (*span, oil, len(LAMP)), ("note:none", "0" * 64, 0, 9)])[1:] == [
        sections,
        (),
    ]


def test_a_text_nobody_has_is_empty(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha"})
    assert store.slice("0" * 64, 0, 10) == ""
    assert store.slices([("0" * 64, 0, 10), (content_hash("Alpha"), 1, 3)]) == ["", "lp"]


def test_a_changed_document_keeps_its_key_and_a_renamed_one_too(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha"})
    write(store, {"a.md": "Beta"})
    assert whole_text(store, "note:notes/a") == "Beta"
    collection = store.open_collection(ROOT, True, None, ())
    moved = outcome("b.md", "Beta")
    renamed = FileOutcome(moved.facts, "renamed", "was a.md", moved.documents, renamed_from="a.md")
    store.write_batch(collection, [renamed], AT, 1)
    document = store.find("note:notes/a")
    assert document is not None
    assert (document.note_path, store.document_count()) == ("b.md", 1)


def test_a_key_is_never_given_to_another_document(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha"})
    store.remove(["note:notes/a"])
    write(store, {"A.md": "Another file"})
    assert store.find("note:notes/a") is None
    assert whole_text(store, "note:notes/a~2") == "Another file"


def test_what_is_removed_is_gone_with_all_that_came_of_it(store: CorpusStore) -> None:
    write(store, {"lamp.md": LAMP, "oil.md": "Oil, see [[lamp]]."})
    store.remove(["note:notes/lamp", "note:none"])
    store.erase_removed()
    assert store.find("note:notes/lamp") is None
    assert store.slice(content_hash(LAMP), 0, 9) == ""
    assert ranked(store, "Leith 1859") == []
    assert store.frequencies(["1859"]) == {}
    assert store.exact_tags(["light/house"], Filters()) == []
    assert store.unresolved_links("note:notes/oil") == ("lamp",)
    assert [file.path for file in store.files()] == ["oil.md"]
    assert store.check_integrity() == []


def test_a_text_that_a_run_cites_is_kept_until_the_run_is_forgotten(store: CorpusStore) -> None:
    write(store, {"lamp.md": LAMP})
    digest = content_hash(LAMP)
    assert store.keep_texts("run-1", [("note:notes/lamp", digest), ("note:none", digest)]) == ("note:none",)
    assert store.keep_texts("run-2", [("note:notes/lamp", digest)]) == ()
    store.remove(["note:notes/lamp"])
    kept = store.find_kept("note:notes/lamp", digest)
    assert kept is not None
    assert (kept.title, store.slice(digest, 0, len(LAMP))) == ("Lamp", LAMP)
    store.release_texts(["run-1"])
    assert store.slice(digest, 0, len(LAMP)) == LAMP
    store.release_texts(["run-2"])
    assert (store.find_kept("note:notes/lamp", digest), store.slice(digest, 0, len(LAMP))) == (None, "")


def test_an_earlier_text_that_a_run_cites_outlives_the_change(store: CorpusStore) -> None:
    write(store, {"a.md": "Alpha", "b.md": "Beta"})
    store.keep_texts("run-1", [("note:notes/a", content_hash("Alpha"))])
    write(store, {"a.md": "Gamma"})
    assert store.text_length("note:notes/a", content_hash("Alpha")) == 5
    assert store.slice(content_hash("Alpha"), 0, 5) == "Alpha"
    assert store.text_length("note:notes/a", content_hash("Beta")) is None


def test_a_text_that_two_documents_have_stays_while_one_is_there(store: CorpusStore) -> None:
    write(store, {"a.md": "Same", "b.md": "Same"})
    store.remove(["note:notes/a"])
    assert whole_text(store, "note:notes/b") == "Same"


def test_a_reopened_corpus_is_what_it_was(open_store: OpenStore) -> None:
    first = open_store()
    write(first, {"lamp.md": LAMP, "oil.md": "Oil, see [[lamp]]."})
    before = (first.find("note:notes/lamp"), ranked(first, "Leith"), first.files(), first.related("note:notes/oil", 5))
    first.close()
    again = open_store()
    found = (again.find("note:notes/lamp"), ranked(again, "Leith"), again.files(), again.related("note:notes/oil", 5))
    assert found == before
    assert again.heal_index() is False
