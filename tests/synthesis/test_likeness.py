"""Meaning takes part in choosing a passage and in refusing; without it words decide as before."""

from __future__ import annotations

from citewell.answer.confidence import windows_to_compare
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
    """The answer where the part with these words is so near, and everything else as near as is said otherwise."""
    ready = prepared(QUESTION, [NOTE])
    key, text = ready.sources[0].source_key, ready.sources[0].text
    parts = [
        (key, start, start + len(line), next((value for words, value in near.items() if words in line), otherwise))
        for line in text.splitlines()
        if line
        for start in [text.index(line)]
    ]
    return extract(QuestionEvidence(ready, plan(QUESTION)), Likeness(tuple(parts)))


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


def test_what_has_no_vector_counts_as_much_as_the_mean() -> None:
    assert _answered({"Ana Ruiz": 0.8, "letters": 0.2}, 0.5)[0] == "My doctor is Ana Ruiz, I go to her in spring."
    ready = prepared(QUESTION, [NOTE])
    key, at = ready.sources[0].source_key, ready.sources[0].text.index("I go for")
    for near in (0.2, 0.9):
        alone = extract(QuestionEvidence(ready, plan(QUESTION)), Likeness(((key, at, at + 20, near),)))
        assert [one.text for one in alone.sentences][:1] == _answered({}, near)[:1]


def test_evidence_that_is_missing_is_not_compared() -> None:
    assert windows_to_compare(QuestionEvidence(prepared(QUESTION, []), plan(QUESTION))) == ()


def test_what_only_meaning_found_is_shown_where_nothing_answers() -> None:
    question = "How much vacation do I get?"
    ready = prepared(question, [source("# Absence\n\nEmployees accrue annual leave on each payday.\n", "Absence")])
    windows = windows_to_compare(QuestionEvidence(ready, plan(question)))
    draft = extract(QuestionEvidence(ready, plan(question)), Likeness(tuple((*one, 0.3) for one in windows)))
    assert draft.refused
    assert [one.quote for one in draft.nearest] == ["Employees accrue annual leave on each payday."]
