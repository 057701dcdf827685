"""How often something occurs in the corpus."""

from __future__ import annotations

from citewell.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class TagCount:
    tag: str
    count: int


@dataclass(frozen=True, slots=True)
class CorpusMatches:
    """How many documents of the whole corpus match any term of the question, shown or not."""

    items: int
    sources: int
