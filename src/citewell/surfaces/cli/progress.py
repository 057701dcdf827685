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
        case "display_updated":
            return _displayed(event.body)
        case "run_resumed":
            return f"resumed {event.run_id}"
        case _:
            return None


def _displayed(body: dict[str, Any]) -> str | None:
    """A sentence of the answer that passed its own check, or one that is taken back."""
    if "shown" in body:
        return f"  > {body['shown']['text']}"
    numbers = ", ".join(str(index + 1) for index in body["retracted"]["indexes"])
    return f"  taken back: sentence {numbers} ({body['retracted']['reason']})"


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
        case "cost_estimated":
            usd = data["usd"]
            most = "at a price nobody knows" if usd is None else f"at most {usd:.4f} USD" if usd else "free of charge"
            return f"  up to {data['calls']} model calls, {most}"
        case "planner_merged" if data["accepted"]:
            return f"  the planner added: {' | '.join(data['accepted'])}"
        case "planner_failed":
            return f"  planned without the model: {data['error']}"
        case "repair_asked":
            return f"  asking for a repair: {'; '.join(data['faults'])[:200]}"
        case "cost_limit_reached":
            return f"  the ceiling of {data['max_cost_usd']} USD is reached: quoting instead"
        case "verified" if data["failed_gates"]:
            return f"  failed: {', '.join(data['failed_gates'])}"
        case "gathering_ended":
            return f"  {data['why']}"
        case "action_failed":
            return f"  {data['stage']} failed: {data['message']}"
        case _:
            return None
