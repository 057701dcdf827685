"""What a trace says of a run: `run.json` (`research_trace.v1`) and the manifest in its marker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citewell.domain.answers import AnswerStatus, CheckedSentence, Citation, Contradiction, Gate, Truncation
from citewell.domain.events import RunEvent
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import (
    Failure,
    FlowLedger,
    RunMetrics,
    RunProfile,
    RunStatus,
    StopReason,
    Surface,
)

TRACE_SCHEMA = "research_trace.v1"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a trace, as it was written."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the marker says. It follows from the other files, so it is compared byte by byte."""

    run_id: str
    schema: str
    created_at: str
    finished_at: str
    log_digest: str
    files: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class PreparedSummary:
    """What the answer was made from; the text itself is in `synthesis-input.md`."""

    chars: int
    source_keys: tuple[str, ...]
    truncation: Truncation


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The answer and its checks. A rejected answer stands in `rejected_answer` only, never in `answer`."""

    answer: str
    status: AnswerStatus
    warnings: tuple[str, ...]
    is_rejected: bool
    rejected_answer: str | None
    citations: tuple[Citation, ...]
    sentences: tuple[CheckedSentence, ...]
    contradictions: tuple[Contradiction, ...]
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class TraceMetrics(RunMetrics):
    artifact_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Versions:
    """What made the run."""

    tool: str
    tool_version: str
    prompt_version: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class ChatContinuity:
    """What a question took from the conversation it belongs to."""

    original_question: str
    retrieval_question: str
    prior_question_ids: tuple[str, ...] = ()
    pinned_evidence_keys: tuple[str, ...] = ()
    merged_prior_evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceDocument:
    """`run.json`. A field added later has a default, so that older traces stay readable (`read_document`)."""

    schema_version: str
    run_id: str
    surface: Surface
    profile: RunProfile
    status: RunStatus
    question: str
    chat_continuity: ChatContinuity
    started_at: str
    completed_at: str
    stop_reason: StopReason
    failure: Failure | None
    warnings: tuple[str, ...]
    prepared_synthesis: PreparedSummary
    synthesis: Synthesis
    flow: FlowLedger
    metrics: TraceMetrics
    versions: Versions
    artifacts: tuple[Artifact, ...]
    pack: ResearchPack | None
    events: tuple[RunEvent, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that was read whole and found untouched."""

    run_id: str
    document: TraceDocument
    events: tuple[RunEvent, ...]
    markdown: str
    planner_input: str
    planner_output: str | None
    synthesis_input: str
    log_digest: str
    files: Mapping[str, bytes] = field(repr=False)


def read_document(document: dict[str, Any]) -> TraceDocument:
    """A `run.json` of this version or an earlier one."""
    if "chat_continuity" not in document:
        document = {
            **document,
            "chat_continuity": {
                "original_question": document.get("original_question"),
                "retrieval_question": document.get("retrieval_question"),
                "prior_question_ids": document.get("prior_question_ids", ()),
                "pinned_evidence_keys": document.get("pinned_keys", ()),
                "merged_prior_evidence": document.get("merged_prior_evidence", ()),
            },
            "started_at": document.get("created_at"),
            "completed_at": document.get("finished_at"),
        }
    return msgspec.convert(document, TraceDocument)
