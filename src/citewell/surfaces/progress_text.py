"""The titles of stages, as people read them while a run goes on."""

from __future__ import annotations

STAGE_TITLES = {
    "begin_trace": "opening the trace",
    "plan": "planning query",
    "retrieve": "retrieving evidence",
    "inspect_top": "inspecting top evidence",
    "judge_coverage": "judging coverage",
    "optional_expand_or_retry": "retrying or expanding",
    "search": "searching",
    "read": "reading",
    "evaluate": "evaluating",
    "prepare_synthesis": "preparing evidence",
    "synthesize": "synthesizing answer",
    "verify": "verifying citations",
    "persist_trace": "saving trace",
}
