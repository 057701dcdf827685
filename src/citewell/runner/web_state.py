"""Where a run's loop on the web stands: typed, immutable, part of the run's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from citewell.domain.web import (
    FailedSource,
    LeftOut,
    LoopStop,
    PageFacts,
    PaperFacts,
    PaperRead,
    ResearchIntent,
    SearchHit,
    SentRequest,
    SourceFamily,
    WebReport,
    WebUse,
)
from citewell.runner.actions import Action, ReadPage, SearchWeb, WebAssessment
from citewell.text.urls import canonical_url

COPY = "a copy of"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page that was found and not tried yet; `place` is where its provider ranked it."""

    hit: SearchHit
    provider: str
    place: int

    @property
    def name(self) -> str:
        return canonical_url(self.hit.url) or self.hit.url


@dataclass(frozen=True, slots=True)
class WebProgress:
    """What the loop has asked, found, read and turned away."""

    use: WebUse
    intents: tuple[ResearchIntent, ...] = ()
    is_time_bound: bool = False
    loop: int = 0
    queries: tuple[str, ...] = ()
    # Queries sent: one a provider.
    sent: int = 0
    candidates: tuple[Candidate, ...] = ()
    # Pages that were found, by their canonical names, tried or not.
    known: tuple[str, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    papers: tuple[tuple[str, PaperFacts], ...] = ()
    pages: tuple[PageFacts, ...] = ()
    round_pages: int = 0
    attempts: int = 0
    left_out: tuple[LeftOut, ...] = ()
    failed: tuple[FailedSource, ...] = ()
    # How many pages there were when passages were last looked for.
    ranked: int = -1
    assessment: WebAssessment | None = None
    # What a model wants to be asked next.
    suggested: tuple[str, ...] = ()
    asked_model: int = 0
    # Where it wants to look first.
    families: tuple[SourceFamily, ...] = ()
    # Set once nothing more is to be gathered: why.
    stop: LoopStop | None = None
    stop_reason: str = ""
    has_snippets: bool = False
    # Rows of evidence before they were weighed against each other, the corpus's own with them.
    rows_found: int = 0
    requests: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def with_requests(self, requests: tuple[SentRequest, ...]) -> WebProgress:
        return replace(
            self,
            requests=self.requests + len(requests),
            bytes_sent=self.bytes_sent + sum(one.sent for one in requests),
            bytes_received=self.bytes_received + sum(one.received for one in requests),
        )

    @property
    def queries_left(self) -> int:
        return max(0, self.use.max_queries - self.sent)

    @property
    def bytes_left(self) -> int:
        return max(0, self.use.max_bytes - self.bytes_received)

    def bytes_free(self, under_way: Iterable[Action]) -> int:
        """What is left beside all that is under way may still take: so the budget holds whatever comes."""
        # One byte more tells that a page is larger than it may be.
        held = sum((one.max_bytes or 0) + 1 for one in under_way if isinstance(one, (SearchWeb, ReadPage)))
        return max(0, self.bytes_left - held)

    @property
    def fetches(self) -> dict[str, int]:
        """What came of each page that was asked for."""
        counted = Counter(one.problem for one in self.failed if one.source.startswith("http"))
        counted["read"] = sum("snippet" not in page.flags for page in self.pages)
        counted["copy"] = sum(one.reason.startswith(COPY) for one in self.left_out)
        return {name: counted[name] for name in sorted(counted) if counted[name]}

    def report(self) -> WebReport:
        """What was done, for the result."""
        weighed = self.assessment
        return WebReport(
            providers=self.use.providers,
            loops=self.loop,
            queries=self.queries,
            # A sketch says nothing to anybody who reads the result.
            pages=tuple(replace(page, sketch=()) for page in self.pages),
            credibility=weighed.credibility if weighed else (),
            left_out=(*self.left_out, *(weighed.left_out if weighed else ())),
            failed=self.failed,
            gaps=weighed.gaps if weighed else (),
            stop=self.stop,
            requests=self.requests,
            bytes_sent=self.bytes_sent,
            bytes_received=self.bytes_received,
            papers=tuple(PaperRead(*one) for one in self.papers),
            searches=self.sent,
            fetches=self.fetches,
            rows_found=self.rows_found,
            rows_kept=len(weighed.pack.evidence) if weighed else 0,
        )
