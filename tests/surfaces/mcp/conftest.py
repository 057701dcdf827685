"""The notes of the sample corpus, indexed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Citewell
from citewell.evals.suite import sample_corpus
from surfaces.test_cli import Program


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program over the vault of the sample corpus."""
    program = Program(tmp_path_factory.mktemp("mcp"))
    with Citewell(program.data) as cw:
        cw.add(sample_corpus() / "vault")
    return program


@pytest.fixture
def data(sample: Program) -> Path:
    return sample.data
