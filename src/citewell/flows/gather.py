"""Gathering from the web, the same for questions, notes and reports: ask providers, choose pages, read them, keep them.

A search or a page that fails costs itself only, and is told. Every request is counted, and the bytes of what is under
way are reserved, so that the budget holds whatever comes. An address comes from a provider's results or from the
person's own question, never out of a page or a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import msgspec

from citewell.flows.judge import INJECTION, WebAssessment
from citewell.flows.outside import Outside
from citewell.flows.state import Findings, some
from citewell.runs.journal import STAGE_TIMEOUT, Abandoned, Failed, Run, Task
from citewell.text.urls import canonical_url
from citewell.web.credibility import are_copies
from citewell.web.facts import (
    FailedSource,
    FetchProblem,
    LeftOut,
    LoopStop,
    PageFacts,
    PaperFacts,
    PaperRead,
    SearchHit,
    SentRequest,
    WebReport,
    WebUse,
)
from citewell.web.search import SiteRules

COPY = "a copy of"
# A search or a page may take this share of the time that is left for gathering: one that hangs leaves time for another.
SHARE_OF_TIME = 0.4
_LEAST_SECONDS = 0.5
# With fewer bytes than this left, nothing worth reading can come; a reply of a provider takes more.
LEAST_BYTES = 1_000
_LEAST_REPLY, _MOST_REPLY = 20_000, 3_000_000
# Of the bytes that are left, what the searches of a round may take: the rest is for pages.
_SHARE_OF_BYTES = 0.5
# Attempts at pages for each that may count, so that a bad list of results cannot keep a run busy.
ATTEMPTS_A_READ = 4


@dataclass(frozen=True, slots=True)
class Result:
    """A page that was found: by whom, for which query, and where its provider ranked it."""

    hit: SearchHit
    provider: str
    query: str
    place: int
    name: str


def result(hit: SearchHit, provider: str, query: str, place: int) -> Result:
    return Result(hit, provider, query, place, canonical_url(hit.url) or hit.url)


@dataclass(slots=True)
class Sources:
    """What a run has asked, found, read and turned away on the web, and what it may still spend there.

    How one kind of run differs from another: `choose` says which page is read next, and why where that is to be told;
    `refuse` says why a page that was read does not count.
    """

    run: Run
    found: Findings
    use: WebUse
    choose: Callable[[], tuple[Result, str | None] | None] = lambda: None
    refuse: Callable[[PageFacts, PaperFacts | None], str] = lambda page, paper: ""
    hits_a_query: int = 8
    search_seconds: float = 8.0
    most_chars: int | None = None
    # Whether a copy of a page that was read counts beside it.
    with_copies: bool = False
    loop: int = 0
    queries: list[str] = field(default_factory=list)
    # Searches that were begun: provider and query; those that were answered, and how many are under way of each query.
    asked: list[tuple[str, str]] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    searching: Counter[str] = field(default_factory=Counter)
    results: list[Result] = field(default_factory=list)
    # Pages by their names: under way, and read with the page that counts, if any does.
    reading: set[str] = field(default_factory=set)
    read: dict[str, PageFacts | None] = field(default_factory=dict)
    pages: list[PageFacts] = field(default_factory=list)
    papers: dict[str, PaperFacts] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    failed: list[FailedSource] = field(default_factory=list)
    attempts: int = 0
    tasks: list[Task[Any]] = field(default_factory=list)
    assessment: WebAssessment | None = None
    # Set once nothing more is to be gathered: why.
    stop: LoopStop | None = None
    # Rows of evidence before they were weighed against each other, the corpus's own with them.
    rows_found: int = 0
    requests: list[SentRequest] = field(default_factory=list)
    # What is under way may still take.
    bytes_held: int = 0

    @property
    def queries_left(self) -> int:
        return max(0, self.use.max_queries - len(self.asked))

    @property
    def bytes_left(self) -> int:
        return max(0, self.use.max_bytes - sum(one.received for one in self.requests))

    def search_bytes(self, searches: int) -> tuple[int, int]:
        """How many of these searches may begin, and the most that the reply to each may have."""
        free = int(max(0, self.bytes_left - self.bytes_held) * _SHARE_OF_BYTES)
        begun = min(searches, max(1, free // _LEAST_REPLY)) if free >= LEAST_BYTES else 0
        return begun, min(_MOST_REPLY, free // begun - 1) if begun else 0

    def page_bytes(self) -> int:
        """The most that the next page may have beside all that is under way; 0 where that is too little to read one."""
        most = min(self.use.page_bytes, self.bytes_left - self.bytes_held - 1)
        return most if most >= LEAST_BYTES else 0

    def untried(self) -> list[Result]:
        """Pages that were found and not tried, each as it was found first, the best of every search first."""
        fresh: dict[str, Result] = {}
        for one in self.results:
            if one.name not in self.read and one.name not in self.reading:
                fresh.setdefault(one.name, one)
        return sorted(fresh.values(), key=lambda one: one.place)

    def pages_of(self, names: Iterable[str]) -> list[PageFacts]:
        """The pages that count by these names, copies once."""
        kept: list[PageFacts] = []
        for page in map(self.read.get, names):
            if page is not None and same_as(page, kept) is None:
                kept.append(page)
        return kept

    def turn_away(self, source: str, reason: str) -> None:
        """A source that gives nothing, and why; its place goes to the next."""
        self.run.note("source_turned_away", f"left out {source}: {reason}", source=source, reason=reason)

    def report(self) -> WebReport:
        """What was done, for the result."""
        weighed = self.assessment
        fetches: Counter[str] = Counter(one.problem for one in self.failed if one.source.startswith("http"))
        fetches["read"] = sum("snippet" not in page.flags for page in self.pages)
        fetches["copy"] = sum(one.reason.startswith(COPY) for one in self.left_out)
        return WebReport(
            providers=self.use.providers,
            loops=self.loop,
            queries=tuple(self.queries),
            # A sketch says nothing to anybody who reads the result.
            pages=tuple(replace(page, sketch=()) for page in self.pages),
            credibility=weighed.credibility if weighed else (),
            left_out=(*self.left_out, *(weighed.left_out if weighed else ())),
            failed=tuple(self.failed),
            gaps=weighed.gaps if weighed else (),
            stop=self.stop,
            requests=len(self.requests),
            bytes_sent=sum(one.sent for one in self.requests),
            bytes_received=sum(one.received for one in self.requests),
            papers=tuple(PaperRead(*one) for one in self.papers.items()),
            searches=len(self.asked),
            fetches={name: fetches[name] for name in sorted(fetches) if fetches[name]},
            rows_found=self.rows_found,
            rows_kept=len(weighed.pack.evidence) if weighed else 0,
        )


async def gather(web: Sources, searches: Sequence[tuple[str, str]] = ()) -> None:
    """Ask providers, and read what is chosen of what they find, until nothing is under way any more."""
    begin(web, searches)
    while web.tasks:
        await web.tasks.pop(0)


def begin(web: Sources, searches: Sequence[tuple[str, str]]) -> None:
    """Begin these searches, each a provider and a query, as far as the budget goes; pages may be waiting too."""
    begun, max_bytes = web.search_bytes(len(searches))
    for provider, query in searches[:begun]:
        web.asked.append((provider, query))
        web.searching[query] += 1
        web.bytes_held += max_bytes + 1
        web.tasks.append(web.run.spawn(_search(web, provider, query, max_bytes)))
    _read_more(web)


def note_round(web: Sources, number: int, most: int, queries: Sequence[str]) -> None:
    """A round of searches: what is asked, of whom."""
    web.loop = number
    web.queries += queries
    web.found.queries_tried += queries
    asked = web.use.providers
    text = f"round {number} of {most}, {', '.join(asked)}: {' | '.join(queries)}"
    web.run.note("web_round", text, loop=number, max_loops=most, queries=queries, providers=asked)


async def keep_snippets(web: Sources, hits: Sequence[SearchHit]) -> None:
    """What providers show of pages that could not be read, or may not be, is kept in their place; a warning says so."""
    web.run.warn("web_snippets_only")
    for page in await web.run.io(Outside.keep_snippets, tuple(hits)):
        web.pages.append(page)
        web.found.saw(page.source_key)
        for name in {one.name: None for one in web.results if one.hit.url == page.url}:
            web.read[name] = page
            if (paper := _paper_of(web, name)) is not None:
                web.papers[page.source_key] = paper


async def _search(web: Sources, provider: str, query: str, max_bytes: int) -> None:
    """Results in their provider's order."""
    seconds, sites = _seconds(web, web.search_seconds), SiteRules(web.use.allow, web.use.deny)
    try:
        seen = await web.run.io(Outside.search_web, provider, query, web.hits_a_query, seconds, sites, max_bytes)
    except Abandoned:
        pass
    except Failed as failed:
        _failed(web, provider, failed, "search_failed")
    else:
        web.requests += seen.requests
        web.answered.add(provider)
        urls = [hit.url for hit in seen.hits]
        text = f"{provider} found {some(len(urls), 'page')} for {query}"
        web.run.note("web_found", text, provider=provider, query=query, urls=urls)
        web.results += [result(hit, provider, query, place) for place, hit in enumerate(seen.hits)]
    finally:
        web.bytes_held -= max_bytes + 1
        web.searching[query] -= 1
    _read_more(web)


def _read_more(web: Sources) -> None:
    """Begin to read as many pages as may still count; each has its bytes reserved, or waits for what is under way."""
    while not web.run.is_late and web.stop is None and (chosen := web.choose()) and (max_bytes := web.page_bytes()):
        web.reading.add(chosen[0].name)
        web.attempts += 1
        url, reason = chosen[0].hit.url, chosen[1]
        if reason is not None:
            web.run.note("page_chosen", f"reading {url}" + (f" ({reason})" if reason else ""), url=url, reason=reason)
        # One byte more tells that a page is larger than it may be.
        web.bytes_held += max_bytes + 1
        web.tasks.append(web.run.spawn(_read(web, chosen[0], max_bytes)))


async def _read(web: Sources, chosen: Result, max_bytes: int) -> None:
    """A page is read and kept: it counts, unless it is refused, or a copy of one that does."""
    run, use, url = web.run, web.use, chosen.hit.url
    seconds, sites = _seconds(web, use.fetch_seconds), SiteRules(use.allow, use.deny)
    page = None
    try:
        seen = await run.io(Outside.read_page, url, seconds, max_bytes, sites, web.most_chars)
        web.requests += seen.requests
        page = seen.page
    except Abandoned:
        pass
    except Failed as failed:
        _failed(web, url, failed, "web_page_failed")
    finally:
        web.bytes_held -= max_bytes + 1
        web.reading.discard(chosen.name)
        web.read[chosen.name] = None
    if page is not None:
        _keep(web, chosen.name, page)
    _read_more(web)


def _keep(web: Sources, name: str, page: PageFacts) -> None:
    run, paper, known = (
        web.run,
        _paper_of(web, name),
        next((p for p in web.pages if p.source_key == page.source_key), None),
    )
    same = known if web.with_copies else same_as(page, web.pages)
    why = web.refuse(page, paper)
    if same is None:
        web.pages.append(page)
        web.found.saw(page.source_key)
        if paper is not None:
            web.papers[page.source_key] = paper
        flags = (*page.flags, *((INJECTION,) if page.injections else ()))
        text = f"read {page.final_url}" + (f" ({', '.join(flags)})" if flags else "")
        run.note("page_read", text, source_key=page.source_key, url=page.final_url, flags=flags)
        if page.injections:
            run.warn(INJECTION)
        web.left_out += [LeftOut(page.source_key, why)] if why else []
    elif not web.with_copies:
        why = f"{COPY} {same.source_key}"
        web.left_out.append(LeftOut(page.final_url, why))
    if why:
        # What a page says to programs is not repeated to anyone who reads the result.
        web.turn_away(page.final_url, why if why.startswith(COPY) else why.partition(":")[0])
    if not why or why.startswith(COPY):
        web.read[name] = same or page
    web.read.setdefault(canonical_url(page.final_url) or page.final_url, web.read[name])


def _paper_of(web: Sources, name: str) -> PaperFacts | None:
    return next((one.hit.paper for one in web.results if one.name == name and one.hit.paper is not None), None)


def _failed(web: Sources, source: str, failed: Failed, warning: str) -> None:
    """A search or a page that came to nothing: told, and the next one has its place."""
    web.requests += msgspec.convert(failed.details.get("requests", ()), tuple[SentRequest, ...])
    problem: FetchProblem = "timeout" if failed.code == STAGE_TIMEOUT else "other"
    if failed.code in get_args(FetchProblem):
        problem = failed.code  # type: ignore[assignment]
    web.failed.append(FailedSource(source, problem, failed.message))
    web.turn_away(source, f"{problem}: {failed.message}")
    web.run.warn(warning)


def _seconds(web: Sources, most: float) -> float:
    return round(max(_LEAST_SECONDS, min(most, web.run.gathering_left * SHARE_OF_TIME)), 3)


def same_as(page: PageFacts, others: Sequence[PageFacts]) -> PageFacts | None:
    """The page that another one is a copy of."""
    for other in others:
        if other.source_key == page.source_key or other.content_hash == page.content_hash:
            return other
        if are_copies(page.sketch, other.sketch):
            return other
    return None
