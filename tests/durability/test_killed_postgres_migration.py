"""A migration of PostgreSQL killed at any moment leaves the old schema or the new one, and its lock to the next."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psycopg
import pytest

from citewell.store.postgres import PostgresSessions
from durability.programs import start_script
from support.postgres import Postgres

# The second script takes long enough to be killed inside; it tells how far it is by a table of its own.
ROWS = "SELECT i, md5(i::text) FROM generate_series(1, 400000) AS i"
FIRST = "CREATE TABLE old (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO old VALUES (1, 'kept');"
SECOND = (
    f"ALTER TABLE old ADD COLUMN more TEXT; CREATE TABLE big (id INTEGER PRIMARY KEY, word TEXT); "
    f"INSERT INTO big {ROWS}; CREATE INDEX by_word ON big (word);"
)
THIRD = f"CREATE TABLE last (id INTEGER PRIMARY KEY, word TEXT); INSERT INTO last {ROWS};"
OPEN = """
import sys
sys.path.insert(0, sys.argv[2])
from citewell.store.postgres import PostgresSessions
print("opening", flush=True)
PostgresSessions(sys.argv[1], sys.argv[3]).close()
"""
OLD, NEW = (1, {"old"}, 0), (3, {"old", "big", "last"}, 400_000)


def package(folder: Path, name: str, *scripts: str) -> str:
    """A package of numbered scripts, as the stores have theirs."""
    made = folder / name
    made.mkdir()
    (made / "__init__.py").write_text("")
    for number, script in enumerate(scripts, start=1):
        (made / f"{number:04}_test.sql").write_text(script)
    return name


def contents(url: str) -> tuple[int, set[str], int]:
    """The version the schema says it has, its tables, and how many rows the slow script gave it."""
    with psycopg.connect(url) as connection:
        (version,) = connection.execute("SELECT version FROM citewell.schema_version").fetchone() or (0,)
        (kept,) = connection.execute("SELECT word FROM citewell.old WHERE id = 1").fetchone() or ("",)
        named = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'citewell'").fetchall()
        tables = {str(name) for (name,) in named} - {"schema_version"}
        (rows,) = (
            (connection.execute("SELECT count(*) FROM citewell.big").fetchone() or (0,)) if "big" in tables else (0,)
        )
    assert kept == "kept"
    return int(version), tables, int(rows)


def is_under_way(url: str) -> bool:
    """Whether somebody holds the lock of the migration, or waits in the middle of it."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()"
        ).fetchone()
    return bool(found and found[0])


@pytest.fixture
def old_and_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two packages: the schema as it was, and as it becomes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return (
        package(tmp_path, f"old_scripts_{os.getpid()}_{tmp_path.name}", FIRST),
        package(tmp_path, f"new_scripts_{os.getpid()}_{tmp_path.name}", FIRST, SECOND, THIRD),
    )


@pytest.mark.attack("D6")
@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.6, 1.2, 2.5])
def test_a_migration_killed_so_long_after_it_began_leaves_the_old_schema_or_the_new(
    tmp_path: Path, postgres: Postgres, old_and_new: tuple[str, str], seconds: float
) -> None:
    """D6: the process is killed; its server ends the transaction, and the next one to open migrates once."""
    url, (old, new) = postgres.new_database(), old_and_new
    PostgresSessions(url, old).close()
    assert contents(url) == OLD
    with start_script(OPEN, url, str(tmp_path), new) as child:
        while child.poll() is None and not is_under_way(url):
            pass
        time.sleep(seconds)
        child.kill()
    assert child.returncode in (-signal.SIGKILL, 0)
    assert contents(url) in (OLD, NEW)
    PostgresSessions(url, new).close()
    assert contents(url) == NEW
    assert not is_under_way(url)


@pytest.mark.slow
def test_a_server_that_crashes_during_a_migration_has_the_old_schema_and_the_next_program_migrates(
    tmp_path: Path, postgres: Postgres, old_and_new: tuple[str, str]
) -> None:
    url, (old, new) = postgres.new_database(), old_and_new
    PostgresSessions(url, old).close()
    with start_script(OPEN, url, str(tmp_path), new) as child:
        while child.poll() is None and not is_under_way(url):
            pass
        postgres.stop("immediate")
        child.kill()
    postgres.start()
    assert contents(url) in (OLD, NEW)
    PostgresSessions(url, new).close()
    assert contents(url) == NEW
