"""Answers that people once got and did not trust, each as it must be now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell.answer.evidence import prepare_synthesis
from citewell.answer.quote import direct_evidence, estimate, extract
from citewell.answer.score import QuestionEvidence
from citewell.flows.judge import judge
from citewell.search.rows import LIKELY
from runner.plays import pack, row
from synthesis.evidence import answer, check, lines, source

BIASES = source(
    "# Biases\n\n| Bias | What it is |\n| --- | --- |\n"
    "| Fundamental attribution error | Blaming character where the situation decides. |\n"
    "| Planning fallacy | Taking too little time for granted. |\n",
    "Biases",
)


def test_no_cell_is_put_together_with_a_cell_of_another_row() -> None:
    shown = " ".join(lines("What is the fundamental attribution error?", BIASES))
    assert "Fundamental attribution error" in shown
    assert "Blaming character where the situation decides." in shown
    assert "Planning fallacy" not in shown


def test_a_row_whose_header_was_cut_off_is_read_as_it_stands() -> None:
    text = BIASES.text
    start = text.index("| Planning fallacy")
    cut = replace(
        source(text[start:], "Biases", start=start),
        span=replace(BIASES.span, start=start, end=start + len(text[start:])),
    )
    shown = lines("What is the planning fallacy?", cut)
    assert shown == ["Planning fallacy; Taking too little time for granted."]


@pytest.mark.parametrize(
    ("question", "statement", "reversal"),
    [
        ("Do goldfish forget after three seconds?", "Goldfish forget after three seconds.", "That's more a myth."),
        (
            "Can I return a ticket?",
            "You can return a ticket until noon.",
            "However, sleeper tickets are not refundable.",
        ),
    ],
)
def test_the_sentence_that_reverses_is_seen(question: str, statement: str, reversal: str) -> None:
    note = source(f"# Notes\n\n{statement} {reversal} The weather was fine.\n")
    draft = answer(question, note)
    assert statement in [sentence.text for sentence in draft.sentences]
    assert reversal in check(question, draft, note).citations[0].quote


def test_a_trip_is_dated_by_the_property_of_its_note() -> None:
    note = source('---\nstart: 2023-09-12\nend: 2023-09-30\nloc: "[[Kyoto]]"\n---\n', "2023 Japan trip")
    assert any("2023-09-12" in line for line in lines("When was my Japan trip?", note))


def test_a_list_is_asked_for_and_given_whole() -> None:
    films = ["Blade Runner", "Stalker", "Paris, Texas", "Ran"]
    note = source("# Movies\n\nMovies I have watched:\n\n" + "".join(f"- {film}\n" for film in films), "Movies")
    shown = "\n".join(lines("which movies have I watched", note))
    assert [film for film in films if film in shown] == films


def test_what_is_not_found_is_never_called_likely() -> None:
    found = pack(row("note:a", text="The band counts steps."), question="How much did the band cost?")
    draft = extract(QuestionEvidence(prepare_synthesis(found), found.query_plan))
    assert draft.refused
    assert draft.answerability is not None
    assert draft.answerability.probability < LIKELY
    assert (
        judge(found, estimate(direct_evidence(found)), retries_left=0, expansions_left=0, tried=()).answerability
        == draft.answerability
    )
