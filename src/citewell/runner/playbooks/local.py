"""The `local` playbook: the corpus alone, bounded. Pure.

plan (a model may help: `questioning`) → retrieve → the topic's brief where it is wanted → inspect the top rows →
judge → at most one focused retry or one related expansion → the answer (`answering`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from citewell.domain.chat import ChatReply
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan, Variant
from citewell.domain.runs import Failure, JudgeResult
from citewell.packs.topic_brief import RELATED_LIMIT, SEED_LIMIT, with_brief
from citewell.planning import planner
from citewell.runner import budgets
from citewell.runner.actions import (
    Action,
    ActionFailed,
    Ask,
    AskFailed,
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
    MergePlan,
    Observation,
    PlanMade,
    PlanMerged,
    Prepare,
    Prepared,
    ReadDraft,
    ReadReview,
    Replied,
    Retrieve,
    Retrieved,
    Reviewed,
    TextsKept,
    TopicBriefed,
    Verified,
    Verify,
)
from citewell.runner.merge import merge_expansion, merge_inspection, merge_retry
from citewell.runner.playbooks import answering, questioning
from citewell.runner.playbooks.plays import Decision, Play
from citewell.runner.state import RunState
from citewell.synthesis import review


def opening(state: RunState) -> Play:
    """A run begins with understanding the question; related rows enter only by the judged expansion."""
    request = state.request
    limits = replace(request.limits, include_related=False)
    plan = MakePlan(request.question, request.filters, limits, request.topic, request.topic_brief)
    return Play(state, (plan,), tuple(_estimated_cost(state)))


def _estimated_cost(state: RunState) -> Iterator[Decision]:
    """The most the models of this run can cost, before any of them is asked."""
    use = state.request.models
    if use.writes or use.planner:
        chars, repairs = state.request.max_evidence_chars, state.budget.repairs
        most = budgets.estimate(use, chars, repairs, planner.MAX_OUTPUT_TOKENS, review.MAX_OUTPUT_TOKENS)
        data = {"calls": most.calls, "input_tokens": most.input_tokens, "output_tokens": most.output_tokens}
        yield Decision("cost_estimated", {**data, "usd": most.usd, "max_cost_usd": use.max_cost_usd})


def observed(state: RunState, observation: Observation, pending: Action | None) -> Play:
    """What follows from what was seen; `pending` is the action that it answers."""
    match observation:
        case PlanMade(plan=plan):
            return questioning.before_searching(state, plan, _search)
        case Replied(reply=reply):
            return _replied(state, reply, pending)
        case AskFailed():
            return _ask_failed(state, observation, pending)
        case PlanMerged(merged=merged):
            return questioning.merged(state, merged, _search)
        case Retrieved(pack=pack) if state.pack is None:
            return _first_evidence(_counted(state, observation), pack)
        case Retrieved(pack=pack):
            return _retried(_counted(state, observation), pack)
        case TopicBriefed(brief=brief):
            assert state.pack is not None
            data = {"topic": brief.topic, "nodes": len(brief.nodes), "edges": len(brief.edges)}
            inspected = _inspect(replace(state, pack=with_brief(state.pack, brief)))
            return inspected.after(Decision("topic_briefed", data))
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
            widened = replace(state, pack=pack, merges=(*state.merges, record), retrieved_keys=_seen(state, pack))
            return answering.prepare(widened, (decision,))
        case Prepared(prepared=prepared):
            return answering.prepared(state, prepared)
        case Drafted(draft=draft):
            return answering.drafted(state, draft)
        case Verified(verification=verification):
            return answering.verified(state, verification)
        case Reviewed():
            return answering.reviewed(state, observation)
        case TextsKept(missing=missing):
            warnings = (*state.warnings, "source_removed_during_run") if missing else state.warnings
            return answering.ended(replace(state, warnings=warnings))
        case ActionFailed() | CancelRequested() | FinishRequested() | DeadlinePassed():
            return Play(state)  # the kernel deals with these before a playbook sees them
        case _:
            assert_never(observation)


def _search(state: RunState, plan: QueryPlan) -> Play:
    """Search by a plan: for the first time, or again with the retry's variant and whatever a model has added since."""
    after = replace(state, plan=plan)
    if state.pack is None:
        return _retrieve(after, plan, attempt=1)
    tried = {query.casefold() for query in state.queries_tried}
    added = [variant for variant in plan.query_variants if variant.query.casefold() not in tried]
    focused = [Variant("content", state.retry_variant, 1.0)] if state.retry_variant else []
    return _retrieve(after, replace(plan, query_variants=(*focused, *added)), attempt=2)


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
    return inspected.after(*decisions)


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
        retrying = replace(after, spend=spend, retry_variant=result.retry_variant)
        retry = questioning.after_weak_search(retrying, _search) or _search(retrying, state.plan)
        return retry.after(*decisions)
    if result.retry_action == "related_expansion" and result.expansion_lookup:
        spend = replace(after.spend, expansions=after.spend.expansions + 1)
        limits = state.request.limits
        expand = Expand(result.expansion_lookup, state.budget.expansion_rows, limits.max_chars_per_doc)
        return Play(replace(after, spend=spend), (expand,), decisions)
    return answering.prepare(after, decisions)


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
    return judged.after(Decision("retried", data))


def _with_keys(state: RunState, keys: tuple[str, ...]) -> RunState:
    return replace(state, retrieved_keys=tuple(dict.fromkeys((*state.retrieved_keys, *keys))))


def _replied(state: RunState, reply: ChatReply, pending: Action | None) -> Play:
    assert isinstance(pending, Ask)
    call = budgets.call_of(pending.request, reply)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if pending.request.purpose == "plan":
        return questioning.replied(after, reply)
    if pending.request.purpose == "review":
        return answering.review_replied(after, reply)
    return answering.replied(after, pending.request, reply)


def _ask_failed(state: RunState, seen: AskFailed, pending: Action | None) -> Play:
    assert isinstance(pending, Ask)
    call = budgets.call_of(pending.request, seen)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if pending.request.purpose == "plan":
        return questioning.failed(after, seen, _search)
    if pending.request.purpose == "review":
        return answering.unreviewed(after, seen.message)
    return answering.ask_failed(after, seen)


def _given_up(state: RunState, pending: Ask) -> RunState:
    """A call nobody waits for any longer: counted, its cost unknown unless the model is free."""
    use = state.request.models
    prices = {"plan": use.planner_price, "review": use.reviewer_price}
    price = prices.get(pending.request.purpose, use.writer_price)
    call = budgets.dropped_call(pending.request, price)
    return replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))


def hurried(state: RunState, pending: Action | None) -> Play:
    """Go to the answer with what is there; an answer already being made is simply finished."""
    if isinstance(pending, (Prepare, Extract, ReadDraft, Verify, ReadReview, KeepTexts)):
        return Play(state, (pending,))
    if isinstance(pending, Ask) and pending.request.purpose == "plan":
        return questioning.let_go(_given_up(state, pending), _search)
    if isinstance(pending, Ask):
        return Play(state, (pending,))
    if state.pack is None:
        return answering.ended(replace(state, finishing=state.finishing or "no_evidence"))
    return answering.prepare(state)


def writing_over(state: RunState, pending: Action | None) -> Play:
    """The time for writing is over: a model that still writes is let go of."""
    if isinstance(pending, Ask):
        return answering.writing_over(_given_up(state, pending))
    return Play(state, (pending,) if pending is not None else ())


def failed(state: RunState, action: Action, failure: Failure) -> Play:
    """What a failed action means: some are only a loss, others end the run with what it has."""
    decision = Decision("action_failed", {"stage": failure.stage, "code": failure.code, "message": failure.message})
    match action:
        case Ask() if action.request.purpose == "plan":
            planless = questioning.failed(_given_up(state, action), failure, _search)
            return planless.after(decision)
        case Ask() if action.request.purpose == "review":
            return answering.unreviewed(_given_up(state, action), failure.message)
        case ReadReview():
            return answering.unreviewed(state, failure.message)
        case Ask():
            return answering.failed(_given_up(state, action), action, failure)
        case MergePlan():
            return questioning.failed(state, failure, _search)
        case BriefTopic():
            inspected = _inspect(replace(state, warnings=(*state.warnings, "topic_brief_failed")))
            return inspected.after(decision)
        case Inspect():
            judged = _judge(replace(state, warnings=(*state.warnings, "inspection_failed")))
            return judged.after(decision)
        case Expand():
            return answering.prepare(replace(state, warnings=(*state.warnings, "expansion_failed")), (decision,))
        case Retrieve() if state.pack is not None:
            return answering.prepare(replace(state, warnings=(*state.warnings, "retry_failed")), (decision,))
        case _:
            return answering.failed(state, action, failure)
