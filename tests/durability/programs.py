"""What the durability tests share: the program in a real process, vaults to feed it, and what a sound corpus is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citewell import AddReport, Citewell, Settings
from citewell.store.sqlite import connect, fetch_rows, fetch_value
from conftest import sqlite_corpus

TIMEOUT_S = 60


def command(data: Path, *arguments: str) -> list[str]:
    """The command line of the program over a data folder."""
    return [sys.executable, "-m", "citewell", "--data-dir", str(data), *arguments]


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program run to its end."""
    return subprocess.run(command(data, *arguments), capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def start(data: Path, *arguments: str) -> subprocess.Popen[str]:
    """The program running; what it says comes through pipes."""
    return subprocess.Popen(command(data, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_script(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A few lines of Python running in a process of their own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@contextmanager
def opened(data: Path) -> Iterator[Citewell]:
    """An engine over a data folder, closed at the end."""
    engine = Citewell(Settings(data_dir=data))
    try:
        yield engine
    finally:
        engine.close()


def add(engine: Citewell, path: Path) -> AddReport:
    """Add a path to the end; its report."""
    *_, report = engine.corpus.sync(path)
    assert isinstance(report, AddReport)
    return report


def note_text(number: int, edition: int = 0) -> str:
    """A note that differs from every other, and from its own other editions."""
    link = f"[[note-{number * 7 % 300:03}]]"
    return (
        f"# Note {number}\n\nUnder word{number}x{edition} and edition{edition}, see {link} on tide gauges and kelp.\n"
    )


def note_path(number: int) -> str:
    return f"folder-{number % 7}/note-{number:03}.md"


def write_notes(root: Path, count: int) -> dict[str, str]:
    """A vault of small notes; their texts by path."""
    notes = {note_path(number): note_text(number) for number in range(count)}
    for path, text in notes.items():
        write(root / path, text)
    return notes


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def keys(engine: Citewell) -> dict[str, str]:
    """The key of every file that has a document, by path."""
    return {file.path: file.source_key for file in engine.corpus.status().files if file.source_key}


def texts(engine: Citewell) -> dict[str, str]:
    """The whole stored text of every file that has a document, by path."""
    found = keys(engine)
    views = engine.corpus.get(*list(found.values()), content_mode="full").documents
    return {path: view.text for path, view in zip(found, views, strict=True)}


def assert_sound(engine: Citewell) -> None:
    """The file is whole, the index is whole, and both hold the same documents."""
    connection = connect(sqlite_corpus(engine).database.path)
    connection.execute("INSERT INTO chunk_terms(chunk_terms, rank) VALUES ('integrity-check', 0)")
    problems = fetch_rows(connection, "PRAGMA integrity_check")
    assert problems == [("ok",)], problems
    assert fetch_rows(connection, "PRAGMA foreign_key_check") == []
    chunks = set(fetch_rows(connection, "SELECT id FROM chunks"))
    assert set(fetch_rows(connection, "SELECT rowid FROM chunk_terms")) == chunks
    documents = set(fetch_rows(connection, "SELECT id FROM documents"))
    assert set(fetch_rows(connection, "SELECT DISTINCT document_id FROM chunks")) == documents
    used = set(fetch_rows(connection, "SELECT DISTINCT text_id FROM versions"))
    assert set(fetch_rows(connection, "SELECT id FROM texts")) == used
    assert fetch_value(connection, "SELECT count(DISTINCT file_id) FROM documents") == len(documents)
    connection.close()


def size(path: Path) -> int:
    """The size of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
