"""What the web adds to the topics of a note: searched by the queries that may be sent, and read in a deep run. Pure.

    topic "Harbour dues of Fara", deep      ->  a search, its first two pages read, their passages beside the corpus's
    the same, shallow                       ->  a search, its first two results as links of which nothing is said

A search or a page that fails costs itself only, and the next result has its place. Of a page that gives orders nothing
is used. Which pages count follows from the order of results, never from which of them came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from citewell.domain.decisions import Decision, PageTaken, SourceTurnedAway, WebHitsFound, WebRoundBegun
from citewell.domain.notes import NOTES_A_TOPIC, PAGE_CHARS, PAGES_A_TOPIC, NoteLink, OfferedPages
from citewell.domain.packs import ResearchPack
from citewell.domain.web import FailedSource, LeftOut, PageFacts
from citewell.evidence.credibility import credibility
from citewell.recording.markdown import web_link
from citewell.runner.actions import Action, PageKept, RankPages, ReadPage, SearchWeb, WebFailed, WebSearched
from citewell.runner.assessing import INJECTION, merged, why_left_out
from citewell.runner.playbooks.web_reading import (
    LEAST_BYTES,
    LEAST_SECONDS,
    SHARE_OF_TIME,
    name_of,
    page_bytes,
    same_as,
    search_bytes,
)
from citewell.runner.state import RunState, TopicWork
from citewell.runner.web_state import Candidate, WebProgress
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.injections import injections_in
from citewell.text.urls import host_of

HITS_A_TOPIC = 8
_SEARCH_SECONDS = 8.0
# Pages that may be tried for a topic: one that cannot be read gives its place to the next.
ATTEMPTS = 2 * PAGES_A_TOPIC
# How much of a topic the title and snippet of a result must have to be offered unread.
_OWN = 0.6


def opened(state: RunState) -> RunState:
    """What a run may use of the web is settled when it begins."""
    use = state.request.web
    return replace(state, web=WebProgress(use)) if use is not None and use.providers else state


def is_read(state: RunState) -> bool:
    """Whether pages are read, and not only found."""
    task = state.request.note
    return state.web is not None and state.web.use.loops and task is not None and task.depth == "deep"


def is_late(state: RunState) -> bool:
    return state.is_hurried or "gathering" in state.phases_over or "retrieval" in state.stages_over


def _web(state: RunState) -> WebProgress:
    assert state.web is not None
    return state.web


def _time_left(state: RunState) -> float:
    return max(0.0, state.deadlines.gathering - state.elapsed)


# Searching


def searches(
    state: RunState, work: Sequence[TopicWork]
) -> tuple[RunState, tuple[SearchWeb, ...], tuple[Decision, ...]]:
    """Every topic at every provider, at the same time, as far as the budget of queries goes."""
    queries = tuple(dict.fromkeys(one.asked for one in work if one.asked))
    if state.web is None or is_late(state) or not queries:
        return state, (), ()
    use = state.web.use
    pairs = [(provider, query) for provider in use.providers for query in queries][: use.max_queries]
    begun, reply_bytes = search_bytes(state.web, state.open, len(pairs))
    pairs = pairs[:begun]
    seconds = round(max(LEAST_SECONDS, min(_SEARCH_SECONDS, _time_left(state) * SHARE_OF_TIME)), 3)
    sent = tuple(SearchWeb(*pair, HITS_A_TOPIC, seconds, use.allow, use.deny, reply_bytes) for pair in pairs)
    web = replace(state.web, loop=1, queries=queries, sent=len(sent))
    after = replace(state, web=web, queries_tried=(*state.queries_tried, *queries))
    return after, sent, (WebRoundBegun(1, 1, queries, use.providers),)


def searched(state: RunState, action: SearchWeb, seen: WebSearched) -> tuple[RunState, tuple[Decision, ...]]:
    """Results become candidates of every topic that was asked for in these words."""
    web = _web(state).with_requests(seen.requests)
    found = tuple(Candidate(hit, action.provider, place) for place, hit in enumerate(seen.hits))
    work = tuple(
        replace(one, candidates=(*one.candidates, *found)) if one.asked == action.query else one
        for one in state.note.work
    )
    web = replace(
        web,
        known=tuple(dict.fromkeys((*web.known, *(one.name for one in found)))),
        hits=(*web.hits, *(one.hit for one in found)),
    )
    told = WebHitsFound(action.provider, action.query, tuple(hit.url for hit in seen.hits))
    return replace(state, web=web, note=replace(state.note, work=work)), (told,)


def ordered(state: RunState, work: TopicWork) -> list[Candidate]:
    """The results of a topic, the best of each provider first, each page once."""
    rank = {name: at for at, name in enumerate(_web(state).use.providers)}
    listed = sorted(work.candidates, key=lambda one: (one.place, rank.get(one.provider, len(rank))))
    return list({one.name: one for one in reversed(listed)}.values())[::-1]


# Reading


def next_reads(state: RunState) -> tuple[RunState, tuple[ReadPage, ...]]:
    """The pages to read now: for each topic whose searches and reads are in and that has not enough of them."""
    if not is_read(state) or is_late(state):
        return state, ()
    reads: dict[str, ReadPage] = {}
    for one in state.note.work:
        is_asking = any(isinstance(action, SearchWeb) and action.query == one.asked for action in state.open)
        if one.skipped or is_asking or not one.candidates:
            continue
        state, wanted = _reads_for(state, one)
        under_way = {action.url for action in state.open if isinstance(action, ReadPage)}
        for candidate in wanted:
            most = page_bytes(_web(state), (*state.open, *reads.values()))
            # What there are no bytes for now waits for what is under way; if nothing is, it is not read.
            if most and candidate.hit.url not in under_way and candidate.name not in reads:
                reads[candidate.name] = _read(state, candidate, most)
    return state, tuple(reads.values())


def _reads_for(state: RunState, work: TopicWork) -> tuple[RunState, list[Candidate]]:
    """What is to be read for a topic, and the topic with it; a page that another topic has read is there already."""
    while not (waited := [name for name in work.tried if name not in state.note.fetched]):
        room = min(PAGES_A_TOPIC - len(pages_of(state, work)), ATTEMPTS - len(work.tried))
        fresh = [one for one in ordered(state, work) if one.name not in work.tried][: max(0, room)]
        if not fresh or _web(state).bytes_left < LEAST_BYTES:
            return state, []
        work = replace(work, tried=(*work.tried, *(one.name for one in fresh)))
        same = tuple(work if one.query == work.query else one for one in state.note.work)
        state = replace(state, note=replace(state.note, work=same))
    return state, [one for one in ordered(state, work) if one.name in waited and not _is_waited_for(state, one, work)]


def _is_waited_for(state: RunState, candidate: Candidate, by: TopicWork) -> bool:
    """Whether another topic reads this page already, perhaps by another spelling of its address."""
    return any(candidate.name in one.tried for one in state.note.work if one.query != by.query)


def _read(state: RunState, candidate: Candidate, most: int) -> ReadPage:
    seconds = max(LEAST_SECONDS, min(_web(state).use.fetch_seconds, _time_left(state) * SHARE_OF_TIME))
    use = _web(state).use
    return ReadPage(candidate.hit.url, round(seconds, 3), most, PAGE_CHARS, use.allow, use.deny)


def page_kept(state: RunState, action: ReadPage, seen: PageKept) -> tuple[RunState, tuple[Decision, ...]]:
    """A page was read: it counts, unless it gives orders, shows a wall or is not to be believed."""
    web, page = _web(state).with_requests(seen.requests), seen.page
    paper = next((hit.paper for hit in web.hits if hit.url == action.url and hit.paper is not None), None)
    why = why_left_out(page, credibility(page, paper), web.use.credibility_floor)
    is_new = all(one.source_key != page.source_key for one in web.pages)
    web = replace(
        web,
        pages=(*web.pages, page) if is_new else web.pages,
        papers=(*web.papers, (page.source_key, paper)) if paper and is_new else web.papers,
        left_out=(*web.left_out, LeftOut(page.source_key, why)) if why and is_new else web.left_out,
    )
    after = _fetched(replace(state, web=web), action, "" if why else page.source_key)
    keys = tuple(dict.fromkeys((*state.retrieved_keys, page.source_key)))
    after = replace(after, retrieved_keys=keys)
    flags = (*page.flags, *((INJECTION,) if page.injections else ()))
    told: tuple[Decision, ...] = (PageTaken(page.source_key, page.final_url, flags),)
    if why:
        # What the page says to programs is not repeated to whoever reads the result.
        told = (*told, SourceTurnedAway(page.final_url, why.partition(":")[0]))
    return warned(after, INJECTION) if page.injections else after, told


def _fetched(state: RunState, action: ReadPage, source_key: str) -> RunState:
    fetched = {**state.note.fetched, name_of(action.url): source_key}
    return replace(state, note=replace(state.note, fetched=fetched))


def failed(state: RunState, action: SearchWeb | ReadPage, seen: WebFailed) -> tuple[RunState, tuple[Decision, ...]]:
    """A search or a page that came to nothing: told, and everything else goes on."""
    is_page = isinstance(action, ReadPage)
    source = action.url if isinstance(action, ReadPage) else action.provider
    web = _web(state).with_requests(seen.requests)
    web = replace(web, failed=(*web.failed, FailedSource(source, seen.problem, seen.message)))
    after = replace(state, web=web)
    after = _fetched(after, action, "") if isinstance(action, ReadPage) else after
    told = SourceTurnedAway(source, f"{seen.problem}: {seen.message}")
    return warned(after, "web_page_failed" if is_page else "search_failed"), (told,)


def pages_of(state: RunState, work: TopicWork) -> tuple[PageFacts, ...]:
    """The pages that count for a topic, copies once."""
    known = {page.source_key: page for page in _web(state).pages}
    kept: list[PageFacts] = []
    for name in work.tried:
        page = known.get(state.note.fetched.get(name, ""))
        if page is not None and same_as(page, kept) is None:
            kept.append(page)
    return tuple(kept)


def ranks(state: RunState, work: Sequence[TopicWork]) -> tuple[Action, ...]:
    """Look for passages in the pages of each topic that has any and was not looked through yet."""
    if state.web is None:
        return ()
    wanted = ((one, pages_of(state, one)) for one in work if one.passages is None)
    return tuple(
        RankPages(one.query, one.plan, tuple(page.path for page in pages))
        for one, pages in wanted
        if pages and one.plan is not None
    )


def with_passages(state: RunState, work: TopicWork, found: ResearchPack) -> TopicWork:
    """A topic with what its pages say beside what the corpus does."""
    assert work.pack is not None
    dated = {page.source_key: page.published for page in pages_of(state, work)}
    rows = [replace(row, dated=dated[row.source_key]) for row in found.evidence if row.source_key in dated]
    pack = merged(work.pack, found, rows, NOTES_A_TOPIC + PAGES_A_TOPIC) if rows else work.pack
    return replace(work, passages=found, pack=pack)


# In the section


def page_links(state: RunState) -> tuple[NoteLink, ...]:
    """How the pages that were read are linked."""
    pages = state.web.pages if state.web is not None else ()
    return tuple(NoteLink(page.source_key, _linked(page.title, page.final_url)) for page in pages)


def offered(state: RunState) -> tuple[OfferedPages, ...]:
    """The results that are offered unread, by topic; none where pages are read."""
    if state.web is None or is_read(state):
        return ()
    found = ((one, tuple(_offers(state, one))[:PAGES_A_TOPIC]) for one in state.note.work)
    return tuple(OfferedPages(one.topic, links) for one, links in found if links)


def _offers(state: RunState, work: TopicWork) -> Iterator[str]:
    """Results whose title and snippet speak of the topic; none that speaks to programs."""
    wanted = content_stems(work.topic.topic)
    for one in ordered(state, work):
        shown = f"{one.hit.title}\n{one.hit.snippet}"
        if len(wanted & content_stems(shown)) >= _OWN * len(wanted) and not injections_in(shown):
            yield _linked(one.hit.title, one.hit.url)


def _linked(title: str, address: str) -> str:
    return web_link(title.strip() or host_of(address) or "page", address)


def warned(state: RunState, code: str) -> RunState:
    return state if code in state.warnings else replace(state, warnings=(*state.warnings, code))
