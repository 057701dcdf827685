"""Sentences are exact spans of what reads as one statement."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.sentences import sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Ross came at 3.5 p.m. on Monday. He left.", ["Dr. Ross came at 3.5 p.m. on Monday.", "He left."]),
        ("It was lit by J. Pell. Then it rained.", ["It was lit by J. Pell.", "Then it rained."]),
        ('He said: "Stop!" Then he left.', ['He said: "Stop!"', "Then he left."]),
        ("日本語です。次です！終わり", ["日本語です。", "次です！", "終わり"]),
        ("Wrapped prose goes\non here. End.", ["Wrapped prose goes\non here.", "End."]),
        ("# Head\nText", ["# Head", "Text"]),
        ("- one\n- two\n  more\n- three", ["- one", "- two\n  more", "- three"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        ("A paragraph\n\nAnother", ["A paragraph", "Another"]),
        ("> Wrapped quotes go\n> on here. End.\n> Next.", ["> Wrapped quotes go\n> on here.", "End.", "> Next."]),
        ("> [!note] Title\n> Body\n> - item\n>\n> Rest", ["> [!note] Title", "> Body", "> - item", ">", "> Rest"]),
        ("> outer\n>> inner\nlazy", ["> outer", ">> inner", "lazy"]),
    ],
)
def test_sentences_end_where_a_reader_would_stop(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@given(st.text(st.characters(codec="utf-8")))
def test_sentences_cover_everything_but_white_space(text: str) -> None:
    """Spans are ordered, do not overlap, and leave out nothing that can be read."""
    spans = list(sentences(text))
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert "".join(split(text)).split() == [] or "".join("".join(split(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("hostile", [".", "!?", "\n", "\n ", "a.", "- ", "|\n", "。", "1) ", "> a\n", ">"])
def test_hostile_repetition_takes_linear_time(hostile: str) -> None:
    started = time.process_time()
    list(sentences(hostile * (100_000 // len(hostile)) + "a"))
    assert time.process_time() - started < 5
