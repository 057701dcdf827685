"""Runs: their states, stages, stop reasons, profiles and budgets. Profiles are data, not code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

RunStatus = Literal["queued", "running", "interrupted", "done", "failed", "cancelled"]
TERMINAL: frozenset[RunStatus] = frozenset({"done", "failed", "cancelled"})

StopReason = Literal[
    "enough_evidence",
    "no_evidence",
    "weak_evidence_budget_exhausted",
    "max_steps_reached",
    "timeout_exceeded",
    "synthesis_unavailable",
    "synthesis_failed",
    "verification_failed",
    "planner_failed_deterministic_used",
    "cost_limit_reached",
    "cancelled",
    "trace_failed",
]
STOP_REASONS: tuple[StopReason, ...] = get_args(StopReason)

Stage = Literal[
    "begin_trace",
    "plan",
    "retrieve",
    "inspect_top",
    "judge_coverage",
    "optional_expand_or_retry",
    "search",
    "read",
    "evaluate",
    "prepare_synthesis",
    "synthesize",
    "verify",
    "persist_trace",
]

Surface = Literal["cli", "web_chat", "web_research_api", "mcp", "eval"]
RunProfile = Literal["local", "chat", "deep", "report", "note"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits of a run; a limit of None is not set."""

    seconds: float
    retrieval_passes: int
    retries: int
    expansions: int
    inspect_rows: int
    inspect_chars: int
    expansion_rows: int
    syntheses: int
    repairs: int
    loops: int = 0
    reads: int = 0
    queries: int = 0
    max_cost_usd: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run has used of its budget so far."""

    retrieval_passes: int = 0
    retries: int = 0
    expansions: int = 0
    syntheses: int = 0
    repairs: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why a run failed."""

    stage: Stage
    code: str
    message: str
