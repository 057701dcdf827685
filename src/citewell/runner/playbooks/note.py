"""The `note` playbook: a note's topics, what other documents say of them, and a section written into the note. Pure.

read the note → topics (a model, or its layout) → plan and search each, all topics at once, in the corpus and, where it
may be asked, on the web (`note_web`) → findings (a model writes, once for all topics or, deep, once a topic; without
one, passages are quoted) → every sentence verified → links → the section → the file. A topic that fails is skipped and
told; a stage that fails ends the run, and the note stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from citewell.domain.answers import Draft, Verification
from citewell.domain.chat import ChatReply, ChatRequest, Usage
from citewell.domain.decisions import (
    ActionGivenUp,
    CostEstimated,
    Decision,
    ModelAsked,
    NoteWritten,
    RunStopped,
    TopicsChosen,
    TopicSkipped,
)
from citewell.domain.notes import (
    MAX_NOTE_CHARS,
    MAX_TOPICS,
    NOTES_A_TOPIC,
    PREVIEW_CHARS,
    NoteChange,
    NoteLink,
    NoteTask,
    NoteText,
    NoteTopic,
)
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import Failure, Stage, StopReason
from citewell.domain.web import FetchProblem
from citewell.models.tokens import estimate_prompt, estimate_tokens
from citewell.notes.composing import TopicFindings
from citewell.notes.findings import MOST_FINDINGS
from citewell.notes.merging import by_topic, held, merge_findings, related_keys
from citewell.notes.prompting import TOPICS_TOKENS, topics_request, write_request
from citewell.notes.topics import nearest_query, query_of, web_query_of
from citewell.readers.written_sections import HEADING
from citewell.runner import budgets
from citewell.runner.actions import (
    STAGE_TIMEOUT,
    Action,
    Ask,
    AskFailed,
    ComposeSection,
    Drafted,
    ExtractTopics,
    FindPassages,
    KeepTexts,
    LinkNotes,
    MakePlan,
    NoteSeen,
    NotesLinked,
    Observation,
    PageKept,
    PagesRanked,
    PlanMade,
    Prepare,
    Prepared,
    RankPages,
    ReadDraft,
    ReadNote,
    ReadPage,
    ReadTopics,
    Replied,
    Retrieve,
    Retrieved,
    SearchWeb,
    SectionComposed,
    SectionWritten,
    TextsKept,
    TopicsFound,
    Verified,
    Verify,
    WebFailed,
    WebSearched,
    WriteSection,
)
from citewell.runner.playbooks import note_web
from citewell.runner.playbooks.answering import UNAVAILABLE
from citewell.runner.playbooks.transitions import Transition, waiting
from citewell.runner.profiles import ANSWER_GRACE_SECONDS
from citewell.runner.state import RunState, TopicWork
from citewell.synthesis.merged_evidence import merge_packs, merge_prepared

# A model may be asked for topics once, and once more to mend a reply that cannot be read.
MAX_TOPICS_ASKED = 2
_TOPIC_SECONDS = 60.0
# What goes with a note or its evidence: the rules, and the topics of it.
_RULE_TOKENS = 1_500
_GATHERING = (ReadNote, ExtractTopics, ReadTopics, MakePlan, Retrieve, SearchWeb, ReadPage)


def opening(state: RunState) -> Transition:
    """A run about a note begins with the note."""
    return Transition(note_web.opened(state), (ReadNote(_task(state)),))


def observed(state: RunState, observation: Observation, action: Action) -> Transition:
    """What follows from what was seen; `action` is the one it answers."""
    match observation:
        case NoteSeen(note=note):
            seen = replace(state, note=replace(state.note, note=note))
            return _topics(seen).after(*_estimated_cost(seen))
        case Replied(reply=reply):
            return _replied(state, reply, action)
        case AskFailed():
            return _ask_failed(state, observation, action)
        case TopicsFound(topics=topics, error=error):
            return _chosen(state, topics, error, action)
        case PlanMade(plan=plan):
            tried = (*state.queries_tried, *(variant.query for variant in plan.query_variants))
            return _went(replace(state, queries_tried=tried), action, lambda work: replace(work, plan=plan))
        case Retrieved(pack=pack):
            return _found(state, pack, action)
        case WebSearched() | PageKept() | WebFailed():
            return _outside(state, observation, action)
        case PagesRanked(pack=pack):
            return _went(state, action, lambda work: note_web.with_passages(state, work, pack))
        case Prepared(prepared=prepared):
            return _went(state, action, lambda work: replace(work, prepared=prepared))
        case Drafted(draft=draft):
            return _went(state, action, lambda work: _drafted(work, draft))
        case Verified(verification=checked):
            return _went(state, action, lambda work: _verified(work, checked))
        case NotesLinked(links=links):
            return _compose(state, links)
        case SectionComposed(lines=lines):
            return _put(state, lines)
        case SectionWritten(change=change):
            return _written(state, change)
        case TextsKept(missing=missing):
            return _ended(_warned(state, "source_removed_during_run") if missing else state, "enough_evidence")
        case _:
            return waiting(state)


def _estimated_cost(state: RunState) -> tuple[CostEstimated, ...]:
    """The most that can be spent, told before a model is asked: every call in full, over this note."""
    use, is_deep = state.request.models, _task(state).depth == "deep"
    if not use.writes:
        return ()
    note = estimate_tokens(_note(state).expanded[:MAX_NOTE_CHARS]) + _RULE_TOKENS
    evidence = estimate_tokens("x" * state.request.max_evidence_chars) + _RULE_TOKENS
    writes = MAX_TOPICS if is_deep else 1
    given = MAX_TOPICS_ASKED * note + (MAX_TOPICS_ASKED - 1) * TOPICS_TOKENS + writes * evidence
    taken = MAX_TOPICS_ASKED * TOPICS_TOKENS + writes * (1 if is_deep else 2) * use.max_output_tokens
    usd = round(use.writer_price.cost(Usage(given, taken)), 6) if use.writer_price is not None else None
    return (CostEstimated(MAX_TOPICS_ASKED + writes, given, taken, usd, use.max_cost_usd),)


# Topics


def _topics(state: RunState, error: str = "") -> Transition:
    """A model names the topics where one is chosen; else layout and words do."""
    note, task, use = _note(state), _task(state), state.request.models
    if not use.writes or state.is_hurried:
        return Transition(state, (ExtractTopics(note, task.focus),))
    unreadable = (state.note.topics_reply, error) if error else None
    wanted = topics_request(
        *(note, task.focus, use.writer, _seconds(state, _TOPIC_SECONDS), unreadable), hosted=use.is_hosted
    )
    request = _fitted(state, wanted)
    if request is None:
        return Transition(_at_ceiling(state), (ExtractTopics(note, task.focus),), (budgets.ceiling_reached(state),))
    asked = replace(state, note=replace(state.note, topics_asked=state.note.topics_asked + 1))
    return Transition(asked, (Ask(request),), (_asked(request),))


def _chosen(state: RunState, topics: tuple[NoteTopic, ...], error: str, action: Action) -> Transition:
    if error and state.note.topics_asked < MAX_TOPICS_ASKED:
        return _topics(state, error)
    if error:
        return _stopped(state, Failure("plan", "bad_reply", f"The model's topics could not be read: {error}."))
    title, by_model = _note(state).title, isinstance(action, ReadTopics)
    named = {query_of(topic, title): topic for topic in topics[:MAX_TOPICS]}
    chosen = tuple(named.values())

    def asked(topic: NoteTopic) -> str:
        """What the web is asked for a topic: one of the queries that may be sent, and no words of a model's."""
        queries = _task(state).web_queries
        if state.web is None:
            return ""
        exact = web_query_of(topic, chosen, title)
        if queries is None or exact in queries:
            return exact
        return nearest_query(topic, queries) if by_model else ""

    work = tuple(TopicWork(topic, query, asked=asked(topic)) for query, topic in named.items())
    decision = TopicsChosen(chosen, "model" if by_model else "engine")
    return _advance(replace(state, note=replace(state.note, work=work))).after(decision)


# What comes next: each stage begins for all topics together when the one before is over for all of them


def _advance(state: RunState) -> Transition:
    if state.open:
        return waiting(state)
    live = _live(state)
    if not live:
        return _without_findings(state)
    if unplanned := [one for one in live if one.plan is None]:
        return Transition(state, tuple(_plan(state, one) for one in unplanned))
    if unsearched := [one for one in live if one.pack is None]:
        return _search(state, unsearched)
    if ranks := note_web.ranks(state, live):
        return Transition(state, ranks)
    if empty := [one for one in live if one.pack is not None and not one.pack.evidence]:
        return _found_nothing(state, empty)
    if unprepared := [one for one in live if one.prepared is None]:
        return Transition(state, tuple(_prepare(state, one, len(live)) for one in unprepared))
    return _write(state, live) or _link(state)


def _plan(state: RunState, work: TopicWork) -> Action:
    request = state.request
    limits = replace(request.limits, limit=NOTES_A_TOPIC + 1, include_related=False)
    return MakePlan(work.query, request.filters, limits, None, False)


def _search(state: RunState, work: list[TopicWork]) -> Transition:
    """The corpus and the web for all topics, at the same time."""
    look_ups = [Retrieve(one.query, one.plan, 1, state.request.semantic) for one in work if one.plan is not None]
    after, searches, decisions = note_web.searches(state, work)
    return Transition(after, (*look_ups, *searches), decisions)


def _outside(state: RunState, seen: WebSearched | PageKept | WebFailed, action: Action) -> Transition:
    """Something came of the web, or failed to: read what can be read now."""
    assert isinstance(action, (SearchWeb, ReadPage))
    match seen:
        case WebSearched():
            assert isinstance(action, SearchWeb)
            after, decisions = note_web.searched(state, action, seen)
        case PageKept():
            assert isinstance(action, ReadPage)
            after, decisions = note_web.page_kept(state, action, seen)
        case WebFailed():
            after, decisions = note_web.failed(state, action, seen)
    after, reads = note_web.next_reads(after)
    if reads or after.open:
        return Transition(after, (*after.open, *reads), decisions)
    return _advance(after).after(*decisions)


def _found_nothing(state: RunState, work: list[TopicWork]) -> Transition:
    """Neither the corpus nor a page that was read has anything on these topics."""
    offers = {one.topic for one in note_web.offered(state)}
    decisions: list[Decision] = []
    for one in work:
        why = "nothing was found but pages that were not read" if one.topic in offers else "nothing was found"
        state = _with(state, one, replace(one, skipped=why))
        decisions.append(TopicSkipped(one.topic.topic, why))
    return _advance(state).after(*decisions)


def _found(state: RunState, pack: ResearchPack, action: Action) -> Transition:
    """The rows of a topic: never the note itself, and no more than a few."""
    itself = _note(state).source_key
    rows = tuple(row for row in pack.evidence if row.source_key != itself)[:NOTES_A_TOPIC]
    kept = replace(pack, evidence=rows, exact_tag_evidence=())
    seen = dict.fromkeys((*state.retrieved_keys, *(row.source_key for row in rows)))

    def found(work: TopicWork) -> TopicWork:
        # Where the web is asked too, it may have what the corpus lacks.
        return replace(work, pack=kept, skipped="" if rows or work.asked else "nothing was found")

    return _went(replace(state, retrieved_keys=tuple(seen)), action, found)


def _prepare(state: RunState, work: TopicWork, shared_by: int) -> Action:
    assert work.pack is not None
    request, use = state.request, state.request.models
    chars = max(2_000, request.max_evidence_chars // shared_by) if _writes_once(state) else request.max_evidence_chars
    return Prepare(work.pack, chars, 0, use.writes and use.is_hosted, request.reserves)


# Writing


def _write(state: RunState, live: list[TopicWork]) -> Transition | None:
    """What is still to be written or checked; None when all is."""
    whole = state.note.whole
    if whole is not None:
        return Transition(state, (_verify(state, whole),)) if whole.verification is None else None
    if undrafted := [one for one in live if one.draft is None]:
        if _writes_once(state):
            return _write_whole(state, undrafted)
        return _write_each(state, undrafted)
    unchecked = [one for one in live if one.verification is None]
    return Transition(state, tuple(_verify(state, one) for one in unchecked)) if unchecked else None


def _model_writes(state: RunState) -> bool:
    over = state.is_hurried or "writing" in state.phases_over or state.finishing == "cost_limit_reached"
    return state.request.models.writes and not over


def _writes_once(state: RunState) -> bool:
    """A shallow run asks a model once for all topics; a deep one once a topic."""
    return _model_writes(state) and _task(state).depth == "shallow"


def _write_whole(state: RunState, work: list[TopicWork]) -> Transition:
    """One call for all topics, from all of their evidence."""
    title = _note(state).title
    prepared = merge_prepared(title, [one.prepared for one in work if one.prepared])
    whole = TopicWork(NoteTopic(title), title, work[0].plan, prepared=prepared)
    request = _fitted(state, _write_request(state, whole, work, 2))
    if request is None:
        return _write_each(_at_ceiling(state), work).after(budgets.ceiling_reached(state))
    after = replace(state, note=replace(state.note, whole=whole))
    return Transition(after, (Ask(request),), (_asked(request),))


def _write_each(state: RunState, work: list[TopicWork]) -> Transition:
    """One call a topic, as far as the ceiling reaches; passages are quoted for the others."""
    actions: list[Action] = []
    decisions: list[Decision] = []
    for one in work:
        under_way = replace(state, open=tuple(actions))
        request = _fitted(under_way, _write_request(state, one, [one], 1)) if _model_writes(state) else None
        if request is not None:
            actions.append(Ask(request))
            decisions.append(_asked(request))
            continue
        if _model_writes(state):
            state = _at_ceiling(state)
            decisions.append(budgets.ceiling_reached(state))
        actions.append(_quote(state, one))
    return Transition(state, tuple(actions), tuple(decisions))


def _quote(state: RunState, work: TopicWork) -> Action:
    assert work.prepared is not None
    assert work.plan is not None
    return FindPassages(work.topic, work.prepared, work.plan, _task(state).depth, _note(state))


def _write_request(state: RunState, work: TopicWork, topics: Iterable[TopicWork], size: int) -> ChatRequest:
    assert work.prepared is not None
    use = state.request.models
    numbered = [(_number(state, one), one.topic) for one in topics]
    return write_request(
        *(_note(state), numbered, work.prepared, use.writer, size * use.max_output_tokens, _seconds(state)),
        most=MOST_FINDINGS[_task(state).depth],
        hosted=use.is_hosted,
    )


def _number(state: RunState, work: TopicWork) -> int:
    return next(n for n, one in enumerate(state.note.work, start=1) if one.query == work.query)


def _replied(state: RunState, reply: ChatReply, action: Action) -> Transition:
    assert isinstance(action, Ask)
    call = budgets.call_of(action.request, reply)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if action.request.purpose == "topics":
        return Transition(replace(after, note=replace(after.note, topics_reply=reply.text)), (ReadTopics(reply.text),))
    work = _work_of(after, action)
    if work is None or work.prepared is None:
        return _advance(after)
    read = ReadDraft(reply.text, work.prepared, False, reply.finish == "length")
    return Transition(after, (*after.open, read))


def _ask_failed(state: RunState, seen: AskFailed, action: Action) -> Transition:
    assert isinstance(action, Ask)
    call = budgets.call_of(action.request, seen)
    after = replace(state, spend=budgets.spent(state.spend, call), calls=(*state.calls, call))
    if seen.problem == "day_limit":
        return _day_is_spent(after, action, seen.message)
    stage: Stage = "plan" if action.request.purpose == "topics" else "synthesize"
    return _lost(after, action, Failure(stage, seen.problem, seen.message, seen.fix))


def _day_is_spent(state: RunState, action: Ask, message: str) -> Transition:
    """The ceiling for all runs of the day leaves no room for a call: go on without a model."""
    limited = _warned(_at_ceiling(state), budgets.DAY_LIMIT)
    told = budgets.ceiling_reached(state, message)
    if action.request.purpose == "topics":
        return Transition(limited, (ExtractTopics(_note(state), _task(state).focus),), (told,))
    return _advance(replace(limited, note=replace(limited.note, whole=None))).after(told)


def _drafted(work: TopicWork, draft: Draft) -> TopicWork:
    nothing = draft.refused or not draft.sentences
    return replace(work, draft=draft, skipped="nothing speaks of it" if nothing else "")


def _verify(state: RunState, work: TopicWork) -> Action:
    assert work.draft is not None
    assert work.prepared is not None
    assert work.plan is not None
    return Verify(work.query, work.draft, work.prepared, work.plan, 4 * state.budget.citations)


def _verified(work: TopicWork, checked: Verification) -> TopicWork:
    return replace(work, verification=checked, skipped="" if held(checked) else "nothing written of it is proven")


# The section


def _link(state: RunState) -> Transition:
    """Everything is written and checked: find out how the sources are linked from the note."""
    merged = merge_findings(_findings(state))
    work, note = state.note.work, _note(state)
    packs = [one.pack for one in work if one.pack is not None]
    prepared = merge_prepared(note.title, [one.prepared for one in work if one.prepared])
    cited = {citation.source_key for citation in merged.verification.citations}
    pages = {page.source_key for page in state.web.pages} if state.web is not None else set()
    related = related_keys(packs, frozenset({*cited, *pages, *note.linked_keys, note.source_key or ""}))
    after = replace(
        state,
        note=replace(state.note, findings=_with_offers(state, merged.findings), related=related),
        pack=merge_packs(packs),
        prepared=prepared,
        draft=merged.draft,
        verification=merged.verification,
    )
    keys = dict.fromkeys((*(source.source_key for source in prepared.sources), *related))
    return Transition(after, (LinkNotes(_task(state), tuple(key for key in keys if key not in pages)),))


def _with_offers(state: RunState, findings: tuple[TopicFindings, ...]) -> tuple[TopicFindings, ...]:
    """The findings, and among them in the note's order the topics for which there are only pages to be offered."""
    if not (offers := {one.topic for one in note_web.offered(state)}):
        return findings
    found = {one.topic: one for one in findings}
    topics = [one.topic for one in state.note.work if one.topic in found or one.topic in offers]
    return tuple(found.get(topic) or TopicFindings(topic, (), is_quoted=True) for topic in topics)


def _findings(state: RunState) -> list[tuple[NoteTopic, Verification, Draft]]:
    whole = state.note.whole
    if whole is not None and whole.verification is not None and whole.draft is not None:
        topics = [one.topic for one in state.note.work]
        return [(topic, part, whole.draft) for topic, part in by_topic(whole.verification, topics)]
    return [
        (one.topic, one.verification, one.draft)
        for one in _live(state)
        if one.verification is not None and one.draft is not None
    ]


def _compose(state: RunState, links: tuple[NoteLink, ...]) -> Transition:
    assert state.verification is not None
    evidence = tuple(one.prepared for one in state.note.work if one.prepared is not None)
    compose = ComposeSection(
        *(_note(state), state.note.findings, state.verification.citations, evidence, state.note.related),
        links=(*links, *note_web.page_links(state)),
        offered=note_web.offered(state),
    )
    return Transition(state, (compose,))


def _put(state: RunState, lines: tuple[str, ...]) -> Transition:
    if not lines:
        return _nothing(state)
    after = replace(state, note=replace(state.note, lines=lines))
    return Transition(after, (WriteSection(_task(state), lines, _note(state).basis),))


def _written(state: RunState, change: NoteChange) -> Transition:
    assert state.verification is not None
    decision = _outcome(state, change)
    texts = dict.fromkeys((one.source_key, one.span.content_hash) for one in state.verification.citations)
    if not texts:
        has_evidence = state.prepared is not None and bool(state.prepared.sources)
        return _ended(state, "enough_evidence" if has_evidence else "no_evidence").after(decision)
    return Transition(state, (KeepTexts(tuple(texts)),), (decision,))


def _outcome(state: RunState, change: NoteChange) -> NoteWritten:
    task, lines = _task(state), state.note.lines
    section = "\n".join((HEADING, "", *lines)) if lines else ""
    searched = sum(one.pack is not None for one in state.note.work)
    return NoteWritten(
        *(task.path, searched, section[:PREVIEW_CHARS], change.changed, task.dry_run, change.diff, change.backup)
    )


# How it ends


def _without_findings(state: RunState) -> Transition:
    """Nothing to say: pages that were found may still be offered."""
    return _link(state) if note_web.offered(state) else _nothing(state)


def _nothing(state: RunState) -> Transition:
    """Nothing to write: the note stays as it is."""
    ended = replace(state, draft=None, verification=None)
    return _ended(ended, "no_evidence").after(_outcome(state, NoteChange(changed=False)))


def _ended(state: RunState, reason: StopReason) -> Transition:
    final = state.finishing or reason
    return Transition(replace(state, stop_reason=final), (), (RunStopped(final),))


def _stopped(state: RunState, failure: Failure) -> Transition:
    """A stage failed: the run is over, and the note as it was."""
    reason: StopReason = "synthesis_unavailable" if failure.code in UNAVAILABLE else "synthesis_failed"
    over = replace(state, failure=failure, stop_reason=reason)
    return Transition(over, (), (RunStopped(reason, failure.message),))


def failed(state: RunState, action: Action, failure: Failure) -> Transition:
    """What a failed action means: a topic is skipped, a stage that serves all of them ends the run."""
    if isinstance(action, (SearchWeb, ReadPage)):
        problem: FetchProblem = "timeout" if failure.code == STAGE_TIMEOUT else "other"
        return _outside(state, WebFailed(problem, failure.message), action)
    if isinstance(action, RankPages):
        lost = ActionGivenUp(failure.stage, failure.code, failure.message)
        return _went(_warned(state, "web_page_failed"), action, _without_pages).after(lost)
    return _lost(_given_up(state, action) if isinstance(action, Ask) else state, action, failure)


def _without_pages(work: TopicWork) -> TopicWork:
    """A topic of which the pages cannot be looked through: the corpus speaks alone."""
    assert work.pack is not None
    return replace(work, passages=replace(work.pack, evidence=()))


def _lost(state: RunState, action: Action, failure: Failure) -> Transition:
    decision = ActionGivenUp(failure.stage, failure.code, failure.message)
    if isinstance(action, KeepTexts):
        return _ended(_warned(state, "texts_not_kept"), "enough_evidence").after(decision)
    work = _work_of(state, action)
    if work is None or work is state.note.whole:
        return _stopped(state, failure).after(decision)
    after = _with(state, work, replace(work, skipped=failure.message or failure.code))
    gone = TopicSkipped(work.topic.topic, failure.message or failure.code)
    if all(one.skipped for one in after.note.work) and not after.open:
        # Nothing but failures: that is no empty result.
        return _stopped(after, failure).after(decision, gone)
    return _advance(_warned(after, "topic_failed")).after(decision, gone)


def end_gathering(state: RunState) -> Transition:
    """Go on with the topics whose evidence is there; a model that is asked for topics is not waited for."""
    under_way = [action for action in state.open if isinstance(action, (*_GATHERING, Ask))]
    if len(under_way) < len(state.open):
        return waiting(state)
    if state.note.note is None:
        return _stopped(state, Failure("plan", "timeout", "There was no time to read the note."))
    if not state.note.work:
        hurried = replace(_without_calls(state), open=(), is_hurried=True)
        return Transition(hurried, (ExtractTopics(_note(state), _task(state).focus),))
    if any(isinstance(action, Ask) for action in state.open):
        return end_writing(state) if state.is_hurried else waiting(state)
    late = replace(state, open=())
    decisions: list[Decision] = []
    for one in _live(state):
        if one.pack is None:
            late = _with(late, one, replace(one, skipped="there was no time to search for it"))
            decisions.append(TopicSkipped(one.topic.topic, "there was no time to search for it"))
    return _advance(late).after(*decisions)


def end_writing(state: RunState) -> Transition:
    """A model that still writes is let go of: passages take the place of what it did not write."""
    if not any(isinstance(action, Ask) for action in state.open) or not state.note.work:
        return waiting(state)
    left = replace(_without_calls(state), note=replace(state.note, whole=None))
    kept = tuple(action for action in state.open if not isinstance(action, Ask))
    return _advance(replace(_warned(left, "model_timeout"), open=kept))


# Small things


def _went(state: RunState, action: Action, change: Callable[[TopicWork], TopicWork]) -> Transition:
    """A topic has come further, or is given up; go on when all have."""
    work = _work_of(state, action)
    if work is None:
        return _advance(state)
    changed = change(work)
    decisions = (TopicSkipped(changed.topic.topic, changed.skipped),) if changed.skipped else ()
    if work is state.note.whole:
        after = replace(state, note=replace(state.note, whole=changed))
        return (_without_findings(after) if changed.skipped else _advance(after)).after(*decisions)
    return _advance(_with(state, work, changed)).after(*decisions)


def _work_of(state: RunState, action: Action) -> TopicWork | None:
    """The topic an action was for; what a model writes of all topics is one work of its own."""
    whole = state.note.whole
    match action:
        case MakePlan() | Retrieve() | RankPages():
            return next((one for one in state.note.work if one.query == action.question), None)
        case Prepare():
            return next((one for one in state.note.work if one.pack is action.pack), None)
        case FindPassages():
            return next((one for one in state.note.work if one.topic == action.topic), None)
        case ReadDraft() | Verify():
            among = (*((whole,) if whole is not None else ()), *state.note.work)
            return next((one for one in among if one.prepared is action.prepared), None)
        case Ask() if action.request.purpose == "write":
            return whole if whole is not None else _written_by(state, action)
        case _:
            return None


def _written_by(state: RunState, action: Ask) -> TopicWork | None:
    """Which topic a call writes of: the number of its heading stands in what is asked."""
    asked = action.request.messages[-1].content
    return next((one for one in state.note.work if f"\n## {_number(state, one)} {one.topic.type}:" in asked), None)


def _with(state: RunState, work: TopicWork, changed: TopicWork) -> RunState:
    all_of_them = tuple(changed if one.query == work.query else one for one in state.note.work)
    return replace(state, note=replace(state.note, work=all_of_them))


def _live(state: RunState) -> list[TopicWork]:
    return [one for one in state.note.work if not one.skipped]


def _task(state: RunState) -> NoteTask:
    assert state.request.note is not None
    return state.request.note


def _note(state: RunState) -> NoteText:
    assert state.note.note is not None
    return state.note.note


def _seconds(state: RunState, most: float = 600.0) -> float:
    return round(max(min(most, state.seconds_left - ANSWER_GRACE_SECONDS), 1.0), 3)


def _fitted(state: RunState, wanted: ChatRequest) -> ChatRequest | None:
    use = state.request.models
    return budgets.fitted(wanted, use.writer_price, state.spend, use, budgets.reserved(state))


def _asked(request: ChatRequest) -> ModelAsked:
    return ModelAsked(request.model, request.purpose, estimate_prompt(request.messages), request.max_output_tokens)


def _at_ceiling(state: RunState) -> RunState:
    return _warned(replace(state, finishing="cost_limit_reached"), "incomplete")


def _given_up(state: RunState, action: Ask) -> RunState:
    """A call nobody waits for any longer: counted, its cost unknown unless the model is free."""
    call = budgets.dropped_call(action.request, budgets.price_of(action.request, state.request.models))
    spend = budgets.spent(state.spend, call, budgets.worst_tokens(action.request))
    return replace(state, spend=spend, calls=(*state.calls, call))


def _without_calls(state: RunState) -> RunState:
    for action in state.open:
        if isinstance(action, Ask):
            state = _given_up(state, action)
    return state


def _warned(state: RunState, code: str) -> RunState:
    return state if code in state.warnings else replace(state, warnings=(*state.warnings, code))
