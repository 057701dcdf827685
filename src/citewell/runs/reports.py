"""What commands about runs report: lists, one run, replays, differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from citewell.check.verdict import AnswerStatus
from citewell.runs.events import RunEvent
from citewell.runs.run import RunResult, RunStatus, RunSummary

# Saved conversations as values (`chat_transcript.v1`): what was asked and which run answered, never the answers.


TRANSCRIPT_VERSION = "chat_transcript.v1"
ConversationId = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,100}$")]
RunId = Annotated[str, Meta(pattern="^[0-9]{8}T[0-9]{6}-[0-9a-f]{8}$")]
Key = Annotated[str, Meta(min_length=1, max_length=1_000)]
Keys = Annotated[tuple[Key, ...], Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One question of a conversation; `reviewed` says that a person looked at what came of it."""

    question_id: Annotated[str, Meta(min_length=1, max_length=200)]
    question: Annotated[str, Meta(min_length=1, max_length=8_000)]
    run_id: RunId | None = None
    answer_status: AnswerStatus | None = None
    cited_keys: Keys = ()
    pinned_keys: Keys = ()
    reviewed: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatTranscript:
    """A conversation that somebody wanted to keep."""

    conversation_id: ConversationId
    turns: Annotated[tuple[TranscriptTurn, ...], Meta(max_length=1_000)]
    schema_version: Literal["chat_transcript.v1"] = "chat_transcript.v1"


@dataclass(frozen=True, slots=True)
class TranscriptList:
    """The saved conversations, newest first; `unreadable` names files that are none."""

    transcripts: tuple[ChatTranscript, ...]
    unreadable: tuple[str, ...] = ()


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


# Moving runs from one store to another, as a value: what a `migrate` did, run by run where something is to be said.


# What became of a run that is not simply there now, and why.
LeftBehind = Literal["unreadable", "executed", "different"]


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run that was not moved. `executed`: somebody executes it now; `different`: another one of this id is there."""

    run_id: str
    why: LeftBehind
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What was moved, and the proof: how many entries were compared by their digests on arrival.

    The source is left as it was. `extended` are runs that had gone on since they were last moved.
    """

    source: str
    target: str
    runs: int
    moved: int
    extended: int
    already_there: int
    left: tuple[LeftRun, ...]
    reports_moved: int
    reports_already_there: int
    entries_verified: int
    runs_in_target: int
    seconds: float

    @property
    def is_complete(self) -> bool:
        return not self.left
