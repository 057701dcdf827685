"""What a claim reckons from quoted numbers: proven where right, contradicted where wrong, else left alone."""

from __future__ import annotations

import pytest

from citewell.check.claim import check_text
from citewell.check.tokens import NO_COUNTS

RENT = "Rent is 700 euros, heating 90 euros."
BOATS = "The Ada is 24 m long. The Bell is 18 m long."
TICKETS = "We sold 30 adult and 12 child tickets."
FEE = "The fee rose from 12 to 15 euros in March."
EGGS = "12 of the 30 eggs hatched."
PELL = "Josiah Pell was born on 3 May 1812. He died on 1 March 1880."
LAMP = "Pell kept the lamp from 1859 until 1871."
FAIR = "The fair runs from 3 May to 17 May."
TIMES = "Prep time: 30 min\nCook time: 3 hours"
SOCKS = "The good pair costs 12 euros. The cheap pair costs 4 euros."

RIGHT = [
    ("Rent and heating come to 790 euros together.", RENT, "700 euros + 90 euros = 790 euros"),
    ("In total, rent and heating are 790 euros.", RENT, "700 euros + 90 euros = 790 euros"),
    ("We sold 42 tickets in total.", TICKETS, "30 + 12 = 42"),
    ("The Ada is 6 m longer than the Bell.", BOATS, "24 m − 18 m = 6 m"),
    ("The Bell is 6 m shorter than the Ada.", BOATS, "18 m − 24 m = 6 m"),
    ("The Ada is 600 cm longer than the Bell.", BOATS, "24 m − 18 m = 600 cm"),
    ("The fee rose by 3 euros in March.", FEE, "15 euros − 12 = 3 euros"),
    ("The fee rose by 25% in March.", FEE, "(15 euros − 12) / 12 = 25%"),
    ("40% of the eggs hatched.", EGGS, "12 / 30 = 40%"),
    ("Josiah Pell died aged 67.", PELL, "1880-03-01 − 1812-05-03 = 67 years"),
    ("Pell kept the lamp for twelve years.", LAMP, "1871 − 1859 = twelve years"),
    ("The fair runs for two weeks.", FAIR, "17 May − 3 May = two weeks"),
    ("Prep time and cook time come to 3.5 hours together.", TIMES, "30 min + 3 hours = 3.5 hours"),
    ("The good pair costs three times as much as the cheap pair.", SOCKS, "12 euros / 4 euros = 3"),
]
WRONG = [
    ("Rent and heating come to 820 euros together.", RENT, "700 euros + 90 euros is not 820 euros"),
    ("We sold 52 tickets in total.", TICKETS, "30 + 12 is not 52"),
    ("We sold 30 tickets in total.", TICKETS, "30 + 12 is not 30"),
    ("The Ada is 8 m longer than the Bell.", BOATS, "24 m − 18 m is not 8 m"),
    ("The Bell is 6 m longer than the Ada.", BOATS, "18 m − 24 m is not 6 m"),
    ("The fee rose by 4 euros in March.", FEE, "15 euros − 12 is not 4 euros"),
    ("The fee fell by 3 euros in March.", FEE, "15 euros − 12 is not 3 euros"),
    ("60% of the eggs hatched.", EGGS, "12 / 30 is not 60%"),
    ("Josiah Pell died aged 68.", PELL, "1880-03-01 − 1812-05-03 is not 68 years"),
    ("Pell kept the lamp for twenty years.", LAMP, "1871 − 1859 is not twenty years"),
    ("The good pair costs four times as much as the cheap pair.", SOCKS, "12 euros / 4 euros is 3, not 4"),
]
# Nothing follows: other units, other things, words the quote does not have, a rounded value not said to be one.
UNCLEAR = [
    ("Rent and heating come to 790 dollars together.", RENT),
    ("Rent and food come to 790 euros together.", RENT),
    ("The tickets cost 42 euros in total.", TICKETS),
    ("The firm hired 5 engineers and cooks in total.", "The firm hired 3 engineers and fired 2 cooks."),
    ("The Ada is 6 m wider than the Bell.", BOATS),
    ("The Ada is 6 kg longer than the Bell.", BOATS),
    ("The rope and the chain weigh 12 kg together.", "The rope is 5 m long, the chain weighs 7 kg."),
    ("Pell kept the lamp for thirteen years.", LAMP),
    ("Josiah Pell died aged 68.", "Josiah Pell was born in 1812. He died in 1880."),
    ("The house is 12 years old.", "The house was built in 1990. Anna was born in 1978."),
    ("Rent and heating do not come to 790 euros together.", RENT),
    ("Rent and heating came to 790 euros together.", "Rent may be 700 euros, heating 90 euros."),
    ("33% of the eggs hatched.", "11 of the 30 eggs hatched on day 21."),
    ("The good pair costs about four times as much as the cheap shirt.", SOCKS),
]


def checked(claim: str, text: str) -> tuple[str, str]:
    check = check_text(claim, text, NO_COUNTS)
    return check.verdict, check.reason


@pytest.mark.parametrize(("claim", "text", "reason"), RIGHT)
def test_what_follows_from_the_quoted_numbers_is_supported(claim: str, text: str, reason: str) -> None:
    assert checked(claim, text) == ("supported", reason)


@pytest.mark.parametrize(("claim", "text", "reason"), WRONG)
def test_what_the_quoted_numbers_come_to_otherwise_is_contradicted(claim: str, text: str, reason: str) -> None:
    assert checked(claim, text) == ("contradicted", reason)


@pytest.mark.parametrize(("claim", "text"), UNCLEAR)
def test_where_it_is_not_clear_what_is_reckoned_nothing_is_proven(claim: str, text: str) -> None:
    verdict, reason = checked(claim, text)
    assert verdict != "supported", reason


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("37% of the eggs hatched.", "supported"),
        ("36.7% of the eggs hatched.", "supported"),
        ("36% of the eggs hatched.", "contradicted"),
        ("About 35% of the eggs hatched.", "supported"),
        ("35% of the eggs hatched.", "contradicted"),
    ],
)
def test_a_result_may_be_rounded_to_its_figures_and_further_only_where_it_says_so(claim: str, verdict: str) -> None:
    assert checked(claim, "11 of the 30 eggs hatched.")[0] == verdict
