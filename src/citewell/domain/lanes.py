"""Lanes: how the semantic lane took part in a search, and what it changed or would have changed."""

from __future__ import annotations

from typing import Literal

from citewell.domain.values import dataclass

# Not at all; beside the search, changing nothing; in the search.
SemanticUse = Literal["off", "shadow", "on"]


@dataclass(frozen=True, slots=True)
class Moved:
    """A document that stands elsewhere with the semantic lane than without it; places count from 1."""

    source_key: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SemanticReport:
    """What the semantic lane changed (`on`) or would change (`shadow`) against the search by words.

    With a `problem` the lane took no part: the result is that of the words.
    """

    use: SemanticUse
    model: str = ""
    weight: float = 0.0
    problem: str = ""
    entered: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
