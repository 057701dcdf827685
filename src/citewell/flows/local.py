"""The corpus alone.

plan → retrieve, and the topic's brief at the same time → inspect the top rows → judge → at most one focused retry or
one related expansion → the answer (`flows/write.py`).
"""

from __future__ import annotations

from dataclasses import replace

from citewell.domain.chat import Usage
from citewell.domain.decisions import (
    ActionGivenUp,
    CostEstimated,
    CoverageJudged,
    EvidenceFound,
    EvidenceReread,
    ExpansionMerged,
    PlannerAsked,
    PlannerFailed,
    PlannerMerged,
    PlannerSkipped,
    RetryMerged,
    SearchesPlanned,
    TopicBriefAdded,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan, Variant
from citewell.domain.runs import Failure, JudgeResult
from citewell.domain.topics import TopicBrief
from citewell.flows import costs, evaluator
from citewell.flows.found import Found, ask, fitted, retrieve
from citewell.flows.judge import judge
from citewell.flows.merge import merge_expansion, merge_inspection, merge_retry
from citewell.flows.outside import Outside
from citewell.flows.write import answer
from citewell.models.tokens import estimate_tokens
from citewell.packs.topic_brief import RELATED_LIMIT, SEED_LIMIT, with_brief
from citewell.planning import planner
from citewell.planning.chat_prompt import prompt_of
from citewell.planning.planner import merge_planned, planner_request, wants_model, without_model
from citewell.planning.strategy import plan_question
from citewell.runs.journal import Abandoned, Failed, Run
from citewell.synthesis import review

# A planner may be asked once, and once more to mend a reply that cannot be read; it never gets more than this share
# of the run's time.
_PLANNER_TRIES = 2
_PLANNER_SHARE = 0.25


async def local(run: Run, found: Found) -> None:
    """Answer from the corpus."""
    run.decide(*estimated_cost(run))
    plan = first_plan(run)
    if run.request.goal == "synthesis":
        await _read_given(run, found, plan)
        await answer(run, found)

    plan, has_asked = await with_planner(run, found, plan)
    await search(run, found, plan)
    if run.request.goal == "pack":
        run.end(run.finishing or ("enough_evidence" if found.pack and found.pack.evidence else "no_evidence"))
    if found.pack is None:
        run.end(run.finishing or "no_evidence")

    await inspect(run, found)
    verdict = judged(run, found, may_go_on=not run.is_cut_short)
    if verdict.retry_action == "focused_retry" and verdict.retry_variant:
        if not has_asked:
            plan = await asked_planner(run, found, plan, "what was found is weak")
        await _search_again(run, found, plan, verdict.retry_variant)
    elif verdict.retry_action == "related_expansion" and verdict.expansion_lookup:
        await _expand(run, found, verdict.expansion_lookup)
    await answer(run, found)


# Planning


def first_plan(run: Run) -> QueryPlan:
    """The question as rules understand it; related rows enter only by the judged expansion."""
    run.enter("plan")
    request = run.request
    limits = request.limits if request.goal == "pack" else replace(request.limits, include_related=False)
    prompt = prompt_of(request.question, request.conversation)
    return plan_question(prompt, request.filters, limits, topic=request.topic, include_topic_brief=request.topic_brief)


def estimated_cost(run: Run) -> list[CostEstimated]:
    """The most the models of this run can cost, before any of them is asked."""
    use, advice = run.request.models, _advice(run)
    if not (use.writes or use.planner or advice is not None):
        return []
    chars, repairs = run.request.max_evidence_chars, run.budget.repairs
    most = costs.estimate(use, chars, repairs, planner.MAX_OUTPUT_TOKENS, review.MAX_OUTPUT_TOKENS, advice)
    given, taken = most.input_tokens, most.output_tokens
    return [CostEstimated(most.calls, given, taken, most.usd, use.max_cost_usd, use.max_tokens)]


def _advice(run: Run) -> costs.MoreCalls | None:
    """What a model may be asked before and between rounds on the web."""
    web = run.request.web
    if web is None or not (web.providers and web.loops and web.model) or run.request.goal != "answer":
        return None
    each = Usage(estimate_tokens("x" * evaluator.MOST_PROMPT_CHARS), evaluator.MAX_OUTPUT_TOKENS)
    return costs.MoreCalls(web.max_loops + 1, each, run.request.models.evaluator_price)


async def with_planner(run: Run, found: Found, plan: QueryPlan) -> tuple[QueryPlan, bool]:
    """Ask a model first where one is chosen and worth it; the plan, and whether one was asked."""
    found.plan = plan
    if not run.request.models.planner or run.is_hurried:
        return plan, True
    wanted, why = wants_model(plan, prompt_of(run.request.question, run.request.conversation))
    if wanted:
        return await asked_planner(run, found, plan, why), True
    run.decide(PlannerSkipped(why))
    return replace(plan, planner_status="skipped_by_policy"), False


async def asked_planner(run: Run, found: Found, plan: QueryPlan, why: str) -> QueryPlan:
    """A planning model's help; a failure costs nothing but the help, for the plan without it is there."""
    use = run.request.models
    prompt = prompt_of(run.request.question, run.request.conversation)
    unreadable: tuple[str, str] | None = None
    for _ in range(_PLANNER_TRIES):
        if unreadable and run.is_cut_short:
            break
        seconds = min(use.planner_seconds, run.budget.seconds * _PLANNER_SHARE, run.seconds_left)
        wanted = planner_request(plan, prompt, use.planner, round(max(seconds, 0.5), 3), unreadable)
        request = fitted(run, found, wanted)
        if request is None:
            run.decide(PlannerSkipped("the cost ceiling"))
            return _unplanned(run, plan, "the cost ceiling leaves no room for it")
        run.decide(PlannerAsked(use.planner, why))
        try:
            reply = await ask(run, found, request)
        except Abandoned:
            return _unplanned(run, plan, "it was not waited for", is_said=True)
        except Failed as failed:
            return _unplanned(run, plan, failed.message, is_said=True)
        merged = merge_planned(plan, reply.text, reply.model)
        dropped = tuple(f"{text}: {reason}" for text, reason in merged.dropped)
        run.decide(PlannerMerged(reply.text[:4_000], tuple(merged.accepted), dropped, merged.error))
        if not merged.error:
            return merged.plan
        unreadable, why = (reply.text, merged.error), "its reply could not be read"
    return _unplanned(run, plan, f"its reply could not be read: {unreadable[1] if unreadable else ''}", is_said=True)


def _unplanned(run: Run, plan: QueryPlan, error: str, *, is_said: bool = False) -> QueryPlan:
    left = without_model(plan, run.request.models.planner, error)
    if is_said:
        run.decide(PlannerFailed(left.planner_error or ""))
    run.warn("planner_failed_deterministic_used")
    return left


# Searching


async def search(run: Run, found: Found, plan: QueryPlan) -> None:
    """Search by a plan, with the brief of its topic at the same time; a first search that fails ends the run."""
    show_plan(run, found, plan)
    corpus = run.spawn(retrieve(run, found, run.request.question, plan))
    brief = run.spawn(topic_brief(run, plan))
    try:
        pack = await corpus
    except Abandoned:
        return
    except Failed as failed:
        run.decide(ActionGivenUp(run.stage, failed.code, failed.message))
        run.end("no_evidence", Failure(run.stage, failed.code, failed.message))
    show_found(run, found, pack)
    around = await brief
    if around is not None:
        found.pack = with_brief(pack, around)


def show_plan(run: Run, found: Found, plan: QueryPlan) -> None:
    found.plan = plan
    found.queries_tried += [variant.query for variant in plan.query_variants]
    run.decide(
        SearchesPlanned(
            text_query=plan.text_query,
            terms=tuple(plan.terms),
            concepts=tuple(concept.name for concept in plan.concepts),
            variants=tuple(variant.query for variant in plan.query_variants),
            planner_status=plan.planner_status,
            topic=plan.topic if plan.include_topic_brief else None,
        )
    )


def show_found(run: Run, found: Found, pack: ResearchPack) -> None:
    found.pack = pack
    found.saw_rows(pack)
    run.decide(EvidenceFound(tuple(row.source_key for row in pack.evidence), pack.coverage.recall_note))


async def topic_brief(run: Run, plan: QueryPlan) -> TopicBrief | None:
    """The brief of a plan's topic, where one is wanted; what fails is only a loss."""
    if not (plan.include_topic_brief and plan.topic):
        return None
    try:
        brief = await run.io(Outside.brief_topic, plan.topic, plan.filters, SEED_LIMIT, RELATED_LIMIT)
    except Abandoned:
        return None
    except Failed as failed:
        run.decide(ActionGivenUp("retrieve", failed.code, failed.message))
        run.warn("topic_brief_failed")
        return None
    run.decide(TopicBriefAdded(brief.topic, len(brief.nodes), len(brief.edges)))
    return brief


async def _read_given(run: Run, found: Found, plan: QueryPlan) -> None:
    """Evidence that was given by its place, read anew."""
    found.plan = plan
    try:
        seen = await run.io(Outside.read_given, run.request.question, plan, run.request.given)
    except Abandoned:
        run.end(run.finishing or "no_evidence")
    found.pack = seen.pack
    found.rejected |= dict(seen.refused)
    found.saw_rows(seen.pack)
    keys = tuple(row.source_key for row in seen.pack.evidence)
    run.decide(EvidenceReread(keys, tuple(f"{key}: {why}" for key, why in seen.refused)))
    if seen.refused:
        run.warn("evidence_refused")


async def inspect(run: Run, found: Found) -> None:
    """Read more of the top rows."""
    assert found.pack is not None
    pack = found.pack
    if not pack.evidence:
        return
    rows = pack.evidence[: run.budget.inspect_rows]
    keys = tuple(row.source_key for row in rows)
    shown = tuple((row.span.start, row.span.end) for row in rows)
    try:
        views = await run.io(Outside.inspect, keys, pack.query_plan.text_query, run.budget.inspect_chars, shown)
    except Abandoned:
        return
    except Failed as failed:
        run.decide(ActionGivenUp("inspect_top", failed.code, failed.message))
        run.warn("inspection_failed")
        return
    found.pack = merge_inspection(pack, views)
    found.inspected_keys = tuple(view.source_key for view in views)


def judged(run: Run, found: Found, *, may_go_on: bool) -> JudgeResult:
    """Whether the evidence is enough, and if not, the one thing worth trying."""
    assert found.pack is not None
    run.enter("judge_coverage")
    retries = run.budget.retries if may_go_on else 0
    expansions = run.budget.expansions if may_go_on else 0
    verdict = judge(found.pack, retries_left=retries, expansions_left=expansions, tried=found.queries_tried)
    found.judgements.append(verdict)
    likely = verdict.answerability.probability if verdict.answerability else None
    run.decide(CoverageJudged(verdict.verdict, verdict.reason, verdict.missing_concepts, verdict.retry_action, likely))
    if verdict.answerability is not None:
        coverage = replace(found.pack.coverage, answerability=verdict.answerability)
        found.pack = replace(found.pack, coverage=coverage)
    return verdict


async def _search_again(run: Run, found: Found, plan: QueryPlan, variant: str) -> None:
    """The focused retry, with whatever a model has added since; it adds to what is there and replaces nothing."""
    assert found.pack is not None
    found.spend = replace(found.spend, retries=found.spend.retries + 1)
    found.plan = plan
    if found.spend.retrieval_passes >= run.budget.retrieval_passes:
        return
    tried = {query.casefold() for query in found.queries_tried}
    added = [one for one in plan.query_variants if one.query.casefold() not in tried]
    again = replace(plan, query_variants=(Variant("content", variant, 1.0), *added))
    show_plan(run, found, again)
    found.plan = plan
    try:
        pack = await retrieve(run, found, run.request.question, again, attempt=2)
    except Abandoned:
        return
    except Failed as failed:
        run.decide(ActionGivenUp("optional_expand_or_retry", failed.code, failed.message))
        run.warn("retry_failed")
        return
    found.pack, record = merge_retry(found.pack, pack)
    found.rejected |= dict.fromkeys(record.rejected, "neither an anchor nor a missing concept")
    found.saw(*record.rejected)
    found.saw_rows(found.pack)
    run.decide(RetryMerged(record.preserved, record.accepted, record.rejected))
    judged(run, found, may_go_on=False)


async def _expand(run: Run, found: Found, lookup: str) -> None:
    """The documents around one of the rows."""
    assert found.pack is not None
    found.spend = replace(found.spend, expansions=found.spend.expansions + 1)
    rows_wanted, chars = run.budget.expansion_rows, run.request.limits.max_chars_per_doc
    try:
        rows = await run.io(Outside.expand, lookup, rows_wanted, chars)
    except Abandoned:
        return
    except Failed as failed:
        run.decide(ActionGivenUp("optional_expand_or_retry", failed.code, failed.message))
        run.warn("expansion_failed")
        return
    found.pack, record = merge_expansion(found.pack, rows, rows_wanted)
    found.saw_rows(found.pack)
    run.decide(ExpansionMerged(record.accepted, record.rejected))
