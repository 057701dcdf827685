"""`research_pack.v1` over a small real corpus: what it holds and what it never does."""

from __future__ import annotations

import pytest

from citewell import BadInput, Citewell, Filters

NOTES: dict[str, str | bytes] = {
    "Lamp.md": "---\ntags: [lighthouse, lamp-oil]\n---\n# Lamp\nThe lamp was lit by Josiah Pell in 1859. See [[Oil]].",
    "Oil.md": "---\ntags: lamp-oil\n---\n# Oil\nThe oil came from Leith in barrels. #lighthouse/store",
    "Diary/Walk.md": "Walked to the tower. The lamp room was locked. #lighthouse",
    "Kelp.md": "Kelp grows at 1.8 metres. Ask @kelpwife about version 1.4.2 of the plan.",
    "page.txt": "A visitor wrote that the lamp shone brightly over Leith harbour.",
}


def test_the_passage_that_answers_comes_first_and_says_why(corpus: Citewell) -> None:
    pack = corpus.pack("Who lit the lamp?")
    first = pack.evidence[0]
    assert first.source_key == "note:vault/lamp"
    assert "Josiah Pell" in first.text
    assert {signal.name for signal in first.signals} >= {"base", "concept:lamp", "concept:lit", "all_required"}
    assert abs(sum(signal.value for signal in first.signals) - first.score) < 1e-6
    assert (first.matched_terms, first.missing_terms) == (("lit", "lamp"), ())


def test_filters_apply_before_ranking_and_the_coverage_proves_it(corpus: Citewell) -> None:
    pack = corpus.pack("lamp", filters=Filters(source_types=("text",)))
    assert [row.source_key for row in pack.evidence] == ["text:vault/page"]
    assert (pack.coverage.eligible_documents, pack.coverage.corpus_documents) == (1, 5)
    tagged = corpus.pack("lamp", filters=Filters(tags=("lighthouse",)))
    assert {row.source_key for row in tagged.evidence} == {"note:vault/lamp", "note:vault/diary/walk", "note:vault/oil"}
    assert tagged.coverage.eligible_documents == 3
    nested = corpus.pack("oil", filters=Filters(tags=("lighthouse/store",)))
    assert [row.source_key for row in nested.evidence] == ["note:vault/oil"]
    only = corpus.pack("lamp", filters=Filters(only=("Diary",)))
    assert [row.source_key for row in only.evidence] == ["note:vault/diary/walk"]


def test_a_filter_that_excludes_everything_says_so(corpus: Citewell) -> None:
    pack = corpus.pack("lamp", filters=Filters(collections=("nowhere",)))
    assert pack.evidence == ()
    assert "filters leave none of the 5 documents" in pack.coverage.recall_note
    assert [step.action for step in pack.next_steps] == ["reformulate"]


def test_exact_tags_enter_through_their_own_lane(corpus: Citewell) -> None:
    pack = corpus.pack("lamp oil prices")
    assert [(match.tag, match.count) for match in pack.coverage.exact_tag_matches] == [("lamp-oil", 2)]
    assert {row.source_key for row in pack.exact_tag_evidence} == {"note:vault/lamp", "note:vault/oil"}
    assert {(row.role, row.lanes) for row in pack.exact_tag_evidence} == {("exact_tag", ("exact_tag",))}


def test_protected_anchors_are_met_exactly_or_not_at_all(corpus: Citewell) -> None:
    handle = corpus.pack("what does @kelpwife say")
    assert handle.evidence[0].source_key == "note:vault/kelp"
    assert "@kelpwife" not in handle.coverage.missing_concepts
    assert "@kelp" in corpus.pack("what does @kelp say").coverage.missing_concepts
    assert "lit lamp" in corpus.pack('"lit lamp"').coverage.missing_concepts
    assert corpus.pack('"lamp was lit"').coverage.missing_concepts == ()
    assert corpus.pack("version 1.4.2").evidence[0].source_key == "note:vault/kelp"


def test_nothing_found_is_said_plainly_with_a_way_on(corpus: Citewell) -> None:
    pack = corpus.pack("zirconium futures")
    assert pack.evidence == ()
    assert pack.coverage.recall_note.startswith("No direct evidence")
    assert [step.action for step in pack.next_steps] == ["reformulate"]


def test_next_steps_name_actions_and_never_tools(corpus: Citewell) -> None:
    steps = corpus.pack("Who lit the lamp?").next_steps
    assert [step.action for step in steps][:2] == ["inspect_top_evidence", "expand_related"]
    assert steps[0].params.lookups[0] == "note:vault/lamp"


def test_related_rows_stay_in_the_evidence_at_its_end(corpus: Citewell) -> None:
    alone = corpus.pack("Josiah Pell 1859", limit=1)
    with_related = corpus.pack("Josiah Pell 1859", limit=1, include_related=True)
    assert with_related.evidence[0] == alone.evidence[0]
    related = with_related.evidence[1]
    assert (related.source_key, related.related_to, related.relationship) == (
        *("note:vault/oil", "note:vault/lamp", "links_to"),
    )


def test_building_a_pack_writes_nothing(corpus: Citewell) -> None:
    before = {path: path.stat().st_size for path in corpus.settings.data_dir.iterdir()}
    corpus.pack("Who lit the lamp?")
    assert {path: path.stat().st_size for path in corpus.settings.data_dir.iterdir()} == before


def test_a_pack_is_the_same_each_time(corpus: Citewell) -> None:
    assert corpus.pack("Who lit the lamp?") == corpus.pack("Who lit the lamp?")


def test_the_empty_corpus_says_that_it_is_empty(engine: Citewell) -> None:
    pack = engine.pack("anything")
    assert pack.coverage.recall_note == "The corpus is empty: nothing has been added yet."


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": 101}, {"max_chars_per_doc": 1}])
def test_options_outside_their_range_are_refused(corpus: Citewell, options: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="must be between"):
        corpus.pack("lamp", **options)
