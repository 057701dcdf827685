"""The web as values: what a search found, what a page is, why one could not be read, and what a run may use of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FetchProblem = Literal[
    "timeout",
    "blocked_url",
    "http_status",
    "unsupported_content_type",
    "empty_content",
    "too_large",
    "network_error",
    "parse_error",
    "other",
]

# Types of content that are read.
READABLE_TYPES = (
    "text/html",
    "text/plain",
    "text/markdown",
    "application/json",
    "text/csv",
    "application/pdf",
)

SourceFamily = Literal["web", "academic", "code"]


@dataclass(frozen=True, slots=True)
class PaperFacts:
    """What an academic index says of a paper, where it says it."""

    doi: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    open_access_url: str = ""
    is_retracted: bool | None = None
    citations: int | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search, in the provider's order; `published` is a date as far as the provider knows one."""

    url: str
    title: str
    snippet: str = ""
    published: str | None = None
    paper: PaperFacts | None = None


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request that left: to which host, and how many bytes went and came."""

    host: str
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page that was read: where it is kept, and what is known of it beside its text.

    `sketch` is the smallest hashes of its three-word runs: what tells copies without keeping their texts at hand.
    """

    source_key: str
    path: str
    url: str
    final_url: str
    title: str
    content_type: str
    fetch_status: int
    fetched_at: str
    content_hash: str
    length: int
    author: str | None = None
    published: str | None = None
    language: str | None = None
    sketch: tuple[int, ...] = ()
    # What in it speaks to the program rather than to a reader.
    injections: tuple[str, ...] = ()
    # What is odd about it: hidden characters, a wall in front of it, only a provider's snippet of it.
    flags: tuple[str, ...] = ()


# What a question may ask for beyond an answer: it changes what is searched, and nothing else does.
ResearchIntent = Literal["contradict", "verify", "bias"]
LoopStop = Literal["sufficient", "budget_exhausted", "timeout", "error"]


@dataclass(frozen=True, slots=True)
class WebUse:
    """What a run may use of the web; resolved before it starts. Without providers nothing leaves."""

    providers: tuple[str, ...] = ()
    # Whether it may search and read in rounds; else one search and the snippets it gives.
    loops: bool = True
    max_loops: int = 2
    max_reads: int = 4
    max_queries: int = 4
    max_bytes: int = 12_000_000
    fetch_seconds: float = 12.0
    page_bytes: int = 1_500_000
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    # The model that evaluates between rounds; empty: rules do.
    model: str = ""
    # Sources less credible than this are left out, and named.
    credibility_floor: float = 0.3
    # Whether names in the user's own documents may go into queries.
    from_notes: bool = False
    # What each provider searches, by its name.
    families: dict[str, SourceFamily] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Credibility:
    """How far a page is to be believed, from 0 to 1, and what speaks for and against it."""

    source_key: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A source that was found or read and does not count, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A search or a page that came to nothing, and its class."""

    source: str
    problem: str
    message: str


@dataclass(frozen=True, slots=True)
class PaperRead:
    """A page that is a paper, as an academic index knows it."""

    source_key: str
    paper: PaperFacts


@dataclass(frozen=True, slots=True)
class WebReport:
    """What a run did on the web, for anyone who looks at its result."""

    providers: tuple[str, ...] = ()
    loops: int = 0
    queries: tuple[str, ...] = ()
    pages: tuple[PageFacts, ...] = ()
    credibility: tuple[Credibility, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    failed: tuple[FailedSource, ...] = ()
    gaps: tuple[str, ...] = ()
    stop: LoopStop | None = None
    requests: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    papers: tuple[PaperRead, ...] = ()
    # Queries sent, one a provider; what came of each page that was asked for, by `read`, `copy` or a class of failure;
    # rows of evidence, with the corpus's own, before they were weighed against each other and after.
    searches: int = 0
    fetches: dict[str, int] = field(default_factory=dict)
    rows_found: int = 0
    rows_kept: int = 0
