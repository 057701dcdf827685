"""Summaries beside documents: stored, found again by the text they tell of, gone when it is."""

from __future__ import annotations

from citewell.store.port import CorpusStore, Summary
from conformance.stores import AT, ranked, write

NOTES = {"Lamp.md": "# Lamp\nThe lamp was lit in 1859.", "Oil.md": "# Oil\nThe oil came from Leith."}


def a_summary(store: CorpusStore, key: str, text: str = "About the beacon.", model: str = "m") -> Summary:
    document = store.find(key)
    assert document is not None
    return Summary("item_summary", "model", text, 0, document.length, document.content_hash, model)


def keys_of(store: CorpusStore) -> tuple[str, str]:
    (lamp,), (oil,) = ranked(store, "lamp"), ranked(store, "oil")
    return lamp, oil


def test_a_summary_is_read_again_with_what_it_tells_of(store: CorpusStore) -> None:
    write(store, NOTES)
    lamp, _ = keys_of(store)
    made = a_summary(store, lamp)
    assert store.summaries.put(lamp, [made], AT)
    assert store.summaries_of(lamp, made.content_hash) == (made,)
    assert store.summaries_of(lamp, "0" * 64) == ()


def test_what_lacks_a_summary_is_known_by_kind_model_and_key(store: CorpusStore) -> None:
    write(store, NOTES)
    lamp, oil = keys_of(store)
    store.summaries.put(lamp, [a_summary(store, lamp)], AT)
    assert store.summaries.count_lacking("extractive", "", None) == 1
    assert store.summaries.count_lacking("model", "m", None) == 1
    assert store.summaries.count_lacking("model", "another", None) == 2
    assert store.summaries.count_lacking("model", "m", [lamp]) == 0
    waiting = store.summaries.next_lacking("model", "m", None, 0)
    assert waiting is not None
    assert waiting.document.source_key == oil
    assert store.summaries.next_lacking("model", "m", None, waiting.place) is None


def test_a_document_that_changes_or_goes_loses_its_summary(store: CorpusStore) -> None:
    write(store, NOTES)
    lamp, oil = keys_of(store)
    old = a_summary(store, lamp)
    store.summaries.put(lamp, [old], AT)
    store.summaries.put(oil, [a_summary(store, oil)], AT)
    write(store, {**NOTES, "Lamp.md": "# Lamp\nThe lamp was lit in 1860."})
    assert store.summaries_of(lamp, old.content_hash) == ()
    assert not store.summaries.put(lamp, [old], AT)
    store.remove([oil])
    assert store.summaries.count_lacking("model", "m", None) == 1
    assert store.check_integrity() == []


def test_a_store_that_is_not_told_to_does_not_look_into_summaries(store: CorpusStore) -> None:
    write(store, NOTES)
    lamp, _ = keys_of(store)
    store.summaries.put(lamp, [a_summary(store, lamp)], AT)
    assert ranked(store, "beacon") == []
