"""Reading ahead changes when things are fetched, never what arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from citewell.ingest.sync import prefetched


def test_everything_arrives_in_order() -> None:
    assert list(prefetched(iter(range(1_000)), 7)) == list(range(1_000))


def test_an_error_is_raised_after_what_came_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    found: list[int] = []
    with pytest.raises(ValueError, match="broken"):
        found.extend(prefetched(items(), 3))
    assert found == [1]


def test_items_are_fetched_while_the_caller_is_busy() -> None:
    fetched = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        yield 2
        fetched.set()

    ahead = prefetched(items(), 3)
    assert next(ahead) == 1
    assert fetched.wait(timeout=30)
    assert list(ahead) == [2]


def test_a_caller_who_stops_early_closes_the_iterator() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    ahead = prefetched(items(), 2)
    next(ahead)
    ahead.close()  # type: ignore[attr-defined]
    assert closed.is_set()
