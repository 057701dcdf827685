"""The rows of attacks that tests are marked with."""

from __future__ import annotations

from attack_table import attack_tests

# What the API owes; rows of MCP and of the page come with them.
OF_THE_API = "W1 W2 W3 W4 W5 W6 W7 W8 W9 A1 A2 A3 A4 A5 A6 C1 C2 C3 C4 C5 C6 C8 L1 L2 L3 P4".split()


def test_every_row_of_the_api_has_a_test() -> None:
    assert [row for row in OF_THE_API if not attack_tests().get(row)] == []
