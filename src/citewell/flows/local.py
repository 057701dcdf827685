"""The corpus alone.

plan → retrieve, and the topic's brief at the same time → inspect the top rows → judge → at most one focused retry or
one related expansion → the answer (`flows/write.py`).

Planner, retriever, inspector, expander, judge, synthesizer and verifier are the shipped ones, or the user's own
(`run.request.components`), whose every word is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.answer.evidence import PreparedSynthesis
from citewell.answer.prompt import rules
from citewell.answer.quote import estimate
from citewell.flows.judge import judge, merge_expansion, merge_inspection, merge_retry
from citewell.flows.outside import Outside
from citewell.flows.state import (
    Findings,
    MayAsk,
    ask,
    fitted,
    likeness_of,
    may_write,
    note_cost,
    or_none,
    retrieve,
    some,
    why_not,
)
from citewell.flows.write import IN_SECTIONS, answer, packed
from citewell.models.messages import Usage
from citewell.runs.journal import Abandoned, Failed, Run
from citewell.runs.run import Failure, JudgeResult
from citewell.search import planner
from citewell.search.conversation import prompt_of
from citewell.search.inspect import PROMPT_CHARS, looked_for
from citewell.search.pack import ResearchPack
from citewell.search.plan import plan_question
from citewell.search.query import QueryPlan, Variant
from citewell.search.topic_brief import RELATED_LIMIT, SEED_LIMIT, with_brief
from citewell.search.topics import TopicBrief

# A planner may be asked once, and once more to mend a reply that cannot be read; it never gets more than this share
# of the run's time.
_PLANNER_TRIES = 2
_PLANNER_SHARE = 0.25


async def local(run: Run, found: Findings) -> None:
    """Answer from the corpus."""
    estimate_cost(run)
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
    verdict = await judged(run, found, may_go_on=not run.is_cut_short)
    if verdict.retry_action == "focused_retry" and verdict.retry_variant:
        if not has_asked:
            plan = await _asked_planner(run, found, plan, "what was found is weak")
        await _search_again(run, found, plan, verdict.retry_variant)
    elif verdict.retry_action == "related_expansion" and verdict.expansion_lookup:
        await _expand(run, found, verdict.expansion_lookup)
    await answer(run, found)


# Planning


def estimate_cost(run: Run, *others: MayAsk) -> None:
    """The most the models of this run can cost, told before any of them is asked."""
    use = run.request.models
    if use.writes or use.planner or others:
        planned = MayAsk(2 if use.planner else 0, Usage(1_000, planner.MAX_OUTPUT_TOKENS), use.planner_price)
        note_cost(run, (planned, *may_write(run, use.max_output_tokens), *others))


def first_plan(run: Run) -> QueryPlan:
    """The question as rules understand it; related rows enter only by the judged expansion."""
    run.enter("plan")
    request = run.request
    limits = request.limits if request.goal == "pack" else replace(request.limits, include_related=False)
    prompt = prompt_of(request.question, request.conversation)
    return plan_question(prompt, request.filters, limits, topic=request.topic, include_topic_brief=request.topic_brief)


async def with_planner(run: Run, found: Findings, plan: QueryPlan) -> tuple[QueryPlan, bool]:
    """Ask the user's own planner, or a model where one is chosen and worth it; the plan, and whether one was asked."""
    found.plan = plan
    request = run.request
    if own := request.components.get("planner"):
        planned = run.io(Outside.plan_searches, own, request.question, plan)
        return await or_none(run, planned, "plan", "planner_failed_deterministic_used") or plan, True
    if not request.models.planner or run.is_hurried:
        return plan, True
    wanted, why = planner.wants_model(plan, prompt_of(request.question, request.conversation))
    if wanted:
        return await _asked_planner(run, found, plan, why), True
    run.note("planner_skipped", f"planned without a model: {why}", why=why)
    return replace(plan, planner_status="skipped_by_policy"), False


async def _asked_planner(run: Run, found: Findings, plan: QueryPlan, why: str) -> QueryPlan:
    """A planning model's help; a failure costs nothing but the help, for the plan without it is there."""
    use = run.request.models
    prompt = prompt_of(run.request.question, run.request.conversation)
    unreadable: tuple[str, str] | None = None
    for _ in range(_PLANNER_TRIES):
        if unreadable and run.is_cut_short:
            break
        seconds = min(use.planner_seconds, run.budget.seconds * _PLANNER_SHARE, run.seconds_left)
        wanted = planner.planner_request(plan, prompt, use.planner, round(max(seconds, 0.5), 3), unreadable)
        request = fitted(run, found, wanted)
        if request is None:
            run.note("planner_skipped", "planned without a model: the cost ceiling", why="the cost ceiling")
            run.warn("planner_failed_deterministic_used")
            return planner.without_model(plan, use.planner, "the cost ceiling leaves no room for it")
        run.note("planner_asked", f"asked {use.planner} to plan: {why}", model=use.planner, why=why)
        try:
            reply = await ask(run, found, request)
        except (Failed, Abandoned) as error:
            return _unplanned(run, plan, why_not(error))
        merged = planner.merge_planned(plan, reply.text, reply.model)
        dropped = [f"{text}: {reason}" for text, reason in merged.dropped]
        text = f"the planner added {' | '.join(merged.accepted) or 'nothing'}"
        text += f"; left out {', '.join(dropped)}" if dropped else ""
        text = f"the planner's reply could not be read: {merged.error}" if merged.error else text
        heard = {"raw": reply.text[:4_000], "accepted": merged.accepted, "dropped": dropped, "error": merged.error}
        run.note("planner_merged", text, **heard)
        if not merged.error:
            return merged.plan
        unreadable, why = (reply.text, merged.error), "its reply could not be read"
    return _unplanned(run, plan, f"its reply could not be read: {unreadable[1] if unreadable else ''}")


def _unplanned(run: Run, plan: QueryPlan, error: str) -> QueryPlan:
    left = planner.without_model(plan, run.request.models.planner, error)
    run.note("planner_failed", f"planned without the model: {left.planner_error}", error=left.planner_error or "")
    run.warn("planner_failed_deterministic_used")
    return left


# Searching


async def search(run: Run, found: Findings, plan: QueryPlan) -> None:
    """Search by a plan, with the brief of its topic at the same time; a first search that fails ends the run."""
    note_plan(run, found, plan)
    corpus, brief = run.spawn(first_search(run, found, plan)), run.spawn(topic_brief(run, plan))
    pack, around = await corpus, await brief
    if pack is not None and around is not None:
        found.pack = with_brief(pack, around)


async def first_search(run: Run, found: Findings, plan: QueryPlan) -> ResearchPack | None:
    """What the corpus has; nothing where it is not waited for. One that fails ends the run."""
    try:
        pack = await retrieve(run, found, run.request.question, plan)
    except Abandoned:
        return None
    except Failed as failed:
        stage = run.stage
        run.gave_up(stage, failed)
        run.end("no_evidence", Failure(stage, failed.code, failed.message))
    found.pack = pack
    found.saw_rows(pack)
    note_found(run, [row.source_key for row in pack.evidence], pack.coverage.recall_note)
    return pack


def note_found(run: Run, keys: Sequence[str], recall_note: str) -> None:
    text = f"{some(len(keys), 'row')} found. {recall_note}".rstrip()
    run.note("retrieved", text, keys=keys, recall_note=recall_note)


def note_plan(run: Run, found: Findings, plan: QueryPlan) -> None:
    found.plan = plan
    variants = [variant.query for variant in plan.query_variants]
    found.queries_tried += variants
    run.note(
        "planned",
        f"{len(variants)} queries: {' | '.join(variants)}",
        text_query=plan.text_query,
        terms=plan.terms,
        concepts=[concept.name for concept in plan.concepts],
        variants=variants,
        planner_status=plan.planner_status,
        topic=plan.topic if plan.include_topic_brief else None,
    )


async def topic_brief(run: Run, plan: QueryPlan) -> TopicBrief | None:
    """The brief of a plan's topic, where one is wanted; what fails is only a loss."""
    if not (plan.include_topic_brief and plan.topic):
        return None
    asked = run.io(Outside.brief_topic, plan.topic, plan.filters, SEED_LIMIT, RELATED_LIMIT)
    brief = await or_none(run, asked, "retrieve", "topic_brief_failed")
    if brief is None:
        return None
    nodes, edges = len(brief.nodes), len(brief.edges)
    run.note(
        "topic_briefed", f"{brief.topic}: {nodes} nodes, {edges} edges", topic=brief.topic, nodes=nodes, edges=edges
    )
    return brief


async def _read_given(run: Run, found: Findings, plan: QueryPlan) -> None:
    """Evidence that was given by its place, read anew."""
    found.plan = plan
    try:
        seen = await run.io(Outside.read_given, run.request.question, plan, run.request.given)
    except Abandoned:
        run.end(run.finishing or "no_evidence")
    found.pack = seen.pack
    found.rejected |= dict(seen.refused)
    found.saw_rows(seen.pack)
    keys, refused = [row.source_key for row in seen.pack.evidence], [f"{key}: {why}" for key, why in seen.refused]
    text = f"read {some(len(keys), 'given row')} anew" + (f"; refused {', '.join(refused)}" if refused else "")
    run.note("reread", text, keys=keys, refused=refused)
    if refused:
        run.warn("evidence_refused")


async def inspect(run: Run, found: Findings) -> None:
    """Read more of what was found: the parts of it that say most, as far as the evidence has room for them."""
    pack, request = found.pack, run.request
    if pack is None or not pack.evidence or not run.budget.inspect_rows:
        return
    own, question = request.components.get("inspector", ""), pack.query_plan.text_query
    queries, rows = looked_for(pack)
    if own:
        rows = rows[: run.budget.inspect_rows]
    room = run.budget.inspect_chars if own else request.max_evidence_chars - PROMPT_CHARS
    read = run.io(Outside.inspect, question, queries, rows, room, request.per_document, request.semantic, own)
    windows = await or_none(run, read, "inspect_top", "inspection_failed")
    if windows is None:
        return
    found.pack = merge_inspection(pack, windows)
    found.inspected_keys = tuple(dict.fromkeys(one.source_key for one in windows))


async def verdict_on(
    run: Run, found: Findings, pack: ResearchPack, retries: int, expansions: int, tried: Sequence[str]
) -> JudgeResult:
    """What the judge says of a pack; where the user's own cannot, the shipped one does."""
    stage = run.stage
    if own := run.request.components.get("judge"):
        said = run.io(Outside.judge_evidence, own, pack, retries, expansions, tuple(tried))
        if verdict := await or_none(run, said, "judge_coverage", "component_failed"):
            return verdict
    evidence = found.read(_packed_to_answer(run, pack), pack.query_plan)
    likely = estimate(evidence, await likeness_of(run, found, evidence))
    run.enter(stage)
    return judge(pack, likely, retries_left=retries, expansions_left=expansions, tried=tried)


def _packed_to_answer(run: Run, pack: ResearchPack) -> PreparedSynthesis:
    """The evidence as an answer is made from it: what is judged is what is answered from, and taken apart once."""
    request = run.request
    taken = len(rules(in_sections=request.profile in IN_SECTIONS)) if request.models.writes else 0
    return packed(run, pack, request.max_evidence_chars, taken)


async def judged(run: Run, found: Findings, *, may_go_on: bool) -> JudgeResult:
    """Whether the evidence is enough, and if not, the one thing worth trying."""
    assert found.pack is not None
    run.enter("judge_coverage")
    retries, expansions = (run.budget.retries, run.budget.expansions) if may_go_on else (0, 0)
    verdict = await verdict_on(run, found, found.pack, retries, expansions, found.queries_tried)
    found.judgements.append(verdict)
    missing, then, likely = verdict.missing_concepts, verdict.retry_action, verdict.answerability
    text = f"{verdict.verdict}: {verdict.reason}" + (f"; missing {', '.join(missing)}" if missing else "")
    text += f"; next {then}" if then != "none" else ""
    run.note(
        "judged",
        text,
        verdict=verdict.verdict,
        reason=verdict.reason,
        missing_concepts=missing,
        retry_action=then,
        answerability=likely.probability if likely else None,
    )
    if likely is not None:
        found.pack = replace(found.pack, coverage=replace(found.pack.coverage, answerability=likely))
    return verdict


async def _search_again(run: Run, found: Findings, plan: QueryPlan, variant: str) -> None:
    """The focused retry, with whatever a model has added since; it adds to what is there and replaces nothing."""
    assert found.pack is not None
    found.spend = replace(found.spend, retries=found.spend.retries + 1)
    found.plan = plan
    if found.spend.retrieval_passes >= run.budget.retrieval_passes:
        return
    tried = {query.casefold() for query in found.queries_tried}
    added = [one for one in plan.query_variants if one.query.casefold() not in tried]
    again = replace(plan, query_variants=(Variant("content", variant, 1.0), *added))
    note_plan(run, found, again)
    found.plan = plan
    searched = retrieve(run, found, run.request.question, again, attempt=2)
    pack = await or_none(run, searched, "optional_expand_or_retry", "retry_failed")
    if pack is None:
        return
    found.pack, record = merge_retry(found.pack, pack)
    found.rejected |= dict.fromkeys(record.rejected, "neither an anchor nor a missing concept")
    found.saw(*record.rejected)
    found.saw_rows(found.pack)
    kept, accepted, rejected = record.preserved, record.accepted, record.rejected
    text = f"searched again: kept {some(len(kept), 'row')}, added {len(accepted)}, turned away {len(rejected)}"
    run.note("retried", text, preserved=kept, accepted=accepted, rejected=rejected)
    await judged(run, found, may_go_on=False)


async def _expand(run: Run, found: Findings, lookup: str) -> None:
    """The documents around one of the rows."""
    assert found.pack is not None
    found.spend = replace(found.spend, expansions=found.spend.expansions + 1)
    most, chars, own = run.budget.expansion_rows, run.request.limits.max_chars_per_doc, run.request.components
    followed = run.io(Outside.expand, lookup, most, chars, own.get("expander", ""))
    rows = await or_none(run, followed, "optional_expand_or_retry", "expansion_failed")
    if rows is None:
        return
    found.pack, record = merge_expansion(found.pack, rows, most)
    found.saw_rows(found.pack)
    text = f"followed links: added {some(len(record.accepted), 'linked document')}"
    run.note("expanded", text, accepted=record.accepted, rejected=record.rejected)
