"""`citewell eval` as a script sees it: one JSON document that fits its schema, and exit codes 0, 1 and 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import json_schema
from surfaces.test_cli import Program, closed, program

pytestmark = pytest.mark.slow
__all__ = ["program"]

QUESTION = "When was the lamp lit?"


def document(program: Program, *arguments: str, code: int) -> Any:
    done = program.run("eval", *arguments, "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    name = "error" if "error" in found else f"eval-{arguments[0]}"
    jsonschema.validate(found, closed(json_schema(name)))
    return found


def cases(folder: Path, *lines: str) -> str:
    path = folder / "cases.yaml"
    path.write_text("\n".join(("cases:", f"  - question: {QUESTION}", *(f"    {line}" for line in lines))), "utf-8")
    return str(path)


def test_exit_codes_say_whether_every_case_passes(program: Program, tmp_path: Path) -> None:
    good = document(program, "research", cases(tmp_path, "expect_text: ['1859']"), code=0)
    assert (good["passed"], good["failed"], good["cases"][0]["arms"][1]["status"]) == (1, 0, "skipped")
    bad = document(program, "mcp", "--file", cases(tmp_path, "expect_text: ['1861']"), code=1)
    assert (bad["passed"], bad["failed"]) == (0, 1)
    wrong = document(program, "research", cases(tmp_path, "expect_txt: ['1859']"), code=2)
    assert "line 3, field `expect_txt`" in wrong["error"]["message"]
    assert document(program, "research", str(tmp_path / "none.yaml"), code=2)["error"]["code"] == "bad_input"
    assert document(program, "research", code=2)["error"]["fix"]


def test_reports_are_written_beside_what_is_printed(program: Program, tmp_path: Path) -> None:
    path = cases(tmp_path, "expect_text: ['1861']")
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    baseline = tmp_path / "baseline.json"
    written = ("--report", "html", "--output", str(page), "--junit", str(junit), "--baseline", str(baseline))
    done = program.run("eval", "research", path, *written)
    assert done.returncode == 1
    assert "FAILED cases-1" in done.stdout
    assert "the answer lacks “1861”" in done.stdout
    assert "planner on skipped" in done.stdout
    assert page.exists()
    assert junit.exists()
    assert baseline.exists()


def test_from_a_bad_run_to_a_failing_case_takes_two_commands(program: Program, tmp_path: Path) -> None:
    program.json("research", QUESTION)
    path = tmp_path / "mine.yaml"
    proposed = ("propose", "--from-trace", "last", "--expect", "note:vault/oil", "--output", str(path))
    found = document(program, *proposed, code=0)
    assert (found["written"], len(found["cases"])) == (str(path), 2)
    assert document(program, "research", str(path), code=1)["failed"] == 2
    # The other way to write it, and without an output nothing is written.
    done = program.run("eval", "research", "propose", "last")
    assert (done.returncode, done.stdout.startswith("schema_version: eval_cases.v1")) == (0, True)


def test_a_corpus_is_asked_and_reported(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "lamp.md").write_text(
        "# The lamp\n\nThe lamp of Holm burned colza oil from the northern mill until 1871.\n", "utf-8"
    )
    found = document(program, "corpus", str(folder), code=0)
    assert (found["passed"], found["failed"], found["cases"][0]["outcome"]) == (1, 0, "right")
    assert document(program, "corpus", str(tmp_path / "none"), code=2)["error"]["code"] == "bad_input"


def test_what_differs_ends_with_the_command_that_proposes(program: Program) -> None:
    first = program.json("research", QUESTION)["run_id"]
    second = program.json("research", "Where did the oil come from?")["run_id"]
    done = program.run("runs", "diff", first, second)
    assert done.stdout.rstrip().endswith(f"citewell eval propose {first} --output cases.yaml")
