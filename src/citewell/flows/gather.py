"""Gathering from the web, the same for questions, notes and reports: ask a provider, read a page, keep both in budget.

A search or a page that fails costs itself only, and is told. Every request is counted, and the bytes of what is under
way are reserved, so that the budget holds whatever comes. An address comes from a provider's results or from the
person's own question, never out of a page or a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import msgspec

from citewell.flows.found import Findings, some
from citewell.flows.judge import INJECTION, WebAssessment
from citewell.flows.outside import Outside
from citewell.runs.journal import STAGE_TIMEOUT, Abandoned, Failed, Run
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
RETRACTED = "retracted_source"
# A search or a page may take this share of the time that is left for gathering: one that hangs leaves time for another.
_SHARE_OF_TIME = 0.4
_LEAST_SECONDS = 0.5
# With fewer bytes than this left, nothing worth reading can come; a reply of a provider takes more.
LEAST_BYTES = 1_000
_LEAST_REPLY, _MOST_REPLY = 20_000, 3_000_000
# Of the bytes that are left, what the searches of a round may take: the rest is for pages.
_SHARE_OF_BYTES = 0.5
# Attempts at pages for each that may count, so that a bad list of results cannot keep a run busy.
ATTEMPTS_A_READ = 4


@dataclass(frozen=True, slots=True)
class PageCandidate:
    """A page that was found and not tried yet; `place` is where its provider ranked it."""

    hit: SearchHit
    provider: str
    place: int

    @property
    def name(self) -> str:
        return name_of(self.hit.url)


class Gather:
    """What a run has asked, found, read and turned away on the web."""

    def __init__(self, run: Run, found: Findings, use: WebUse) -> None:
        self.run, self.found, self.use = run, found, use
        self.loop = 0
        self.queries: list[str] = []
        # Queries sent: one a provider.
        self.sent = 0
        self.hits: list[SearchHit] = []
        self.pages: list[PageFacts] = []
        self.papers: dict[str, PaperFacts] = {}
        self.left_out: list[LeftOut] = []
        self.failed: list[FailedSource] = []
        self.attempts = 0
        self.assessment: WebAssessment | None = None
        # Set once nothing more is to be gathered: why.
        self.stop: LoopStop | None = None
        self.stop_reason = ""
        # Rows of evidence before they were weighed against each other, the corpus's own with them.
        self.rows_found = 0
        self._requests = self._bytes_sent = self._bytes_received = 0
        # What is under way may still take.
        self._bytes_held = 0

    # Reaching outside

    async def search(
        self, provider: str, query: str, limit: int, most_seconds: float, max_bytes: int | None = None
    ) -> tuple[SearchHit, ...] | None:
        """What a provider finds; None where it failed or is not waited for. Its bytes were reserved (`reserve`)."""
        seconds = self._seconds(most_seconds)
        try:
            seen = await self.run.io(Outside.search_web, provider, query, limit, seconds, self._sites, max_bytes)
        except Abandoned:
            return None
        except Failed as failed:
            self._turn_away(provider, failed, "search_failed")
            return None
        finally:
            self._bytes_held -= _held(max_bytes)
        self._count(seen.requests)
        text = f"{provider} found {some(len(seen.hits), 'page')} for {query}"
        self.run.note("web_found", text, provider=provider, query=query, urls=[hit.url for hit in seen.hits])
        return seen.hits

    async def read(self, url: str, max_bytes: int, max_chars: int | None = None) -> PageFacts | None:
        """A page, kept; None where it failed or is not waited for. Whether it counts is for the caller to say.

        Its bytes were reserved (`reserve`).
        """
        seconds = self._seconds(self.use.fetch_seconds)
        try:
            seen = await self.run.io(Outside.read_page, url, seconds, max_bytes, self._sites, max_chars)
        except Abandoned:
            return None
        except Failed as failed:
            self._turn_away(url, failed, "web_page_failed")
            return None
        finally:
            self._bytes_held -= _held(max_bytes)
        self._count(seen.requests)
        return seen.page

    def keep(self, page: PageFacts, paper: PaperFacts | None) -> None:
        """A page that was read counts among the pages of the run."""
        self.pages.append(page)
        self.found.saw(page.source_key)
        if paper is not None:
            self.papers[page.source_key] = paper
        flags = (*page.flags, *((INJECTION,) if page.injections else ()))
        text = f"read {page.final_url}" + (f" ({', '.join(flags)})" if flags else "")
        self.run.note("page_read", text, source_key=page.source_key, url=page.final_url, flags=flags)
        if page.injections:
            self.run.warn(INJECTION)

    def turn_away(self, source: str, reason: str) -> None:
        """A source that gives nothing, and why; its place goes to the next."""
        self.run.note("source_turned_away", f"left out {source}: {reason}", source=source, reason=reason)

    def note_round(self, number: int, most: int, queries: Sequence[str]) -> None:
        """A round of searches: what is asked, of whom."""
        asked = self.use.providers
        text = f"round {number} of {most}, {', '.join(asked)}: {' | '.join(queries)}"
        self.run.note("web_round", text, loop=number, max_loops=most, queries=queries, providers=asked)

    def turn_away_copy(self, page: PageFacts, of: PageFacts) -> None:
        reason = f"{COPY} {of.source_key}"
        self.left_out.append(LeftOut(page.final_url, reason))
        self.turn_away(page.final_url, reason)

    def paper_of(self, url: str) -> PaperFacts | None:
        return next((hit.paper for hit in self.hits if hit.url == url and hit.paper is not None), None)

    def _turn_away(self, source: str, failed: Failed, warning: str) -> None:
        """A search or a page that came to nothing: told, and the next one has its place."""
        self._count(msgspec.convert(failed.details.get("requests", ()), tuple[SentRequest, ...]))
        problem: FetchProblem = "timeout" if failed.code == STAGE_TIMEOUT else "other"
        if failed.code in get_args(FetchProblem):
            problem = failed.code  # type: ignore[assignment]
        self.failed.append(FailedSource(source, problem, failed.message))
        self.turn_away(source, f"{problem}: {failed.message}")
        self.run.warn(warning)

    # Budgets

    @property
    def _sites(self) -> SiteRules:
        return SiteRules(self.use.allow, self.use.deny)

    def _seconds(self, most: float) -> float:
        return round(max(_LEAST_SECONDS, min(most, self.run.gathering_left * _SHARE_OF_TIME)), 3)

    def _count(self, requests: Sequence[SentRequest]) -> None:
        self._requests += len(requests)
        self._bytes_sent += sum(one.sent for one in requests)
        self._bytes_received += sum(one.received for one in requests)

    @property
    def queries_left(self) -> int:
        return max(0, self.use.max_queries - self.sent)

    @property
    def bytes_left(self) -> int:
        return max(0, self.use.max_bytes - self._bytes_received)

    @property
    def _bytes_free(self) -> int:
        """What is left beside all that is under way may still take: so the budget holds whatever comes."""
        return max(0, self.bytes_left - self._bytes_held)

    def reserve(self, max_bytes: int) -> None:
        """A search or a page is about to begin that may take so much."""
        self._bytes_held += _held(max_bytes)

    def search_bytes(self, searches: int) -> tuple[int, int]:
        """How many of these searches may begin, and the most that the reply to each may have."""
        free = int(self._bytes_free * _SHARE_OF_BYTES)
        begun = min(searches, max(1, free // _LEAST_REPLY)) if free >= LEAST_BYTES else 0
        return begun, min(_MOST_REPLY, free // begun - 1) if begun else 0

    def page_bytes(self) -> int:
        """The most that the next page may have beside all that is under way; 0 where that is too little to read one."""
        most = min(self.use.page_bytes, self._bytes_free - 1)
        return most if most >= LEAST_BYTES else 0

    # The result

    def report(self) -> WebReport:
        """What was done, for the result."""
        weighed = self.assessment
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
            requests=self._requests,
            bytes_sent=self._bytes_sent,
            bytes_received=self._bytes_received,
            papers=tuple(PaperRead(*one) for one in self.papers.items()),
            searches=self.sent,
            fetches=self._fetches(),
            rows_found=self.rows_found,
            rows_kept=len(weighed.pack.evidence) if weighed else 0,
        )

    def _fetches(self) -> dict[str, int]:
        """What came of each page that was asked for."""
        counted: Counter[str] = Counter(one.problem for one in self.failed if one.source.startswith("http"))
        counted["read"] = sum("snippet" not in page.flags for page in self.pages)
        counted["copy"] = sum(one.reason.startswith(COPY) for one in self.left_out)
        return {name: counted[name] for name in sorted(counted) if counted[name]}


def _held(max_bytes: int | None) -> int:
    # One byte more tells that a page is larger than it may be.
    return max_bytes + 1 if max_bytes is not None else 0


def same_as(page: PageFacts, others: Sequence[PageFacts]) -> PageFacts | None:
    """The page that another one is a copy of."""
    for other in others:
        if other.source_key == page.source_key or other.content_hash == page.content_hash:
            return other
        if are_copies(page.sketch, other.sketch):
            return other
    return None


def counts(page: PageFacts) -> bool:
    """Whether a page counts; one that gives orders or hides behind a wall has given its place to another."""
    return not page.injections and "walled" not in page.flags and "snippet" not in page.flags


def name_of(url: str) -> str:
    return canonical_url(url) or url
