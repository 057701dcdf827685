"""Gathering for a report: the corpus, the web, papers and code for every sub-query, all at once. Pure.

A family takes part only where something can be asked for it. One of which every search failed is skipped and named;
what the others found stays. Pages are read as far as the budget goes; where no page of a family can be read, what its
providers showed of their results is kept instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from citewell.briefs.items import knowledge_items, page_items
from citewell.domain.briefs import Family, ReportItem, ReportTask, SkippedFamily
from citewell.domain.decisions import Decision, FamilySkipped, PageTaken, SourceTurnedAway, WebHitsFound
from citewell.domain.web import WebUse
from citewell.runner.actions import (
    Action,
    KeepSnippets,
    PageKept,
    RankPages,
    ReadGiven,
    ReadPage,
    Retrieve,
    SearchWeb,
    SnippetsKept,
    WebFailed,
    WebSearched,
)
from citewell.runner.playbooks.web_reading import ATTEMPTS_A_READ, LEAST_SECONDS, SHARE_OF_TIME, name_of, same_as
from citewell.runner.report_state import FamilyFailure, FoundPage, QueryWork, ReportProgress
from citewell.runner.state import RunState
from citewell.text.secrets import kinds_of_secrets

HITS_A_QUERY = 8
_SEARCH_SECONDS = 10.0
_MOST_SNIPPETS = 4
_MOST_QUERY_CHARS = 200


def task_of(state: RunState) -> ReportTask:
    assert state.request.report is not None
    return state.request.report


def progress_of(state: RunState) -> ReportProgress:
    assert state.report is not None
    return state.report


def with_progress(state: RunState, progress: ReportProgress) -> RunState:
    return replace(state, report=progress)


def is_late(state: RunState) -> bool:
    return state.is_hurried or "gathering" in state.phases_over or "retrieval" in state.stages_over


# Searching


def first_searches(state: RunState) -> tuple[RunState, tuple[Action, ...]]:
    """Every family for every sub-query, at the same time, as far as the budget of queries goes."""
    progress, task = progress_of(state), task_of(state)
    active = {use.family: use.providers for use in task.families}
    actions: list[Action] = []
    if "knowledge" in active:
        actions += [_look_up(state, work) for work in progress.work]
    wanted = [] if is_late(state) else list(_wanted(progress, task))[: _web(state).max_queries]
    actions += [_search(state, provider, progress.work[index]) for _, provider, index in wanted]
    after = replace(progress, is_searched=True, searches=tuple(wanted))
    return with_progress(state, after), tuple(actions)


def _look_up(state: RunState, work: QueryWork) -> Retrieve | ReadGiven:
    """Search the corpus; what was taken from its own sections is read where it stands."""
    assert work.plan is not None
    if work.sub_query.places:
        return ReadGiven(work.sub_query.query, work.plan, work.sub_query.places)
    own = task_of(state).own("retrieval")
    return Retrieve(work.sub_query.query, work.plan, 1, state.request.semantic, own)


def _wanted(progress: ReportProgress, task: ReportTask) -> Iterator[tuple[Family, str, int]]:
    """The searches outside, sub-query by sub-query, so that each is asked of every provider before the next.

    What was taken from the user's own documents is never sent to anybody, nor what looks like a key or a password.
    """
    for work in progress.work:
        if work.sub_query.places or kinds_of_secrets(work.sub_query.query):
            continue
        for use in task.families:
            for provider in use.providers:
                yield use.family, provider, work.index


def _search(state: RunState, provider: str, work: QueryWork) -> SearchWeb:
    use = _web(state)
    seconds = round(max(LEAST_SECONDS, min(_SEARCH_SECONDS, time_left(state) * SHARE_OF_TIME)), 3)
    return SearchWeb(provider, _asked(work), HITS_A_QUERY, seconds, use.allow, use.deny)


def _asked(work: QueryWork) -> str:
    """What a provider is asked: the sub-query alone."""
    return work.sub_query.query[:_MOST_QUERY_CHARS]


def _web(state: RunState) -> WebUse:
    return state.request.web or WebUse()


def time_left(state: RunState) -> float:
    return max(0.0, state.deadlines.gathering - state.elapsed)


def searched(state: RunState, action: SearchWeb, seen: WebSearched) -> tuple[RunState, tuple[Decision, ...]]:
    """Results join the candidates; a page that is known already is read once and looked through for both."""
    progress = progress_of(state)
    family, index = _of_search(progress, action)
    known = set(progress.known)
    found = [
        FoundPage(hit, family, action.provider, index, place, name_of(hit.url)) for place, hit in enumerate(seen.hits)
    ]
    fresh = [one for one in found if one.name not in known]
    after = replace(
        progress,
        answered=(*progress.answered, (family, action.provider, index)),
        hits=(*progress.hits, *found),
        candidates=(*progress.candidates, *fresh),
        known=tuple(dict.fromkeys((*progress.known, *(one.name for one in fresh)))),
        bytes_received=progress.bytes_received + sum(one.received for one in seen.requests),
    )
    told = WebHitsFound(action.provider, action.query, tuple(hit.url for hit in seen.hits))
    return with_progress(state, after), (told,)


def _of_search(progress: ReportProgress, action: SearchWeb) -> tuple[Family, int]:
    for family, provider, index in progress.searches:
        if provider == action.provider and _asked(progress.work[index]) == action.query:
            return family, index
    return "web", 0


def web_failed(state: RunState, action: SearchWeb | ReadPage, seen: WebFailed) -> tuple[RunState, tuple[Decision, ...]]:
    """A search or a page that came to nothing: told, and the next candidate has its place."""
    progress = progress_of(state)
    received = progress.bytes_received + sum(one.received for one in seen.requests)
    progress = replace(progress, bytes_received=received)
    state = with_progress(state, progress)
    if isinstance(action, ReadPage):
        told = SourceTurnedAway(action.url, f"{seen.problem}: {seen.message}")
        return warned(state, "web_page_failed"), (told,)
    family, _ = _of_search(progress, action)
    failure = FamilyFailure(family, action.provider, f"{seen.problem}: {seen.message}")
    after = replace(progress, failures=(*progress.failures, failure))
    told = SourceTurnedAway(action.provider, failure.message)
    return warned(with_progress(state, after), "search_failed"), (told,)


def warned(state: RunState, code: str) -> RunState:
    return state if code in state.warnings else replace(state, warnings=(*state.warnings, code))


# Reading


def next_reads(state: RunState) -> tuple[RunState, tuple[Action, ...]]:
    """The next pages to read: the best of every search first, as many as may still be read."""
    progress, use = progress_of(state), _web(state)
    room = min(use.max_reads - len(progress.pages), use.max_reads * ATTEMPTS_A_READ - progress.attempts)
    held = sum(one.max_bytes for one in state.open if isinstance(one, ReadPage))
    room = min(room, (use.max_bytes - progress.bytes_received - held) // use.page_bytes)
    if room <= 0 or is_late(state):
        return state, ()
    ordered = sorted(progress.candidates, key=lambda one: (one.place, one.sub_query))
    chosen = ordered[:room]
    seconds = round(max(LEAST_SECONDS, min(use.fetch_seconds, time_left(state) * SHARE_OF_TIME)), 3)
    after = replace(progress, candidates=tuple(ordered[room:]), attempts=progress.attempts + len(chosen))
    sites = (None, use.allow, use.deny)
    return with_progress(state, after), tuple(ReadPage(one.hit.url, seconds, use.page_bytes, *sites) for one in chosen)


def page_kept(state: RunState, action: ReadPage, seen: PageKept) -> tuple[RunState, tuple[Decision, ...]]:
    """A page was read; a copy of another one counts as that one."""
    progress, page = progress_of(state), seen.page
    hits = [one for one in progress.hits if one.hit.url == action.url or one.name == name_of(action.url)]
    received = progress.bytes_received + sum(one.received for one in seen.requests)
    same = same_as(page, progress.pages)
    key = page.source_key if same is None else same.source_key
    asked = {**progress.asked_for, key: _numbers(progress, key, hits)}
    after = replace(progress, asked_for=asked, bytes_received=received)
    if same is not None:
        return with_progress(state, after), (SourceTurnedAway(page.final_url, f"a copy of {key}"),)
    first = hits[0] if hits else None
    origin: tuple[Family, str] = (first.family, first.provider) if first else ("web", "")
    papers = [(key, one.hit.paper) for one in hits if one.hit.paper is not None][:1]
    after = replace(
        after,
        pages=(*after.pages, page),
        origins={**after.origins, key: origin},
        papers=(*after.papers, *papers),
    )
    kept = replace(with_progress(state, after), retrieved_keys=(*state.retrieved_keys, key))
    flags = (*page.flags, *(("injection_suspected",) if page.injections else ()))
    if page.injections:
        kept = warned(kept, "injection_suspected")
    return kept, (PageTaken(key, page.final_url, flags),)


def _numbers(progress: ReportProgress, key: str, hits: list[FoundPage]) -> tuple[int, ...]:
    known = progress.asked_for.get(key, ())
    return tuple(sorted({*known, *(one.sub_query for one in hits)}))


def snippets(state: RunState) -> tuple[RunState, tuple[Action, ...]]:
    """For a family of which no page could be read, what its providers showed of their results."""
    progress = progress_of(state)
    read = {family for family, _ in progress.origins.values()}
    for family in dict.fromkeys(one.family for one in progress.hits):
        hits = tuple(one.hit for one in progress.hits if one.family == family and one.hit.snippet)[:_MOST_SNIPPETS]
        if family in read or family in progress.snippets_of or not hits or is_late(state):
            continue
        after = replace(progress, snippets_of=(*progress.snippets_of, family))
        return warned(with_progress(state, after), "web_snippets_only"), (KeepSnippets(hits),)
    return state, ()


def snippets_kept(state: RunState, action: KeepSnippets, seen: SnippetsKept) -> RunState:
    progress = progress_of(state)
    urls = {hit.url for hit in action.hits}
    by_url = {one.hit.url: one for one in reversed(progress.hits) if one.hit.url in urls}
    for page in seen.pages:
        found = by_url.get(page.url)
        hits = [one for one in progress.hits if one.hit.url == page.url]
        origin: tuple[Family, str] = (found.family, found.provider) if found else ("web", "")
        papers = ((page.source_key, found.hit.paper),) if found and found.hit.paper else ()
        progress = replace(
            progress,
            pages=(*progress.pages, page),
            origins={**progress.origins, page.source_key: origin},
            asked_for={**progress.asked_for, page.source_key: _numbers(progress, page.source_key, hits)},
            papers=(*progress.papers, *papers),
        )
    keys = tuple(page.source_key for page in seen.pages)
    return replace(with_progress(state, progress), retrieved_keys=(*state.retrieved_keys, *keys))


def ranks(state: RunState) -> tuple[Action, ...]:
    """Look for passages in the pages of each sub-query that has any and was not looked through yet."""
    progress = progress_of(state)
    actions: list[Action] = []
    for work in progress.work:
        paths = tuple(page.path for page in progress.pages if work.index in progress.asked_for[page.source_key])
        if paths and work.pages is None and work.plan is not None:
            actions.append(RankPages(work.sub_query.query, work.plan, paths))
    return tuple(actions)


# What came of it


def gathered(state: RunState) -> tuple[RunState, tuple[Decision, ...]]:
    """Everything that was found as items, and the families that failed, by name."""
    progress, task = progress_of(state), task_of(state)
    pages = {page.source_key: page for page in progress.pages}
    papers = dict(progress.papers)
    items: list[ReportItem] = []
    for work in progress.work:
        items += knowledge_items(work.index, work.pack.evidence if work.pack else ())
        rows = work.pages.evidence if work.pages else ()
        items += page_items(work.index, rows, pages, progress.origins, papers)
    skipped = tuple(_failed_families(progress, task))
    after = with_progress(state, replace(progress, items=tuple(items), skipped=skipped))
    if skipped:
        after = warned(after, "source_family_failed")
    return after, tuple(FamilySkipped(one.family, one.reason) for one in skipped)


def _failed_families(progress: ReportProgress, task: ReportTask) -> Iterator[SkippedFamily]:
    answered = {family for family, _, _ in progress.answered}
    for use in task.families:
        if use.family == "knowledge":
            reasons = [work.corpus_failed for work in progress.work if work.corpus_failed]
            if reasons and all(work.pack is None for work in progress.work):
                yield SkippedFamily("knowledge", reasons[0])
            continue
        failures = [one for one in progress.failures if one.family == use.family]
        if use.family not in answered and failures:
            told = dict.fromkeys(f"{one.provider}: {one.message}" for one in failures)
            yield SkippedFamily(use.family, "; ".join(told)[:500])
        elif use.family not in answered and any(family == use.family for family, _, _ in progress.searches):
            yield SkippedFamily(use.family, "there was no time for it")
