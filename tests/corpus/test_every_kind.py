"""Whatever kind of thing a person saved, its words are found and the row says what it is and where in it they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citewell.cli.main import run
from citewell.readers.image import has_ocr
from citewell.text.documents import SOURCE_TYPES
from corpus.saved_things import Saved, everything

pytestmark = pytest.mark.slow

THINGS = tuple(everything())


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder to which one file of every kind was added in one go, by the command."""
    folder = tmp_path_factory.mktemp("everything")
    for thing in THINGS:
        path = folder / "saved" / thing.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(thing.data)
    assert run(["--data-dir", str(folder / "data"), "add", str(folder / "saved")]) == 0
    return folder / "data"


def rows(data_folder: Path, capsys: pytest.CaptureFixture[str], query: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["--data-dir", str(data_folder), "search", query, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
    return found


@pytest.mark.parametrize("thing", THINGS, ids=[thing.path for thing in THINGS])
def test_what_was_saved_is_found_with_what_and_where_it_is(
    thing: Saved, data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = rows(data_folder, capsys, thing.query)[0]
    # A window may reach into the section before or after: the one that holds a word of the query is meant.
    word = row["text"].casefold().index(thing.query.split()[0].casefold()) + row["span"]["start"]
    where = next(section for section in row["sections"] if section["start"] <= word < section["end"])
    shown = Saved(
        path=row["note_path"],
        data=thing.data,
        query=thing.query,
        source_type=row["source_type"],
        kind=row["kind"],
        role=row["role"],
        heading=where.get("heading"),
        page=where.get("page"),
        tags=tuple(row["user_tags"]),
        url=row.get("url"),
    )
    assert shown == thing
    assert row["missing_terms"] == []


def test_nothing_that_was_saved_is_left_out(data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["--data-dir", str(data_folder), "status", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert {file["path"]: file["status"] for file in files} == {thing.path: "indexed" for thing in THINGS}


def test_every_source_type_has_its_kind_of_file() -> None:
    covered = {thing.source_type for thing in THINGS} | (set() if has_ocr() else {"image"})
    assert covered == set(SOURCE_TYPES)
