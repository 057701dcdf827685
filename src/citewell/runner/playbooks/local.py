"""The `local` playbook: the corpus alone, bounded. Pure.

plan (a model may help: `planning_steps`) → retrieve, and at the same time the topic's brief where it is wanted →
inspect the top rows → judge → at most one focused retry or one related expansion → the answer (`answering`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from citewell.domain.chat import ChatReply, Usage
from citewell.domain.decisions import (
    ActionGivenUp,
    CostEstimated,
    CoverageJudged,
    EvidenceFound,
    EvidenceReread,
    ExpansionMerged,
    RetryMerged,
    SearchesPlanned,
    TopicBriefAdded,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan, Variant
from citewell.domain.runs import Failure, JudgeResult, StopReason
from citewell.models.tokens import estimate_tokens
from citewell.packs.topic_brief import RELATED_LIMIT, SEED_LIMIT, with_brief
from citewell.planning import planner
from citewell.runner import budgets, web_evaluator
from citewell.runner.actions import (
    STAGE_TIMEOUT,
    Action,
    ActionFailed,
    AnswersRead,
    Ask,
    AskFailed,
    BriefPlanned,
    BriefTopic,
    CancelRequested,
    ClaimsJudged,
    Compare,
    Compared,
    DeadlinePassed,
    Drafted,
    Expand,
    Expanded,
    Extract,
    FinishRequested,
    GivenRead,
    Inspect,
    Inspected,
    ItemsDeduped,
    ItemsTriaged,
    JudgeClaims,
    JudgeCoverage,
    Judged,
    KeepTexts,
    MakePlan,
    MergePlan,
    NoteSeen,
    NotesLinked,
    Observation,
    PageKept,
    PagesRanked,
    PlanMade,
    PlanMerged,
    Prepare,
    Prepared,
    ReadAnswers,
    ReadDraft,
    ReadGiven,
    ReadReview,
    Replied,
    ReportComposed,
    ReportRead,
    Retrieve,
    Retrieved,
    Reviewed,
    SectionComposed,
    SectionWritten,
    SnippetsKept,
    TextsKept,
    TopicBriefed,
    TopicsFound,
    TopicSurveyed,
    Verified,
    Verify,
    WebFailed,
    WebSearched,
    WebWeighed,
)
from citewell.runner.merge import merge_expansion, merge_inspection, merge_retry
from citewell.runner.playbooks import answering, planning_steps
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.state import RunState
from citewell.synthesis import review


def opening(state: RunState) -> Transition:
    """A run begins with understanding the question; related rows enter only by the judged expansion."""
    request = state.request
    limits = replace(request.limits, include_related=False)
    if request.goal == "pack":
        limits = request.limits
    plan = MakePlan(
        *(request.question, request.filters, limits, request.topic, request.topic_brief, request.conversation)
    )
    return Transition(state, (plan,), tuple(_estimated_cost(state)))


def _estimated_cost(state: RunState) -> Iterator[CostEstimated]:
    """The most the models of this run can cost, before any of them is asked."""
    use, advice = state.request.models, _advice(state)
    if use.writes or use.planner or advice is not None:
        chars, repairs = state.request.max_evidence_chars, state.budget.repairs
        most = budgets.estimate(use, chars, repairs, planner.MAX_OUTPUT_TOKENS, review.MAX_OUTPUT_TOKENS, advice)
        given, taken = most.input_tokens, most.output_tokens
        yield CostEstimated(most.calls, given, taken, most.usd, use.max_cost_usd, use.max_tokens)


def _advice(state: RunState) -> budgets.MoreCalls | None:
    """What a model may be asked before and between rounds on the web."""
    web = state.request.web
    if web is None or not (web.providers and web.loops and web.model) or state.request.goal != "answer":
        return None
    each = Usage(estimate_tokens("x" * web_evaluator.MOST_PROMPT_CHARS), web_evaluator.MAX_OUTPUT_TOKENS)
    return budgets.MoreCalls(web.max_loops + 1, each, state.request.models.evaluator_price)


def observed(state: RunState, observation: Observation, action: Action) -> Transition:
    """What follows from what was seen; `action` is the one it answers."""
    match observation:
        case PlanMade(plan=plan) if state.request.goal == "synthesis":
            read = ReadGiven(state.request.question, plan, state.request.given)
            return Transition(replace(state, plan=plan), (read,))
        case PlanMade(plan=plan):
            return planning_steps.before_searching(state, plan, search)
        case GivenRead(pack=pack, refused=refused):
            return _given(state, pack, refused)
        case Replied(reply=reply):
            return _replied(state, reply, action)
        case AskFailed():
            return _ask_failed(state, observation, action)
        case PlanMerged(merged=merged):
            return planning_steps.merged(state, merged, search)
        case Retrieved(pack=pack) if state.pack is None:
            return _first_evidence(counted(state, observation), pack)
        case Retrieved(pack=pack):
            return _retried(counted(state, observation), pack)
        case TopicBriefed(brief=brief):
            decision = TopicBriefAdded(brief.topic, len(brief.nodes), len(brief.edges))
            return _once_found(replace(state, brief=brief)).after(decision)
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
            widened = replace(state, pack=pack, merges=(*state.merges, record), retrieved_keys=_seen(state, pack))
            return answering.prepare(widened, (ExpansionMerged(record.accepted, record.rejected),))
        case Prepared(prepared=prepared, to_compare=to_compare):
            return answering.prepared(state, prepared, to_compare)
        case Compared():
            assert isinstance(action, Compare)
            return answering.compared(state, action, observation)
        case AnswersRead():
            assert isinstance(action, ReadAnswers)
            return answering.answers_read(state, action, observation)
        case Drafted(draft=draft):
            return answering.drafted(state, draft)
        case ClaimsJudged():
            assert isinstance(action, JudgeClaims)
            return answering.judged(state, action, observation)
        case Verified(verification=verification):
            return answering.verified(state, verification)
        case Reviewed():
            return answering.reviewed(state, observation)
        case TextsKept(missing=missing):
            warnings = (*state.warnings, "source_removed_during_run") if missing else state.warnings
            return answering.ended(replace(state, warnings=warnings))
        case BriefPlanned() | TopicSurveyed() | ItemsDeduped() | ItemsTriaged() | ReportRead() | ReportComposed():
            return waiting(state)  # of another playbook
        case NoteSeen() | TopicsFound() | NotesLinked() | SectionComposed() | SectionWritten():
            return waiting(state)  # of another playbook
        case WebSearched() | PageKept() | SnippetsKept() | WebFailed() | PagesRanked() | WebWeighed():
            return waiting(state)  # a run that asks for nothing of the web sees nothing of it
        case ActionFailed() | CancelRequested() | FinishRequested() | DeadlinePassed():
            return waiting(state)  # the kernel deals with these before a playbook sees them
        case _:
            assert_never(observation)


def _given(state: RunState, pack: ResearchPack, refused: tuple[tuple[str, str], ...]) -> Transition:
    """Evidence that was given and read anew: on to the answer."""
    warnings = (*state.warnings, "evidence_refused") if refused else state.warnings
    after = replace(state, pack=pack, warnings=warnings, rejected={**state.rejected, **dict(refused)})
    after = replace(after, retrieved_keys=_seen(after, pack))
    keys = tuple(row.source_key for row in pack.evidence)
    return answering.prepare(after, (EvidenceReread(keys, tuple(f"{key}: {why}" for key, why in refused)),))


def search(state: RunState, plan: QueryPlan) -> Transition:
    """Search by a plan: for the first time, or again with the retry's variant and whatever a model has added since."""
    after = replace(state, plan=plan)
    if state.pack is None:
        return _retrieve(after, plan, attempt=1)
    if state.spend.retrieval_passes >= state.budget.retrieval_passes:
        return answering.prepare(after)
    tried = {query.casefold() for query in state.queries_tried}
    added = [variant for variant in plan.query_variants if variant.query.casefold() not in tried]
    focused = [Variant("content", state.retry_variant, 1.0)] if state.retry_variant else []
    return _retrieve(after, replace(plan, query_variants=(*focused, *added)), attempt=2)


def _retrieve(state: RunState, plan: QueryPlan, attempt: int) -> Transition:
    tried = (*state.queries_tried, *(variant.query for variant in plan.query_variants))
    spend = replace(state.spend, retrieval_passes=state.spend.retrieval_passes + 1)
    decision = SearchesPlanned(
        text_query=plan.text_query,
        terms=tuple(plan.terms),
        concepts=tuple(concept.name for concept in plan.concepts),
        variants=tuple(variant.query for variant in plan.query_variants),
        planner_status=plan.planner_status,
        topic=plan.topic if plan.include_topic_brief else None,
    )
    after = replace(state, queries_tried=tried, spend=spend)
    actions: tuple[Action, ...] = (Retrieve(state.request.question, plan, attempt, state.request.semantic),)
    if attempt == 1 and plan.include_topic_brief and plan.topic:
        actions = (*actions, BriefTopic(plan.topic, plan.filters, SEED_LIMIT, RELATED_LIMIT))
    return Transition(after, actions, (decision,))


def counted(state: RunState, found: Retrieved) -> RunState:
    if found.report is None:
        return state
    before, after = state.candidates
    if found.report.semantic is not None and found.report.semantic.problem:
        state = replace(state, warnings=(*state.warnings, "semantic_lane_unavailable"))
    return replace(
        state,
        candidates=(before + found.report.before_dedupe, after + found.report.after_dedupe),
        dropped=(*state.dropped, *found.report.dropped),
        aliases_untried=tuple(dict.fromkeys((*state.aliases_untried, *found.report.aliases_untried))),
    )


def with_pack(state: RunState, pack: ResearchPack) -> RunState:
    """A state with what was found first."""
    after = replace(state, pack=pack)
    return replace(after, retrieved_keys=_seen(after, pack))


def _first_evidence(state: RunState, pack: ResearchPack) -> Transition:
    after = with_pack(state, pack)
    decision = EvidenceFound(tuple(row.source_key for row in pack.evidence), pack.coverage.recall_note)
    return _once_found(after).after(decision)


def _once_found(state: RunState) -> Transition:
    """Evidence and brief are gathered at the same time: go on when nothing of them is under way any more."""
    if state.open or state.pack is None:
        return waiting(state)
    pack = with_brief(state.pack, state.brief) if state.brief is not None else state.pack
    after = replace(state, pack=pack, brief=None)
    if state.request.goal == "answer":
        return inspect(after)
    found: StopReason = "enough_evidence" if pack.evidence else "no_evidence"
    return answering.ended(replace(after, finishing=state.finishing or found))


def inspect(state: RunState) -> Transition:
    assert state.pack is not None
    pack = state.pack
    if not pack.evidence:
        return _judge(state)
    rows = pack.evidence[: state.budget.inspect_rows]
    keys = tuple(row.source_key for row in rows)
    shown = tuple((row.span.start, row.span.end) for row in rows)
    return Transition(state, (Inspect(keys, pack.query_plan.text_query, state.budget.inspect_chars, shown),))


def _seen(state: RunState, pack: ResearchPack) -> tuple[str, ...]:
    keys = (row.source_key for row in (*pack.evidence, *pack.exact_tag_evidence))
    return tuple(dict.fromkeys((*state.retrieved_keys, *keys)))


def _judge(state: RunState) -> Transition:
    assert state.pack is not None
    judge = JudgeCoverage(
        state.pack,
        retries_left=_left(state.budget.retries, state.spend.retries, state),
        expansions_left=_left(state.budget.expansions, state.spend.expansions, state),
        tried=state.queries_tried,
    )
    return Transition(state, (judge,))


def _left(limit: int, used: int, state: RunState) -> int:
    """One focused retry or one related expansion, not both, and never once asked to finish."""
    exhausted = state.finish_requested or state.spend.retries + state.spend.expansions > 0
    return 0 if exhausted else max(0, limit - used)


def _judged(state: RunState, result: JudgeResult) -> Transition:
    after = replace(state, judgements=(*state.judgements, result), pack=_estimated(state, result))
    likely = result.answerability.probability if result.answerability else None
    judged = CoverageJudged(result.verdict, result.reason, result.missing_concepts, result.retry_action, likely)
    decisions = (judged,)
    if result.retry_action == "focused_retry" and result.retry_variant and state.plan is not None:
        spend = replace(after.spend, retries=after.spend.retries + 1)
        retrying = replace(after, spend=spend, retry_variant=result.retry_variant)
        retry = planning_steps.after_weak_search(retrying, search) or search(retrying, state.plan)
        return retry.after(*decisions)
    if result.retry_action == "related_expansion" and result.expansion_lookup:
        spend = replace(after.spend, expansions=after.spend.expansions + 1)
        limits = state.request.limits
        expand = Expand(result.expansion_lookup, state.budget.expansion_rows, limits.max_chars_per_doc)
        return Transition(replace(after, spend=spend), (expand,), decisions)
    return answering.prepare(after, decisions)


def _estimated(state: RunState, result: JudgeResult) -> ResearchPack | None:
    """The pack with the judge's estimate: what was inspected or retried may have changed it."""
    if state.pack is None or result.answerability is None:
        return state.pack
    return replace(state.pack, coverage=replace(state.pack.coverage, answerability=result.answerability))


def _retried(state: RunState, found: ResearchPack) -> Transition:
    assert state.pack is not None
    pack, record = merge_retry(state.pack, found)
    rejected = {**state.rejected, **dict.fromkeys(record.rejected, "neither an anchor nor a missing concept")}
    after = replace(state, pack=pack, merges=(*state.merges, record), rejected=rejected)
    after = replace(after, retrieved_keys=_seen(_with_keys(after, record.rejected), pack))
    return _judge(after).after(RetryMerged(record.preserved, record.accepted, record.rejected))


def _with_keys(state: RunState, keys: tuple[str, ...]) -> RunState:
    return replace(state, retrieved_keys=tuple(dict.fromkeys((*state.retrieved_keys, *keys))))


def _replied(state: RunState, reply: ChatReply, pending: Action) -> Transition:
    assert isinstance(pending, Ask)
    call = budgets.call_of(pending.request, reply)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if pending.request.purpose == "plan":
        return planning_steps.replied(after, reply)
    if pending.request.purpose == "review":
        return answering.review_replied(after, reply)
    return answering.replied(after, pending.request, reply)


def _ask_failed(state: RunState, seen: AskFailed, pending: Action) -> Transition:
    assert isinstance(pending, Ask)
    call = budgets.call_of(pending.request, seen)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if pending.request.purpose == "plan":
        return planning_steps.failed(after, seen, search)
    if pending.request.purpose == "review":
        return answering.unreviewed(after, seen.message)
    return answering.ask_failed(after, seen)


def given_up(state: RunState, pending: Ask) -> RunState:
    """A call nobody waits for any longer: counted, its cost unknown unless the model is free."""
    call = budgets.dropped_call(pending.request, budgets.price_of(pending.request, state.request.models))
    spend = budgets.spent(state.spend, call, budgets.worst_tokens(pending.request))
    return replace(state, spend=spend, calls=(*state.calls, call))


def end_gathering(state: RunState) -> Transition:
    """Go to the answer with what is there; an answer already being made is finished, by a model only if it may be."""
    asked = next((action for action in state.open if isinstance(action, Ask)), None)
    if asked is not None and asked.request.purpose == "plan":
        return planning_steps.let_go(given_up(state, asked), search)
    if asked is not None:
        return answering.writing_over(given_up(state, asked)) if state.is_hurried else waiting(state)
    if any(isinstance(action, JudgeClaims) for action in state.open):
        return answering.unjudged(state) if state.is_hurried else waiting(state)
    if any(isinstance(action, ReadAnswers) for action in state.open):
        return answering.unread(state) if state.is_hurried else waiting(state)
    if any(isinstance(action, _ANSWERING) for action in state.open):
        return waiting(state)
    if state.pack is None and state.is_hurried and "gathering" not in state.phases_over:
        return Transition(state, tuple(action for action in state.open if not isinstance(action, BriefTopic)))
    if state.pack is None:
        return answering.ended(replace(state, finishing=state.finishing or "no_evidence"))
    return answering.prepare(state)


_ANSWERING = (Prepare, Compare, Extract, ReadDraft, Verify, ReadReview, KeepTexts)


def end_writing(state: RunState) -> Transition:
    """The time for writing is over: a model that still writes is let go of."""
    if any(isinstance(action, JudgeClaims) for action in state.open):
        return answering.unjudged(state)
    if any(isinstance(action, ReadAnswers) for action in state.open):
        return answering.unread(state)
    asked = next((action for action in state.open if isinstance(action, Ask)), None)
    return answering.writing_over(given_up(state, asked)) if asked is not None else waiting(state)


def failed(state: RunState, action: Action, failure: Failure) -> Transition:
    """What a failed action means: some are only a loss, others end the run with what it has."""
    decision = ActionGivenUp(failure.stage, failure.code, failure.message)
    match action:
        case Ask() if action.request.purpose == "plan":
            return planning_steps.failed(given_up(state, action), failure, search).after(decision)
        case Ask() if action.request.purpose == "review":
            return answering.unreviewed(given_up(state, action), failure.message)
        case ReadReview():
            return answering.unreviewed(state, failure.message)
        case Ask() if failure.code == STAGE_TIMEOUT:
            return answering.writing_over(given_up(state, action)).after(decision)
        case Ask():
            return answering.failed(given_up(state, action), action, failure)
        case JudgeClaims():
            return answering.unjudged(state, failure.message)
        case ReadAnswers():
            return answering.unread(state, failure.message)
        case MergePlan():
            return planning_steps.failed(state, failure, search)
        case BriefTopic():
            return _once_found(replace(state, warnings=(*state.warnings, "topic_brief_failed"))).after(decision)
        case Inspect():
            return _judge(replace(state, warnings=(*state.warnings, "inspection_failed"))).after(decision)
        case Expand():
            return answering.prepare(replace(state, warnings=(*state.warnings, "expansion_failed")), (decision,))
        case Retrieve() if state.pack is not None:
            return answering.prepare(replace(state, warnings=(*state.warnings, "retry_failed")), (decision,))
        case _:
            return answering.failed(state, action, failure)
