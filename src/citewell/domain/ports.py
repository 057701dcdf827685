"""What the deciding code asks of the outside, as protocols. Every stage can be replaced by another that fits.

The store of the corpus has a port of its own: `domain/corpus_port.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from citewell.domain.documents import Chunk, Document
from citewell.domain.evidence import Relationship, Signal
from citewell.domain.values import dataclass

if TYPE_CHECKING:
    # A search from a cold shell must not wait for what only answers need.
    from citewell.domain.answers import Entails
    from citewell.domain.judging import ClaimPair, PassageReading


class Clock(Protocol):
    """Time, injected: the engine never asks the machine."""

    def now(self) -> str:
        """The current moment, ISO 8601 in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that a lane found, with the lane's own score (larger is better)."""

    chunk: Chunk
    document: Document
    score: float
    # How much of the score a summary of the document brought.
    summary_score: float = 0.0


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A neighbour in the link graph; the link stands at `start..end` of the document it was written in."""

    document: Document
    relationship: Relationship
    start: int
    end: int
    links: int


@dataclass(frozen=True, slots=True)
class Commonness:
    """How much the commonest terms of a corpus say; any other term says `rare`."""

    weights: Mapping[str, float]
    rare: float

    @classmethod
    def of(cls, counts: Mapping[str, int], total: int) -> Commonness:
        """From the number of chunks that have each of the commonest terms, out of so many."""
        weights = {term: math.log(1.0 + total / count) for term, count in counts.items()}
        return cls(weights, max(weights.values(), default=1.0))


@dataclass(frozen=True, slots=True)
class RerankQuery:
    """A query as a reranker sees it: what was asked, and each word's forms with its weight, in the order asked."""

    text: str
    words: Sequence[tuple[Sequence[str], float]]
    commonness: Commonness


@dataclass(frozen=True, slots=True)
class RerankText:
    """A passage to look at again, with the score it was found by."""

    title: str
    body: str
    language: str | None
    score: float


class Reranker(Protocol):
    """The second stage: looks at the best passages once more and says what to add to the score of each."""

    @property
    def name(self) -> str: ...

    def rerank(self, query: RerankQuery, texts: Sequence[RerankText]) -> Sequence[tuple[Signal, ...]]:
        """Named signals for each text, in the order given; raises where it cannot, and the next best one is asked."""
        ...


class Entailment(Protocol):
    """A judge: whether texts entail statements. What it answers goes on record, so it need not answer twice alike."""

    @property
    def name(self) -> str: ...

    def judge(self, pairs: Sequence[ClaimPair]) -> Sequence[Entails]:
        """One answer a pair, in the order given; raises Unavailable where it cannot."""
        ...


class AnswerSpans(Protocol):
    """A reader: where in passages the answer to a question stands, if anywhere."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[str]) -> Sequence[PassageReading]:
        """One reading a passage, in the order given; raises Unavailable where it cannot."""
        ...
