"""A run's progress as lines for a person: rendered from its log and nothing else."""

from __future__ import annotations

from typing import Any

from citewell.domain.events import RunEvent

_STAGES = {
    "plan": "planning query",
    "retrieve": "retrieving evidence",
    "inspect_top": "inspecting top evidence",
    "judge_coverage": "judging coverage",
    "optional_expand_or_retry": "retrying or expanding",
    "prepare_synthesis": "preparing evidence",
    "synthesize": "writing answer",
    "verify": "verifying citations",
    "persist_trace": "saving trace",
}


def progress_line(event: RunEvent) -> str | None:
    """What a person wants to read of an event, if anything."""
    match event.kind:
        case "stage_entered":
            return _STAGES.get(str(event.body["stage"]), str(event.body["stage"]))
        case "decision_made":
            return _decision(event.body["name"], event.body["data"])
        case "run_resumed":
            return f"resumed {event.run_id}"
        case _:
            return None


def _decision(name: str, data: dict[str, Any]) -> str | None:
    match name:
        case "planned":
            return f"  {len(data['variants'])} queries: {' | '.join(data['variants'])}"
        case "retrieved":
            return f"  {len(data['keys'])} rows: {data['recall_note']}"
        case "topic_briefed":
            return f"  topic {data['topic']}: {data['nodes']} nodes, {data['edges']} edges"
        case "judged":
            return f"  {data['verdict']}: {data['reason']}"
        case "retried":
            return f"  retry kept {len(data['preserved'])} rows, added {len(data['accepted'])}"
        case "expanded":
            return f"  added {len(data['accepted'])} linked documents"
        case "verified" if data["failed_gates"]:
            return f"  failed: {', '.join(data['failed_gates'])}"
        case "gathering_ended":
            return f"  {data['why']}"
        case "action_failed":
            return f"  {data['stage']} failed: {data['message']}"
        case _:
            return None
