"""Asking providers: politely, once more where they ask to wait, and with our own rules over what they return.

A provider's results are a stranger's word: only web addresses pass, each page once, nothing of a denied site and, where
sites are named, nothing of another. The query goes out as it is given; whoever makes it keeps private text out of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Protocol

from citewell.clock import Clock
from citewell.readers.process_pool import Allowance, ReaderLost, WarmReaders, Work
from citewell.text.urls import canonical_url, host_of, is_of_site
from citewell.web.facts import SearchHit, SentRequest
from citewell.web.guard import FetchFailed, FetchRequest, Guard, Request
from citewell.web.providers import PROVIDERS, BadReply, EnabledProvider, ProviderRequest

# Replies of providers become hits.
#
# Markup is read in a process that can be killed: one tag with 300,000 attributes keeps a parser busy for minutes. JSON
# is read here, off the event loop: it takes as long as it is large, and how large it may be is bounded.


READ_SECONDS = 4.0
MEMORY_BYTES = 900_000_000
# Providers whose replies are HTML or XML.
MARKUP = frozenset({"duckduckgo", "arxiv"})


@dataclass(frozen=True, slots=True)
class ReplyBytes:
    """What a provider answered."""

    provider: str
    body: bytes


@dataclass(frozen=True, slots=True)
class ReplyHits:
    """What a reply holds, or why it cannot be read."""

    hits: tuple[SearchHit, ...]
    problem: str = ""


class ReadsReplies(Protocol):
    """Reads replies in a process of its own; blocks, and raises ReaderLost."""

    def read(self, reply: ReplyBytes, /) -> ReplyHits: ...


def reply_readers() -> WarmReaders[ReplyBytes, ReplyHits]:
    """A process that reads replies; it starts with the first one."""
    return WarmReaders(Work(read_reply, ReplyHits, _allowance), 1)


def hits_of(reply: ReplyBytes, readers: ReadsReplies | None) -> ReplyHits:
    """What a reply holds, markup by way of the readers where there are any."""
    if readers is None or reply.provider not in MARKUP:
        return read_reply(reply)
    try:
        return readers.read(reply)
    except ReaderLost as lost:
        return ReplyHits((), str(lost))


def read_reply(reply: ReplyBytes) -> ReplyHits:
    """The hits of a reply. What no rule of the format foresaw is no known form either."""
    try:
        return ReplyHits(tuple(PROVIDERS[reply.provider].hits(reply.body)))
    except (BadReply, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return ReplyHits((), f"answered in a form nobody knows: {error}"[:200])
    except MemoryError:
        return ReplyHits((), "answered with more than can be read")


def _allowance(reply: ReplyBytes, held: int | None) -> Allowance:
    return Allowance(READ_SECONDS, MEMORY_BYTES)


MAX_BYTES = 3_000_000
# Longer than this a provider is not waited for: the run has its own deadline.
MOST_WAITED = 5.0
_SPARE = 10

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SiteRules:
    """Sites that may be read; an empty list of allowed ones allows every site."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permits(self, url: str) -> bool:
        host = (host_of(url) or "").rstrip(".")
        if not host or any(is_of_site(host, site) for site in self.deny):
            return False
        return not self.allow or any(is_of_site(host, site) for site in self.allow)


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What a search came to, and every request it took."""

    hits: tuple[SearchHit, ...]
    requests: tuple[SentRequest, ...]
    dropped: int = 0


class WebSearcher:
    """Asks providers."""

    def __init__(
        self, guard: Guard, clock: Clock, sleep: Sleep = asyncio.sleep, readers: ReadsReplies | None = None
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._sleep = sleep
        self._readers = readers
        self._next: dict[str, float] = {}

    async def search(
        self, at: EnabledProvider, query: str, limit: int, seconds: float, rules: SiteRules, max_bytes: int = MAX_BYTES
    ) -> SearchReply:
        """What a provider finds; raises FetchFailed, with the class of what went wrong and every request it took."""
        sent: list[Request] = []
        try:
            body = await self._asked(at, at.provider.request(at.access, query, limit), seconds, max_bytes, sent)
            hits = await self._read(at, body)
        except FetchFailed as failed:
            failed.requests = tuple(sent)
            raise
        kept = list(_permitted(hits, rules))
        requests = tuple(SentRequest(one.host, one.sent, one.received) for one in sent)
        return SearchReply(tuple(kept[: limit + _SPARE]), requests, len(hits) - len(kept))

    async def _asked(
        self, at: EnabledProvider, request: ProviderRequest, seconds: float, max_bytes: int, sent: list[Request]
    ) -> bytes:
        wanted = FetchRequest(
            *(request.url, seconds, min(max_bytes, MAX_BYTES)),
            method=request.method,
            headers=request.headers,
            body=request.body,
            configured=at.configured,
        )
        for is_last in (False, True):
            await self._turn(at)
            try:
                fetched = await self._guard.fetch(wanted)
            except FetchFailed as failed:
                sent += failed.requests
                wait = self._wait(failed)
                if is_last or wait is None:
                    raise FetchFailed(
                        failed.problem, f"{at.provider.name}: {failed.message}", status=failed.status
                    ) from None
                await self._sleep(wait)
                continue
            sent += fetched.requests
            return fetched.body
        raise AssertionError("unreachable")

    async def _read(self, at: EnabledProvider, body: bytes) -> tuple[SearchHit, ...]:
        read = await asyncio.to_thread(hits_of, ReplyBytes(at.provider.name, body), self._readers)
        if read.problem:
            raise FetchFailed("parse_error", f"{at.provider.name} {read.problem}")
        return read.hits

    async def _turn(self, at: EnabledProvider) -> None:
        """Wait until this provider may be asked again; anyone who comes meanwhile queues behind."""
        now = self._clock.monotonic()
        start = max(now, self._next.get(at.provider.name, now))
        # Somebody's own instance has no such rules.
        interval = 0.0 if at.configured else at.provider.interval
        self._next[at.provider.name] = start + interval
        if start > now:
            await self._sleep(start - now)

    def _wait(self, failed: FetchFailed) -> float | None:
        """How long to wait before the one retry; None where it is not worth one."""
        if failed.status != 429:
            return None
        after = failed.retry_after.strip()
        if not after:
            return 1.0
        wait = float(after) if after.isdigit() else self._until(after)
        return wait if wait is not None and 0 <= wait <= MOST_WAITED else None

    def _until(self, date: str) -> float | None:
        try:
            moment = parsedate_to_datetime(date)
            now = parsedate_now(self._clock.now())
        except (TypeError, ValueError):
            return None
        return max(0.0, moment.timestamp() - now)


def parsedate_now(now: str) -> float:
    """A moment of the clock in seconds."""
    from datetime import datetime

    return datetime.fromisoformat(now.replace("Z", "+00:00")).timestamp()


def _permitted(hits: Iterable[SearchHit], rules: SiteRules) -> Iterator[SearchHit]:
    seen: set[str] = set()
    for hit in hits:
        name = canonical_url(hit.url)
        if name is None or name in seen or not rules.permits(hit.url) or len(hit.url) > 2_000:
            continue
        seen.add(name)
        yield replace(hit, title=hit.title or name)
