"""The playbooks `chat` and `deep`: the corpus and, beside it, a bounded loop on the web. Pure.

plan → retrieve from the corpus, and at the same time: ask providers → read pages → look for passages → weigh them →
enough, or another round with what is missing → the answer (`answering`), as in every profile.

A read that fails, is blocked or turns out to be a copy gives its place to the next candidate. At the deadline the
answer is made from what is there. Without providers this is the `local` playbook, and a warning says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.answers import Draft
from citewell.domain.chat import ChatReply
from citewell.domain.decisions import (
    ActionGivenUp,
    EvidenceFound,
    PageTaken,
    SourceTurnedAway,
    TopicBriefAdded,
    WebAssessed,
    WebHitsFound,
    WebLoopEnded,
    WebRoundBegun,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import Failure
from citewell.domain.web import FailedSource, FetchProblem, LeftOut, LoopStop, PageFacts, SearchHit
from citewell.packs.topic_brief import with_brief
from citewell.planning.web_queries import distinct, first_queries, intents_of, is_time_bound
from citewell.runner import budgets
from citewell.runner.actions import (
    Action,
    Ask,
    AskFailed,
    AssessWeb,
    BriefTopic,
    Drafted,
    KeepSnippets,
    Observation,
    PageKept,
    PagesRanked,
    PlanMade,
    PlanMerged,
    RankPages,
    ReadPage,
    Replied,
    Retrieve,
    Retrieved,
    SearchWeb,
    SnippetsKept,
    TopicBriefed,
    WebFailed,
    WebSearched,
    WebWeighed,
)
from citewell.runner.playbooks import local, planning_steps
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.playbooks.web_reading import (
    ATTEMPTS_A_READ,
    LEAST_BYTES,
    LEAST_SECONDS,
    SHARE_OF_TIME,
    counts,
    name_of,
    named_pages,
    next_reads,
    pages_read,
    room_for,
    same_as,
    search_bytes,
)
from citewell.runner.state import RunState
from citewell.runner.web_evaluator import evaluator_request, read_advice
from citewell.runner.web_state import COPY, Candidate, WebProgress
from citewell.synthesis.lead_ins import NOT_FOUND

RETRACTED = "retracted_source"
_NEITHER = "Neither what you saved nor what was found on the web answers this directly."
HITS_A_QUERY = 10
_SEARCH_SECONDS = 8.0
_EVALUATOR_SHARE = 0.15
_MOST_SNIPPETS = 8
_SURE = 0.5
# What the first round may use of the queries: the rest is for what turns out to be missing.
_FIRST_SHARE = 0.6
_WEIGHING = (RankPages, AssessWeb, KeepSnippets)
_GATHERING = (SearchWeb, ReadPage, KeepSnippets, RankPages, AssessWeb)


def opening(state: RunState) -> Transition:
    """A run begins as `local` does; what it may use of the web is settled here."""
    use = state.request.web
    begun = local.opening(state)
    if state.request.goal != "answer" or use is None:
        return begun
    if not use.providers:
        return replace(begun, state=replace(begun.state, warnings=(*state.warnings, "no_search_provider")))
    question = state.request.question
    web = WebProgress(use, intents_of(question), is_time_bound(question))
    # What the corpus lacks is looked for on the web, not in the corpus again.
    budget = replace(state.budget, retries=0, expansions=0)
    return replace(begun, state=replace(begun.state, web=web, budget=budget))


def observed(state: RunState, observation: Observation, action: Action) -> Transition:
    """What follows from what was seen; everything but the loop is as in `local`."""
    if state.web is None:
        return local.observed(state, observation, action)
    match observation:
        case PlanMade(plan=plan):
            return planning_steps.before_searching(state, plan, _begin)
        case PlanMerged(merged=merged):
            return planning_steps.merged(state, merged, _begin)
        case Replied(reply=reply) if _is_for(action, "plan"):
            return planning_steps.replied(_counted(state, action, reply), reply)
        case AskFailed() if _is_for(action, "plan"):
            return planning_steps.failed(_counted(state, action, observation), observation, _begin)
        case Replied(reply=reply) if _is_for(action, "evaluate"):
            return _advised(_counted(state, action, reply), reply.text)
        case AskFailed(message=message) if _is_for(action, "evaluate"):
            return _unadvised(_counted(state, action, observation), message)
        case TopicBriefed(brief=brief):
            told = TopicBriefAdded(brief.topic, len(brief.nodes), len(brief.edges))
            return _advance(replace(state, brief=brief)).after(told)
        case Retrieved(pack=pack):
            return _corpus_found(local.counted(state, observation), pack)
        case WebSearched():
            assert isinstance(action, SearchWeb)
            return _searched(state, action, observation)
        case PageKept():
            assert isinstance(action, ReadPage)
            return _page_kept(state, action, observation)
        case WebFailed():
            return _web_failed(state, action, observation)
        case SnippetsKept(pages=pages):
            return _rank(_with_snippets(state, pages))
        case PagesRanked(pack=pack):
            return _assess(state, pack)
        case Drafted(draft=draft) if draft.refused:
            return local.observed(state, Drafted(_of_both(draft)), action)
        case WebWeighed(assessment=assessment):
            return _weighed(_with(state, replace(_web(state), assessment=assessment)))
        case _:
            return local.observed(state, observation, action)


def _of_both(draft: Draft) -> Draft:
    """A refusal speaks of all that was searched."""
    sentences = tuple(replace(one, text=one.text.replace(NOT_FOUND, _NEITHER)) for one in draft.sentences)
    return replace(draft, sentences=sentences)


def _is_for(action: Action, purpose: str) -> bool:
    return isinstance(action, Ask) and action.request.purpose == purpose


def _counted(state: RunState, action: Action, seen: ChatReply | AskFailed) -> RunState:
    assert isinstance(action, Ask)
    call = budgets.call_of(action.request, seen)
    return replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))


def _web(state: RunState) -> WebProgress:
    assert state.web is not None
    return state.web


def _with(state: RunState, web: WebProgress) -> RunState:
    return replace(state, web=web)


# Asking


def _begin(state: RunState, plan: QueryPlan) -> Transition:
    """The plan is made: search the corpus and the web at the same time, and ask a model what else to look for."""
    begun = local.search(state, plan)
    web = _web(begun.state)
    queries = first_queries(state.request.question, plan, web.intents, web.use.max_queries)
    named = tuple(Candidate(SearchHit(url, url), "question", -1) for url in named_pages(state.request.question))
    first = _with(begun.state, replace(web, candidates=named, known=tuple(one.name for one in named)))
    asked = _round(first, queries, math.ceil(web.use.max_queries * _FIRST_SHARE))
    advice = _ask_model(asked.state)
    actions = (*begun.actions, *asked.actions, *advice)
    return Transition(_noted(asked.state, advice), actions, (*begun.decisions, *asked.decisions))


def _noted(state: RunState, asked: tuple[Ask, ...]) -> RunState:
    return _with(state, replace(_web(state), asked_model=_web(state).asked_model + len(asked))) if asked else state


def _round(state: RunState, queries: Sequence[str], most: int) -> Transition:
    """The searches of one round: every provider, at most so many, as far as the budget of queries goes."""
    web = _web(state)
    use = web.use
    # A model may say what kind of source to look for: providers of that kind come first, and none is left out for it.
    providers = sorted(use.providers, key=lambda name: use.families.get(name) not in web.families)
    pairs = [(provider, query) for query in queries for provider in providers][: min(most, web.queries_left)]
    begun, reply_bytes = search_bytes(web, state.open, len(pairs))
    pairs = pairs[:begun]
    seconds = round(max(LEAST_SECONDS, min(_SEARCH_SECONDS, _time_left(state) * SHARE_OF_TIME)), 3)
    searches = tuple(SearchWeb(*pair, HITS_A_QUERY, seconds, use.allow, use.deny, reply_bytes) for pair in pairs)
    sent = tuple(dict.fromkeys(query for _, query in pairs))
    after = replace(
        web,
        loop=web.loop + 1,
        queries=(*web.queries, *sent),
        sent=web.sent + len(searches),
        round_pages=0,
        suggested=(),
    )
    tried = (*state.queries_tried, *sent)
    decision = WebRoundBegun(after.loop, use.max_loops if use.loops else 1, sent, use.providers)
    return Transition(replace(_with(state, after), queries_tried=tried), searches, (decision,))


def _time_left(state: RunState) -> float:
    """Until gathering has to end."""
    return max(0.0, state.deadlines.gathering - state.elapsed)


def _corpus_found(state: RunState, pack: ResearchPack) -> Transition:
    after = local.with_pack(state, pack)
    decision = EvidenceFound(tuple(row.source_key for row in pack.evidence), pack.coverage.recall_note)
    return _advance(after).after(decision)


def _searched(state: RunState, action: SearchWeb, seen: WebSearched) -> Transition:
    """Results join the candidates in their provider's order; a page that is known already does not come twice."""
    web = _web(state).with_requests(seen.requests)
    known = dict.fromkeys(web.known)
    added: list[Candidate] = []
    for place, hit in enumerate(seen.hits):
        candidate = Candidate(hit, action.provider, place)
        if candidate.name not in known:
            known[candidate.name] = None
            added.append(candidate)
    after = replace(
        web, candidates=(*web.candidates, *added), known=tuple(known), hits=(*web.hits, *(one.hit for one in added))
    )
    decision = WebHitsFound(action.provider, action.query, tuple(hit.url for hit in seen.hits))
    return _advance(_with(state, after)).after(decision)


# Reading


def _advance(state: RunState) -> Transition:
    """Start what can be started; go on to the next step of the round once nothing is under way any more."""
    web = _web(state)
    if web.stop is not None:
        return waiting(state) if state.open else _after_the_end(state)
    if not web.use.loops:
        return waiting(state) if state.open or state.pack is None else _snippets(state)
    reading, reads, decisions = (web, (), ()) if _is_late(state) else next_reads(web, state.open, _time_left(state))
    after, actions = _with(state, reading), (*state.open, *reads)
    if actions or after.pack is None:
        return Transition(after, actions, decisions)
    return _rank(after).after(*decisions)


def _after_the_end(state: RunState) -> Transition:
    """Gathering is over and what was still under way is in: look at pages that nobody looked at, then answer."""
    web = _web(state)
    if state.pack is not None and web.pages and web.ranked != len(web.pages):
        return _rank(state)
    return _finish(state, web.stop or "timeout", web.stop_reason)


def _page_kept(state: RunState, action: ReadPage, seen: PageKept) -> Transition:
    """A page was read: it counts, unless it is a copy of one that does."""
    web, page = _web(state).with_requests(seen.requests), seen.page
    same = same_as(page, web.pages)
    if same is not None:
        left_out = LeftOut(page.final_url, f"{COPY} {same.source_key}")
        turned = SourceTurnedAway(page.final_url, left_out.reason)
        after = replace(web, left_out=(*web.left_out, left_out), known=(*web.known, name_of(page.final_url)))
        return _advance(_with(state, after)).after(turned)
    paper = next((hit.paper for hit in web.hits if hit.url == action.url), None)
    papers = (*web.papers, (page.source_key, paper)) if paper else web.papers
    flags = (*page.flags, *(("injection_suspected",) if page.injections else ()))
    after = replace(
        web,
        pages=(*web.pages, page),
        papers=papers,
        round_pages=web.round_pages + counts(page),
        known=(*web.known, name_of(page.final_url)),
    )
    state = replace(state, retrieved_keys=(*state.retrieved_keys, page.source_key))
    if page.injections:
        state = replace(state, warnings=_once(state.warnings, "injection_suspected"))
    if paper is not None and paper.is_retracted:
        state = replace(state, warnings=_once(state.warnings, RETRACTED))
    return _advance(_with(state, after)).after(PageTaken(page.source_key, page.final_url, flags))


def _web_failed(state: RunState, action: Action, seen: WebFailed) -> Transition:
    """A search or a page that came to nothing: said, and the next candidate has its place."""
    web = _web(state).with_requests(seen.requests)
    is_page = isinstance(action, ReadPage)
    source = action.url if isinstance(action, ReadPage) else getattr(action, "provider", "web")
    warning = "web_page_failed" if is_page else "search_failed"
    after = replace(web, failed=(*web.failed, FailedSource(source, seen.problem, seen.message)))
    warned = replace(_with(state, after), warnings=_once(state.warnings, warning))
    return _advance(warned).after(SourceTurnedAway(source, f"{seen.problem}: {seen.message}"))


# Weighing


def _rank(state: RunState) -> Transition:
    """The reads of a round are in: look for the passages, or see that nothing new came."""
    web = _web(state)
    if not web.pages and web.hits and not web.has_snippets and not state.is_hurried:
        return _snippets(state)
    if not web.pages:
        return _nothing_read(state)
    if web.ranked == len(web.pages):
        return _weighed(state)
    assert state.plan is not None
    paths = tuple(page.path for page in web.pages)
    rank = RankPages(state.request.question, state.plan, paths)
    return Transition(_with(state, replace(web, ranked=len(web.pages))), (rank,))


def _snippets(state: RunState) -> Transition:
    """No page could be read, or none may be: what the providers showed is the evidence, and a warning says so."""
    web = _web(state)
    hits = tuple(hit for hit in web.hits if hit.snippet)[:_MOST_SNIPPETS]
    if web.has_snippets or not hits:
        return _nothing_read(state)
    warned = replace(state, warnings=_once(state.warnings, "web_snippets_only"))
    return Transition(_with(warned, replace(web, has_snippets=True)), (KeepSnippets(hits),))


def _with_snippets(state: RunState, pages: tuple[PageFacts, ...]) -> RunState:
    web = _web(state)
    known = {hit.url: hit.paper for hit in web.hits if hit.paper is not None}
    papers = tuple((page.source_key, known[page.url]) for page in pages if page.url in known)
    after = replace(web, pages=(*web.pages, *pages), papers=(*web.papers, *papers), has_snippets=True)
    keys = (*state.retrieved_keys, *(page.source_key for page in pages))
    if any(paper.is_retracted for _, paper in papers):
        state = replace(state, warnings=_once(state.warnings, RETRACTED))
    return replace(_with(state, after), retrieved_keys=keys)


def _nothing_read(state: RunState) -> Transition:
    """Nothing came of this round: another one, or the corpus alone answers."""
    web = _web(state)
    if web.use.loops and web.queries_left and web.loop < web.use.max_loops and not _is_late(state):
        queries = [query for query in web.suggested if query not in web.queries] or _fallback_queries(state)
        if queries:
            return _round(state, queries, web.queries_left)
    warned = replace(state, warnings=_once(state.warnings, "nothing_found_on_the_web"))
    return _finish(warned, "budget_exhausted", "nothing could be read on the web")


def _fallback_queries(state: RunState) -> list[str]:
    """What the question may also be called, where the first queries found nothing."""
    assert state.plan is not None
    tried = {query.casefold() for query in _web(state).queries}
    wanted = distinct((one.query for one in state.plan.query_variants), len(state.plan.query_variants))
    return [query for query in wanted if query.casefold() not in tried][:2]


def _assess(state: RunState, found: ResearchPack) -> Transition:
    web = _web(state)
    assert state.pack is not None
    request = state.request
    weigh = AssessWeb(
        corpus=state.corpus_pack or state.pack,
        found=found,
        pages=web.pages,
        papers=web.papers,
        is_deep=request.profile == "deep",
        is_time_bound=web.is_time_bound,
        intents=web.intents,
        floor=web.use.credibility_floor,
        pinned=request.conversation.pinned,
        tried=web.queries,
        rows=max(state.budget.rows, request.limits.limit),
        max_queries=max(1, min(web.queries_left, 4)),
        from_notes=web.use.from_notes,
    )
    kept = state if state.corpus_pack is not None else replace(state, corpus_pack=state.pack)
    counted = replace(web, rows_found=len(weigh.corpus.evidence) + len(found.evidence))
    return Transition(_with(kept, counted), (weigh,))


def _weighed(state: RunState) -> Transition:
    """What was read is weighed: enough, or another round, or the end of what may be spent."""
    web = _web(state)
    weighed = web.assessment
    assert weighed is not None
    after = replace(state, pack=weighed.pack)
    told = WebAssessed(weighed.sufficient, weighed.reason, weighed.gaps, weighed.queries)
    if web.stop is not None or web.has_snippets:
        stop: LoopStop = web.stop or "budget_exhausted"
        return _finish(after, stop, web.stop_reason or "only snippets could be had").after(told)
    if weighed.sufficient:
        return _finish(after, "sufficient", weighed.reason).after(told)
    asked = _ask_model(after)
    if asked:
        return Transition(_noted(after, asked), asked, (told,))
    return _again(after, weighed.queries).after(told)


def _again(state: RunState, queries: Sequence[str]) -> Transition:
    """Another round, if there is anything to ask or to read, and anything left to spend."""
    web = _web(state)
    if _is_late(state):
        return _finish(state, "timeout", "the time for gathering is over")
    if web.loop >= web.use.max_loops or room_for(replace(web, round_pages=0), 0) == 0 or not _may_go_on(web):
        return _finish(state, "budget_exhausted", _spent_on(web))
    fresh = [query for query in dict.fromkeys((*web.suggested, *queries)) if query not in web.queries]
    if web.queries_left and fresh:
        return _round(state, fresh, math.ceil(web.queries_left / (web.use.max_loops - web.loop)))
    if web.candidates:
        begun = _round(state, (), 0)
        return _advance(replace(begun.state, open=())).after(*begun.decisions)
    return _finish(state, "budget_exhausted", "there is nothing more to ask or to read")


def _may_go_on(web: WebProgress) -> bool:
    return web.attempts < web.use.max_reads * ATTEMPTS_A_READ and web.bytes_left >= LEAST_BYTES


def _spent_on(web: WebProgress) -> str:
    use = web.use
    if web.bytes_left < LEAST_BYTES:
        return f"the budget of {use.max_bytes:,} bytes is used up"
    if pages_read(web) >= use.max_reads:
        return f"the budget of {use.max_reads} pages is used up"
    return f"the budget of {use.max_loops} rounds is used up"


def _is_late(state: RunState) -> bool:
    return state.is_hurried or "gathering" in state.phases_over or "retrieval" in state.stages_over


# A model's advice


def _ask_model(state: RunState) -> tuple[Ask, ...]:
    """Ask the model what to do next, where one is set, and time and money are left for it."""
    web, use = _web(state), state.request.models
    seconds = min(use.planner_seconds, state.budget.seconds * _EVALUATOR_SHARE, _time_left(state) * SHARE_OF_TIME)
    if not web.use.model or not web.use.loops or seconds < 1 or web.asked_model > web.use.max_loops or _is_late(state):
        return ()
    weighed = web.assessment
    keys = {page.source_key for page in web.pages}
    rows = [row for row in weighed.pack.evidence if row.source_key in keys] if weighed else []
    wanted = evaluator_request(
        state.request.question, rows, weighed.gaps if weighed else (), web.use.model, round(seconds, 3)
    )
    fitted = budgets.fitted(wanted, use.evaluator_price, state.spend, use, budgets.reserved(state))
    return (Ask(fitted),) if fitted is not None else ()


def _advised(state: RunState, reply: str) -> Transition:
    """A model advises: its queries are asked; that it is enough counts only where the rules see an answer too."""
    web, advice = _web(state), read_advice(reply)
    if advice.error:
        return _unadvised(state, f"its reply could not be read: {advice.error}")
    told = WebAssessed(advice.is_enough, advice.reason, advice.gaps, advice.queries, by=web.use.model)
    fresh = tuple(query for query in advice.queries if query not in web.queries)
    after = _with(state, replace(web, suggested=fresh, families=advice.families))
    if web.assessment is None:
        return _more_to_ask(after, fresh).after(told)
    likely = web.assessment.pack.evidence and advice.is_enough and advice.confidence >= _SURE
    if likely and state.request.profile != "deep":
        return _finish(after, "sufficient", f"{web.use.model}: {advice.reason}").after(told)
    return _again(after, web.assessment.queries).after(told)


def _more_to_ask(state: RunState, queries: Sequence[str]) -> Transition:
    """Advice that came while the first round is under way: asked in the same round, within the same budget."""
    web = _web(state)
    if not queries or not web.queries_left or _is_late(state):
        return _advance(state)
    asked = _round(_with(state, replace(web, loop=web.loop - 1)), queries, max(1, web.queries_left // 2))
    kept = replace(_web(asked.state), round_pages=web.round_pages)
    return Transition(_with(asked.state, kept), (*state.open, *asked.actions), asked.decisions)


def _unadvised(state: RunState, why: str) -> Transition:
    """No advice: the rules go on alone."""
    warned = replace(state, warnings=_once(state.warnings, "evaluator_failed_rules_used"))
    decision = ActionGivenUp("evaluate", "evaluator_failed", why[:300])
    weighed = _web(state).assessment
    if weighed is None:
        return _advance(warned).after(decision)
    return _again(warned, weighed.queries).after(decision)


# The end of the loop


def _finish(state: RunState, stop: LoopStop, reason: str) -> Transition:
    """On to the answer with what is there; whatever is still under way for the loop is let go of."""
    web = _web(state)
    ended = WebLoopEnded(stop, reason[:300], web.loop, web.sent, pages_read(web))
    after = replace(_with(state, replace(web, stop=stop, stop_reason=reason)), open=())
    if after.pack is None:
        return local.end_gathering(after).after(ended)
    if after.brief is not None:
        after = replace(after, pack=with_brief(after.pack, after.brief), brief=None)
    return local.inspect(after).after(ended)


def end_gathering(state: RunState) -> Transition:
    """Go to the answer: pages that were read and not looked at yet are looked at first."""
    web = state.web
    if web is not None and any(isinstance(action, _WEIGHING) for action in state.open):
        # A moment's work, and all that was read would be lost without it; `end_writing` bounds it.
        return _stopping(state, tuple(action for action in state.open if isinstance(action, _WEIGHING)))
    if web is None or web.stop is not None or not _gathers(state):
        return local.end_gathering(state)
    asked = [action for action in state.open if isinstance(action, Ask)]
    for action in asked:
        state = local.given_up(state, action)
    after = _stopping(state, tuple(action for action in state.open if isinstance(action, Retrieve))).state
    if state.pack is None:
        return local.end_gathering(replace(after, open=state.open))
    return _after_the_end(after)


def _stopping(state: RunState, kept: tuple[Action, ...]) -> Transition:
    """The loop ends here, by the clock or by a person; of what is under way only these go on."""
    web, is_person = _web(state), state.is_hurried
    why = "asked to finish" if is_person else "the time for gathering is over"
    stopped = replace(web, stop="budget_exhausted" if is_person else "timeout", stop_reason=why)
    after = _with(state, stopped if web.stop is None else web)
    return Transition(replace(after, open=kept), kept)


def _gathers(state: RunState) -> bool:
    """Whether the loop is what is under way."""
    return any(isinstance(action, (*_GATHERING, Retrieve)) or _is_for(action, "evaluate") for action in state.open)


def end_writing(state: RunState) -> Transition:
    """The time for writing is over: what is still being weighed is let go of too."""
    if state.web is not None and any(isinstance(action, _WEIGHING) for action in state.open):
        return _finish(state, state.web.stop or "timeout", "the time for weighing is over")
    return local.end_writing(state)


def failed(state: RunState, action: Action, failure: Failure) -> Transition:
    """What a failed action means: a part of the loop costs itself only; its end leaves one pass with snippets."""
    if state.web is None:
        return local.failed(state, action, failure)
    decision = ActionGivenUp(failure.stage, failure.code, failure.message)
    match action:
        case Ask() if action.request.purpose == "evaluate":
            return _unadvised(local.given_up(state, action), failure.message)
        case Ask() if action.request.purpose == "plan":
            return planning_steps.failed(local.given_up(state, action), failure, _begin).after(decision)
        case SearchWeb() | ReadPage():
            problem: FetchProblem = "timeout" if failure.code == "stage_timeout" else "other"
            return _web_failed(state, action, WebFailed(problem, failure.message))
        case BriefTopic():
            return _advance(replace(state, warnings=_once(state.warnings, "topic_brief_failed"))).after(decision)
        case KeepSnippets() | RankPages() | AssessWeb():
            return _broken(state, failure).after(decision)
        case _:
            return local.failed(state, action, failure)


def _broken(state: RunState, failure: Failure) -> Transition:
    """The loop itself failed: what was weighed before, else one pass with snippets, else the corpus alone."""
    web = _web(state)
    why = f"{failure.stage} failed: {failure.message}"
    stopped = replace(web, stop=web.stop or "error", stop_reason=web.stop_reason or why)
    warned = replace(_with(state, stopped), warnings=_once(state.warnings, "web_loop_failed"), open=())
    hits: tuple[SearchHit, ...] = tuple(hit for hit in web.hits if hit.snippet)
    if hits and web.assessment is None and not web.has_snippets and failure.code != "stage_timeout":
        return _snippets(_with(warned, replace(stopped, pages=(), papers=(), ranked=-1)))
    return _finish(warned, stopped.stop or "error", stopped.stop_reason)


def _once(warnings: tuple[str, ...], code: str) -> tuple[str, ...]:
    return warnings if code in warnings else (*warnings, code)
