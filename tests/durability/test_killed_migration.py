"""A migration or a creation killed at any moment leaves the old file or the new one, never half."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from citewell.store.sqlite import Database, Schema, connect, fetch_rows, fetch_value
from durability.programs import size, start_script

# The same scripts here and in the child: the last two take long enough to be killed inside.
SCRIPTS = """
ROWS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 150000) SELECT i, hex(i * i) FROM n"
SCRIPTS = (
    "CREATE TABLE old (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO old VALUES (1, 'kept');",
    f"CREATE TABLE big (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO big {ROWS}; CREATE INDEX by_word ON big(word);",
    f"ALTER TABLE old ADD COLUMN more TEXT; CREATE TABLE last (id INTEGER PRIMARY KEY, word); INSERT INTO last {ROWS}",
)
"""
OPEN = (
    SCRIPTS
    + """
import sys
from pathlib import Path
from citewell.store.sqlite import Database, Schema
print("opening", flush=True)
Database(Path(sys.argv[1]), Schema("test", 77, SCRIPTS)).close()
"""
)
OLD_TABLES = {"old"}
NEW_TABLES = {"old", "big", "last"}


def scripts() -> tuple[str, ...]:
    found: dict[str, tuple[str, ...]] = {}
    exec(SCRIPTS, found)
    return found["SCRIPTS"]


def make(path: Path, versions: int) -> None:
    Database(path, Schema("test", 77, scripts()[:versions])).close()


def contents(path: Path) -> tuple[int, set[str], int]:
    """The version a file says it has, the tables it has, and how many rows the slow script gave it."""
    connection = connect(path)
    assert fetch_rows(connection, "PRAGMA integrity_check") == [("ok",)]
    assert fetch_value(connection, "SELECT word FROM old WHERE id = 1") == "kept"
    tables = {str(name) for (name,) in fetch_rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    rows = fetch_value(connection, "SELECT count(*) FROM big") if "big" in tables else 0
    version = int(fetch_value(connection, "PRAGMA user_version"))
    connection.close()
    return version, tables, rows


@pytest.mark.attack("D6")
@pytest.mark.slow
@pytest.mark.parametrize("log_bytes", [0, 1, 1_000_000, 4_000_000, 8_800_000, 11_000_000])
def test_a_migration_killed_once_its_log_has_grown_so_far_leaves_the_old_schema_or_the_new(
    tmp_path: Path, log_bytes: int
) -> None:
    """D6; with no byte in the log the kill falls into the middle of the slow script."""
    path = tmp_path / "test.db"
    make(path, versions=1)
    with start_script(OPEN, str(path)) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while child.poll() is None and size(tmp_path / "test.db-wal") < log_bytes:
            pass
        child.kill()
    assert child.returncode in (-signal.SIGKILL, 0)
    old, new = (1, OLD_TABLES, 0), (3, NEW_TABLES, 150_000)
    assert contents(path) in (old, new)
    make(path, versions=3)
    assert contents(path) == new


@pytest.mark.slow
@pytest.mark.parametrize("aside_bytes", [1, 1_000_000])
def test_a_creation_killed_midway_leaves_no_database_and_nothing_after_the_next(
    tmp_path: Path, aside_bytes: int
) -> None:
    """Whoever opens it next makes it whole and removes what the dead process left."""
    path = tmp_path / "test.db"
    with start_script(OPEN, str(path)) as child:
        while child.poll() is None and sum(map(size, tmp_path.glob(".test.db.*"))) < aside_bytes:
            pass
        child.kill()
    assert child.returncode == -signal.SIGKILL
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left
    assert all(name.startswith(f".test.db.{child.pid}.") for name in left)
    make(path, versions=3)
    assert contents(path) == (3, NEW_TABLES, 150_000)
    assert [file.name for file in tmp_path.iterdir()] == ["test.db"]


def test_a_new_file_has_its_log_from_the_start(tmp_path: Path) -> None:
    """Changing to WAL later would need the file for oneself, and eight programs that start at once all want it."""
    make(tmp_path / "test.db", versions=1)
    assert (tmp_path / "test.db").read_bytes()[18:20] == b"\x02\x02"


def test_what_a_running_process_builds_aside_is_left_alone(tmp_path: Path) -> None:
    """Two programs started at once both create the file: neither takes the other's away."""
    with start_script("input()") as child:
        aside = tmp_path / f".test.db.{child.pid}.1.new"
        aside.write_bytes(b"being made")
        make(tmp_path / "test.db", versions=1)
        assert aside.read_bytes() == b"being made"
        child.communicate("\n")


@pytest.mark.attack("D2")
@pytest.mark.slow
def test_eight_processes_that_create_one_file_at_once_all_get_it_whole(tmp_path: Path) -> None:
    """D2, at the moment of creation."""
    children = [start_script(OPEN, str(tmp_path / "test.db")) for _ in range(8)]
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * 8
    assert contents(tmp_path / "test.db") == (3, NEW_TABLES, 150_000)
    assert [file.name for file in tmp_path.iterdir()] == ["test.db"]


@pytest.mark.slow
def test_eight_processes_that_migrate_one_file_at_once_migrate_it_once(tmp_path: Path) -> None:
    """The scripts would fail if they ran a second time."""
    make(tmp_path / "test.db", versions=1)
    children = [start_script(OPEN, str(tmp_path / "test.db")) for _ in range(8)]
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * 8
    assert contents(tmp_path / "test.db") == (3, NEW_TABLES, 150_000)
