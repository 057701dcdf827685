"""The bundled sample corpus: one person's saved world, for the demo, the docs and the evals."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def sample_corpus() -> Path:
    """The folder of the sample corpus inside the installed package."""
    return Path(str(resources.files("citewell.evals"))) / "sample_corpus"
