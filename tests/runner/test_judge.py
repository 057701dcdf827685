"""The judge looks at which concepts rows carry together, and names the one thing worth trying."""

from __future__ import annotations

from citewell.domain.evidence import UNLIKELY
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import JudgeResult
from citewell.runner.judge import judge
from runner.plays import pack, row


def judged(found: ResearchPack, *, retries: int = 1, expansions: int = 1, tried: tuple[str, ...] = ()) -> JudgeResult:
    return judge(found, retries_left=retries, expansions_left=expansions, tried=tried)


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
