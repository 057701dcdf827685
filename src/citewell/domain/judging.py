"""What a judge is asked, and what a reader answers (`domain/ports.py`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A statement, and the text it is said to rest on."""

    claim: str
    evidence: str


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """`text[start:end]` of a passage as the answer to a question; a larger score is a better answer."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What a passage answers: its spans, best first, and how likely (0 to 1) none of them is an answer."""

    spans: tuple[AnswerSpan, ...]
    no_answer: float
