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
            return f"{judge} judged {pairs} sentences"
        case decided.JudgeFailed(why=why):
            return f"sentences are checked by rules alone: {why}"
        case decided.PassagesRead(reader=reader, passages=passages):
            return f"{reader} read {passages} passages"
        case decided.ReaderFailed(why=why):
            return f"passages are chosen without the reader: {why}"
        case decided.RepairAsked(faults=faults):
            return f"asking for a repair: {'; '.join(faults)[:200]}"
        case decided.CostLimitReached(of_day=said) if said:
            return f"{said} Quoting instead."
        case decided.CostLimitReached(ceiling=ceiling):
            return f"the ceiling of {ceiling} is reached: quoting instead"
        case decided.AnswerVerified(failed_gates=failed) if failed:
            return f"failed: {', '.join(failed)}"
        case decided.GatheringEnded(why=why) | decided.WritingEnded(why=why):
            return f"{why}"
        case decided.StageEnded(stage=stage, seconds=seconds):
            return f"{stage} took longer than {seconds:g} s"
        case decided.ActionGivenUp(stage=stage, message=message):
            return f"{stage} failed: {message}"
        case decided.TopicsChosen(topics=topics):
            return f"{len(topics)} topics: {' | '.join(one.topic for one in topics)}"
        case decided.TopicSkipped(topic=topic, why=why):
            return f"{topic}: {why}"
        case decided.NoteWritten(path=path, changed=changed, dry_run=dry_run):
            done = "would change" if dry_run else "written"
            return f"{path}: {done if changed else 'as it was'}"
        case _:
            return _web_line(decision)


def _web_line(decision: decided.Decision) -> str | None:
    match decision:
        case decided.WebRoundBegun(loop=loop, max_loops=most, queries=queries, providers=providers):
            return f"round {loop} of {most}, {', '.join(providers)}: {' | '.join(queries)}"
        case decided.WebHitsFound(provider=provider, urls=urls):
            return f"{provider} found {len(urls)} pages"
        case decided.PageChosen(url=url, reason=reason):
            return f"reading {url}" + (f" ({reason})" if reason else "")
        case decided.PageTaken(url=url, flags=flags):
            return f"read {url}" + (f" ({', '.join(flags)})" if flags else "")
        case decided.SourceTurnedAway(source=source, reason=reason):
            return f"left out {source}: {reason}"
        case decided.WebAssessed(reason=reason):
            return reason
        case decided.WebLoopEnded(stop=stop, pages=pages, queries=queries):
            return f"{stop}: {pages} pages read, {queries} queries sent"
        case _:
            return _report_line(decision)


def _report_line(decision: decided.Decision) -> str | None:
    match decision:
        case decided.SubQueriesPlanned(queries=queries, planned_by=by):
            return f"{len(queries)} sub-queries ({by}): {' | '.join(queries)}"
        case decided.FamilySkipped(family=family, reason=reason):
            return f"{family} is left out: {reason}"
        case decided.DuplicatesDropped(items=items, duplicates=duplicates):
            return f"{items} passages, {len(duplicates)} of them copies"
        case decided.SourcesTriaged(kept=kept, dropped=dropped) if kept or dropped:
            return f"{len(kept)} sources from outside kept, {len(dropped)} below the floor"
        case decided.ReportBound(claims=claims, citations=citations, unresolved=unresolved):
            return unresolved[0] if unresolved else f"{claims} claims, {citations} citations, all resolved"
        case _:
            return None
