"""Answerability tells evidence that answers from evidence that only speaks of the subject, and says what is missing."""

from __future__ import annotations

from citewell.answer.evidence import prepare_synthesis
from citewell.answer.quote import direct_evidence, estimate, extract, with_estimate
from citewell.answer.score import QuestionEvidence
from citewell.flows.judge import judge
from citewell.search.rows import Answerability
from runner.plays import pack, row

QUESTION = "When was the Kirkhaven pier first surveyed?"


def likely(text: str, question: str = QUESTION) -> Answerability:
    return estimate(direct_evidence(pack(row("note:a", text=text), question=question)))


def test_a_sentence_with_everything_and_a_date_is_more_likely_than_one_about_the_subject() -> None:
    answers = likely("Kirkhaven pier was first surveyed on 14 November 1859.")
    speaks = likely("Kirkhaven pier stands below the north cliff and is painted white.")
    assert answers.probability > 0.6 > 0.4 > speaks.probability
    assert answers.reasons == ()


def test_words_of_the_question_spread_over_a_page_say_less_than_in_one_sentence() -> None:
    together = likely("Kirkhaven pier was first surveyed in 1859.")
    spread = likely("Kirkhaven is a town.\n\nThe old pier.\n\nIt was surveyed.\n\nThe first snow.\n\nRain in 1859.")
    assert together.probability > spread.probability + 0.2


def test_the_reason_names_what_is_missing() -> None:
    assert "no passage states a date" in likely("Kirkhaven pier stands below the north cliff.").reasons[0]


def test_a_contrary_word_speaks_against_an_answer() -> None:
    same = likely("The majority of the board voted for Cellhaven.", "What did the majority of the board vote for?")
    contrary = likely("The minority of the board voted for Cellhaven.", "What did the majority of the board vote for?")
    assert contrary.probability < same.probability - 0.2
    assert any("contrary of majority" in reason for reason in contrary.reasons)


def test_nothing_found_cannot_be_answered() -> None:
    assert estimate(direct_evidence(pack(question=QUESTION))).probability == 0.0


def test_neighbours_of_what_was_found_do_not_count() -> None:
    neighbour = row("note:b", text="Kirkhaven pier was first surveyed in 1859.", related_to="note:a")
    assert estimate(direct_evidence(pack(neighbour, question=QUESTION))).probability == 0.0


def test_coverage_carries_the_estimate_and_the_same_pack_gives_the_same() -> None:
    found = pack(row("note:a", text="Kirkhaven pier was first surveyed in 1859."), question=QUESTION)
    assert (
        with_estimate(found).coverage.answerability
        == estimate(direct_evidence(found))
        == estimate(direct_evidence(with_estimate(found)))
    )


def test_a_person_reads_how_likely_and_why_not() -> None:
    spoken = likely("The pier stands below the north cliff.").spoken
    assert spoken.startswith("that your corpus answers this is unlikely (")
    assert "no passage states a date" in spoken


def test_one_estimate_goes_with_a_pack_and_decides_about_the_answer() -> None:
    found = pack(row("note:a", text="Kirkhaven pier was first surveyed in 1859."), question=QUESTION)
    draft = extract(QuestionEvidence(prepare_synthesis(found), found.query_plan))
    assert (draft.refused, draft.answerability) == (False, estimate(direct_evidence(found)))
    assert judge(
        found, estimate(direct_evidence(found)), retries_left=0, expansions_left=0, tried=()
    ).answerability == estimate(direct_evidence(found))
