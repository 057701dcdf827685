"""A running server encodes what `add --no-vectors`, or another program, left to it."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue

import pytest

from citewell import Citewell
from citewell.api.server import BackgroundEncoding


def _notes(folder: Path, embeddings: str) -> Citewell:
    vault = folder / "vault"
    vault.mkdir()
    for name in ("Kettle", "Ferry", "Winch"):
        (vault / f"{name}.md").write_text(f"The {name.lower()} is painted every spring.\n", "utf-8")
    made = Citewell(folder / "data", embeddings=embeddings)
    made.corpus.add(vault)
    return made


@pytest.mark.slow
def test_a_server_goes_on_with_the_vectors_that_are_left(tmp_path: Path) -> None:
    left: SimpleQueue[int] = SimpleQueue()
    with _notes(tmp_path, "on") as notes:
        assert notes.corpus.vectors_left() == 3
        work = BackgroundEncoding(notes, left.put)
        work.start()
        while left.get(timeout=120):
            pass
        work.stop()
        assert notes.corpus.vectors_left() == 0


def test_where_meaning_is_off_nothing_is_encoded(tmp_path: Path) -> None:
    with _notes(tmp_path, "off") as notes:
        work = BackgroundEncoding(notes)
        work.start()
        work.stop()
        assert notes.corpus.vectors_left() == 3
