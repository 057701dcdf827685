"""`citewell bench-verifier`: measures worked out by hand, the schema, and clear words for bad lines."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from citewell import json_schema
from citewell.cli.main import run
from citewell.evals.bench import auroc

TEXT = "The Harbour Light was first lit on 3 May 1871 by Mayor Tait."
# Two true, one of them in other words and so a false alarm; one changed and caught, one foreign and caught.
PAIRS = [
    ("The Harbour Light was first lit on 3 May 1871 by Mayor Tait.", "supported"),
    ("A beacon began to shine over the port under Gladstone.", "supported"),
    ("The Harbour Light was first lit on 3 May 1872 by Mayor Tait.", "refuted"),
    ("Herring prices rose sharply across the northern markets.", "unsupported"),
]


def write(folder: Path, *lines: str) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def lines() -> list[str]:
    return [json.dumps({"claim": claim, "evidence": TEXT, "label": label, "id": 7}) for claim, label in PAIRS]


def test_the_report_counts_catches_and_false_alarms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench-verifier", str(write(tmp_path, *lines())), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json_schema("bench-verifier"))
    assert (report["n"], report["supported"], report["refuted"], report["unsupported"]) == (4, 2, 1, 1)
    assert (report["precision"], report["recall"], report["false_alarm_rate"]) == (0.6667, 1.0, 0.5)
    assert report["f1"] == 0.8
    assert set(report["auroc"]) == {"refuted", "unsupported"}


def test_a_label_that_is_not_there_has_no_auroc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench-verifier", str(write(tmp_path, *lines()[:3])), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auroc"]["unsupported"] is None


def test_without_json_it_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench-verifier", str(write(tmp_path, *lines()))]) == 0
    assert "false alarms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is not an object"),
        ('{"evidence": "e", "label": "supported"}', "line 2 has no text under 'claim'"),
        ('{"claim": "c", "evidence": 3, "label": "supported"}', "line 2 has no text under 'evidence'"),
        ('{"claim": "c", "evidence": "e", "label": "maybe"}', "line 2 has the label 'maybe'"),
        ('{"claim": "c", "evidence": "e"}', "line 2 has the label 'none'"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: str, message: str) -> None:
    assert run(["bench-verifier", str(write(tmp_path, lines()[0], bad)), "--json"]) == 2
    assert message in capsys.readouterr().out


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(lines()[0].encode() + b"\n\xff\n")
    assert run(["bench-verifier", str(path), "--json"]) == 2
    assert "line 2 is not UTF-8" in capsys.readouterr().out


def test_an_empty_file_and_a_missing_one_are_told_apart(tmp_path: Path) -> None:
    assert run(["bench-verifier", str(write(tmp_path, "")), "--json"]) == 2
    assert run(["bench-verifier", str(tmp_path / "none.jsonl"), "--json"]) == 3
    assert run(["bench-verifier", str(tmp_path), "--json"]) == 2


def test_auroc_counts_pairs_in_order_and_ties_half() -> None:
    yes, no = [0.9, 0.5, 0.5], [0.5, 0.1]
    by_hand = sum((y > n) + 0.5 * (y == n) for y in yes for n in no) / 6
    assert auroc(yes, no) == by_hand
    assert auroc([], no) == 0.5
