"""Small finished runs to write traces of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from citewell import CheckedSentence, Citation, Coverage, EvidenceRow, Filters, ResearchPack, RunEvent, RunResult, Span
from citewell.answer.evidence import Quote, Truncation
from citewell.check.verdict import Draft, DraftSentence, Gate
from citewell.models.rerank import Signal
from citewell.runs.events import LOG_SCHEMA, Entry, chained
from citewell.runs.folder import write_trace
from citewell.runs.run import FlowLedger, RunMetrics, RunRequest
from citewell.search.query import Concept, Limits, QueryPlan, Variant
from citewell.store.port import CorpusMatches

RUN_ID = "20260101T120000-0badc0de"
HASH = "ab" * 32
LIMITS = Limits(limit=8, max_chars_per_doc=1_200, include_related=False, related_limit=0)
SYNTHESIS_INPUT = "Question: When is the neap tide?\n\n[1] Tides ```` ![x](https://evil.example/a.png)\nText.\n"
REJECTED = Draft((DraftSentence("Tides are made of <b>cheese</b>.", "claim"),), refused=False)


def run_id(number: int) -> str:
    """The id of the nth run of a test."""
    return f"20260101T120000-{number:08x}"


def plan() -> QueryPlan:
    return QueryPlan(
        text_query="neap tide",
        terms=("neap", "tide"),
        tag_queries=(),
        query_variants=(Variant("original", "neap tide", 1.0),),
        concepts=(Concept("neap tide", "anchor", True, ("neap", "tide")),),
        filters=Filters(),
        limits=LIMITS,
        source_keys=("note:vault/tides",),
    )


def row(title: str, text: str, note_path: str | None) -> EvidenceRow:
    return EvidenceRow(
        source_key="note:vault/tides",
        kind="item",
        source_type="vault_note",
        title=title,
        role="user_note",
        text=text,
        span=Span("c1", 0, len(text), HASH),
        score=4.25,
        note_path=note_path,
        signals=(Signal("title_match", 0.5, "neap"),),
        matched_terms=("neap", "tide"),
        missing_terms=("moon",),
    )


def pack(title: str, text: str, note_path: str | None) -> ResearchPack:
    coverage = Coverage(
        evidence_count=1,
        by_kind={"item": 1},
        by_source_type={"vault_note": 1},
        top_user_tags=(),
        exact_tag_matches=(),
        corpus_matches=CorpusMatches(3, 0),
        eligible_documents=9,
        corpus_documents=9,
        corpus_chunks=20,
        term_chunks={"neap": 2},
        displayed_limit=8,
        related_limit=0,
        topic_nodes=0,
        topic_edges=0,
        missing_concepts=(),
        recall_note="1 of 3 matching documents shown.",
    )
    question = "When is the neap tide?"
    return ResearchPack(question, "evidence_only", plan(), coverage, (row(title, text, note_path),), (), ())


def result(
    run: str = RUN_ID,
    *,
    question: str = "When is the neap tide?",
    title: str = "Tides",
    quote: str = "Neap tides follow the half moon.",
    note_path: str | None = "Sea/Tides.md",
) -> RunResult:
    """A run that answered."""
    span = Span("c1", 0, len(quote), HASH)
    return RunResult(
        run_id=run,
        status="done",
        question=question,
        profile="local",
        answer_status="ok",
        answer_warnings=("extractive",),
        answer=f"{quote} [1]",
        truncation=Truncation(24_000, 900),
        citations=(Citation(1, "note:vault/tides", title, note_path, None, quote, span),),
        sentences=(
            CheckedSentence(quote, "supported", (1,), Quote("note:vault/tides", HASH, 0, len(quote), quote), ""),
        ),
        contradictions=(),
        stop_reason="enough_evidence",
        warnings=(),
        provider="citewell",
        model="extractive",
        tool="extractive",
        tool_version="0.1.0",
        prompt_version="extractive.v1",
        metrics=RunMetrics(seconds=0.25, stage_seconds={"retrieve": 0.2}, steps=4),
        gates=(Gate("cited", True),),
        flow=FlowLedger(("note:vault/tides",), ("note:vault/tides",), ("note:vault/tides",), ("note:vault/tides",)),
        pack=pack(title, quote, note_path),
    )


def rejected() -> RunResult:
    """A run whose answer did not pass its checks, as the runner makes it: without the answer."""
    return replace(
        result(),
        status="failed",
        answer_status="error",
        answer="",
        citations=(),
        sentences=(),
        stop_reason="verification_failed",
        gates=(Gate("quotes_exact", False, "sentence 1"),),
    )


def events(of: RunResult, at: str = "2026-01-01T12:00:00", *, more: tuple[Entry, ...] = ()) -> list[RunEvent]:
    """The log of a run that began at a moment (to the second, in UTC)."""
    request = RunRequest(of.question, "local", "cli", Filters(), LIMITS, 24_000)
    observed = {"value": {"pack": msgspec.to_builtins(of.pack)}}
    steps: list[tuple[str, list[Entry]]] = [
        ("000", [_started(request), Entry("stage_entered", {"stage": "plan", "elapsed": 0.0})]),
        ("010", [_intended("retrieve", "d1", "retrieve")]),
        (
            "210",
            [Entry("observation_recorded", {"answers": "d1", "kind": "io", "elapsed": 0.2, "observation": observed})],
        ),
        (
            "220",
            [
                _decision(
                    "retrieved",
                    "1 row found. 1 of 3 matching documents shown.",
                    keys=["note:vault/tides"],
                    recall_note="1 of 3 matching documents shown.",
                )
            ],
        ),
        (
            "230",
            [
                _decision(
                    "judged",
                    "enough_evidence: every concept is met",
                    verdict="enough_evidence",
                    reason="every concept is met",
                    missing_concepts=[],
                    retry_action="none",
                )
            ],
        ),
        ("250", [*more, _finished(of)]),
    ]
    made: list[RunEvent] = []
    for millisecond, entries in steps:
        made += chained(of.run_id, made[-1] if made else None, entries, f"{at}.{millisecond}Z")
    return made


def _started(request: RunRequest) -> Entry:
    body = {"schema": LOG_SCHEMA, "tool_version": "0.1.0", "request": msgspec.to_builtins(request)}
    return Entry("run_started", body)


def _intended(action: str, digest: str, stage: str) -> Entry:
    return Entry("action_intended", {"action": action, "kind": "io", "stage": stage, "digest": digest, "body": {}})


def _decision(name: str, text: str, **data: Any) -> Entry:
    return Entry("decision_made", {"name": name, "data": data, "text": text})


def _finished(of: RunResult) -> Entry:
    return Entry(
        "run_finished", {"status": of.status, "stop_reason": of.stop_reason, "result": {}, "result_digest": ""}
    )


def write(root: Path, run: str = RUN_ID, at: str = "2026-01-01T12:00:00") -> Path:
    """The trace of one small run."""
    made = result(run)
    return write_trace(root, made, events(made, at), SYNTHESIS_INPUT, plan())


def listing(root: Path) -> list[str]:
    """Everything in the folder of traces, hidden or not."""
    traces = root / "research-runs"
    return sorted(path.name for path in traces.iterdir()) if traces.exists() else []
