"""Finding by words, names and tags: what ranks, what filters keep out before it, and what is counted."""

from __future__ import annotations

import pytest

from citewell import Filters
from citewell.search.query import lexical_query
from citewell.store.port import CorpusMatches, CorpusStore, TagCount
from conformance.stores import ranked, write

NOTES = {
    "Kelp farm.md": "---\ntags: [farm/kelp]\naliases: [The Farm]\ncreated: 2024-05-01\n---\n# Kelp farm\n\n"
    "Kelp, kelp and more kelp on ropes.\n",
    "diary/rope.md": "---\ntags: [diary, farm]\ncreated: 2023-01-01\n---\n# Rope\n\nBought rope for the kelp.\n",
    "diary/boat.md": "---\ncreated: 2022-01-01\n---\n# Boat\n\nThe boat wants paint. Nothing of the sea.\n",
    "page.html": "<html><head><title>Paint</title></head><body><article><p>Paint for a boat, blue as the harbour on a"
    " long evening, and how it is mixed for wood.</p></article></body></html>",
}
FARM, ROPE, BOAT, PAGE = "note:notes/kelp-farm", "note:notes/diary/rope", "note:notes/diary/boat", "web:notes/page"


@pytest.fixture
def written(store: CorpusStore) -> CorpusStore:
    write(store, NOTES)
    return store


def test_who_says_it_more_and_in_the_title_ranks_first(written: CorpusStore) -> None:
    assert ranked(written, "kelp") == [FARM, ROPE]
    assert ranked(written, "kelp", limit=1) == [FARM]
    assert ranked(written, "zeppelins") == []
    scores = [found.score for found in written.rank(lexical_query("kelp rope", written.languages()), Filters(), 9)]
    assert scores == sorted(scores, reverse=True)


def test_a_document_ranks_once_by_its_best_chunk(store: CorpusStore) -> None:
    parts = "".join(f"# Part {n}\n\n{'Words about nothing. ' * 60}\n\n" for n in range(5))
    write(store, {"long.md": f"{parts}# Zeppelin\n\nThe zeppelin left at noon. {'More words. ' * 60}"})
    (found,) = store.rank(lexical_query("zeppelin", store.languages()), Filters(), 9)
    assert "zeppelin left" in store.slice(found.document.content_hash, found.chunk.start, found.chunk.end)
    assert store.chunk_count() > 3


FILTERS = {
    "type": (Filters(source_types=("web",)), [PAGE]),
    "tag": (Filters(tags=("diary",)), []),
    "parent tag": (Filters(tags=("farm",)), []),
    "folder": (Filters(only=("diary",)), [BOAT]),
    "since": (Filters(since="2022-06-01"), None),
    "excluded path": (Filters(exclude_paths=("diary",)), [PAGE]),
    "collection": (Filters(collections=("other",)), []),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_apply_before_ranking(written: CorpusStore, name: str) -> None:
    filters, expected = FILTERS[name]
    found = ranked(written, "paint boat", filters, limit=1)
    if expected is None:
        assert BOAT not in found
    else:
        assert found == expected
    assert written.eligible_documents(filters) == len(written.documents_by_keys([FARM, ROPE, BOAT, PAGE], filters))


def test_the_best_of_what_a_filter_lets_through_is_found_whatever_ranks_above_it(store: CorpusStore) -> None:
    loud = {f"loud/{n}.md": f"# Kelp {n}\n\n{'kelp ' * 40}" for n in range(60)}
    write(store, {**loud, "quiet.md": "# Quiet\n\nOnce, kelp.\n"})
    assert ranked(store, "kelp", Filters(only=("quiet.md",)), limit=1) == ["note:notes/quiet"]


def test_a_phrase_stands_together(store: CorpusStore) -> None:
    write(store, {"a.md": "# A\n\nThe heat pump hums.\n", "b.md": "# B\n\nThe pump moves heat.\n"})
    languages = store.languages()
    query = lexical_query("heat pump", languages, ["heat pump"])
    assert [one.document.source_key for one in store.rank(query, Filters(), 1)] == ["note:notes/a"]


def test_what_is_counted_is_there(written: CorpusStore) -> None:
    assert written.count_matches(lexical_query("boat", written.languages()), Filters()) == CorpusMatches(1, 1)
    assert written.count_matches(lexical_query("boat", written.languages()), Filters(only=("diary",))).sources == 0
    assert written.frequencies(["kelp", "zeppelin"]) == {"kelp": 2}
    assert ("kelp", 2) in written.words_beginning("ke", 3, 8)
    assert written.words_beginning("ke", 6, 8) == []
    assert "kelp" in written.near_terms("kepl")
    assert (written.document_count(), written.by_source_type()) == (4, {"vault_note": 3, "web": 1})


def test_documents_are_found_by_key_name_and_alias(written: CorpusStore) -> None:
    found = written.documents_by_keys([ROPE, "note:none", FARM, ROPE], Filters())
    assert [document.source_key for document in found] == [ROPE, FARM]
    assert [document.source_key for document in written.documents_named("the farm", ())] == [FARM]
    assert [(name, d.source_key) for name, d in written.documents_called(["Kelp farm", "nobody"])] == [
        ("kelp farm", FARM)
    ]
    known = {(name.name, name.is_alias) for name in written.near_names("The Frm")}
    assert ("the farm", True) in known


def test_tags_are_counted_and_lead_to_their_documents(written: CorpusStore) -> None:
    assert written.exact_tags(["diary", "nothing"], Filters()) == [TagCount("diary", 1)]
    tagged = written.tagged(["diary", "farm", "farm/kelp"], Filters(), 5)
    assert [document.source_key for document in tagged] == [ROPE, FARM]
    assert [document.source_key for document in written.tagged(["farm/kelp"], Filters(only=("diary",)), 5)] == []
