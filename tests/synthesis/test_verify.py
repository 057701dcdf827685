"""Verification: gates for the whole answer, a verdict for each sentence."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import CheckedSentence
from citewell.answer.evidence import PreparedSource, Quote
from citewell.answer.passages import quote_at
from citewell.check.verdict import Draft, DraftSentence
from synthesis.evidence import answer, check, source

QUESTION = "When was the Harbour Light first lit?"
LIGHT = source("The Harbour Light was first lit on 3 May 1871 by Mayor Tait. It never failed in 50 years.\n", "Light")


def whole(one: PreparedSource) -> Quote:
    return quote_at(one, 0, len(one.text.rstrip()))


def said(text: str, *quotes: Quote) -> Draft:
    return Draft((DraftSentence(text, "claim", quotes),), refused=False)


def verdict(text: str, one: PreparedSource = LIGHT) -> CheckedSentence:
    return check(QUESTION, said(text, whole(one)), one).sentences[0]


def failed(draft: Draft, *sources: PreparedSource) -> list[str]:
    return [gate.name for gate in check(QUESTION, draft, *sources).gates if not gate.passed]


def test_an_extracted_answer_passes_every_gate_and_every_sentence_is_supported() -> None:
    result = check(QUESTION, answer(QUESTION, LIGHT), LIGHT)
    assert result.passed
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}
    assert (result.unsupported_rate, result.warnings) == (0.0, ())


def test_an_extracted_refusal_passes_every_gate_and_claims_nothing() -> None:
    draft = answer("What colour is the Harbour Light?", LIGHT)
    result = check("What colour is the Harbour Light?", draft, LIGHT)
    assert result.passed
    assert [sentence.verdict for sentence in result.sentences] == ["not_a_claim"]
    assert result.warnings == ("no_evidence",)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("It never failed in fifty years.", ("supported", "exact")),
        ("It never failed in 60 years.", ("contradicted", "exact")),
        ("In half a century it did not once go out.", ("unsupported", "none")),
    ],
)
def test_a_verdict_goes_with_who_gave_it(claim: str, expected: tuple[str, str]) -> None:
    one = verdict(claim)
    assert (one.verdict, one.check.kind) == expected


def test_the_engines_own_words_are_not_claims() -> None:
    old = source("The Harbour Light was first lit in 1870.\n", "Old")
    assert (
        verdict("Earlier note, since corrected: The Harbour Light was first lit in 1870.", old).verdict == "supported"
    )


def test_a_day_in_front_that_is_not_the_notes_own_is_unsupported() -> None:
    daily = source("The pump was fitted today.\n", "2024-05-23")
    assert verdict("Noted on 23 May 2024: The pump was fitted today.", daily).verdict == "supported"
    assert verdict("Noted on 24 May 2024: The pump was fitted today.", daily).verdict == "unsupported"


def test_a_claim_without_a_citation_is_unchecked_and_warned_of() -> None:
    draft = Draft((*answer(QUESTION, LIGHT).sentences, DraftSentence("Herring fetched 40 pence.", "claim")), False)
    result = check(QUESTION, draft, LIGHT)
    assert (result.sentences[-1].verdict, result.sentences[-1].check.kind) == ("unsupported", "none")
    assert result.warnings == ("uncited_claims",)
    assert result.unsupported_rate == round(1 / len(result.sentences), 6)


def test_a_key_that_is_not_in_the_evidence_fails() -> None:
    stranger = replace(whole(LIGHT), source_key="note:vault/elsewhere")
    assert "cited_keys_in_evidence" in failed(said("It was lit in 1871.", stranger), LIGHT)


def test_a_key_with_a_foreign_prefix_fails() -> None:
    assert "key_prefixes_exact" in failed(said("Lit.", replace(whole(LIGHT), source_key="web:vault/light")), LIGHT)


@pytest.mark.parametrize(
    "change",
    [{"text": "The Harbour Light was first lit on 4 May"}, {"start": 1}, {"end": 9_999}, {"content_hash": "0"}],
)
def test_a_quote_that_is_not_the_exact_slice_fails(change: dict[str, str]) -> None:
    assert failed(said("It was lit.", replace(whole(LIGHT), **change)), LIGHT)  # type: ignore[arg-type]


def test_an_answer_that_cites_nothing_fails() -> None:
    assert failed(said("It was lit in 1871."), LIGHT) == ["answer_cites_evidence"]


def test_an_answer_without_evidence_fails() -> None:
    assert failed(said("It was lit in 1871.")) == ["no_answer_without_evidence"]


def test_finding_nothing_about_what_the_answer_cites_fails() -> None:
    draft = Draft(
        (
            *answer(QUESTION, LIGHT).sentences,
            DraftSentence("There is no information about the Harbour Light.", "claim"),
        ),
        refused=False,
    )
    assert failed(draft, LIGHT) == ["no_denial_of_cited_anchor"]


def test_citations_are_numbered_by_first_use_and_at_most_eight() -> None:
    many = [source(f"Light number {n} is lit.\n", f"Light {n}") for n in range(10)]
    sentences = tuple(
        DraftSentence(f"Light number {n} is lit.", "claim", (whole(many[n]),)) for n in (3, 1, 3, *range(10))
    )
    result = check(QUESTION, Draft(sentences, refused=False), *many)
    assert [citation.title for citation in result.citations[:2]] == ["Light 3", "Light 1"]
    assert [citation.n for citation in result.citations] == list(range(1, 9))
    assert [sentence.citations for sentence in result.sentences[:3]] == [(1,), (2,), (1,)]


def test_sources_that_count_the_same_thing_differently_are_reported() -> None:
    one = source("The turbine now serves 212 households.\n", "Herald")
    other = source("The turbine supplied 187 households by live meter.\n", "Report")
    question = "How many households does the turbine supply?"
    (found,) = check(question, answer(question, one, other), one, other).contradictions
    assert set(found.values) == {"212", "187"}
    assert found.citations == (1, 2)


def test_numbers_of_something_else_are_no_disagreement() -> None:
    for question, first, second in (
        (
            "How many tweets does Twitter allow in 3 hours?",
            "Twitter allows 300 tweets in 3 hours.",
            "Users post 2 tweets.",
        ),
        (
            "When was 18F launched?",
            "18F was launched on March 19, 2014.",
            "The launch of Healthcare.gov failed in 2013.",
        ),
    ):
        sources = (source(f"{first}\n", "One"), source(f"{second}\n", "Other"))
        said = tuple(DraftSentence(one.text.strip(), "claim", (whole(one),)) for one in sources)
        assert check(question, Draft(said, refused=False), *sources).contradictions == ()


def test_a_corrected_statement_is_no_disagreement() -> None:
    old = source("The hall has 14 chairs.\n", "Hall", dated="2020-01-01")
    new = source("Correction to [[Hall]]: the hall has 18 chairs, not 14 chairs.\n", "Count", dated="2021-01-01")
    question = "How many chairs does the hall have?"
    assert check(question, answer(question, old, new), old, new).contradictions == ()


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=300), claim=st.text(min_size=1, max_size=200))
def test_any_text_gets_a_verdict(text: str, claim: str) -> None:
    one = source(text or " ", "Any")
    result = check(QUESTION, said(claim, quote_at(one, 0, len(one.text))), one)
    assert len(result.sentences) == 1


@pytest.mark.parametrize("unit", ["a", "[", "a. ", "not ", "3 m ", "Aa ", "twenty ", "2024-01-02 ", "1,000"])
def test_a_hundred_thousand_hostile_characters_stay_fast(unit: str) -> None:
    one = source((unit * 100_000)[:100_000], "Hostile")
    draft = said(one.text[:2_000], quote_at(one, 0, 50_000))
    began = time.process_time()
    check(QUESTION, draft, one)
    assert time.process_time() - began < 5


def by_model(*sentences: DraftSentence) -> Draft:
    return Draft(sentences, refused=False, written_by="model")


def test_a_heading_is_no_claim_and_carries_no_approval() -> None:
    claim = DraftSentence("It never failed in 50 years.", "claim", (whole(LIGHT),))
    headings = [DraftSentence(text, "heading") for text in ("Key evidence", "A lamp paid for by smugglers")]
    found = check(QUESTION, by_model(*headings, claim), LIGHT).sentences
    assert [(one.verdict, one.check.kind) for one in found] == [("not_a_claim", "none")] * 2 + [("supported", "exact")]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The notes do not say that it never failed in 50 years.", "contradicted"),
        ("The notes do not say that it never failed in 90 years.", "not_a_claim"),
        ("The notes do not say that the Harbour Light was first lit in 1999.", "not_a_claim"),
        ("The notes do not mention the price of herring.", "not_a_claim"),
        ("The notes do not say who paid for the Harbour Light.", "not_a_claim"),
    ],
)
def test_what_the_evidence_is_said_to_lack_is_removed_only_where_it_stands_there(text: str, verdict: str) -> None:
    claim = DraftSentence("It never failed in 50 years.", "claim", (whole(LIGHT),))
    found = check(QUESTION, by_model(claim, DraftSentence(text, "gap")), LIGHT).sentences
    assert found[1].verdict == verdict


def test_the_engines_own_words_are_a_claim_where_a_model_speaks_them() -> None:
    said_by = "Earlier note, since corrected: The Harbour Light was first lit on 3 May 1871."
    found = check(QUESTION, by_model(DraftSentence(said_by, "claim", (whole(LIGHT),))), LIGHT).sentences[0]
    assert found.verdict != "supported"


def test_a_question_is_a_claim_only_where_it_states_a_value() -> None:
    tells = DraftSentence("Did you know that the Harbour Light was lit in 1999?", "claim")
    asks = DraftSentence("What else would you like to know?", "claim")
    claim = DraftSentence("It never failed in 50 years.", "claim", (whole(LIGHT),))
    found = check(QUESTION, by_model(claim, tells, asks), LIGHT).sentences
    assert [one.verdict for one in found[1:]] == ["unsupported", "not_a_claim"]


@pytest.mark.parametrize("quotes", [True, False], ids=["wrong mark", "no mark"])
def test_a_sentence_that_stands_elsewhere_is_cited_there_also_where_its_mark_has_it_otherwise(quotes: bool) -> None:
    rooms = source("Room 12 seats 40 people.\n\nNobody likes it much.", "Rooms")
    other = source("Room 13 seats 40 people.", "More rooms")
    cited = (quote_at(rooms, 0, 24),) if quotes else ()
    result = check(QUESTION, by_model(DraftSentence("Room 13 seats 40 people.", "claim", cited)), rooms, other)
    (sentence,) = result.sentences
    assert (sentence.verdict, sentence.check.kind) == ("supported", "exact")
    assert [one.source_key for one in result.citations] == [other.source_key]
    assert "citations_repaired" in result.warnings


def test_what_may_not_be_shown_leaves_the_nearest_passages() -> None:
    result = check(QUESTION, by_model(DraftSentence("It was lit in 1871.", "claim")), LIGHT)
    assert not result.passed
    assert [one.source_key for one in result.nearest] == [LIGHT.source_key]
    assert check(QUESTION, answer(QUESTION, LIGHT), LIGHT).nearest == ()


def test_the_cap_on_citations_counts_sources() -> None:
    facts = [f"The mill number {n} was built in {1800 + n}. It has {n + 3} wheels." for n in range(12)]
    sources = [source(f"{fact}\n", f"Mill {n}") for n, fact in enumerate(facts)]
    said_so = [
        DraftSentence(sentence, "claim", (quote_at(one, *place),))
        for one in sources
        for sentence, place in zip(*_halves(one.text), strict=True)
    ]
    result = check("When was each mill built?", by_model(*said_so), *sources)
    assert len({one.source_key for one in result.citations}) == 8
    assert len(result.citations) == 16


def _halves(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    cut = text.index(". ") + 1
    end = len(text.rstrip())
    return [text[:cut], text[cut + 1 : end]], [(0, cut), (cut + 1, end)]
