"""A damaged store: every door says in a sentence what is wrong and what to do, and none hangs or shows a traceback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import Citewell
from citewell.errors import StoreUnusable
from citewell.store.sqlite import connect
from durability.programs import run, write_notes
from support.mcp_client import pipe

QUESTION = "What is under word1x0?"
PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a small corpus and a recorded run."""
    home = tmp_path_factory.mktemp("sound")
    write_notes(home / "vault", 40)
    assert run(home / "data", "add", str(home / "vault")).returncode == 0
    assert run(home / "data", "research", QUESTION).returncode == 0
    return home / "data"


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "data"))


def _overwrite_pages(path: Path) -> None:
    """The contents of every third page are gone."""
    with path.open("r+b") as file:
        for start in range(2 * PAGE, path.stat().st_size, 3 * PAGE):
            file.seek(start)
            file.write(b"\xff" * 600)


def _drop_a_table(path: Path) -> None:
    connection = connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(f"DROP TABLE {'documents' if path.name == 'corpus.db' else 'runs'}")
    connection.close()


def _write_other(path: Path) -> None:
    path.write_bytes(b"nothing of a database" * 999)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "pages": _overwrite_pages,
    "empty": lambda path: os.truncate(path, 0),
    "no database": _write_other,
    "a table gone": _drop_a_table,
}


@pytest.mark.attack("D5")
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("mcp", "--http", "--port", "0")])
def test_a_server_over_a_damaged_corpus_says_so_and_exits(data: Path, damage: str, command: tuple[str, ...]) -> None:
    """D5: one sentence, the fix, exit 4; no traceback, and no process that waits behind a closed port."""
    DAMAGE[damage](data / "corpus.db")
    done = run(data, *command)
    said, fix = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (4, "")
    assert said.startswith("citewell: corpus.db ")
    assert fix.startswith("  → Restore it from a backup")


@pytest.mark.attack("D5")
@pytest.mark.parametrize("damage", ["empty", "no database", "a table gone"])
def test_a_server_over_a_damaged_file_of_runs_says_so_and_exits(data: Path, damage: str) -> None:
    DAMAGE[damage](data / "runs.db")
    done = run(data, "serve", "--port", "0")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("citewell: runs.db ")
    assert "Traceback" not in done.stderr


@pytest.mark.attack("D5")
@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "pages"])
@pytest.mark.parametrize("file", ["corpus.db", "runs.db"])
def test_a_question_over_a_damaged_store_is_refused_with_the_damage(data: Path, file: str, damage: str) -> None:
    """D5: the program, an agent and Python are told of the file, and no run is begun that could not go on."""
    DAMAGE[damage](data / file)
    done = run(data, "research", QUESTION, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (4, "store_unusable")
    assert error["message"].startswith(f"{file} ")
    assert file in error["fix"]
    with pipe(data) as server:
        server.greet()
        server.call("research_run", {"question": QUESTION})
        told = json.loads(server.read()["result"]["content"][0]["text"])["error"]
    assert (told["code"], told["message"]) == ("store_unusable", error["message"])
    with Citewell(data) as cw, pytest.raises(StoreUnusable, match=file):
        cw.research(QUESTION)
    if file == "corpus.db":
        assert len(json.loads(run(data, "runs", "list", "--json").stdout)["runs"]) == 1


@pytest.mark.attack("D5")
def test_a_run_that_stops_over_a_damaged_store_says_so_instead_of_that_it_has_not_ended(data: Path) -> None:
    """A run that is gone on with over a damaged corpus ends with the damage, for the program and for Python."""
    with Citewell(data) as cw:
        (recorded,) = cw.runs.list().runs
        DAMAGE["no database"](data / "corpus.db")
        request = cw.runs.events(recorded.run_id)[0].event.request  # type: ignore[union-attr]
        run_id = cw.runs.start(request)
        for _ in range(2):
            with pytest.raises(StoreUnusable, match=r"corpus\.db"):
                cw.runs.wait(run_id)
        assert isinstance(cw.runs.failure(run_id), StoreUnusable)
        assert cw.runs.status(run_id) == "interrupted"


@pytest.mark.attack("D5")
@pytest.mark.parametrize("arguments", [["doctor"], ["doctor", "--json"]])
def test_doctor_ends_with_1_where_something_is_an_error_and_with_0_where_nothing_is(
    data: Path, arguments: list[str]
) -> None:
    assert run(data, *arguments).returncode == 0
    DAMAGE["empty"](data / "corpus.db")
    done = run(data, *arguments)
    assert done.returncode == 1
    assert "corpus.db is empty" in done.stdout
