"""Citations set right, quotes narrowed to what supports a sentence, and sources that disagree tabled."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from citewell.answer.evidence import PreparedSource, Quote
from citewell.answer.passages import quote_at
from citewell.check.verdict import Draft, DraftSentence
from synthesis.evidence import check, source

QUESTION = "When was the Harbour Light first lit?"
LIGHT = source("The Harbour Light was first lit on 3 May 1871 by Mayor Tait. It never failed in 50 years.\n", "Light")
FERRY = source("The ferry to the island sails at nine. It carries 40 passengers and no cars.\n", "Ferry")


def whole(one: PreparedSource) -> Quote:
    return quote_at(one, 0, len(one.text.rstrip()))


def said(text: str, *quotes: Quote) -> Draft:
    return Draft((DraftSentence(text, "claim", quotes),), refused=False)


def written(text: str, *quotes: Quote) -> Draft:
    return replace(said(text, *quotes), written_by="model")


def test_a_sentence_cited_to_the_wrong_source_is_cited_to_the_one_that_says_it() -> None:
    result = check(QUESTION, written("It never failed in fifty years.", whole(FERRY)), LIGHT, FERRY)
    (sentence,) = result.sentences
    assert (sentence.verdict, sentence.check.kind) == ("supported", "exact")
    assert sentence.quote is not None
    assert sentence.quote.text == "It never failed in 50 years."
    assert [citation.source_key for citation in result.citations] == [LIGHT.source_key]
    assert sentence.citations == (1,)
    assert "another source does" in sentence.reason
    assert "citations_repaired" in result.warnings


@pytest.mark.parametrize("text", ["The light was lit in 1999.", "Mayor Tait lit the Harbour Light in 1871."])
def test_what_no_source_has_word_for_word_keeps_its_citation_and_no_verdict(text: str) -> None:
    result = check(QUESTION, written(text, whole(FERRY)), LIGHT, FERRY)
    (sentence,) = result.sentences
    assert (sentence.verdict, sentence.check.kind) == ("unsupported", "none")
    assert [citation.source_key for citation in result.citations] == [FERRY.source_key]


def test_a_supported_sentence_is_left_as_it_is() -> None:
    copy = source(LIGHT.text, "Copy")
    result = check(QUESTION, written("It never failed in 50 years.", whole(copy)), LIGHT, copy)
    assert [citation.source_key for citation in result.citations] == [copy.source_key]
    assert "citations_repaired" not in result.warnings


def test_a_quote_is_narrowed_to_the_sentence_that_bears_the_claim_out() -> None:
    text = "Gulls nest — 🐦 — on the roof. The lamp burned paraffin until 1920. Nobody counts the gulls.\n"
    lamp = source(text, "Lamp", start=100)
    (sentence,) = check(QUESTION, said("The lamp burned paraffin until 1920.", whole(lamp)), lamp).sentences
    assert sentence.quote is not None
    assert sentence.quote.text == "The lamp burned paraffin until 1920."
    at = sentence.quote.start - 100
    assert text[at : sentence.quote.end - 100] == sentence.quote.text


def test_a_citation_of_a_whole_page_shows_the_sentence_and_keeps_its_number() -> None:
    filler = "Gulls nest on the roof and nobody counts them in any year. " * 20
    page = source(f"{filler}The lamp burned paraffin until 1920. The lens came from Paris. {filler}", "Page")
    draft = Draft(
        (
            DraftSentence("The lamp burned paraffin until 1920.", "claim", (whole(page),)),
            DraftSentence("The lens came from Paris.", "claim", (whole(page),)),
        ),
        refused=False,
    )
    result = check(QUESTION, draft, page)
    (citation,) = result.citations
    assert citation.quote == "The lamp burned paraffin until 1920. The lens came from Paris."
    assert page.text[citation.span.start : citation.span.end] == citation.quote
    assert [one.citations for one in result.sentences] == [(1,), (1,)]
    assert result.passed


def test_a_disagreement_is_tabled_with_independent_sources_and_the_newest() -> None:
    question = "How many households does the turbine supply?"
    old = source("The turbine on the hill supplied 187 households by live meter.\n", "Report", dated="2020-01-01")
    copy = source("The turbine on the hill supplied 187 households by live meter!\n", "Copy", dated="2020-02-01")
    new = source("The turbine now serves 212 households.\n", "Herald", dated="2022-01-01")
    draft = Draft(tuple(DraftSentence(one.text.strip(), "claim", (whole(one),)) for one in (old, new)), refused=False)
    (found,) = check(question, draft, old, copy, new).contradictions
    assert found.kind == "number"
    assert [(one.value, one.citations, one.independent_sources) for one in found.stated] == [
        ("187", (1,), 1),
        ("212", (2,), 1),
    ]
    assert found.stated[0].source_keys == (old.source_key, copy.source_key)
    assert (found.values, found.citations, found.newer) == (("187", "212"), (1, 2), "212")
    assert found.note == "2 independent sources; the newest (2022-01-01) says 212"


def test_two_dates_for_the_same_event_disagree_and_without_days_none_is_newer() -> None:
    other = source("The Harbour Light was first lit on 4 June 1872, says the almanac.\n", "Almanac")
    draft = Draft(
        (
            DraftSentence("The Harbour Light was first lit on 3 May 1871 by Mayor Tait.", "claim", (whole(LIGHT),)),
            DraftSentence(
                "The Harbour Light was first lit on 4 June 1872, says the almanac.", "claim", (whole(other),)
            ),
        ),
        refused=False,
    )
    (found,) = check(QUESTION, draft, LIGHT, other).contradictions
    assert (found.kind, found.values, found.newer) == ("date", ("3 May 1871", "4 June 1872"), None)


def test_a_source_that_denies_what_another_states_disagrees() -> None:
    yes = source("The harbour pilot accepted the new signal code.\n", "Yes")
    no = source("The harbour pilot did not accept the new signal code.\n", "No")
    question = "Did the harbour pilot accept the new signal code?"
    draft = Draft(tuple(DraftSentence(one.text.strip(), "claim", (whole(one),)) for one in (yes, no)), refused=False)
    (found,) = check(question, draft, yes, no).contradictions
    assert (found.kind, found.citations) == ("polarity", (1, 2))


def test_a_long_answer_over_much_evidence_is_checked_quickly() -> None:
    facts = [f"Lighthouse number {n} was built by Keeper Tait in {1800 + n} for {n + 3} pounds. " for n in range(300)]
    sources = [source("".join(facts[at : at + 30]), f"Part {at}") for at in range(0, 300, 30)]
    sentences = tuple(DraftSentence(facts[30 * n + n].strip(), "claim", (whole(sources[0]),)) for n in range(10))
    began = time.process_time()
    result = check(QUESTION, Draft(sentences, refused=False, written_by="model"), *sources)
    assert {one.verdict for one in result.sentences} == {"supported"}
    assert time.process_time() - began < 3
