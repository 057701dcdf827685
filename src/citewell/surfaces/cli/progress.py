"""A run's progress as lines for a person: rendered from its log and nothing else."""

from __future__ import annotations

import sys

from citewell.domain import decisions as decided
from citewell.domain.events import (
    DecisionMade,
    RunEvent,
    RunResumed,
    SentenceRetracted,
    SentenceShown,
    StageEntered,
)
from citewell.surfaces.cli.console import note, one_line, screen_width
from citewell.surfaces.cli.layout import cells

_STAGES = {
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
# The ends of a log are large and say nothing to a person who watches.
_SHOWN = ("stage_entered", "decision_made", "sentence_shown", "sentence_retracted", "run_resumed", "display_updated")


class ProgressLine:
    """Progress on stderr: one line that the next one replaces and the answer clears away; or lines that stay."""

    def __init__(self, *, quiet: bool, stays: bool) -> None:
        self._quiet = quiet
        self._stays = stays
        self._shown = 0

    def show(self, text: str) -> None:
        if self._quiet:
            return
        if self._stays:
            note(text)
            return
        line = one_line(text, screen_width() - 1)
        self.clear()
        self._shown = cells(line)
        print(line, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for what follows; with spaces, which every terminal knows."""
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0


def progress_line(event: RunEvent) -> str | None:
    """What a person wants to read of an event, if anything."""
    if event.kind not in _SHOWN:
        return None
    match event.event:
        case StageEntered(stage=stage):
            return _STAGES.get(stage, stage)
        case DecisionMade(decision=decision):
            return _decision(decision)
        case SentenceShown(text=text):
            return f"  > {text}"
        case SentenceRetracted(indexes=indexes, reason=reason):
            return f"  taken back: sentence {', '.join(str(index + 1) for index in indexes)} ({reason})"
        case RunResumed():
            return f"resumed {event.run_id}"
        case _:
            return None


def _decision(decision: decided.Decision) -> str | None:
    match decision:
        case decided.SearchesPlanned(variants=variants):
            return f"  {len(variants)} queries: {' | '.join(variants)}"
        case decided.EvidenceFound(keys=keys, recall_note=note):
            return f"  {len(keys)} rows: {note}"
        case decided.TopicBriefAdded(topic=topic, nodes=nodes, edges=edges):
            return f"  topic {topic}: {nodes} nodes, {edges} edges"
        case decided.CoverageJudged(verdict=verdict, reason=reason):
            return f"  {verdict}: {reason}"
        case decided.RetryMerged(preserved=preserved, accepted=accepted):
            return f"  retry kept {len(preserved)} rows, added {len(accepted)}"
        case decided.ExpansionMerged(accepted=accepted):
            return f"  added {len(accepted)} linked documents"
        case decided.CostEstimated(usd=usd, calls=calls):
            most = "at a price nobody knows" if usd is None else f"at most {usd:.4f} USD" if usd else "free of charge"
            return f"  up to {calls} model calls, {most}"
        case decided.PlannerMerged(accepted=accepted) if accepted:
            return f"  the planner added: {' | '.join(accepted)}"
        case decided.PlannerFailed(error=error):
            return f"  planned without the model: {error}"
        case decided.ClaimsScored(judge=judge, pairs=pairs):
            return f"  {judge} judged {pairs} sentences"
        case decided.JudgeFailed(why=why):
            return f"  sentences are checked by rules alone: {why}"
        case decided.RepairAsked(faults=faults):
            return f"  asking for a repair: {'; '.join(faults)[:200]}"
        case decided.CostLimitReached(max_cost_usd=ceiling):
            return f"  the ceiling of {ceiling} USD is reached: quoting instead"
        case decided.AnswerVerified(failed_gates=failed) if failed:
            return f"  failed: {', '.join(failed)}"
        case decided.GatheringEnded(why=why) | decided.WritingEnded(why=why):
            return f"  {why}"
        case decided.StageEnded(stage=stage, seconds=seconds):
            return f"  {stage} took longer than {seconds:g} s"
        case decided.ActionGivenUp(stage=stage, message=message):
            return f"  {stage} failed: {message}"
        case _:
            return None
