"""One small corpus for runs with a scripted model."""

from __future__ import annotations

import pytest

from citewell import Citewell
from runner.scripted_runs import (
    AddPath,
    Bench,
    Write,
)
from runner.test_runs import NOTES


@pytest.fixture
def bench(vault: Write, add_path: AddPath, engine: Citewell) -> Bench:
    add_path(vault(NOTES))
    return Bench(engine.settings.data_dir)
