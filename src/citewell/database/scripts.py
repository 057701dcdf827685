"""Numbered scripts: how every database of ours comes to its schema, in the order of their names, forwards only."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def load_scripts(package: str) -> tuple[str, ...]:
    """The numbered `.sql` scripts of a package folder, in their order."""
    # Not importlib.resources: it takes longer to import than a search takes.
    folder = Path(str(import_module(package).__file__)).parent
    return tuple(file.read_text("utf-8") for file in sorted(folder.glob("*.sql")))
