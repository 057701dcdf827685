"""A document too long to be looked through at once shows its opening, or the place far below that answers."""

from __future__ import annotations

import pytest

from citewell import Citewell
from citewell.search.rows import LOOK_THROUGH

DAY = "The harbour was quiet, the tide was low and nobody came to the pier all day.\n\n"
SEAS = "At sea the Zorbavoe chronicle was read aloud again, Zorbavoe chronicle by Zorbavoe chronicle, until dark.\n\n"
LONG = DAY * (LOOK_THROUGH // len(DAY) + 1)

NOTES: dict[str, str | bytes] = {
    "Zorbavoe chronicle.md": (
        f"---\ntags: [annals]\n---\nA record of one hundred years of weather.\n\n{LONG}{SEAS}{LONG}"
        f"## Repairs\n\nThe gudgeon was replaced with bronze.\n\n{LONG}"
    ),
    "Other.md": "Nothing of note.",
}
OPENING = "A record of one hundred years of weather."
LATE = "The gudgeon was replaced with bronze."
SMALL: dict[str, int] = {"limit": 2, "max_chars_per_doc": 500}
KEY = "note:vault/zorbavoe-chronicle"


def test_a_question_that_only_names_a_long_document_shows_its_opening(corpus: Citewell) -> None:
    assert OPENING in corpus.search("Zorbavoe chronicle", max_chars=500).results[0].text
    assert OPENING in corpus.pack("What is the Zorbavoe chronicle?", **SMALL).evidence[0].text


def test_a_question_with_more_to_it_shows_the_late_place(corpus: Citewell) -> None:
    assert LATE in corpus.search("gudgeon", max_chars=500).results[0].text
    row = corpus.pack("What was the gudgeon replaced with in the Zorbavoe chronicle?", **SMALL).evidence[0]
    assert LATE in row.text
    assert ("heading", "Repairs") in [(one.kind, one.text) for one in row.context] or "## Repairs" in row.text


def test_a_document_that_no_query_ranked_shows_its_late_place_too(corpus: Citewell) -> None:
    (view,) = corpus.corpus.get(KEY, query="gudgeon bronze", max_chars=500).documents
    assert LATE in view.text
    tagged = corpus.pack("annals gudgeon", **SMALL).exact_tag_evidence
    assert [LATE in row.text for row in tagged] == [True]


def test_without_a_question_the_opening_is_shown(corpus: Citewell) -> None:
    (view,) = corpus.corpus.get(KEY, max_chars=500).documents
    assert OPENING in view.text


@pytest.mark.parametrize("query", [None, "gudgeon"])
def test_as_much_is_shown_as_was_asked_for(corpus: Citewell, query: str | None) -> None:
    size = 2 * LOOK_THROUGH
    (view,) = corpus.corpus.get(KEY, query=query, max_chars=size).documents
    assert 0.9 * size < len(view.text) <= size
