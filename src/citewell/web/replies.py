"""Replies of providers become hits.

Markup is read in a process that can be killed: one tag with 300,000 attributes keeps a parser busy for minutes. JSON is
read here, off the event loop: it takes as long as it is large, and how large it may be is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from citewell.domain.web import SearchHit
from citewell.readers.process_pool import Allowance, ReaderLost, WarmReaders, Work
from citewell.web.providers.contract import BadReply
from citewell.web.providers.registry import PROVIDERS

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
