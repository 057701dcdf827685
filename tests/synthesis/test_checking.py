"""One claim against one text: each kind of error is caught, and each honest rewording is not."""

from __future__ import annotations

import time

import pytest

from citewell.check.claim import ClaimCheck, check_text, clauses_of
from citewell.check.tokens import NO_COUNTS, read_sentences

DEAL = (
    "Acme Corporation acquired Borealis Systems in March 2019 for $2.4 billion. The company employs 12,500 people in "
    "14 countries. Revenue increased by 12% to 3.1 million euros, although profits declined. Chief executive Maria "
    "Lopez said the merger was completed after regulators in Brussels approved it. About half of the staff work "
    "remotely. The plant in Lyon, opened in 1987, is no longer in operation. Some employees did not receive a bonus. "
    "The bridge is 1.5 km long and 24 metres wide. John Smith was succeeded by Anna Kowalska as chairman in 2021."
)


def checked(claim: str, text: str = DEAL) -> ClaimCheck:
    return check_text(claim, text, NO_COUNTS)


@pytest.mark.parametrize(
    "claim",
    [
        "Acme acquired Borealis Systems in 2019.",
        "In March 2019, Borealis Systems was bought by Acme for $2.4bn.",
        "Acme bought Borealis for 2.4 billion dollars.",
        "Acme's takeover of Borealis cost $2,400,000,000.",
        "The company employs people in fourteen countries.",
        "Revenue rose by 12 percent.",
        "Profits declined.",
        "Maria Lopez is the chief executive.",
        "Roughly 50% of the staff work remotely.",
        "The plant in Lyon is no longer operating.",
        "The bridge is 1,500 m long.",
        "Anna Kowalska succeeded John Smith as chairman.",
        'Maria Lopez said "the merger was completed after regulators" approved it.',
    ],
)
def test_an_honest_rewording_passes(claim: str) -> None:
    assert checked(claim).verdict != "unsupported", checked(claim).reason


@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("number", "The company employs people in fifteen countries."),
        ("number of something else", "The company employs 14 people in 12,500 countries."),
        ("scale", "Acme bought Borealis for 2.4 million dollars."),
        ("percentage", "Revenue increased by 21%."),
        ("fraction", "About a third of the staff work remotely."),
        ("month", "Acme Corporation acquired Borealis Systems in May 2019."),
        ("year", "The plant in Lyon opened in 1978."),
        ("weekday", "Acme Corporation acquired Borealis Systems on Tuesday."),
        ("unit", "The bridge is 1.5 miles long."),
        ("name", "Regulators in Paris approved the merger."),
        ("subject and object", "Borealis Systems acquired Acme Corporation in March 2019."),
        ("voice", "Acme Corporation was acquired by Borealis Systems."),
        ("voice", "John Smith succeeded Anna Kowalska as chairman."),
        ("denial inserted", "Acme never acquired Borealis Systems."),
        ("denial inserted", "Revenue did not increase."),
        ("denial removed", "Some employees received a bonus."),
        ("denial removed", "The plant in Lyon is in operation."),
        ("opposite", "Regulators in Brussels rejected the merger."),
        ("opposite", "Revenue fell by 12%."),
        ("before and after", "The merger was completed before regulators in Brussels approved it."),
        ("quantifier", "All of the staff work remotely."),
        ("quotation", 'Maria Lopez said "the merger was a triumph for everyone".'),
        ("foreign", "Herring prices rose sharply across the northern markets."),
    ],
)
def test_an_error_is_caught(kind: str, claim: str) -> None:
    assert checked(claim).verdict in ("unsupported", "contradicted"), kind


@pytest.mark.parametrize(
    "claim",
    [
        "The bridge is 24 metres long.",
        "John Lopez is the chief executive.",
        "Acme failed to acquire Borealis Systems.",
        "Profits increased.",
    ],
)
def test_what_no_rule_is_for_is_still_not_the_wording_of_the_quote(claim: str) -> None:
    assert checked(claim).verdict == "partial"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The company employs people in fifteen countries.", "not in the quote: fifteen"),
        ("Regulators in Paris approved the merger.", "the quote has 'Brussels' where this has 'Paris'"),
        ("Regulators in Brussels rejected the merger.", "the quote has 'approved' where this has 'rejected'"),
        ("Acme never acquired Borealis Systems.", "the quote does not deny this ('never acquired')"),
        (
            "Borealis Systems acquired Acme Corporation in March 2019.",
            "the quote has the two sides of 'acquired' the other way round",
        ),
    ],
)
def test_the_reason_says_what_is_wrong(claim: str, reason: str) -> None:
    assert checked(claim).reason == reason


MEDICINE = (
    "Penicillin was discovered in 1928 by Alexander Fleming at St Mary's Hospital in London. Howard Florey and Ernst "
    "Chain later purified it and turned it into a drug; the three shared the 1945 Nobel Prize in Medicine."
)
MEETING = (
    "Our meeting decided to move the database by the end of June. Maria will write the migration plan; Tom objected "
    "to the timeline because the load tests are not finished."
)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Alexander Fleming discovered penicillin in 1928.", MEDICINE),
        ("Florey and Chain purified it and turned it into a drug.", MEDICINE),
        ("Maria will write the migration plan.", MEETING),
        ("Tom objected to the timeline.", MEETING),
    ],
)
def test_who_does_it_may_stand_before_the_verb_or_after_by(claim: str, text: str) -> None:
    assert checked(claim, text).verdict == "supported"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Florey discovered penicillin in 1928.", MEDICINE),
        ("Maria objected to the timeline.", MEETING),
        ("Tom supported the timeline.", MEETING),
    ],
)
def test_another_name_that_does_it_is_caught(claim: str, text: str) -> None:
    assert checked(claim, text).verdict in ("unsupported", "contradicted")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Penicillin was discovered in 1928 by Ernst Chain.", MEDICINE),
        ("Tom will write the migration plan.", MEETING),
    ],
)
def test_a_name_of_the_quote_in_another_place_is_not_proven(claim: str, text: str) -> None:
    assert checked(claim, text).verdict == "partial"


def test_words_without_weight_are_borne_out_by_nothing_but_themselves() -> None:
    assert checked("Owned.").verdict == "unsupported"


def test_another_name_of_the_same_passage_is_caught() -> None:
    text = "The garden was designed by Irena Bajerska in 2002. Marek Budzyński drew the library beside it."
    assert checked("The garden was designed by Marek Budzyński in 2002.", text).verdict == "unsupported"
    assert checked("The garden was designed by Irena Bajerska in 2002.", text).verdict == "supported"


def test_a_name_in_brackets_is_another_name_of_what_stands_before_them() -> None:
    text = "Jean Cauvin (John Calvin), a student in Paris, converted to the new faith."
    assert checked("John Calvin, a student in Paris, converted to the new faith.", text).verdict != "unsupported"
    assert checked("Jean Cauvin, a student in Paris, converted to the new faith.", text).verdict == "supported"


def test_the_first_word_of_a_second_sentence_is_no_name() -> None:
    assert checked("The plant opened in 1987. Today the plant is no longer in operation.").verdict != "unsupported"


def test_initials_stand_for_a_name() -> None:
    assert checked("The UN met in Geneva.", "The United Nations met in Geneva.").verdict != "unsupported"


def test_an_invented_clause_makes_the_sentence_partial_and_is_named() -> None:
    check = checked("Acme acquired Borealis in 2019, and volunteers painted the harbour lighthouse green.")
    assert check.verdict == "partial"
    assert check.reason == "this part is not in the quote: volunteers painted the harbour lighthouse green"


def test_what_somebody_says_is_not_proven_by_its_being_said() -> None:
    check = checked("Regulators in Brussels approved the merger.")
    assert (check.verdict, check.reason) == ("unsupported", "the quote limits this by 'said'")


def test_a_list_is_no_two_clauses() -> None:
    assert clauses_of("The farm grows kelp and barley.") == []
    assert clauses_of("The farm grows winter kelp, but the mill sells dried barley.") == [
        "The farm grows winter kelp",
        "the mill sells dried barley",
    ]


def test_support_puts_what_is_true_before_what_is_changed_or_foreign() -> None:
    true = checked("Regulators in Brussels approved the merger.").support
    changed = checked("Regulators in Brussels rejected the merger.").support
    foreign = checked("Herring prices rose sharply across the northern markets.").support
    assert 1 >= true > max(changed, foreign) >= min(changed, foreign) >= 0


def test_the_place_is_that_of_the_sentence_that_bears_it_out() -> None:
    check = checked("Maria Lopez is the chief executive.")
    assert DEAL[check.start : check.end].startswith("Chief executive Maria Lopez said")
    assert (check.start, check.end) in {(one.start, one.end) for one in read_sentences(DEAL)}


@pytest.mark.parametrize(
    "unit", ["a", "[", "(", '"', "😀", "漢", "ا", "Aa ", "not ", "1,", "A. ", "U.S. ", "and ", "-"]
)
def test_a_hundred_thousand_hostile_characters_take_less_than_a_second(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    # Three checks of up to a second each; processor time too is longer where others share the processor.
    assert any(_seconds_of_three(text) < 3 for _ in range(3))


def _seconds_of_three(text: str) -> float:
    began = time.process_time()
    check_text(text, DEAL, NO_COUNTS)
    check_text(DEAL, text, NO_COUNTS)
    check_text(text, text + "x", NO_COUNTS)
    return time.process_time() - began
