"""What the wording of a passage decides about a sentence: word for word, nearly so and denied, or nothing."""

from __future__ import annotations

import time

import pytest

from citewell.check.claim import ClaimCheck, check_text, objection

LIGHT = (
    "Correction: the kelp lines sit 1.8 m below the surface, not 3 m.\n\n"
    "The Harbour Light was first lit on 3 May 1871 by Mayor Tait. It never failed in 50 years. The rope is 14 mm "
    "thick. Revenue increased by 12% in 2019; profits declined. Some older employees did not receive a bonus. "
    "The turbine cannot start without a grid. The mast stands -4 m off."
)


def checked(claim: str, text: str = LIGHT) -> ClaimCheck:
    return check_text(claim, text)


@pytest.mark.parametrize(
    "claim",
    [
        "The Harbour Light was first lit on 3 May 1871 by Mayor Tait.",
        "the **Harbour Light** was first lit on 3 May 1871 by Mayor Tait",
        "It never failed in fifty years.",
        "Profits declined.",
        "The turbine can't start without a grid.",
        "The kelp lines sit 1.8 m below the surface.",
    ],
)
def test_a_sentence_or_a_clause_of_its_own_that_stands_there_to_the_letter_is_supported(claim: str) -> None:
    check = checked(claim)
    assert (check.verdict, check.reason, check.support) == ("supported", "", 1.0)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (
            "The Harbour Light was first lit on 3 May 1872 by Mayor Tait.",
            "the passage has '1871' where this has '1872'",
        ),
        ("It never failed in 60 years.", "the passage has '50' where this has '60'"),
        ("The mast stands 4 m off.", "the passage has '-4' where this has '4'"),
        ("Revenue decreased by 12% in 2019.", "the passage has 'increased' where this has 'decreased'"),
        (
            "The Harbour Light was not first lit on 3 May 1871 by Mayor Tait.",
            "the passage does not deny this",
        ),
        ("Some older employees did receive a bonus.", "the passage denies this"),
        ("Some older employees received a bonus.", "the passage denies this"),
        ("The turbine can start without a grid.", "the passage denies this"),
        ("The kelp lines sit 3 m below the surface.", "the passage has '1.8' where this has '3'"),
    ],
)
def test_the_wording_with_one_number_denial_or_contrary_changed_is_contradicted(claim: str, reason: str) -> None:
    check = checked(claim)
    assert (check.verdict, check.reason) == ("contradicted", reason)


@pytest.mark.parametrize(
    "claim",
    [
        "Mayor Tait lit the Harbour Light in 1871.",
        "The Harbour Light was first lit on 3 May 1871.",
        "The Harbour Light was first lit on 3 May 1871 by Admiral Byng.",
        "The rope is 14 cm thick.",
        "Revenue rose by 12% in 2019.",
        "Some older employees receive a bonus.",
        "Herring prices rose sharply across the northern markets.",
        "Light.",
    ],
)
def test_about_anything_else_the_wording_decides_nothing_be_it_true_or_false(claim: str) -> None:
    check = checked(claim)
    assert (check.verdict, check.reason) == ("unsupported", "")
    assert check.support < 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("~~The boiler was replaced last year.~~", "the passage has it struck out"),
        ("%% Old plans. The boiler was replaced last year. Or so. %%", "the passage has it commented out"),
        ("Was it so? The boiler was replaced last year?", "the passage asks this"),
        ("Quiz: The boiler was replaced last year.", "the passage does not state this"),
        ("The boiler was replaced last year. No, that is wrong.", "the passage takes it back right after"),
        ("Maria said that the boiler was replaced last year.", ""),
        ("If the boiler was replaced last year, it is warm.", ""),
        ("The boiler was replaced last year if Tom is right.", ""),
        ("Tom wrote: “The boiler was replaced last year.”", ""),
        ("It is not true that the boiler was replaced last year.", ""),
    ],
)
def test_words_that_a_passage_shows_and_does_not_state_support_nothing(text: str, reason: str) -> None:
    check = checked("The boiler was replaced last year.", text)
    assert (check.verdict, check.reason) == ("unsupported", reason)


def test_a_statement_that_another_sentence_denies_and_one_states_is_supported() -> None:
    text = "The fee was not 5 euros in May. The fee was 5 euros in May."
    assert checked("The fee was 5 euros in May.", text).verdict == "supported"


TABLE = "| Boat | Built |\n|---|---|\n| Ada | 1902 |\n| Bell | 1911 |"


@pytest.mark.parametrize(
    ("claim", "verdict", "reason"),
    [
        ("Boat: Ada; Built: 1902", "supported", ""),
        ("Boat: Ada; Built: 1911", "contradicted", "the table has '1902' under 'Built'"),
        ("Boat: Cara; Built: 1911", "unsupported", ""),
    ],
)
def test_a_row_read_out_is_compared_cell_by_cell(claim: str, verdict: str, reason: str) -> None:
    check = checked(claim, TABLE)
    assert (check.verdict, check.reason) == (verdict, reason)


def test_the_place_is_that_of_the_sentence_that_decides() -> None:
    check = checked("It never failed in 60 years.")
    assert LIGHT[check.start : check.end] == "It never failed in 50 years."


@pytest.mark.parametrize(
    ("said", "known", "why"),
    [
        ("The bill came to 40 euros.", "The bill came to 30 euros.", "the source has 30 euros, not 40"),
        ('Maria called it "a triumph for everyone".', "Maria called it a loss.", "not word for word in the source"),
        ("The bill came to 30 euros.", "The bill came to 30 euros.", ""),
        ("Both bills come to 70 euros.", "One is 30 euros, one is 40 pounds. 70 in all.", ""),
        ("Maria called it “a … triumph”.", "Maria called it a great triumph.", ""),
        ("Call `f(40)`.", "Call `f(30)`.", ""),
    ],
)
def test_a_labelled_number_or_a_quotation_that_stands_nowhere_is_objected_to(said: str, known: str, why: str) -> None:
    found = objection(said, known)
    assert found.startswith(why) if why else not found


@pytest.mark.parametrize(
    "unit", ["a", "[", "(", '"', "😀", "漢", "ا", "Aa ", "not ", "1,", "A. ", "U.S. ", "and ", "-", "|a", "~~"]
)
def test_a_hundred_thousand_hostile_characters_take_less_than_a_second(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    # Four checks of up to a second each; processor time too is longer where others share the processor.
    assert any(_seconds_of_four(text) < 4 for _ in range(3))


def _seconds_of_four(text: str) -> float:
    began = time.process_time()
    check_text(text, LIGHT)
    check_text(LIGHT, text)
    check_text(text, text + "x")
    objection(text, text[::-1])
    return time.process_time() - began
