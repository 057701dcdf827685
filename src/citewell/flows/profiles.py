"""Profiles: what each kind of run may spend. Configuration, not code."""

from __future__ import annotations

from citewell.notes.task import MAX_TOPICS, NOTES_A_TOPIC
from citewell.reports.brief import DEFAULT_SECONDS, MAX_SUB_QUERIES
from citewell.runs.run import Budget, StageSeconds
from citewell.search.query import RunProfile

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
    "chat": Budget(
        seconds=20.0,
        retrieval_passes=2,
        retries=1,
        expansions=1,
        inspect_rows=5,
        inspect_chars=2_000,
        expansion_rows=8,
        repairs=1,
        rows=10,
        steps=200,
        parallel=8,
        stages=StageSeconds(planning=10, retrieval=20, inspection=10, synthesis=20, verification=15, trace=10),
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
        steps=600,
        parallel=8,
        stages=StageSeconds(planning=45, retrieval=150, inspection=45, synthesis=140, verification=45, trace=20),
    ),
    "note": Budget(
        seconds=300.0,
        retrieval_passes=1,
        retries=0,
        expansions=0,
        inspect_rows=0,
        inspect_chars=0,
        expansion_rows=0,
        repairs=0,
        rows=NOTES_A_TOPIC,
        steps=40 + 16 * MAX_TOPICS,
        parallel=8,
        stages=StageSeconds(planning=120, retrieval=180, inspection=30, synthesis=240, verification=90, trace=30),
    ),
    "report": Budget(
        seconds=DEFAULT_SECONDS,
        retrieval_passes=MAX_SUB_QUERIES,
        retries=0,
        expansions=0,
        inspect_rows=0,
        inspect_chars=0,
        expansion_rows=0,
        repairs=1,
        citations=24,
        steps=200 + 8 * MAX_SUB_QUERIES,
        parallel=8,
        stages=StageSeconds(planning=120, retrieval=240, inspection=30, synthesis=280, verification=120, trace=30),
    ),
}
