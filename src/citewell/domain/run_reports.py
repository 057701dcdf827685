"""What commands about runs report: lists, one run, replays, differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from citewell.domain.events import RunEvent
from citewell.domain.runs import RunResult, RunStatus, RunSummary
from citewell.domain.transcripts import TranscriptTurn


@dataclass(frozen=True, slots=True)
class RunList:
    """The latest runs; `unreadable` names those whose row makes no sense, `next` where the list goes on."""

    runs: tuple[RunSummary, ...]
    unreadable: tuple[str, ...] = ()
    next: str | None = None


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A cited source as it is today: an answer shown again says when its ground has changed."""

    source_key: str
    content_hash: str
    state: Literal["unchanged", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run: what it came to, or how far it is."""

    summary: RunSummary
    result: RunResult | None
    sources: tuple[CitedSource, ...]
    events: tuple[RunEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Whether playing a record back gives the same result, byte for byte."""

    run_id: str
    identical: bool
    sha256: str
    mode: Literal["exact", "tolerant"]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class AnswerChange:
    same: bool
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class EvidenceChange:
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reordered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CitationChange:
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CostChange:
    """USD of each; None where it is not known."""

    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class RunDiff:
    """How two runs differ, or a run and what today's harness makes of its question."""

    a: str
    b: str
    same: bool
    answer: AnswerChange
    evidence: EvidenceChange
    citations: CitationChange
    plan: dict[str, Change]
    cost: CostChange
    stop_reason: Change


@dataclass(frozen=True, slots=True)
class ControlReport:
    run_id: str
    control: Literal["cancel", "finish"]
    status: RunStatus
    detail: str


EgressOutcome = Literal["answered", "failed", "let_go", "unknown"]


@dataclass(frozen=True, slots=True)
class EgressEntry:
    """Something that was sent to somebody: when, to whom, what for, how many bytes went and how many came."""

    at: str
    kind: Literal["model", "search", "page"]
    to: str
    purpose: str
    bytes: int
    outcome: EgressOutcome
    received: int = 0


@dataclass(frozen=True, slots=True)
class EgressLedger:
    """Everything a run sent; `hosted` says whether any of it was meant for another machine."""

    run_id: str
    hosted: bool
    entries: tuple[EgressEntry, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class PreviewedProvider:
    name: str
    host: str


@dataclass(frozen=True, slots=True)
class EgressPreview:
    """What a run would send: its first queries word for word, to whom, and at most how much follows."""

    question: str
    profile: str
    providers: tuple[PreviewedProvider, ...] = ()
    queries: tuple[str, ...] = ()
    max_queries: int = 0
    max_pages: int = 0
    max_bytes_received: int = 0
    models: tuple[str, ...] = ()
    hosted_models: bool = False

    @property
    def leaves(self) -> bool:
        """Whether anything would leave this machine."""
        return bool(self.providers) or self.hosted_models


@dataclass(frozen=True, slots=True)
class ExportReport:
    run_id: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ChatReport:
    """A conversation of the terminal: every question of it, and what those asked now came to."""

    conversation_id: str
    saved: bool
    turns: tuple[TranscriptTurn, ...]
    answers: tuple[RunResult, ...]


@dataclass(frozen=True, slots=True)
class PruneSummary:
    kept: int
    removed: tuple[str, ...]
    skipped_active: tuple[str, ...]
    not_ours: tuple[str, ...]
    failed: tuple[str, ...] = ()
    freed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What the demo indexed and answered."""

    documents: int
    chunks: int
    answers: tuple[RunResult, ...]
