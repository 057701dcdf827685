"""The rows of attacks that tests are marked with."""

from __future__ import annotations

from attack_table import attack_tests

# What the API owes; rows of MCP and of the page come with them.
OF_THE_API = "W1 W2 W3 W4 W5 W6 W7 W8 W9 A1 A2 A3 A4 A5 A6 C1 C2 C3 C4 C5 C6 C8 L1 L2 L3 P4".split()


# What fetching, content bombs and injections owe.
OF_THE_WEB = [
    *(f"S{n}" for n in range(1, 17)),
    *(f"B{n}" for n in range(1, 10)),
    *("P1", "P2", "P6", "P7", "P8", "P9"),
]


def test_every_row_of_the_web_has_a_test() -> None:
    assert [row for row in OF_THE_WEB if not attack_tests().get(row)] == []


def test_every_row_of_the_api_has_a_test() -> None:
    assert [row for row in OF_THE_API if not attack_tests().get(row)] == []


# What writing into notes owes.
OF_THE_NOTES = [*(f"V{number}" for number in range(1, 15)), "P4", "P5", "P10"]


def test_every_row_of_the_notes_has_a_test() -> None:
    assert [row for row in OF_THE_NOTES if not attack_tests().get(row)] == []
