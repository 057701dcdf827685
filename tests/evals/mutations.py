"""Deliberate damage to the engine, by name: what the shipped cases must notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from citewell.answer import prompt, quote
from citewell.check import claim
from citewell.search import pack, rows

Damage = Callable[[pytest.MonkeyPatch], None]


def ranking_weight(patch: pytest.MonkeyPatch) -> None:
    """What a question names speaks against a row."""
    patch.setattr(pack, "_MATCHED", {role: -weight * 20 for role, weight in pack._MATCHED.items()})


def window(patch: pytest.MonkeyPatch) -> None:
    """Every document is shown from where it begins."""

    def head(text: str, *_: Any) -> tuple[int, int]:
        return 0, min(len(text), 700)

    patch.setattr(rows, "best_window", head)
    patch.setattr(rows, "wider_window", head, raising=False)


def answer_gate(patch: pytest.MonkeyPatch) -> None:
    """Whatever comes nearest is quoted as an answer."""
    patch.setattr(quote, "LIKELY", 0.0)


def answer_gate_shut(patch: pytest.MonkeyPatch) -> None:
    """Nothing is sure enough to be quoted."""
    patch.setattr(quote, "LIKELY", 1.01)


def wording_open(patch: pytest.MonkeyPatch) -> None:
    """Whatever a sentence says, its passage is said to have it word for word."""
    patch.setattr(claim, "_beside", lambda said, sentence: ("supported", ""))


def wording_shut(patch: pytest.MonkeyPatch) -> None:
    """No sentence is ever found word for word."""
    patch.setattr(claim, "exact_words", lambda text: ())


def prompt_without_rules(patch: pytest.MonkeyPatch) -> None:
    """The writing model is not told to put a mark behind each sentence."""
    patch.setattr(prompt, "_RULES", "You answer a question.\n")
