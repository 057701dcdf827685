"""The `local` playbook: the corpus alone, bounded. Pure.

plan → retrieve → the topic's brief where it is wanted → inspect the top rows → judge → at most one focused retry or one
related expansion → prepare → extract → verify → keep the cited texts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan, Variant
from citewell.domain.runs import Failure, JudgeResult, StopReason
from citewell.packs.topic_brief import RELATED_LIMIT, SEED_LIMIT, with_brief
from citewell.runner.actions import (
    Action,
    ActionFailed,
    BriefTopic,
    CancelRequested,
    DeadlinePassed,
    Drafted,
    Expand,
    Expanded,
    Extract,
    FinishRequested,
    Inspect,
    Inspected,
    JudgeCoverage,
    Judged,
    KeepTexts,
    MakePlan,
    Observation,
    PlanMade,
    Prepare,
    Prepared,
    Retrieve,
    Retrieved,
    TextsKept,
    TopicBriefed,
    Verified,
    Verify,
    stage_of,
)
from citewell.runner.merge import merge_expansion, merge_inspection, merge_retry
from citewell.runner.playbooks.plays import Decision, Play
from citewell.runner.state import RunState


def opening(state: RunState) -> Play:
    """A run begins with understanding the question; related rows enter only by the judged expansion."""
    request = state.request
    limits = replace(request.limits, include_related=False)
    plan = MakePlan(request.question, request.filters, limits, request.topic, request.topic_brief)
    return Play(state, (plan,))


def observed(state: RunState, observation: Observation) -> Play:
    """What follows from what was seen."""
    match observation:
        case PlanMade(plan=plan):
            return _retrieve(replace(state, plan=plan), plan, attempt=1)
        case Retrieved(pack=pack) if state.pack is None:
            return _first_evidence(_counted(state, observation), pack)
        case Retrieved(pack=pack):
            return _retried(_counted(state, observation), pack)
        case TopicBriefed(brief=brief):
            assert state.pack is not None
            data = {"topic": brief.topic, "nodes": len(brief.nodes), "edges": len(brief.edges)}
            inspected = _inspect(replace(state, pack=with_brief(state.pack, brief)))
            return replace(inspected, decisions=(Decision("topic_briefed", data), *inspected.decisions))
        case Inspected(views=views):
            assert state.pack is not None
            pack = merge_inspection(state.pack, views)
            keys = tuple(view.source_key for view in views)
            return _judge(replace(state, pack=pack, inspected_keys=keys))
        case Judged(result=result):
            return _judged(state, result)
        case Expanded(rows=rows):
            assert state.pack is not None
            pack, record = merge_expansion(state.pack, rows, state.budget.expansion_rows)
            decision = Decision("expanded", {"accepted": record.accepted, "rejected": record.rejected})
            merged = replace(state, pack=pack, merges=(*state.merges, record), retrieved_keys=_seen(state, pack))
            return _prepare(merged, (decision,))
        case Prepared(prepared=prepared):
            assert state.plan is not None
            data = {"sources": [source.source_key for source in prepared.sources], "chars": len(prepared.text)}
            spend = replace(state.spend, syntheses=state.spend.syntheses + 1)
            ready = replace(state, prepared=prepared, spend=spend)
            return Play(ready, (Extract(prepared, state.plan),), (Decision("prepared", data),))
        case Drafted(draft=draft):
            assert state.prepared is not None
            assert state.plan is not None
            drafted = replace(state, draft=draft)
            data = {"sentences": len(draft.sentences), "refused": draft.refused, "reason": draft.reason}
            verify = Verify(state.request.question, draft, state.prepared, state.plan)
            return Play(drafted, (verify,), (Decision("drafted", data),))
        case Verified():
            return _verified(replace(state, verification=observation.verification))
        case TextsKept(missing=missing):
            warnings = (*state.warnings, "source_removed_during_run") if missing else state.warnings
            return _ended(replace(state, warnings=warnings))
        case ActionFailed() | CancelRequested() | FinishRequested() | DeadlinePassed():
            return Play(state)  # the kernel deals with these before a playbook sees them
        case _:
            assert_never(observation)


def _retrieve(state: RunState, plan: QueryPlan, attempt: int) -> Play:
    tried = (*state.queries_tried, *(variant.query for variant in plan.query_variants))
    spend = replace(state.spend, retrieval_passes=state.spend.retrieval_passes + 1)
    data = {
        "text_query": plan.text_query,
        "terms": plan.terms,
        "concepts": [concept.name for concept in plan.concepts],
        "variants": [variant.query for variant in plan.query_variants],
        "planner_status": plan.planner_status,
        "topic": plan.topic if plan.include_topic_brief else None,
    }
    after = replace(state, queries_tried=tried, spend=spend)
    retrieve = Retrieve(state.request.question, plan, attempt, state.request.semantic)
    return Play(after, (retrieve,), (Decision("planned", data),))


def _counted(state: RunState, found: Retrieved) -> RunState:
    if found.report is None:
        return state
    before, after = state.candidates
    if found.report.semantic is not None and found.report.semantic.problem:
        state = replace(state, warnings=(*state.warnings, "semantic_lane_unavailable"))
    return replace(state, candidates=(before + found.report.before_dedupe, after + found.report.after_dedupe))


def _first_evidence(state: RunState, pack: ResearchPack) -> Play:
    after = replace(state, pack=pack)
    after = replace(after, retrieved_keys=_seen(after, pack))
    data = {"keys": [row.source_key for row in pack.evidence], "recall_note": pack.coverage.recall_note}
    decisions = (Decision("retrieved", data),)
    plan = pack.query_plan
    if plan.include_topic_brief and plan.topic:
        return Play(after, (BriefTopic(plan.topic, plan.filters, SEED_LIMIT, RELATED_LIMIT),), decisions)
    inspected = _inspect(after)
    return replace(inspected, decisions=(*decisions, *inspected.decisions))


def _inspect(state: RunState) -> Play:
    assert state.pack is not None
    pack = state.pack
    if not pack.evidence:
        return _judge(state)
    keys = tuple(row.source_key for row in pack.evidence[: state.budget.inspect_rows])
    return Play(state, (Inspect(keys, pack.query_plan.text_query, state.budget.inspect_chars),))


def _seen(state: RunState, pack: ResearchPack) -> tuple[str, ...]:
    keys = (row.source_key for row in (*pack.evidence, *pack.exact_tag_evidence))
    return tuple(dict.fromkeys((*state.retrieved_keys, *keys)))


def _judge(state: RunState) -> Play:
    assert state.pack is not None
    judge = JudgeCoverage(
        state.pack,
        retries_left=_left(state.budget.retries, state.spend.retries, state),
        expansions_left=_left(state.budget.expansions, state.spend.expansions, state),
        tried=state.queries_tried,
    )
    return Play(state, (judge,))


def _left(limit: int, used: int, state: RunState) -> int:
    """One focused retry or one related expansion, not both, and never once asked to finish."""
    exhausted = state.finish_requested or state.spend.retries + state.spend.expansions > 0
    return 0 if exhausted else max(0, limit - used)


def _judged(state: RunState, result: JudgeResult) -> Play:
    after = replace(state, judgements=(*state.judgements, result), pack=_estimated(state, result))
    data = {
        "verdict": result.verdict,
        "reason": result.reason,
        "missing_concepts": result.missing_concepts,
        "retry_action": result.retry_action,
        "answerability": result.answerability.probability if result.answerability else None,
    }
    decisions = (Decision("judged", data),)
    if result.retry_action == "focused_retry" and result.retry_variant and state.plan is not None:
        spend = replace(after.spend, retries=after.spend.retries + 1)
        plan = replace(state.plan, query_variants=(Variant("content", result.retry_variant, 1.0),))
        retry = _retrieve(replace(after, spend=spend), plan, attempt=2)
        return replace(retry, decisions=(*decisions, *retry.decisions))
    if result.retry_action == "related_expansion" and result.expansion_lookup:
        spend = replace(after.spend, expansions=after.spend.expansions + 1)
        limits = state.request.limits
        expand = Expand(result.expansion_lookup, state.budget.expansion_rows, limits.max_chars_per_doc)
        return Play(replace(after, spend=spend), (expand,), decisions)
    prepared = _prepare(after, ())
    return replace(prepared, decisions=(*decisions, *prepared.decisions))


def _estimated(state: RunState, result: JudgeResult) -> ResearchPack | None:
    """The pack with the judge's estimate: what was inspected or retried may have changed it."""
    if state.pack is None or result.answerability is None:
        return state.pack
    return replace(state.pack, coverage=replace(state.pack.coverage, answerability=result.answerability))


def _retried(state: RunState, found: ResearchPack) -> Play:
    assert state.pack is not None
    pack, record = merge_retry(state.pack, found)
    rejected = {**state.rejected, **dict.fromkeys(record.rejected, "neither an anchor nor a missing concept")}
    after = replace(state, pack=pack, merges=(*state.merges, record), rejected=rejected)
    after = replace(after, retrieved_keys=_seen(_with_keys(after, record.rejected), pack))
    data = {"preserved": record.preserved, "accepted": record.accepted, "rejected": record.rejected}
    judged = _judge(after)
    return replace(judged, decisions=(Decision("retried", data), *judged.decisions))


def _with_keys(state: RunState, keys: tuple[str, ...]) -> RunState:
    return replace(state, retrieved_keys=tuple(dict.fromkeys((*state.retrieved_keys, *keys))))


def _prepare(state: RunState, decisions: tuple[Decision, ...]) -> Play:
    assert state.pack is not None
    return Play(state, (Prepare(state.pack, state.request.max_evidence_chars),), decisions)


def _verified(state: RunState) -> Play:
    verification = state.verification
    assert verification is not None
    failed = [gate.name for gate in verification.gates if not gate.passed]
    data = {"failed_gates": failed, "unsupported_rate": verification.unsupported_rate}
    decision = Decision("verified", data)
    if failed or not verification.citations:
        ended = _ended(state)
        return replace(ended, decisions=(decision, *ended.decisions))
    texts = dict.fromkeys((citation.source_key, citation.span.content_hash) for citation in verification.citations)
    return Play(state, (KeepTexts(tuple(texts)),), (decision,))


def _ended(state: RunState) -> Play:
    reason = stop_reason(state)
    return Play(replace(state, stop_reason=reason), (), (Decision("stopped", {"stop_reason": reason}),))


def stop_reason(state: RunState) -> StopReason:
    """Why a run that came to its end came to it."""
    if state.verification is not None and not state.verification.passed:
        return "verification_failed"
    if state.finishing is not None:
        return state.finishing
    if state.draft is None or state.draft.refused:
        return "no_evidence"
    if state.judgements and state.judgements[-1].verdict == "enough_evidence":
        return "enough_evidence"
    return "weak_evidence_budget_exhausted"


def hurried(state: RunState, pending: Action | None) -> Play:
    """Go to the answer with what is there; an answer already being made is simply finished."""
    if isinstance(pending, (Prepare, Extract, Verify, KeepTexts)):
        return Play(state, (pending,))
    if state.pack is None:
        return _ended(replace(state, finishing=state.finishing or "no_evidence"))
    return _prepare(state, ())


def failed(state: RunState, action: Action, failure: Failure) -> Play:
    """What a failed action means: some are only a loss, others end the run with what it has."""
    decision = Decision("action_failed", {"stage": failure.stage, "code": failure.code, "message": failure.message})
    match action:
        case BriefTopic():
            inspected = _inspect(replace(state, warnings=(*state.warnings, "topic_brief_failed")))
            return replace(inspected, decisions=(decision, *inspected.decisions))
        case Inspect():
            judged = _judge(replace(state, warnings=(*state.warnings, "inspection_failed")))
            return replace(judged, decisions=(decision, *judged.decisions))
        case Expand():
            return _prepare(replace(state, warnings=(*state.warnings, "expansion_failed")), (decision,))
        case Retrieve() if state.pack is not None:
            return _prepare(replace(state, warnings=(*state.warnings, "retry_failed")), (decision,))
        case Verify():
            # A broken verifier must not hide the evidence: the answer is shown as unchecked, with the warning.
            unchecked = replace(state, warnings=(*state.warnings, "verifier_failed"), failure=failure)
            return replace(_ended(unchecked), decisions=(decision,))
        case KeepTexts():
            return replace(_ended(replace(state, warnings=(*state.warnings, "texts_not_kept"))), decisions=(decision,))
        case _:
            reason: StopReason = "synthesis_failed" if stage_of(action) in _WRITING else "no_evidence"
            ended = replace(state, failure=failure, stop_reason=reason)
            return Play(ended, (), (decision, Decision("stopped", {"stop_reason": reason})))


_WRITING = ("prepare_synthesis", "synthesize")
