"""The judge looks at which concepts rows carry together, and names the one thing worth trying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from citewell import AddReport, Citewell, EvidenceRow, ResearchPack
from citewell.answer.quote import direct_evidence, estimate
from citewell.flows.judge import judge
from citewell.runs.run import JudgeResult
from citewell.search.rows import UNLIKELY
from runner.plays import pack, row
from runner.scripted_runs import decisions
from runner.test_runs import ask


def judged(found: ResearchPack, *, retries: int = 1, expansions: int = 1, tried: tuple[str, ...] = ()) -> JudgeResult:
    return judge(found, estimate(direct_evidence(found)), retries_left=retries, expansions_left=expansions, tried=tried)


def test_a_row_that_carries_everything_is_enough() -> None:
    assert judged(pack(row("note:a", "lamp", "lit"))).verdict == "enough_evidence"


def test_nothing_found_is_no_evidence_and_tries_the_loosest_words() -> None:
    result = judged(pack())
    assert (result.verdict, result.retry_action) == ("no_evidence", "focused_retry")
    assert result.missing_concepts == ("lit", "lamp")


def test_a_missing_concept_asks_for_a_focused_retry() -> None:
    result = judged(pack(row("note:a", "lamp")))
    assert (result.verdict, result.retry_action, result.missing_concepts) == (
        "weak_evidence",
        "focused_retry",
        ("lit",),
    )
    assert result.retry_variant == "lit"


def test_a_variant_that_was_tried_is_not_tried_again() -> None:
    result = judged(pack(row("note:a", "lamp")), tried=("lit",))
    assert (result.retry_action, result.expansion_lookup) == ("related_expansion", "note:a")


def test_without_budget_weak_stays_weak() -> None:
    result = judged(pack(row("note:a", "lamp")), retries=0, expansions=0)
    assert (result.verdict, result.retry_action) == ("weak_evidence", "none")


def test_a_missing_anchor_is_never_enough() -> None:
    question = "What did Josiah Pell say about the lamp?"
    found = pack(row("note:a", "lamp"), question=question)
    assert judged(found).verdict == "weak_evidence"
    assert judged(pack(row("note:a", "lamp", "Josiah Pell"), question=question)).verdict == "enough_evidence"


def test_weak_rows_say_what_they_lack() -> None:
    result = judged(pack(row("note:a", "lamp", "lit"), row("note:b")))
    assert [(weak.source_key, weak.missing_concepts) for weak in result.weak_rows] == [("note:b", ("lit", "lamp"))]


def test_related_rows_are_not_direct_evidence() -> None:
    assert judged(pack(row("note:a", "lamp", "lit", related_to="note:x"))).verdict == "no_evidence"


def test_rows_that_carry_the_words_apart_from_any_answer_are_not_enough_and_say_why() -> None:
    question = "When was the Kirkhaven pier not surveyed?"
    met = ("Kirkhaven", "pier", "surveyed")
    found = pack(row("note:a", *met, text="Somebody spoke of a pier."), question=question)
    result = judged(found, retries=0, expansions=0)
    assert result.answerability is not None
    assert result.answerability.probability < UNLIKELY
    assert result.verdict == "weak_evidence"
    assert "the rows speak of the subject, but" in result.reason


def tagged_with(found: ResearchPack, *rows: EvidenceRow) -> ResearchPack:
    return replace(found, exact_tag_evidence=rows)


def noting(found: ResearchPack, note: str) -> ResearchPack:
    return replace(found, coverage=replace(found.coverage, recall_note=note))


def test_a_tag_alone_is_weak_evidence_where_text_is_needed() -> None:
    without, with_tag = judged(pack()), judged(tagged_with(pack(), row("note:tagged")))
    assert (without.verdict, with_tag.verdict) == ("no_evidence", "weak_evidence")
    assert (with_tag.retry_action, with_tag.missing_concepts) == ("focused_retry", ("lit", "lamp"))
    assert [(weak.source_key, weak.reason) for weak in with_tag.weak_rows] == [
        ("note:tagged", "found by its tag alone")
    ]
    assert "only a tag" in with_tag.reason


def test_after_the_retry_a_tagged_document_is_where_to_look_next() -> None:
    result = judged(tagged_with(pack(), row("note:tagged")), retries=0)
    assert (result.retry_action, result.expansion_lookup) == ("related_expansion", "note:tagged")
    lacking = tagged_with(pack(row("note:a", "lamp")), row("note:tagged"))
    assert judged(lacking, tried=("lit",)).expansion_lookup == "note:tagged"


def test_a_tag_is_enough_where_nothing_but_the_tag_is_asked_for() -> None:
    question = "what is tagged #lamp"
    assert judged(pack(question=question)).verdict == "no_evidence"
    assert judged(tagged_with(pack(question=question), row("note:a"))).verdict == "enough_evidence"


def test_a_tagged_document_that_its_words_found_too_is_judged_by_its_words() -> None:
    found = pack(row("note:a", "lamp", "lit"))
    assert judged(tagged_with(found, row("note:a"))) == judged(found)


def test_a_recall_note_without_direct_evidence_is_worth_one_retry_of_rows_that_look_enough() -> None:
    question = "What did Josiah Pell say about the oil lamp wick?"
    found = pack(row("note:a", "Josiah Pell", "oil", "lamp"), question=question)
    assert judged(found).verdict == "enough_evidence"
    noted = noting(found, "1 of 1 matching documents are shown. No direct evidence for: wick.")
    result = judged(noted)
    assert (result.verdict, result.retry_action, result.retry_variant) == (
        "weak_evidence",
        "focused_retry",
        "Josiah Pell wick",
    )
    assert "recall note" in result.reason
    assert judged(noted, retries=0).verdict == "enough_evidence"


def test_a_run_says_that_only_tags_match_and_looks_again(
    vault: Callable[[dict[str, str | bytes]], Path], add_path: Callable[..., AddReport], engine: Citewell
) -> None:
    notes: dict[str, str | bytes] = {
        "Panels.md": "---\ntags: [renewableenergy]\n---\nThe panels on the roof were cleaned in May.",
        "Bread.md": "Flour and water, a pinch of salt.",
    }
    add_path(vault(notes))
    events, result = ask(engine, "renewable energy")
    first = decisions(events, "judged")[0]
    assert (first["verdict"], first["retry_action"]) == ("weak_evidence", "focused_retry")
    assert "only a tag of the question" in first["reason"]
    assert result.answer_status == "no_evidence"


def test_a_run_tries_again_what_its_recall_note_misses(
    vault: Callable[[dict[str, str | bytes]], Path], add_path: Callable[..., AddReport], engine: Citewell
) -> None:
    notes: dict[str, str | bytes] = {
        "Lamp.md": "Josiah Pell trimmed the oil lamp of the tower each evening before he lit the oil lamp.",
        "Walk.md": "Walked to the shop.",
    }
    add_path(vault(notes))
    events, result = ask(engine, "Did Josiah Pell trim the oil lamp of the tower with shears?")
    assert result.pack is not None
    assert "No direct evidence for: shears." in result.pack.coverage.recall_note
    assert decisions(events, "judged")[0]["retry_action"] == "focused_retry"
    assert "Josiah Pell shears" in result.explored.queries_tried
