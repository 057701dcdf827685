"""Values: two spellings of one number, unit or date compare equal."""

from __future__ import annotations

import pytest

from citewell.answer.values import dates_in, denials_in, quantities_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,850 slates", [("1850", "slates")]),
        ("2850 slates", [("2850", "slates")]),
        ("fifty minutes", [("50", "minute")]),
        ("thirty-one years", [("31", "year")]),
        ("two hundred and fifty sheep", [("250", "sheep")]),
        ("2.4 million people", [("2400000", "people")]),
        ("72 per cent", [("72", "%")]),
        ("72%", [("72", "%")]),
        ("£21,350", [("21350", "£")]),
        ("38 °C", [("38", "°c")]),
        ("600 kilowatt hours", [("600", "kwh")]),
        ("600 kWh", [("600", "kwh")]),
        ("3.0 m", [("3", "m")]),
        ("on 14 November 1859", []),
    ],
)
def test_a_quantity_is_the_same_however_it_is_written(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(quantity.value, quantity.unit) for quantity in quantities_in(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 14 November 1859", ["1859-11-14"]),
        ("on November 14, 1859", ["1859-11-14"]),
        ("1859-11-14", ["1859-11-14"]),
        ("in early November", ["11"]),
        ("in 1859 and 1861", ["1859", "1861"]),
        ("Jan 2024", ["2024-01"]),
        ("3 May", ["05-03"]),
        ("1850.5 litres, version 1.2019", []),
    ],
)
def test_a_date_is_the_same_however_it_is_written(text: str, expected: list[str]) -> None:
    assert [date.stated for date in dates_in(text)] == expected


def test_a_fuller_date_states_a_shorter_one_and_not_the_other_way_round() -> None:
    full, short = dates_in("14 November 1859")[0], dates_in("in 1859")[0]
    assert short.is_stated_by(full)
    assert not full.is_stated_by(short)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It is 1.8 m, not 3 m.", ["not 3 m"]),
        ("The pump cannot start alone, but Ann can.", ["cannot start alone"]),
        ("It doesn't leak.", ["doesn't leak"]),
        ("It no longer leaks.", ["no longer leaks"]),
        ("It leaks.", []),
    ],
)
def test_a_denial_reaches_to_the_next_pause(text: str, denied: list[str]) -> None:
    assert [text[denial.start : denial.end] for denial in denials_in(text)] == denied
