"""Profiles: what each kind of run may spend. Configuration, not code."""

from __future__ import annotations

from citewell.domain.runs import Budget, RunProfile

PROFILES: dict[RunProfile, Budget] = {
    "local": Budget(
        seconds=90.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=5,
        inspect_chars=2_000,
        expansion_rows=8,
        syntheses=1,
        repairs=1,
    ),
    "deep": Budget(
        seconds=150.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=8,
        inspect_chars=2_000,
        expansion_rows=8,
        syntheses=1,
        repairs=1,
        citations=12,
        rows=16,
    ),
}

# Time kept back for writing and checking the answer, however long the search takes.
SYNTHESIS_RESERVE_SECONDS = 10.0
MAX_STEPS = 40
