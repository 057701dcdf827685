"""Closed lists of words from `wording_words.toml`, folded as tokens are, read once. Look-ups only."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files

from citewell.text.folding import folded_text


@lru_cache(maxsize=1)
def _lists() -> dict[str, str]:
    text = files("citewell.synthesis.lexicon").joinpath("wording_words.toml").read_text("utf-8")
    return {name: folded_text(str(words)) for name, words in tomllib.loads(text).items()}


@lru_cache(maxsize=64)
def word_list(name: str) -> frozenset[str]:
    """The words of one list."""
    return frozenset(_lists()[name].split())


@lru_cache(maxsize=8)
def word_groups(name: str) -> tuple[frozenset[str], ...]:
    """The groups of one list, as they stand between bars."""
    return tuple(frozenset(group.split()) for group in _lists()[name].split("|"))
