"""Profiles: what each kind of run may spend. Configuration, not code."""

from __future__ import annotations

from citewell.domain.runs import Budget, RunProfile, StageSeconds

PROFILES: dict[RunProfile, Budget] = {
    "local": Budget(
        seconds=90.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=5,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        steps=40,
        parallel=4,
        stages=StageSeconds(planning=30, retrieval=60, inspection=30, synthesis=85, verification=30, trace=15),
    ),
    "deep": Budget(
        seconds=150.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=8,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        citations=12,
        rows=16,
        steps=80,
        parallel=8,
        stages=StageSeconds(planning=45, retrieval=110, inspection=45, synthesis=140, verification=45, trace=20),
    ),
}

# Time kept back for writing and checking the answer, however long the search takes.
SYNTHESIS_RESERVE_SECONDS = 10.0
# Seconds an answer by extraction and its check may take when a model has used up the time.
ANSWER_GRACE_SECONDS = 2.0
# Seconds a judge may take over the sentences of a draft, loading it included; then verification goes by rules.
JUDGE_SECONDS = 12.0
# Once a person wants the answer now, what is being searched gets this long to end.
FINISH_GRACE_SECONDS = 1.0
