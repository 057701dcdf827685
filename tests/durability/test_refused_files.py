"""A file that is damaged, foreign or too new is refused with what to do, and not a byte of it changes."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from citewell import Citewell, Unavailable
from citewell.errors import StoreUnusable
from citewell.store.sqlite import connect, fetch_value
from durability.programs import add, opened, run, start_script, texts, write_notes

PAGE = 4096


def overwrite(path: Path, start: int, end: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(random.Random(5).randbytes(end - start))


def set_pragma(path: Path, name: str, value: int) -> None:
    connection = connect(path)
    connection.execute(f"PRAGMA {name} = {value}")
    connection.close()


DAMAGE: dict[str, Callable[[Path], None]] = {
    "zero-length": lambda path: os.truncate(path, 0),
    "cut-short": lambda path: os.truncate(path, 10 * PAGE),
    "random-magic": lambda path: overwrite(path, 0, 16),
    "random-header": lambda path: overwrite(path, 16, 100),
    "random-first-page": lambda path: overwrite(path, 100, PAGE),
    "random-middle": lambda path: overwrite(path, 2 * PAGE, path.stat().st_size),
    "foreign": lambda path: set_pragma(path, "application_id", 0x1234),
    "newer": lambda path: set_pragma(path, "user_version", 99),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small vault and the corpus made from it."""
    home = tmp_path_factory.mktemp("sound")
    write_notes(home / "vault", 40)
    with opened(home / "data") as engine:
        add(engine, home / "vault")
    return home


def state(folder: Path) -> dict[str, str]:
    """What is in a folder, to the byte."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


@pytest.mark.attack("D5")
@pytest.mark.parametrize("kind", DAMAGE)
def test_the_engine_refuses_a_file_it_must_not_touch(sound: Path, tmp_path: Path, kind: str) -> None:
    """D5, for reading and for writing."""
    path = tmp_path / "corpus.db"
    path.write_bytes((sound / "data" / "corpus.db").read_bytes())
    DAMAGE[kind](path)
    before = state(tmp_path)
    acts: tuple[Callable[[Citewell], object], ...] = (
        lambda engine: engine.search("kelp"),
        lambda engine: engine.corpus.status(),
        lambda engine: add(engine, sound / "vault"),
        lambda engine: engine.corpus.remove(str(sound / "vault")),
    )
    for act in acts:
        with opened(tmp_path) as engine, pytest.raises(StoreUnusable) as refusal:
            act(engine)
        assert refusal.value.fix
    assert state(tmp_path) == before


TABLES: tuple[str, ...] = ("collections", "files", "documents", "texts", "text_blocks", "versions", "chunks")
TABLES += ("chunk_terms_data", "index_segments", "index_terms", "index_postings", "index_chunks")
READS: tuple[Callable[[Citewell], object], ...] = (
    lambda engine: engine.search("kelp"),
    lambda engine: engine.search('"kelp forest"'),
    lambda engine: engine.corpus.status(),
    lambda engine: engine.corpus.stats(),
    lambda engine: engine.corpus.collections(),
    lambda engine: engine.corpus.get("note:vault/folder-0/note-000", query="kelp"),
    lambda engine: engine.corpus.related("note:vault/folder-0/note-000"),
    lambda engine: engine.pack("why is there kelp?"),
)


@pytest.mark.attack("D5")
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_page_is_a_refusal_for_whoever_comes_across_it(sound: Path, tmp_path: Path, table: str) -> None:
    """D5: what does not touch the page works, what does says what to do, and nothing is changed."""
    path = tmp_path / "corpus.db"
    path.write_bytes((sound / "data" / "corpus.db").read_bytes())
    connection = connect(path)
    page = int(fetch_value(connection, "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)))
    connection.close()
    overwrite(path, (page - 1) * PAGE, page * PAGE)
    before = state(tmp_path)
    refusals: list[StoreUnusable] = []
    with opened(tmp_path) as engine:
        for act in READS:
            try:
                act(engine)
            except StoreUnusable as refusal:
                refusals.append(refusal)
    assert refusals
    assert all(refusal.fix for refusal in refusals)
    assert state(tmp_path) == before


@pytest.mark.attack("D5")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zero-length", "random-middle", "newer"])
def test_the_program_says_what_to_do_and_exits_with_4(sound: Path, tmp_path: Path, kind: str) -> None:
    """The person at the terminal sees a sentence and the next step, no traceback."""
    path = tmp_path / "corpus.db"
    path.write_bytes((sound / "data" / "corpus.db").read_bytes())
    DAMAGE[kind](path)
    before = state(tmp_path)
    ended = run(tmp_path, "add", str(sound / "vault"))
    assert (ended.returncode, ended.stdout) == (4, "")
    said, fix = ended.stderr.splitlines()
    assert said.startswith("citewell: corpus.db ")
    assert fix.startswith("  → ")
    assert state(tmp_path) == before


CRASH = """
import os, signal, sys
from pathlib import Path
from citewell.store.sqlite import connect
connection = connect(Path(sys.argv[1]))
connection.execute(sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


def crash_after(path: Path, sql: str) -> None:
    """A process writes to the file and dies, so that the write is in the log only."""
    with start_script(CRASH, str(path), sql) as child:
        child.wait()
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


@pytest.mark.attack("D5")
def test_a_newer_file_keeps_the_log_that_a_crash_left_it(sound: Path, tmp_path: Path) -> None:
    """The log of a newer program is for the newer program to fold in."""
    path = tmp_path / "corpus.db"
    path.write_bytes((sound / "data" / "corpus.db").read_bytes())
    crash_after(path, "PRAGMA user_version = 99")
    before = state(tmp_path)
    with opened(tmp_path) as engine, pytest.raises(StoreUnusable, match="newer"):
        engine.corpus.status()
    after = state(tmp_path)
    assert {name: after[name] for name in ("corpus.db", "corpus.db-wal")} == {
        name: before[name] for name in ("corpus.db", "corpus.db-wal")
    }


def test_the_log_of_a_corpus_that_was_moved_away_is_not_replayed_into_a_new_one(sound: Path, tmp_path: Path) -> None:
    """SQLite would, and so damage the new file: moving only `corpus.db` away is what people do."""
    path = tmp_path / "corpus.db"
    path.write_bytes((sound / "data" / "corpus.db").read_bytes())
    crash_after(path, "DELETE FROM links")
    path.rename(tmp_path / "away.db")
    before = state(tmp_path)
    with opened(tmp_path) as engine, pytest.raises(StoreUnusable, match="its log corpus") as refusal:
        add(engine, sound / "vault")
    assert "move corpus.db-wal away too" in refusal.value.fix
    assert state(tmp_path) == before
    (tmp_path / "corpus.db-wal").unlink()
    with opened(tmp_path) as engine:
        assert add(engine, sound / "vault").documents == 40
        assert engine.store.check_integrity() == []


def test_a_file_of_another_program_with_a_hot_journal_is_not_rolled_back(tmp_path: Path) -> None:
    """Even looking with SQLite would change it."""
    path = tmp_path / "corpus.db"
    code = CRASH.replace("connect(Path(sys.argv[1]))", "__import__('apsw').Connection(sys.argv[1])")
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (word TEXT); INSERT INTO theirs VALUES ('before')")
    half_done = (
        "PRAGMA cache_size = 1; BEGIN; INSERT INTO theirs SELECT hex(zeroblob(9000)) FROM (VALUES (1), (2), (3))"
    )
    with start_script(code, str(path), half_done) as child:
        child.wait()
    before = state(tmp_path)
    assert "corpus.db-journal" in before
    with opened(tmp_path) as engine, pytest.raises(StoreUnusable, match="another program"):
        engine.corpus.status()
    assert state(tmp_path) == before


@pytest.mark.parametrize("place", ["file/data", "folder"])
def test_a_data_folder_that_cannot_be_one_is_refused_with_what_to_do(tmp_path: Path, place: str) -> None:
    """A file where the folder should be, or a folder where the database should be."""
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder" / "corpus.db").mkdir(parents=True)
    with opened(tmp_path / place) as engine, pytest.raises(Unavailable) as refusal:
        engine.corpus.status()
    assert "--data-dir" in refusal.value.fix


def test_a_corpus_is_still_sound_for_a_connection_that_searched_before_others_wrote(tmp_path: Path) -> None:
    """SQLite's own check, on such a connection, takes merged segments of the index for damage."""
    notes = write_notes(tmp_path / "vault", 150)
    with opened(tmp_path / "data") as reader, opened(tmp_path / "data") as writer:
        add(writer, tmp_path / "vault")
        assert len(reader.search("kelp", limit=200).results) == 150
        for edition in range(1, 4):
            for path, text in notes.items():
                (tmp_path / "vault" / path).write_text(f"{text}\nEdition{edition} of it, now longer{'!' * edition}\n")
            add(writer, tmp_path / "vault")
            assert reader.store.check_integrity() == []
            assert len(reader.search(f"edition{edition}", limit=200).results) == 150
        assert len(texts(reader)) == 150
