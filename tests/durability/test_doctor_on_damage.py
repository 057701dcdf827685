"""`doctor` over damaged files: it says which one is damaged and what to do, and looks at everything else as well."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import Check, Citewell, Settings
from citewell.store.sqlite import connect
from durability.programs import add, opened, run, write_notes
from toy_embedder import WordEmbedder

PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small corpus and a recorded run."""
    home = tmp_path_factory.mktemp("sound")
    write_notes(home / "vault", 40)
    with opened(home / "data") as engine:
        add(engine, home / "vault")
    assert run(home / "data", "research", "What does note 7 say?").returncode in (0, 4)
    return home / "data"


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "data"))


def overwrite_pages(path: Path, first: int) -> None:
    """The contents of every third page from one on are gone."""
    with path.open("r+b") as file:
        for start in range(first * PAGE, path.stat().st_size, 3 * PAGE):
            file.seek(start)
            file.write(b"\xff" * 600)


def checks(data: Path, **values: str) -> dict[str, Check]:
    engine = Citewell(Settings(data_dir=data, **values))  # type: ignore[arg-type]
    try:
        return {check.name: check for check in engine.doctor().checks}
    finally:
        engine.close()


def _write_other(path: Path) -> None:
    path.write_bytes(b"nothing of a database" * 999)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "pages": lambda path: overwrite_pages(path, 2),
    "late pages": lambda path: overwrite_pages(path, 6),
    "cut short": lambda path: os.truncate(path, path.stat().st_size // PAGE // 2 * PAGE),
    "empty": lambda path: os.truncate(path, 0),
    "no database": _write_other,
}


def test_sound_files_are_well(data: Path) -> None:
    found = checks(data)
    assert (found["corpus"].state, found["runs"].state, found["runs"].detail) == ("ok", "ok", "1 recorded")


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_corpus_is_told_with_the_fix_and_the_rest_is_looked_at(data: Path, damage: str) -> None:
    DAMAGE[damage](data / "corpus.db")
    found = checks(data)
    assert found["corpus"].state == "error"
    assert "corpus.db" in found["corpus"].fix
    assert found["runs"].state == "ok"
    assert found["network"].state == "ok"


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_of_runs_is_told_with_the_fix(data: Path, damage: str) -> None:
    DAMAGE[damage](data / "runs.db")
    found = checks(data)
    assert found["runs"].state == "error"
    assert "runs.db" in found["runs"].fix
    assert found["corpus"].state == "ok"


def test_a_record_that_was_changed_is_damage_too(data: Path) -> None:
    connection = connect(data / "runs.db")
    connection.execute("UPDATE runs SET question = 'Something else?'")
    connection.close()
    assert "cannot be trusted" in checks(data)["runs"].detail


def test_the_program_ends_well_over_a_damaged_corpus(data: Path) -> None:
    overwrite_pages(data / "corpus.db", 2)
    done = run(data, "doctor")
    assert "corpus" in done.stdout
    assert "backup" in done.stdout
    assert "Traceback" not in done.stderr


def test_vectors_of_another_model_are_noticed(data: Path) -> None:
    with opened(data) as engine:
        chunks = engine.store.chunk_count()
    other = Citewell(Settings(data_dir=data, embeddings="on"), open_embedder=lambda: WordEmbedder("words-63"))
    for _ in other.corpus.encode():
        pass
    other.close()
    lane = checks(data, embeddings="on")["semantic lane"]
    if lane.state == "missing":
        pytest.skip("no model is installed here")
    assert lane.state == "warning"
    assert f"{chunks} chunks were made by words-63" in lane.detail
    assert "citewell embed" in lane.fix
