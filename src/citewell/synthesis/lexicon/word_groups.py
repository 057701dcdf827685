"""Groups of words as they are written in this package, and for each word the others of its groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

from citewell.text.words import stem


def stemmed_groups(written: str) -> Iterator[list[str]]:
    """The groups of a text, one a line or between bars, each word as its English stem."""
    for group in written.strip().replace("|", "\n").split("\n"):
        yield [stem(word, "en") for word in group.split()]


def others_of(groups: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    """For each stem, the other stems of all its groups."""
    others: dict[str, set[str]] = {}
    for group in groups:
        for one, other in permutations(group, 2):
            if one != other:
                others.setdefault(one, set()).add(other)
    return {one: frozenset(found) for one, found in others.items()}
