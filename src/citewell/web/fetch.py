"""Reading a page: fetched under the guard, made text of in a process that can be killed; every failure has a class."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from citewell.readers.pages import READ_SECONDS, PageBytes, PageDocument, load_readers, page_allowance, read_page
from citewell.readers.process_pool import ReaderLost, WarmReaders, Work
from citewell.text.documents import ReadDocument, SourceType
from citewell.web.facts import READABLE_TYPES, FetchProblem
from citewell.web.guard import FetchFailed, FetchReply, FetchRequest, Guard

# Pages made text of at the same time: as many as there are cores on a small machine.
READERS = 2
# A host may leave the type out; then the bytes decide.
_ACCEPTED = (*READABLE_TYPES, "application/xhtml+xml", "text/x-markdown", "")


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was fetched and read."""

    fetched: FetchReply
    read: ReadDocument
    source_type: SourceType
    # All that stands in its markup, also what no reader sees.
    everything: str = ""


class MakesText(Protocol):
    """Makes text of pages; blocks, and raises ReaderLost."""

    def read(self, page: PageBytes, /) -> PageDocument: ...

    def warm(self, size: int, /) -> None: ...


def page_readers(size: int = READERS) -> WarmReaders[PageBytes, PageDocument]:
    """Processes that make text of pages."""
    return WarmReaders(Work(read_page, PageDocument, page_allowance, load_readers), size)


class PageReader:
    """Fetches and reads pages."""

    def __init__(
        self,
        guard: Guard,
        readers: MakesText,
        seconds: float,
        max_bytes: int,
        permits: Callable[[str], bool] | None = None,
    ) -> None:
        self._guard = guard
        self._readers = readers
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._permits = permits

    async def read(self, url: str) -> ReadPage:
        """The page at an address; raises FetchFailed with its class."""
        wanted = FetchRequest(url, self._seconds, self._max_bytes, _ACCEPTED, permits=self._permits)
        fetched = await self._guard.fetch(wanted)
        page = PageBytes(fetched.body, _type_of(fetched), fetched.final_url, fetched.charset, READ_SECONDS)
        try:
            made = await self._made(page)
        except ReaderLost as lost:
            raise FetchFailed("parse_error", f"the page {lost}", requests=fetched.requests) from None
        if made.read is None:
            problem: FetchProblem = "empty_content" if made.is_empty else "parse_error"
            raise FetchFailed(problem, made.reason, requests=fetched.requests)
        return ReadPage(fetched, made.read, made.source_type, made.everything)

    def _made(self, page: PageBytes) -> Awaitable[PageDocument]:
        return asyncio.get_running_loop().run_in_executor(None, self._readers.read, page)


def _type_of(fetched: FetchReply) -> str:
    return "text/html" if fetched.content_type == "application/xhtml+xml" else fetched.content_type.replace("/x-", "/")
