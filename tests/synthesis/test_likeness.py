"""Meaning takes part in choosing a passage and in refusing; without it words decide as before."""

from __future__ import annotations

from citewell.answer.confidence import MAX_BLOCKS, MAX_PASSAGES, texts_to_compare
from citewell.answer.evidence import Likeness
from citewell.answer.quote import extract
from citewell.answer.score import QuestionEvidence
from citewell.check.verdict import Draft
from synthesis.evidence import plan, prepared, source

QUESTION = "Which doctor do I go to?"
NOTE = source(
    "# Health\n\nI go for a doctor of letters one day.\n\nMy doctor is Ana Ruiz, I go to her in spring.\n", "Health"
)


def _draft(near: dict[str, float], otherwise: float) -> Draft:
    ready = prepared(QUESTION, [NOTE])
    texts = texts_to_compare(QuestionEvidence(ready, plan(QUESTION)))
    found = [next((value for part, value in near.items() if part in text), otherwise) for text in texts]
    return extract(QuestionEvidence(ready, plan(QUESTION)), Likeness(texts, tuple(found)))


def _answered(near: dict[str, float], otherwise: float) -> list[str]:
    draft = _draft(near, otherwise)
    return [] if draft.refused else [sentence.text for sentence in draft.sentences]


def test_the_passage_that_comes_nearest_in_meaning_is_preferred() -> None:
    assert _answered({"Ana Ruiz": 0.8}, 0.3)[0] == "My doctor is Ana Ruiz, I go to her in spring."
    assert _answered({"letters": 0.9}, 0.0)[0] == "I go for a doctor of letters one day."


def test_an_answer_is_the_less_likely_the_farther_off_the_meaning_of_its_words_is() -> None:
    near, far = (_draft({}, likeness).answerability for likeness in (0.8, 0.0))
    assert near is not None
    assert far is not None
    assert far.probability < near.probability - 0.05


def test_only_the_best_passages_and_their_blocks_are_compared() -> None:
    many = [source("\n\n".join(f"The doctor of ward {n} is in." for n in range(60)), f"Ward {n}") for n in range(3)]
    texts = texts_to_compare(QuestionEvidence(prepared(QUESTION, many), plan(QUESTION)))
    assert len(texts) == MAX_PASSAGES + MAX_BLOCKS
    assert all(len(text) <= 1_200 for text in texts)


def test_evidence_that_is_missing_is_not_compared() -> None:
    assert texts_to_compare(QuestionEvidence(prepared(QUESTION, []), plan(QUESTION))) == ()


def test_what_only_meaning_found_is_shown_where_nothing_answers() -> None:
    question = "How much vacation do I get?"
    ready = prepared(question, [source("# Absence\n\nEmployees accrue annual leave on each payday.\n", "Absence")])
    texts = texts_to_compare(QuestionEvidence(ready, plan(question)))
    draft = extract(QuestionEvidence(ready, plan(question)), Likeness(texts, tuple(0.3 for _ in texts)))
    assert draft.refused
    assert [one.quote for one in draft.nearest] == ["Employees accrue annual leave on each payday."]
