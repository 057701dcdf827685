"""Groups of words from `word_groups.toml`, read once, and for each word the others of its groups. Look-ups only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import permutations

from citewell.text.words import stem


@lru_cache(maxsize=1)
def _written() -> dict[str, str]:
    text = files("citewell.synthesis.lexicon").joinpath("word_groups.toml").read_text("utf-8")
    return {name: str(groups) for name, groups in tomllib.loads(text).items()}


def stemmed_groups(name: str) -> Iterator[list[str]]:
    """The groups of one list, each word as its English stem."""
    for group in _written()[name].strip().replace("|", "\n").split("\n"):
        yield [stem(word, "en") for word in group.split()]


def others_of(groups: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    """For each stem, the other stems of all its groups."""
    others: dict[str, set[str]] = {}
    for group in groups:
        for one, other in permutations(group, 2):
            if one != other:
                others.setdefault(one, set()).add(other)
    return {one: frozenset(found) for one, found in others.items()}
