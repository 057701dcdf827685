"""Packing: rank order, a reserve for exact tags, related rows last, only the last row trimmed, all counted."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from citewell import EvidenceRow, ResearchPack, TopicBrief
from citewell.answer.evidence import EvidenceReserves, prepare_synthesis
from citewell.runs.journal import digest
from runner.plays import pack, row

DEFAULT = EvidenceReserves()


def rows(count: int, size: int) -> tuple[EvidenceRow, ...]:
    return tuple(row(f"note:{n}", text="x" * size) for n in range(count))


def tagged(found: ResearchPack, *more: EvidenceRow) -> ResearchPack:
    return replace(found, exact_tag_evidence=more)


def test_everything_that_fits_is_there_in_rank_order_and_numbered() -> None:
    prepared = prepare_synthesis(pack(*rows(3, 100)))
    assert [(source.n, source.source_key) for source in prepared.sources] == [
        *((1, "note:0"), (2, "note:1"), (3, "note:2")),
    ]
    assert not prepared.truncation.is_truncated
    assert prepared.text.startswith("Question: Who lit the lamp?\n")


def test_only_the_bottom_most_row_is_trimmed_and_what_does_not_fit_is_named() -> None:
    prepared = prepare_synthesis(pack(*rows(5, 1_000)), max_evidence_chars=3_000)
    assert [len(source.text) for source in prepared.sources[:2]] == [1_000, 1_000]
    assert prepared.truncation.partially_trimmed_source_key == "note:2"
    assert prepared.truncation.dropped_source_keys == ("note:3", "note:4")
    trimmed = prepared.sources[2]
    assert trimmed.span.end - trimmed.span.start == len(trimmed.text) < 1_000


def test_no_row_is_kept_where_a_better_one_was_dropped() -> None:
    found = pack(row("note:0", text="x" * 1_000), row("note:1", text="x" * 3_000), row("note:2", text="x" * 50))
    prepared = prepare_synthesis(found, max_evidence_chars=1_400)
    assert [source.source_key for source in prepared.sources] == ["note:0"]
    assert prepared.truncation.dropped_source_keys == ("note:1", "note:2")


def test_an_exact_tag_example_has_its_place_however_much_evidence_there_is() -> None:
    found = tagged(pack(*rows(40, 1_000)), row("note:tagged", text="t" * 1_500))
    prepared = prepare_synthesis(found)
    (example,) = [source for source in prepared.sources if source.lane == "exact_tag"]
    assert (example.source_key, len(example.text)) == ("note:tagged", 1_500)
    assert EvidenceReserves(2_000, 2_000, 2_000) == DEFAULT


def test_related_rows_come_last_and_go_first_when_room_is_short() -> None:
    related = row("note:related", related_to="note:0", text="r" * 500)
    found = pack(related, *rows(2, 500))
    assert [source.source_key for source in prepare_synthesis(found).sources] == ["note:0", "note:1", "note:related"]
    assert prepare_synthesis(found, max_evidence_chars=1_300).truncation.dropped_source_keys == ("note:related",)


def test_a_document_is_not_shown_twice_for_its_tag() -> None:
    prepared = prepare_synthesis(tagged(pack(row("note:a")), row("note:a")))
    assert [source.source_key for source in prepared.sources] == ["note:a"]


def test_no_evidence_still_makes_an_input() -> None:
    prepared = prepare_synthesis(pack())
    assert prepared.sources == ()
    assert "Coverage: a note" in prepared.text


@given(
    st.lists(st.integers(1, 4_000), max_size=12), st.lists(st.integers(1, 4_000), max_size=3), st.integers(500, 30_000)
)
def test_every_character_counts_against_the_budget(sizes: list[int], tags: list[int], budget: int) -> None:
    evidence = [row(f"note:{n}", text="x" * size) for n, size in enumerate(sizes)]
    examples = [row(f"tag:{n}", text="y" * size) for n, size in enumerate(tags)]
    prepared = prepare_synthesis(tagged(pack(*evidence), *examples), max_evidence_chars=budget)
    assert len(prepared.text) <= budget
    assert prepared.truncation.evidence_chars_used == len(prepared.text)
    kept = {source.source_key for source in prepared.sources}
    assert kept | set(prepared.truncation.dropped_source_keys) == {entry.source_key for entry in (*evidence, *examples)}
    assert prepared == prepare_synthesis(tagged(pack(*evidence), *examples), max_evidence_chars=budget)


def test_a_pack_read_back_from_a_record_gives_the_same_input() -> None:
    """Records keep their keys sorted; nothing may depend on the order they had before."""
    found = pack(row("note:a"))
    counted = replace(found, coverage=replace(found.coverage, term_chunks={"zinc": 0, "lamp": 3, "iron": 0}))
    read_back = msgspec.convert(msgspec.json.decode(msgspec.json.encode(counted, order="deterministic")), ResearchPack)
    assert digest(prepare_synthesis(read_back)) == digest(prepare_synthesis(counted))


def briefed(found: ResearchPack, summary: str) -> ResearchPack:
    brief = TopicBrief("the lamp", (), 12, 8, summary, (), (), (), ())
    return replace(found, topic_brief=brief, mode="topic_brief_and_evidence")


SUMMARY = "Derived from 1 document, sentences as they stand:\nThe lamp was lit. [note:9]\nIt went out. [note:8]"


def test_a_topics_summary_stands_between_the_evidence_and_the_related_rows_and_is_no_source() -> None:
    related = row("note:related", related_to="note:0", text="r" * 100)
    prepared = prepare_synthesis(briefed(pack(*rows(2, 100), related), SUMMARY))
    assert [source.source_key for source in prepared.sources] == ["note:0", "note:1", "note:related"]
    places = [
        prepared.text.index(part) for part in ("⟦2⟧ note:1", "Topic brief: the lamp", SUMMARY, "⟦3⟧ note:related")
    ]
    assert places == sorted(places)
    assert "not to be cited" in prepared.text
    assert prepared.truncation.evidence_chars_used == len(prepared.text)


def test_a_topics_summary_needs_two_thousand_characters_to_spare() -> None:
    found = briefed(pack(*rows(2, 1_000)), SUMMARY)
    bare = len(prepare_synthesis(pack(*rows(2, 1_000))).text)
    # Two characters of each row are kept spare for its number.
    enough = bare + 2 * 2 + DEFAULT.topic_brief_min_remaining_chars
    assert "Topic brief" in prepare_synthesis(found, enough).text
    assert "Topic brief" not in prepare_synthesis(found, enough - 1).text


def test_a_topics_summary_is_cut_at_a_whole_line_and_never_breaks_the_budget() -> None:
    line = "The lamp was lit by the keeper on that very evening. [note:9]\n"
    for budget in range(2_300, 6_000, 97):
        prepared = prepare_synthesis(briefed(pack(*rows(1, 50)), line * 60), budget)
        assert len(prepared.text) <= budget
        if "Topic brief" in prepared.text:
            shown = prepared.text.partition("not to be cited)\n")[2].rstrip("\n")
            assert len(shown) <= DEFAULT.topic_brief_summary_max_chars
            assert set(shown.split("\n")) == {line.rstrip("\n")}


def test_the_reserves_are_the_ones_given() -> None:
    found = briefed(tagged(pack(*rows(2, 1_000)), row("note:tag", text="t" * 900)), SUMMARY)
    wide = prepare_synthesis(found, 1_900, reserves=EvidenceReserves(0, 0, 2_000))
    kept = prepare_synthesis(found, 1_900, reserves=EvidenceReserves(2_000, 0, 2_000))
    assert [source.source_key for source in wide.sources] == ["note:0", "note:1"]
    assert [source.source_key for source in kept.sources] == ["note:0", "note:tag"]
    assert "Topic brief" not in prepare_synthesis(found, reserves=EvidenceReserves(0, 24_000, 2_000)).text
    brief = prepare_synthesis(found, reserves=EvidenceReserves(0, 0, 80)).text
    assert "The lamp was lit. [note:9]" in brief
    assert "It went out." not in brief
