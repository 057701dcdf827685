"""Questions about the sample corpus: every gold quote stands in its file, and the corpus has what real ones have."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from citewell.evals.suite import sample_corpus

QUESTIONS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "evals" / "sample_questions.json").read_text("utf-8")
)["questions"]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252")


@cache
def text_of(path: str) -> str:
    """A file's text, without tags and with white space collapsed."""
    data = (sample_corpus() / path).read_bytes()
    if path.endswith(".pdf"):
        document = pypdfium2.PdfDocument(data)  # type: ignore[no-untyped-call]
        text = " ".join(page.get_textpage().get_text_range() for page in document)
    else:
        text = _decoded(data)
    if path.endswith(".html"):
        text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return " ".join(text.replace("\ufffe", "-").split())


@pytest.mark.parametrize("entry", QUESTIONS, ids=lambda entry: entry["id"])
def test_every_gold_quote_stands_in_its_file(entry: dict[str, Any]) -> None:
    missing = [gold for gold in entry["gold"] if " ".join(gold["quote"].split()) not in text_of(gold["path"])]
    assert missing == []
    assert bool(entry["gold"]) == (entry["kind"] != "unanswerable")


def test_ids_are_unique_and_follow_ups_have_what_they_follow() -> None:
    ids = [entry["id"] for entry in QUESTIONS]
    assert len(set(ids)) == len(ids)
    known = {entry["question"] for entry in QUESTIONS}
    followed = [entry for entry in QUESTIONS if "history" in entry]
    assert followed
    assert all(set(entry["history"]) <= known for entry in followed)


def test_the_corpus_has_the_shapes_of_real_vaults_and_stays_small() -> None:
    notes = [path.read_text("utf-8", "replace") for path in sample_corpus().rglob("*.md")]
    bodies = [re.sub(r"\A---\n.*?\n---\n?", "", note, flags=re.DOTALL) for note in notes]
    assert any(not body.strip() for body in bodies), "a note of nothing but properties"
    assert any(re.search(r"^## .*\?$", body, re.MULTILINE) for body in bodies), "headings that are questions"
    assert any(re.search(r"^    - ", body, re.MULTILINE) for body in bodies), "lists three deep"
    assert any("```" in body for body in bodies), "code"
    assert any(len(re.findall(r"^\|", body, re.MULTILINE)) > 40 for body in bodies), "a table longer than a window"
    size = sum(path.stat().st_size for path in sample_corpus().rglob("*") if path.is_file())
    assert size < 350_000
