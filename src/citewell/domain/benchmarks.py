"""What `bench` reports: one row for each system and lane on each collection, all measured in one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from citewell.domain.results import SearchMode

BenchStage = Literal["indexing", "encoding", "asking"]


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One system on one collection. Measures at 10 come from a search for 10, those at 100 from a search for 100."""

    name: str
    system: str
    mode: SearchMode
    ndcg_10: float
    recall_10: float
    recall_100: float
    mrr_10: float
    p50_ms: float
    p95_ms: float
    docs: int
    queries: int
    index_seconds: float


@dataclass(frozen=True, slots=True)
class MissingPeer:
    """A peer that could not be measured, and how to get it."""

    system: str
    fix: str


@dataclass(frozen=True, slots=True)
class AnswerabilityRow:
    """Questions of one collection asked of another, or of their own: how well what it answers is told from the rest.

    AUROC is how often a question that is answered ranks above one that is not; 0.5 is chance.
    """

    corpus: str
    questions: str
    half: str
    auroc: float
    answerable: int
    unanswerable: int


@dataclass(frozen=True, slots=True)
class BenchReport:
    collections: tuple[BenchRow, ...]
    missing_peers: tuple[MissingPeer, ...] = ()
    warnings: tuple[str, ...] = ()
    answerability: tuple[AnswerabilityRow, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """How far a benchmark has come on one collection."""

    collection: str
    system: str
    stage: BenchStage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class VerifierAuroc:
    """How often a supported claim ranks above one of the other kind; None where the file has none of either."""

    refuted: float | None
    unsupported: float | None


@dataclass(frozen=True, slots=True)
class VerifierReport:
    """What `bench-verifier` reports. A catch is a claim labelled unsupported or refuted that was not let pass."""

    n: int
    supported: int
    refuted: int
    unsupported: int
    precision: float
    recall: float
    f1: float
    false_alarm_rate: float
    auroc: VerifierAuroc
    pairs_per_second: float
    # For each label, how many claims got each verdict.
    called: dict[str, dict[str, int]] = field(default_factory=dict)
    # The judge whose opinion went into the verdicts; empty: rules alone.
    judge: str = ""
