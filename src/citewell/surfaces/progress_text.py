"""What a person reads of a run while it goes on: the title of each stage, and decisions in a line each. Pure."""

from __future__ import annotations

from citewell.domain import decisions as decided

STAGE_TITLES = {
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


def decision_line(decision: decided.Decision) -> str | None:
    """What a person wants to know of a decision, if anything."""
    match decision:
        case decided.SearchesPlanned(variants=variants):
            return f"{len(variants)} queries: {' | '.join(variants)}"
        case decided.EvidenceFound(keys=keys, recall_note=note):
            return f"{len(keys)} rows: {note}"
        case decided.TopicBriefAdded(topic=topic, nodes=nodes, edges=edges):
            return f"topic {topic}: {nodes} nodes, {edges} edges"
        case decided.CoverageJudged(verdict=verdict, reason=reason):
            return f"{verdict}: {reason}"
        case decided.RetryMerged(preserved=preserved, accepted=accepted):
            return f"retry kept {len(preserved)} rows, added {len(accepted)}"
        case decided.ExpansionMerged(accepted=accepted):
            return f"added {len(accepted)} linked documents"
        case decided.CostEstimated(usd=usd, calls=calls):
            most = "at a price nobody knows" if usd is None else f"at most {usd:.4f} USD" if usd else "free of charge"
            return f"up to {calls} model calls, {most}"
        case decided.PlannerMerged(accepted=accepted) if accepted:
            return f"the planner added: {' | '.join(accepted)}"
        case decided.PlannerFailed(error=error):
            return f"planned without the model: {error}"
        case decided.ClaimsScored(judge=judge, pairs=pairs):
            return f"  {judge} judged {pairs} sentences"
        case decided.JudgeFailed(why=why):
            return f"  sentences are checked by rules alone: {why}"
        case decided.RepairAsked(faults=faults):
            return f"asking for a repair: {'; '.join(faults)[:200]}"
        case decided.CostLimitReached(max_cost_usd=ceiling):
            return f"the ceiling of {ceiling} USD is reached: quoting instead"
        case decided.AnswerVerified(failed_gates=failed) if failed:
            return f"failed: {', '.join(failed)}"
        case decided.GatheringEnded(why=why) | decided.WritingEnded(why=why):
            return f"{why}"
        case decided.StageEnded(stage=stage, seconds=seconds):
            return f"{stage} took longer than {seconds:g} s"
        case decided.ActionGivenUp(stage=stage, message=message):
            return f"{stage} failed: {message}"
        case _:
            return None
