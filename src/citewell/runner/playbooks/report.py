"""The `report` playbook: a brief becomes a cited report. Pure.

plan → every family for every sub-query, at once → pages → copies told apart → credibility (only then, so that no copy
is paid for) → evidence → written by a model, or quoted → each claim and the summary verified, as answers are
(`answering`) → citations bound to what was kept → the end.

A model gets one repair. A report that cites what was not kept is none: the run fails and keeps all it gathered.
"""

from __future__ import annotations

from dataclasses import replace

from citewell.briefs.planning import PLAN_TOKENS, LlmQueryPlanner, topics_of
from citewell.briefs.quoting import QuotedQuery
from citewell.briefs.triage import MOST_TRIAGE_CHARS, TRIAGE_TOKENS, HybridCredibilityTriage
from citewell.briefs.writing import report_request
from citewell.domain.answers import PreparedSynthesis
from citewell.domain.briefs import ReportPlan
from citewell.domain.chat import ChatReply, ChatRequest, Usage
from citewell.domain.decisions import (
    ActionGivenUp,
    CostEstimated,
    Decision,
    DuplicatesDropped,
    EvidenceFound,
    EvidencePrepared,
    ModelAsked,
    PlannerFailed,
    ReportBound,
    RunStopped,
    SourcesTriaged,
    SubQueriesPlanned,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import Failure
from citewell.domain.surveys import TopicSurvey
from citewell.domain.web import FetchProblem
from citewell.models.tokens import estimate_prompt, estimate_tokens
from citewell.runner import budgets
from citewell.runner.actions import (
    Action,
    Ask,
    AskFailed,
    BindReport,
    BriefPlanned,
    ClaimsJudged,
    Compare,
    DedupeItems,
    Drafted,
    Extract,
    GivenRead,
    ItemsDeduped,
    ItemsTriaged,
    JudgeClaims,
    KeepSnippets,
    KeepTexts,
    MakePlan,
    Observation,
    PageKept,
    PagesRanked,
    PlanBrief,
    PlanMade,
    Prepare,
    Prepared,
    QuoteReport,
    RankPages,
    ReadBriefPlan,
    ReadDraft,
    ReadGiven,
    ReadPage,
    ReadReport,
    ReadReview,
    ReadTriage,
    Replied,
    ReportComposed,
    ReportRead,
    Retrieve,
    Retrieved,
    Reviewed,
    SearchWeb,
    SnippetsKept,
    SurveyTopic,
    TextsKept,
    TopicSurveyed,
    TriageItems,
    Verified,
    Verify,
    WebFailed,
    WebSearched,
)
from citewell.runner.playbooks import answering, local
from citewell.runner.playbooks import report_gathering as gathering
from citewell.runner.playbooks.report_gathering import is_late, progress_of, task_of, warned, with_progress
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.profiles import ANSWER_GRACE_SECONDS
from citewell.runner.report_state import QueryWork, ReportProgress
from citewell.runner.state import RunState
from citewell.synthesis import review
from citewell.synthesis.merged_evidence import merge_packs, merge_prepared

ROWS_A_QUERY = 8
# A model may be asked for a plan once, and once more to mend a reply that cannot be read.
_MOST_ASKED = 2
_PLAN_SECONDS = 45.0
_TRIAGE_SECONDS = 45.0
_LEAST_CHARS = 1_500
_WEIGHING = (DedupeItems, TriageItems, ReadTriage)
_ANSWERING = (Prepare, QuoteReport, ReadReport, Compare, Verify, ReadReview, BindReport, KeepTexts, JudgeClaims)


def opening(state: RunState) -> Transition:
    """A report begins with what is to be looked into."""
    begun = with_progress(state, ReportProgress())
    return _plan(begun).after(*_estimated_cost(state))


def _estimated_cost(state: RunState) -> tuple[CostEstimated, ...]:
    use = state.request.models
    if not use.writes:
        return ()
    chars, repairs = state.request.max_evidence_chars, state.budget.repairs
    each = Usage(estimate_tokens("x" * MOST_TRIAGE_CHARS), TRIAGE_TOKENS)
    # A report is longer than an answer.
    written = replace(use, max_output_tokens=2 * use.max_output_tokens)
    triage = budgets.MoreCalls(1 if task_of(state).triage == "hybrid" else 0, each, use.writer_price)
    most = budgets.estimate(written, chars, repairs, PLAN_TOKENS, review.MAX_OUTPUT_TOKENS, triage)
    given, taken = most.input_tokens, most.output_tokens
    return (CostEstimated(most.calls, given, taken, most.usd, use.max_cost_usd, use.max_tokens),)


def observed(state: RunState, observation: Observation, action: Action) -> Transition:
    """What follows from what was seen; `action` is the one it answers."""
    match observation:
        case BriefPlanned(plan=plan, error=error):
            return _planned(state, plan, error)
        case PlanMade(plan=plan):
            tried = (*state.queries_tried, *(variant.query for variant in plan.query_variants))
            return _went(replace(state, queries_tried=tried), action, plan=plan)
        case TopicSurveyed(survey=survey):
            return _surveyed(state, survey)
        case Retrieved(pack=pack):
            return _found(local.counted(state, observation), pack, action)
        case GivenRead(pack=pack):
            return _found(state, pack, action)
        case WebSearched() | PageKept() | SnippetsKept() | WebFailed() | PagesRanked():
            return _outside(state, observation, action)
        case ItemsDeduped() | ItemsTriaged():
            return _weighed(state, observation)
        case Prepared(prepared=prepared):
            return _prepared(state, prepared, action)
        case Replied(reply=reply):
            return _replied(state, reply, action)
        case AskFailed():
            return _ask_failed(state, observation, action)
        case ReportRead(draft=draft, types=types):
            progress = progress_of(state)
            told = with_progress(state, replace(progress, types={**progress.types, **types}))
            return _as_report(answering.drafted(told, draft))
        case ReportComposed():
            return _composed(state, observation)
        case _:
            return _answered(state, observation, action)


def _answered(state: RunState, observation: Observation, action: Action) -> Transition:
    """What is the same as for any answer."""
    match observation:
        case Drafted(draft=draft):
            return _as_report(answering.drafted(state, draft))
        case ClaimsJudged():
            assert isinstance(action, JudgeClaims)
            return answering.judged(state, action, observation)
        case Verified(verification=verification):
            return _as_report(answering.verified(state, verification))
        case Reviewed():
            return answering.reviewed(state, observation)
        case TextsKept(missing=missing):
            return _bind(warned(state, "source_removed_during_run") if missing else state)
        case _:
            return waiting(state)


# Planning


def _plan(state: RunState, error: str = "") -> Transition:
    """A model proposes what to look into, where one is set and the brief does not say it."""
    task, progress, use = task_of(state), progress_of(state), state.request.models
    by_rules = PlanBrief(task.brief, task.planner)
    if task.planner != "llm" or not use.planner or task.brief.sub_questions or state.is_hurried:
        return Transition(state, (by_rules,))
    unreadable = (progress.planner_reply, error) if error else None
    seconds = _seconds(state, min(_PLAN_SECONDS, use.planner_seconds))
    wanted = LlmQueryPlanner().request(task.brief, use.planner, seconds, unreadable)
    request = budgets.fitted(wanted, use.planner_price, state.spend, use, budgets.reserved(state))
    if request is None:
        return Transition(
            warned(state, "planner_failed_deterministic_used"), (by_rules,), (budgets.ceiling_reached(state),)
        )
    asked = with_progress(state, replace(progress, planner_asked=progress.planner_asked + 1))
    return Transition(asked, (Ask(request),), (_asked(request),))


def _planned(state: RunState, plan: ReportPlan | None, error: str) -> Transition:
    progress, task = progress_of(state), task_of(state)
    if plan is None and progress.planner_asked < _MOST_ASKED:
        return _plan(state, error)
    if plan is None:
        return _by_rules(state, f"its reply could not be read: {error}")
    if topics := _to_survey(state, plan):
        known = replace(progress, plan=plan, work=_work(plan))
        return Transition(with_progress(state, known), (SurveyTopic(topics, state.request.filters),))
    told = SubQueriesPlanned(
        tuple(one.query for one in plan.sub_queries), plan.planned_by, tuple(use.family for use in task.families)
    )
    return _advance(with_progress(state, replace(progress, plan=plan, work=_work(plan)))).after(told)


def _work(plan: ReportPlan) -> tuple[QueryWork, ...]:
    return tuple(QueryWork(one) for one in plan.sub_queries)


def _to_survey(state: RunState, plan: ReportPlan) -> tuple[str, ...]:
    """The topics that the corpus is surveyed for, where rules planned and the corpus is searched at all."""
    task = task_of(state)
    has_corpus = any(use.family == "knowledge" for use in task.families)
    if plan.planned_by != "rules" or progress_of(state).is_surveyed or not has_corpus or state.is_hurried:
        return ()
    return topics_of(task.brief.question)


def _surveyed(state: RunState, survey: TopicSurvey | None) -> Transition:
    """Plan again with what the corpus holds on the topic, or go on as planned where it could not be looked at."""
    task = task_of(state)
    after = with_progress(state, replace(progress_of(state), is_surveyed=True))
    if survey is None or not survey.documents:
        return _planned(after, progress_of(state).plan, "")
    return Transition(after, (PlanBrief(task.brief, task.planner, survey),))


def _by_rules(state: RunState, why: str) -> Transition:
    """A model that gives no plan leaves the rules."""
    task = task_of(state)
    rules = PlanBrief(task.brief, task.planner)
    return Transition(warned(state, "planner_failed_deterministic_used"), (rules,), (PlannerFailed(why[:300]),))


# What comes next: each step begins for all sub-queries together when the one before is over for all of them


def _advance(state: RunState) -> Transition:
    if state.open:
        return waiting(state)
    progress = progress_of(state)
    if unplanned := [one for one in progress.work if one.plan is None]:
        return Transition(state, tuple(_make_plan(state, one) for one in unplanned))
    if not progress.is_searched:
        after, actions = gathering.first_searches(state)
        return Transition(after, actions) if actions else _advance(after)
    if progress.items is None:
        return _gather(state)
    if progress.duplicates is None:
        return Transition(state, (DedupeItems(progress.items, task_of(state).deduplicator),))
    if not progress.is_triaged:
        return _triage(state)
    live = [one for one in progress.work if progress.of_query(one.index)]
    if not live:
        return _nothing(state)
    if unprepared := [one for one in live if one.prepared is None]:
        return Transition(state, tuple(_prepare(state, one, len(live)) for one in unprepared))
    return _write(state, live)


def _make_plan(state: RunState, work: QueryWork) -> MakePlan:
    request = state.request
    limits = replace(request.limits, limit=ROWS_A_QUERY, include_related=False)
    return MakePlan(work.sub_query.query, request.filters, limits, None, False)


def _gather(state: RunState) -> Transition:
    """Read what was found outside; once there is no more to read, everything found becomes items."""
    after, reads = gathering.next_reads(state)
    if reads:
        return Transition(after, reads)
    after, kept = gathering.snippets(after)
    if kept:
        return Transition(after, kept)
    if ranks := gathering.ranks(after):
        return Transition(after, ranks)
    after, decisions = gathering.gathered(after)
    if progress_of(after).items:
        return _advance(after).after(*decisions)
    return _nothing(after).after(*decisions)


def _went(state: RunState, action: Action, **changes: object) -> Transition:
    """A sub-query has come further; go on when all have."""
    assert isinstance(action, (MakePlan, Retrieve, ReadGiven, RankPages))
    progress = progress_of(state)
    work = next((one for one in progress.work if one.sub_query.query == action.question), None)
    if work is None:
        return _advance(state)
    return _advance(with_progress(state, progress.with_work(work.index, **changes)))


def _found(state: RunState, pack: ResearchPack, action: Action) -> Transition:
    keys = tuple(row.source_key for row in pack.evidence)
    seen = tuple(dict.fromkeys((*state.retrieved_keys, *keys)))
    spend = replace(state.spend, retrieval_passes=state.spend.retrieval_passes + 1)
    told = EvidenceFound(keys, pack.coverage.recall_note)
    return _went(replace(state, retrieved_keys=seen, spend=spend), action, pack=pack).after(told)


def _outside(state: RunState, observation: Observation, action: Action) -> Transition:
    """What was seen of the web."""
    decisions: tuple[Decision, ...] = ()
    match observation, action:
        case WebSearched(), SearchWeb():
            state, decisions = gathering.searched(state, action, observation)
        case PageKept(), ReadPage():
            state, decisions = gathering.page_kept(state, action, observation)
        case WebFailed(), SearchWeb() | ReadPage():
            state, decisions = gathering.web_failed(state, action, observation)
        case SnippetsKept(), KeepSnippets():
            state = gathering.snippets_kept(state, action, observation)
        case PagesRanked(pack=pack), RankPages():
            return _went(state, action, pages=pack)
        case _:
            pass
    return _advance(state).after(*decisions)


# Copies and credibility


def _triage(state: RunState) -> Transition:
    """Judge what comes from outside, of which no copy is left."""
    progress, task = progress_of(state), task_of(state)
    copies = {one.ref_id for one in progress.duplicates or ()}
    outside = tuple(one for one in progress.items or () if one.is_external and one.ref_id not in copies)
    if not outside:
        return _advance(with_progress(state, replace(progress, credibility=(), is_triaged=True)))
    return Transition(state, (TriageItems(outside, task.brief.credibility_floor, task.triage),))


def _weighed(state: RunState, observation: ItemsDeduped | ItemsTriaged) -> Transition:
    progress = progress_of(state)
    if isinstance(observation, ItemsDeduped):
        told = DuplicatesDropped(
            len(progress.items or ()), tuple(f"{one.ref_id}: {one.duplicate_of}" for one in observation.duplicates)
        )
        return _advance(with_progress(state, replace(progress, duplicates=observation.duplicates))).after(told)
    judged = with_progress(state, replace(progress, credibility=observation.verdicts))
    if observation.error:
        return _triaged(warned(judged, "triage_failed_rules_used"))
    return _ask_triage(judged, observation.to_ask) or _triaged(judged)


def _ask_triage(state: RunState, refs: tuple[str, ...]) -> Transition | None:
    """Ask a model of the sources that rules let through, where one is set, and time and money are left."""
    progress, use = progress_of(state), state.request.models
    if not refs or progress.triage_asked or not use.writes or is_late(state):
        return None
    items = tuple(one for one in progress.items or () if one.ref_id in refs)
    wanted = HybridCredibilityTriage().request(items, use.writer, _seconds(state, _TRIAGE_SECONDS))
    request = budgets.fitted(wanted, use.writer_price, state.spend, use, budgets.reserved(state))
    if request is None:
        return None
    return Transition(with_progress(state, replace(progress, triage_asked=True)), (Ask(request),), (_asked(request),))


def _triaged(state: RunState) -> Transition:
    progress = progress_of(state)
    verdicts = progress.credibility or ()
    told = SourcesTriaged(
        tuple(one.ref_id for one in verdicts if one.kept),
        tuple(f"{one.ref_id}: {one.score} ({', '.join(one.reasons)})"[:300] for one in verdicts if not one.kept),
        next((one.judged_by for one in verdicts if one.judged_by != "rules"), "rules"),
    )
    return _advance(with_progress(state, replace(progress, is_triaged=True))).after(told)


# Writing


def _prepare(state: RunState, work: QueryWork, shared_by: int) -> Prepare:
    request, use = state.request, state.request.models
    writes = _model_writes(state)
    chars = max(_LEAST_CHARS, request.max_evidence_chars // shared_by) if writes else request.max_evidence_chars
    return Prepare(_pack(state, work), chars, 0, use.writes and use.is_hosted, request.reserves)


def _pack(state: RunState, work: QueryWork) -> ResearchPack:
    """The evidence of a sub-query: the items that were kept for it."""
    base = work.pack or work.pages or next(one.pack for one in progress_of(state).work if one.pack is not None)
    rows = tuple(item.row for item in progress_of(state).of_query(work.index))
    return replace(base, evidence=rows, exact_tag_evidence=(), next_steps=())


def _prepared(state: RunState, prepared: PreparedSynthesis, action: Action) -> Transition:
    assert isinstance(action, Prepare)
    progress = progress_of(state)
    work = next((one for one in progress.work if one.prepared is None and _is_of(action, state, one)), None)
    if work is None:
        return _advance(state)
    return _advance(with_progress(state, progress.with_work(work.index, prepared=prepared)))


def _is_of(action: Prepare, state: RunState, work: QueryWork) -> bool:
    rows = tuple(item.row for item in progress_of(state).of_query(work.index))
    base = work.pack or work.pages
    return action.pack.evidence == rows and (base is None or action.pack.question == base.question)


def _model_writes(state: RunState) -> bool:
    over = state.is_hurried or "writing" in state.phases_over or state.seconds_left <= ANSWER_GRACE_SECONDS
    return state.request.models.writes and not over and not task_of(state).own("synthesizer")


def _write(state: RunState, live: list[QueryWork]) -> Transition:
    """All evidence is ready: a model writes, or passages are quoted."""
    progress, task, use = progress_of(state), task_of(state), state.request.models
    assert progress.plan is not None
    prepared = merge_prepared(state.request.question, [one.prepared for one in live if one.prepared])
    packs = merge_packs([_pack(state, one) for one in live])
    told = EvidencePrepared(
        tuple(source.source_key for source in prepared.sources),
        sum(len(source.text) for source in prepared.sources),
        tuple(prepared.withheld_source_keys),
    )
    after = replace(state, prepared=prepared, pack=packs, plan=progress.work[0].plan)
    if prepared.withheld_source_keys:
        after = warned(after, "secrets_withheld")
    if not _model_writes(after):
        return Transition(after, (_quote(after),), (told,))
    wanted = report_request(
        *(task.brief, progress.plan, prepared, use.writer, 2 * use.max_output_tokens, _seconds(after)),
        hosted=use.is_hosted,
    )
    request = budgets.fitted(wanted, use.writer_price, after.spend, use, budgets.reserved(after))
    if request is None:
        limited = warned(replace(after, finishing="cost_limit_reached"), "incomplete")
        return Transition(limited, (_quote(limited),), (told, budgets.ceiling_reached(state)))
    return Transition(replace(after, write_request=request), (Ask(request),), (told, _asked(request)))


def _quote(state: RunState) -> QuoteReport:
    works = [one for one in progress_of(state).work if one.prepared is not None and one.plan is not None]
    return QuoteReport(
        tuple(QuotedQuery(one.sub_query, one.plan, one.prepared) for one in works if one.plan and one.prepared),
        task_of(state).own("synthesizer"),
    )


def _as_report(taken: Transition) -> Transition:
    """A move of answering with the actions a report has in their place."""
    actions: list[Action] = []
    for action in taken.actions:
        match action:
            case Extract():
                actions.append(_quote(taken.state))
            case ReadDraft():
                actions.append(ReadReport(action.reply, action.prepared, action.is_repair, action.is_cut))
            case _:
                actions.append(action)
    return replace(taken, actions=tuple(actions))


def _replied(state: RunState, reply: ChatReply, action: Action) -> Transition:
    assert isinstance(action, Ask)
    after = _counted(state, action, reply)
    progress, task = progress_of(after), task_of(state)
    match action.request.purpose:
        case "plan":
            kept = with_progress(after, replace(progress, planner_reply=reply.text))
            return Transition(kept, (ReadBriefPlan(task.brief, reply.text, action.request.model),))
        case "triage":
            copies = {one.ref_id for one in progress.duplicates or ()}
            outside = tuple(one for one in progress.items or () if one.is_external and one.ref_id not in copies)
            read = ReadTriage(
                *(outside, progress.credibility or (), task.brief.credibility_floor, reply.text, action.request.model)
            )
            return Transition(after, (read,))
        case "review":
            return answering.review_replied(after, reply)
        case _:
            return _as_report(answering.replied(after, action.request, reply))


def _ask_failed(state: RunState, seen: AskFailed, action: Action) -> Transition:
    assert isinstance(action, Ask)
    after = _counted(state, action, seen)
    match action.request.purpose:
        case "plan":
            return _by_rules(after, seen.message)
        case "triage":
            told = ActionGivenUp("evaluate", seen.problem, seen.message)
            return _triaged(warned(after, "triage_failed_rules_used")).after(told)
        case "review":
            return answering.unreviewed(after, seen.message)
        case _:
            return _as_report(answering.ask_failed(after, seen))


# The end


def _bind(state: RunState) -> Transition:
    progress = progress_of(state)
    assert state.verification is not None
    assert progress.plan is not None
    by_model = state.draft is not None and state.draft.written_by == "model"
    binding = BindReport(
        *(state.verification, progress.retained, progress.plan, progress.types, by_model, task_of(state).binder)
    )
    return Transition(state, (binding,))


def _composed(state: RunState, seen: ReportComposed) -> Transition:
    """A report whose every citation resolves, or a run that failed and keeps what it has."""
    progress, composed = progress_of(state), seen.composed
    if composed.report is None:
        failure = Failure(
            *("verify", "unresolved_citations", f"The report does not hold: {'; '.join(composed.unresolved[:3])}."),
            fix="What was gathered is kept with the run; ask for a fresh attempt, or with another model.",
        )
        return _stopped(state, failure).after(ReportBound(0, 0, composed.unresolved))
    told = ReportBound(len(composed.report.claims), len(composed.report.citations))
    after = with_progress(state, replace(progress, report=composed.report))
    return answering.ended(replace(after, finishing=after.finishing or "enough_evidence")).after(told)


def _stopped(state: RunState, failure: Failure) -> Transition:
    progress = replace(progress_of(state), error=failure.message)
    over = replace(with_progress(state, progress), failure=failure, stop_reason="synthesis_failed")
    return Transition(over, (), (RunStopped("synthesis_failed", failure.message),))


def _nothing(state: RunState) -> Transition:
    """Nothing to write from."""
    progress = progress_of(state)
    failed = "; ".join(f"{one.family}: {one.reason}" for one in progress.skipped)
    why = f"Nothing could be searched: {failed}" if failed else "Nothing that was found speaks of the brief."
    if failed and not progress.items and len(progress.skipped) == len(task_of(state).families):
        return _stopped(state, Failure("retrieve", "sources_failed", f"{why}.", fix="See 'citewell doctor'."))
    ended = with_progress(state, replace(progress, error=why, is_triaged=True))
    return answering.ended(replace(ended, finishing=state.finishing or "no_evidence"))


def failed(state: RunState, action: Action, failure: Failure) -> Transition:
    """What a failed action means: a family is lost, a model is done without; what serves all ends the run."""
    decision = ActionGivenUp(failure.stage, failure.code, failure.message)
    match action:
        case Ask() if action.request.purpose == "plan":
            return _by_rules(local.given_up(state, action), failure.message).after(decision)
        case Ask() if action.request.purpose == "triage":
            given_up = local.given_up(state, action)
            return _triaged(warned(given_up, "triage_failed_rules_used")).after(decision)
        case SurveyTopic():
            return _surveyed(state, None).after(decision)
        case Retrieve() | ReadGiven():
            return _went(state, action, corpus_failed=failure.message or failure.code).after(decision)
        case SearchWeb() | ReadPage():
            problem: FetchProblem = "timeout" if failure.code == "stage_timeout" else "other"
            return _outside(state, WebFailed(problem, failure.message), action).after(decision)
        case KeepSnippets() | RankPages():
            return _pages_lost(state, action).after(decision)
        case PlanBrief() | ReadBriefPlan() | MakePlan() | DedupeItems() | TriageItems() | ReadTriage() | Prepare():
            return _stopped(state, failure).after(decision)
        case QuoteReport() | ReadReport() | BindReport():
            return _stopped(state, failure).after(decision)
        case _:
            return _as_report(local.failed(state, action, failure))


def _pages_lost(state: RunState, action: Action) -> Transition:
    """Pages that cannot be looked through give nothing for their sub-query."""
    warned_of = warned(state, "web_loop_failed")
    if not isinstance(action, RankPages):
        return _advance(warned_of)
    progress = progress_of(state)
    work = next(one for one in progress.work if one.sub_query.query == action.question)
    asked = {key: tuple(n for n in numbers if n != work.index) for key, numbers in progress.asked_for.items()}
    return _advance(with_progress(warned_of, replace(progress, asked_for=asked)))


def end_gathering(state: RunState) -> Transition:
    """Go on with what is there; what a person waits for is only what takes a moment."""
    progress = progress_of(state)
    writing = [
        one for one in state.open if isinstance(one, Ask) and one.request.purpose in ("write", "repair", "review")
    ]
    if writing:
        return end_writing(state) if state.is_hurried else waiting(state)
    if any(isinstance(one, _ANSWERING) for one in state.open):
        judging = any(isinstance(one, JudgeClaims) for one in state.open)
        return answering.unjudged(state) if judging and state.is_hurried else waiting(state)
    left = _without_calls(state)
    if progress.plan is None:
        if state.is_hurried:
            task = task_of(state)
            return Transition(replace(left, open=()), (PlanBrief(task.brief, task.planner),))
        return _nothing(replace(left, open=()))
    quick = (MakePlan, Retrieve, ReadGiven, RankPages, *_WEIGHING) if state.is_hurried else _WEIGHING
    kept = tuple(one for one in state.open if isinstance(one, quick))
    after = replace(left, open=kept)
    if kept:
        return waiting(after)
    if not state.is_hurried and any(one.plan is None for one in progress.work):
        return _nothing(after)
    return _triaged(after) if _is_asked_of(state) else _advance(after)


def _is_asked_of(state: RunState) -> bool:
    """Whether a model is being asked of the sources."""
    return any(isinstance(one, Ask) and one.request.purpose == "triage" for one in state.open)


def end_writing(state: RunState) -> Transition:
    """The time for writing is over: a model that still writes is let go of, and passages take its place."""
    return _as_report(local.end_writing(state))


# Small things


def _without_calls(state: RunState) -> RunState:
    for action in state.open:
        if isinstance(action, Ask):
            state = local.given_up(state, action)
    return state


def _counted(state: RunState, action: Ask, seen: ChatReply | AskFailed) -> RunState:
    call = budgets.call_of(action.request, seen)
    return replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))


def _seconds(state: RunState, most: float = 600.0) -> float:
    return round(max(min(most, state.seconds_left - ANSWER_GRACE_SECONDS), 1.0), 3)


def _asked(request: ChatRequest) -> ModelAsked:
    return ModelAsked(request.model, request.purpose, estimate_prompt(request.messages), request.max_output_tokens)
