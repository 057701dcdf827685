"""What is spent on models in a day, whichever database keeps it and however many processes share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewell.runs.day_spending import DaySpending
from citewell.runs.store import RunStore, open_runs
from citewell.wiring import SystemClock

MONDAY, TUESDAY = "2026-01-05", "2026-01-06"


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], DaySpending]]:
    """Opens the spending of one place as often as asked, each time as another process would."""
    place = tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()
    stores: list[RunStore] = []

    def opening() -> DaySpending:
        stores.append(open_runs(place, SystemClock()))
        return DaySpending(stores[-1].sessions)

    yield opening
    for store in stores:
        store.close()


@pytest.mark.attack("D9")
def test_twenty_at_once_never_reserve_more_than_the_day_has(opened: Callable[[], DaySpending]) -> None:
    sharing = [opened() for _ in range(4)]

    def reserve(number: int) -> bool:
        return sharing[number % 4].reserve(MONDAY, f"call-{number}", 30, 100) is None

    with ThreadPoolExecutor(20) as pool:
        taken = list(pool.map(reserve, range(20)))
    assert sum(taken) == 3
    assert opened().spent(MONDAY) == 90


def test_what_a_call_did_cost_takes_the_place_of_what_was_reserved(opened: Callable[[], DaySpending]) -> None:
    spending = opened()
    assert spending.reserve(MONDAY, "one", 90, 100) is None
    assert spending.reserve(MONDAY, "two", 20, 100) == 90
    spending.settle(MONDAY, "one", 10)
    spending.settle(MONDAY, "one", 10)
    assert spending.reserve(MONDAY, "two", 20, 100) is None
    # Done again, because nobody heard that it was done: it counts once.
    assert spending.reserve(MONDAY, "two", 20, 100) is None
    assert spending.spent(MONDAY) == 30


def test_what_nobody_settled_counts_for_its_day_and_no_other(opened: Callable[[], DaySpending]) -> None:
    assert opened().reserve(MONDAY, "killed", 100, 100) is None
    spending = opened()
    assert spending.reserve(MONDAY, "next", 1, 100) == 100
    assert spending.reserve(TUESDAY, "next", 100, 100) is None
    spending.settle(MONDAY, "killed", 5)
    assert (spending.spent(MONDAY), spending.spent(TUESDAY)) == (0, 100)
