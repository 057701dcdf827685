"""The coverage report: each file with how it fared, why and when; what rules keep out, and which rule."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import AddReport, Citewell
from citewell.cli.main import run
from citewell.cli.progress import rate
from citewell.store.port import Exclusion

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]


def fates(engine: Citewell) -> dict[str, tuple[str, str]]:
    return {file.path: (file.status, file.reason) for file in engine.corpus.status().files}


def test_each_file_has_its_status_its_reason_and_its_time(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    answer = "---\nai_generated: true\nsource: chatgpt\n---\nThe lamp was lit in 1900."
    add_path(vault({"a.md": "Words.", "b.zip": b"PK\3\4", "c.pdf": b"%PDF-1.4 broken", "answer.md": answer}))
    found = fates(engine)
    assert {path: status for path, (status, _) in found.items()} == {
        "a.md": "indexed",
        "answer.md": "skipped",
        "b.zip": "skipped",
        "c.pdf": "failed",
    }
    assert "AI answer" in found["answer.md"][1]
    assert all(file.at.startswith("2026-01-01T") for file in engine.corpus.status().files)


def test_what_rules_keep_out_is_shown_with_the_rule_until_it_is_gone(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault(
        {"a.md": "A", "Templates/t.md": "T", "Scan.PDF": b"%PDF", ".git/config": "x", "node_modules/m.md": "m"}
    )
    add_path(root, excludes=["Templates", "*.pdf"])
    assert engine.corpus.status().excluded == (
        Exclusion("vault", ".git/", "hidden"),
        Exclusion("vault", "Scan.PDF", "--exclude *.pdf"),
        Exclusion("vault", "Templates/", "--exclude Templates"),
        Exclusion("vault", "node_modules/", "never indexed"),
    )
    (root / "Scan.PDF").unlink()
    add_path(root)
    assert "Scan.PDF" not in {entry.path for entry in engine.corpus.status().excluded}


def test_a_tag_keeps_documents_out_before_they_are_indexed(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    files: dict[str, str | bytes] = {
        "diary.md": "---\ntags: [Private/diary]\n---\nKelp and grief.",
        "inline.md": "Kelp, #private too.",
        "open.md": "Kelp for all. #privateer",
        "list.jsonl": '{"_id": "1", "text": "Kelp one.", "tags": ["private"]}\n{"_id": "2", "text": "Kelp two."}',
    }
    report = add_path(vault(files), excludes=["tag:private"])
    assert (report.indexed, report.skipped) == (2, 2)
    assert {row.source_key for row in engine.search("kelp").results} == {"note:vault/open", "text:vault/list/2"}
    assert fates(engine)["diary.md"] == ("skipped", "--exclude tag:private")


def test_a_rule_given_later_takes_out_what_is_there_and_stays(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({"a.md": "Kelp. #private", "b.md": "Kelp.", "c.pdf.md": "Kelp in a third."})
    add_path(root)
    add_path(root, excludes=["tag:#Private", "c.*"])
    assert [row.note_path for row in engine.search("kelp").results] == ["b.md"]
    again = add_path(root)
    assert (again.unchanged, again.skipped, again.bytes) == (1, 1, 0)


def test_a_note_that_loses_the_tag_is_indexed(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    root = vault({"a.md": "Kelp. #private"})
    add_path(root, excludes=["tag:private"])
    vault({"a.md": "Kelp, for everyone now."})
    assert add_path(root).indexed == 1


def test_the_table_shows_what_is_excluded_and_problems_only_what_went_wrong(
    vault: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = vault({"a.md": "A", "b.zip": b"PK\3\4", "Old/c.md": "C"})
    program = ["--data-dir", str(tmp_path / "data")]
    assert run([*program, "add", str(root), "--exclude", "Old"]) == 0
    capsys.readouterr()
    assert run([*program, "status"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[1:4] for line in lines] == [
        ["file", "status", "reason"],
        ["a.md", "indexed", ""],
        ["b.zip", "skipped", "archives (.zip): this kind is not imported yet"],
        ["Old/", "excluded", "--exclude Old"],
    ]
    assert run([*program, "status", "--problems"]) == 0
    assert [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[2:]] == ["b.zip"]


def test_the_rate_of_an_add_counts_files_and_bytes() -> None:
    assert rate(1_200, 3_000_000, 2.0) == "600 files/s, 1.5 MB/s"
    assert rate(0, 0, 2.0) == ""


def test_a_terminal_sees_how_far_and_how_fast_it_goes(vault: Write, tmp_path: Path) -> None:
    root = vault({f"{number}.md": f"Note {number}. " + "Words to read. " * 40 for number in range(200)})
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "citewell", "--data-dir", str(tmp_path / "data"), "add", str(root)]
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 65_536)
            except OSError:  # the other end is closed: the program is done
                break
        assert process.wait(60) == 0
    os.close(ours)
    assert b"200/200" in shown
    assert b"files/s" in shown
    assert b"MB/s" in shown
