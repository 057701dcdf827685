"""The store under test: each test of this folder runs on every implementation of the corpus port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.store.port import CorpusStore
from conformance.stores import STORES, OpenStore


@pytest.fixture(params=list(STORES))
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens one and the same corpus as often as it is called."""
    opened: list[CorpusStore] = []

    def open_again() -> CorpusStore:
        opened.append(STORES[request.param](tmp_path))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> CorpusStore:
    """An empty corpus."""
    return open_store()
