"""What belongs in a backup: the databases, the traces, the transcripts and the settings of a data folder.

    corpus.db  runs.db  web.db  citewell.toml  research-runs/<run_id>/<file>  chat-transcripts/<name>…  manifest.json

A name that is none of these is neither written nor accepted, so that no archive reaches outside the data folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citewell.corpus.store.sqlite import APPLICATION_ID as CORPUS_ID
from citewell.database.sqlite import Schema, load_schema
from citewell.runs.document import ALL_FILES, MARKER, MAX_TRACE_BYTES, RUN_ID, TRACES
from citewell.settings import FILE_NAME, setting_fields
from citewell.store.runs import APPLICATION_ID as RUNS_ID

MANIFEST = "manifest.json"
TRANSCRIPTS = "chat-transcripts"
SETTINGS = FILE_NAME
_MOST_SETTINGS_BYTES = 1_000_000
_SEGMENT = re.compile(r"[^/\\\x00-\x1f:]{1,200}")
_PASSWORD = re.compile(r"://[^/\s@]+:[^/\s@]*@")


@dataclass(frozen=True, slots=True)
class StoredDatabase:
    """A database of the data folder: its file, its schema, and the table whose rows a person counts."""

    name: str
    package: str
    application_id: int
    table: str

    @property
    def file(self) -> str:
        return f"{self.name}.db"

    def schema(self) -> Schema:
        return load_schema(self.name, self.application_id, self.package)


CORPUS = StoredDatabase("corpus", "citewell.corpus.store.migrations", CORPUS_ID, "documents")
RUNS = StoredDatabase("runs", "citewell.store.runs_sqlite", RUNS_ID, "runs")
PAGES = StoredDatabase("web", "citewell.corpus.store.migrations", CORPUS_ID, "documents")
# Runs first: what a run cites is kept in the stores before the run is told so, and so it is in the later copies.
DATABASES = (RUNS, PAGES, CORPUS)


def is_member(name: str) -> bool:
    """Whether a backup may hold a file of this name."""
    folder, _, rest = name.partition("/")
    if not rest:
        return name in {SETTINGS, *(database.file for database in DATABASES)}
    if folder == TRACES:
        run_id, _, file = rest.partition("/")
        return RUN_ID.fullmatch(run_id) is not None and file in (*ALL_FILES, MARKER)
    return folder == TRANSCRIPTS and all(_is_plain(segment) for segment in rest.split("/"))


def most_bytes(name: str) -> int | None:
    """How large a file of this name may be; a database is as large as it is."""
    if name == SETTINGS:
        return _MOST_SETTINGS_BYTES
    return None if name in {database.file for database in DATABASES} else MAX_TRACE_BYTES


def _is_plain(segment: str) -> bool:
    return _SEGMENT.fullmatch(segment) is not None and not segment.startswith(".") and segment == segment.rstrip(". ")


def holds_something(folder: Path) -> bool:
    """Whether a data folder has a corpus, runs, traces or transcripts that a restore would replace."""
    names = (TRACES, TRANSCRIPTS, *(database.file for database in DATABASES))
    return any(os.path.lexists(folder / name) for name in names)


def completed_traces(data: Path) -> list[Path]:
    """The folders of traces that were written whole; what is being written has another name."""
    folder = data / TRACES
    if not folder.is_dir():
        return []
    return sorted(place for place in folder.iterdir() if RUN_ID.fullmatch(place.name) and (place / MARKER).exists())


def transcript_files(data: Path) -> Iterator[tuple[str, Path]]:
    """The transcripts of chats, each with its name in a backup; links and hidden files are no part of it."""
    top = data / TRANSCRIPTS
    for folder, folders, files in os.walk(top):
        folders.sort()
        for file in sorted(files):
            path = Path(folder, file)
            name = f"{TRANSCRIPTS}/{path.relative_to(top).as_posix()}"
            if is_member(name) and not path.is_symlink() and path.is_file():
                yield name, path


def without_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """The settings of a `citewell.toml` that are no secret, and the names of those that are.

    It is written anew, because a secret may also stand in a comment.
    """
    stored = tomllib.loads(text)
    secret = {entry.name for entry in setting_fields() if entry.metadata["secret"]}
    values = [str(stored[name]) for name in secret & stored.keys() if stored[name]]
    left_out = {name for name, value in stored.items() if name in secret or _tells(str(value), values)}
    kept = {name: value for name, value in stored.items() if name not in left_out}
    return as_toml(kept), tuple(sorted(left_out))


def _tells(value: str, secrets: list[str]) -> bool:
    return _PASSWORD.search(value) is not None or any(secret in value for secret in secrets)


def as_toml(values: Mapping[str, Any]) -> str:
    """Settings as a `citewell.toml` has them."""
    lines = (f"{name} = {_toml_value(value)}\n" for name, value in values.items())
    return "".join(lines)


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            # What JSON writes of a text is TOML too, but for one control character.
            return msgspec.json.encode(str(value)).decode("utf-8").replace("\x7f", "\\u007F")
