"""A table a model writes keeps its header and layout, and each row is checked with its header."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from citewell import RunResult
from runner.scripted_runs import AddPath, Bench, Write, mark
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow

QUESTION = "Which boats does the harbour have?"
NOTES: dict[str, str | bytes] = {
    "Harbour boats.md": "# Harbour boats\n\nThe boats of the harbour:\n\n| Boat | Built | Length |\n|---|---|---|\n"
    "| Ada | 1902 | 24 m |\n| Bell | 1911 | 18 m |\n| Cora | 1934 | 31 m |\n",
    "Ferry.md": "Another of the harbour boats is the Dora. The Dora was built in 1950.\n",
}
TABLE = """Here are the boats:

| Boat | Built | Source |
|------|:-----:|---|
| **Ada** | 1902 | {ada} |
| Bell | 1922 | {bell} |
| Dora | 1950 | {dora} |
| Emma | 1960 | {dora} |
"""


@pytest.fixture
def boats(vault: Write, add_path: AddPath, bench: Bench) -> Bench:
    add_path(vault(NOTES))
    return bench


def tabled(text: str) -> Callable[[ModelRequest], Reply]:
    def reply(request: ModelRequest) -> Reply:
        marks = {"{ada}": mark(request, "Ada"), "{bell}": mark(request, "Bell"), "{dora}": mark(request, "Dora was")}
        found = text
        for name, one in marks.items():
            found = found.replace(name, one)
        return says(found)

    return reply


def rows_of(result: RunResult) -> list[tuple[str, str, str]]:
    return [(one.text, one.kind, one.verdict) for one in result.sentences if one.text.startswith("|")]


def test_a_table_keeps_its_header_and_each_row_is_checked_with_it(boats: Bench) -> None:
    _, result, _ = boats.run(tabled(TABLE), QUESTION)
    assert rows_of(result) == [
        ("| Boat | Built |", "heading", "not_a_claim"),
        ("| **Ada** | 1902 |", "claim", "supported"),
        ("| Bell | 1922 |", "claim", "contradicted"),
        ("| Dora | 1950 |", "claim", "unsupported"),
        ("| Emma | 1960 |", "claim", "unsupported"),
    ]
    bell = next(one for one in result.sentences if "Bell" in one.text)
    # What no table has is for a judge to say.
    assert {one.text: one.check.kind for one in result.sentences if one.kind == "claim"} == {
        "Here are the boats:": "none",
        "| **Ada** | 1902 |": "exact",
        "| Bell | 1922 |": "exact",
        "| Dora | 1950 |": "none",
        "| Emma | 1960 |": "none",
    }
    assert bell.reason == "the table has '1911' under 'Built'"
    lines = result.answer.split("\n")
    at = lines.index("| Boat | Built |")
    assert lines[at + 1] == "|---|---|"
    assert all(line.startswith("|") for line in lines[at : at + 6])
    assert lines[at + 2].startswith("| **Ada** | 1902 [")
    assert "~~Bell~~ | ~~1922~~ [" in lines[at + 3]
    assert "(removed: the table has '1911' under 'Built')" in lines[at + 3]


def test_a_value_of_another_column_is_not_let_pass(boats: Bench) -> None:
    table = "The boats are these {ada}.\n\n| Boat | Length |\n|---|---|\n| Ada | 1902 | {ada}\n| Bell | 18 m {bell} |\n"
    _, result, _ = boats.run(tabled(table), QUESTION)
    verdicts = {text: verdict for text, _, verdict in rows_of(result)}
    assert verdicts["| Bell | 18 m |"] == "supported"
    assert verdicts.get("| Ada | 1902 |") != "supported"


def test_the_command_prints_the_table_in_columns_and_json_row_by_row(boats: Bench) -> None:
    with ScriptedModelServer(tabled(TABLE)) as server:
        environment = {
            **os.environ,
            "CITEWELL_DATA_DIR": str(boats.data_dir),
            "CITEWELL_MODEL": "openai:test",
            "CITEWELL_MODEL_BASE_URL": server.base_url,
            "CITEWELL_JUDGE": "off",
            "COLUMNS": "100",
        }
        command = [sys.executable, "-m", "citewell", "research", QUESTION, "--no-trace"]
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout
        as_json = subprocess.run(
            [*command, "--json"], env=environment, capture_output=True, text=True, timeout=60, check=False
        ).stdout
    lines = shown.splitlines()
    header = next(line for line in lines if line.split()[:2] == ["Boat", "Built"])
    ada = next(line for line in lines if "Ada" in line and "1902" in line)
    bell = next(line for line in lines if "Bell" in line and "1922" in line)
    assert header.index("Built") == ada.index("1902") == bell.index("1922")
    told = [one for one in json.loads(as_json)["sentences"] if one["text"].startswith("|")]
    assert [(one["kind"], one["verdict"]) for one in told][:3] == [
        ("heading", "not_a_claim"),
        ("claim", "supported"),
        ("claim", "contradicted"),
    ]
