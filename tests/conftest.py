"""What every test stands on: a real engine over a real temporary SQLite, and a clock that only moves when told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from citewell import AddReport, Citewell, Settings
from citewell.models import entailment
from citewell.runs.store import SqliteRuns
from citewell.store.corpus import SqliteCorpus
from support.llama_server import running_llama
from support.postgres import Postgres, running_postgres

settings.register_profile(
    "citewell", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("citewell")
# Tests and the programs they start search by words, unless they say otherwise: encoding takes longer than most of them.
os.environ["CITEWELL_EMBEDDINGS"] = "off"
# The same goes for the reader that comes along; where one is asked for by name, there is none.
os.environ["CITEWELL_READER"] = "off"
entailment.BUILTIN_READER = entailment.BUILTIN_READER.with_name("none")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-golden", action="store_true", help="Write the golden files instead of comparing them.")
    parser.addoption("--write-screenshots", action="store_true", help="Make the pictures of the README anew.")


# Whole servers, browsers, databases and runs: behind every one of these doors stands what the other tests look at.
_DOORS = (
    *("doors/", "ui/", "api/", "web/", "durability/", "notes/", "reports/", "evals/", "surfaces/mcp/"),
    *("test_attack_table.py", "recording/test_postgres", "synthesis/test_checking.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What opens a door is left out of `make quick`, as are single slow tests."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix().startswith(_DOORS):
            item.add_marker("slow")


class SteadyClock:
    """Time that advances by one millisecond each time it is asked."""

    def __init__(self) -> None:
        self._ticks = 0

    def now(self) -> str:
        self._ticks += 1
        return f"2026-01-01T00:00:{self._ticks // 1000 % 60:02d}.{self._ticks % 1000:03d}Z"

    def monotonic(self) -> float:
        self._ticks += 1
        return self._ticks / 1000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Citewell]:
    """An engine whose data lives in a folder of its own."""
    opened = Citewell(Settings(data_dir=tmp_path / "data"), SteadyClock())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The base URL of a real small model on this machine."""
    with running_llama() as url:
        yield url


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL of this test process; each test takes a database of its own."""
    with running_postgres() as server:
        yield server


Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]


@pytest.fixture
def vault(tmp_path: Path) -> Write:
    """Writes files into a folder `vault` and says where it is."""

    def write(files: dict[str, str | bytes]) -> Path:
        root = tmp_path / "vault"
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return root

    return write


def sqlite_corpus(engine: Citewell) -> SqliteCorpus:
    """The corpus of an engine as SQLite keeps it, for tests that look into the file."""
    assert isinstance(engine.store, SqliteCorpus)
    return engine.store


def sqlite_runs(engine: Citewell) -> SqliteRuns:
    """The runs of an engine as SQLite keeps them, for tests that look into the file."""
    assert isinstance(engine.run_store, SqliteRuns)
    return engine.run_store


def add(engine: Citewell, path: Path, **options: object) -> AddReport:
    """Add a path and return the report."""
    *_, report = engine.corpus.sync(path, **options)  # type: ignore[arg-type]
    assert isinstance(report, AddReport)
    return report


@pytest.fixture
def add_path(engine: Citewell) -> AddPath:
    """Adds a path to the engine of this test and returns the report."""
    return lambda path, **options: add(engine, path, **options)


@pytest.fixture
def corpus(request: pytest.FixtureRequest, vault: Write, engine: Citewell) -> Citewell:
    """The engine over the NOTES of the module that asks."""
    add(engine, vault(request.module.NOTES))
    return engine
