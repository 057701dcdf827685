"""Event streams: one task writes, one keeps the connection alive, one notices that the reader has gone.

What is written is pulled from its source one event at a time, so a reader that stops reading stops the pulling and
nothing piles up. Leaving changes nothing for whatever is streamed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from citewell.api.events import Heartbeat, StreamEvent, event_of
from citewell.api.problems import Refused, internal_error
from citewell.errors import CitewellError
from citewell.wire import error_document

# How long a reader may leave what was sent unread before it is taken for gone.
SEND_SECONDS = 60.0
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]
_log = logging.getLogger("citewell.server")

Write = Callable[[StreamEvent], Awaitable[None]]
Source = Callable[[], AsyncGenerator[StreamEvent, None]]


class EventStream(Response):
    """A response that is a stream of events, with a heartbeat every so often, until its source ends."""

    def __init__(
        self, source: Source, heartbeat_seconds: float, closing: anyio.Event, on_end: Callable[[], None] | None = None
    ) -> None:
        super().__init__(status_code=200)
        self._source = source
        self._heartbeat_seconds = heartbeat_seconds
        self._closing = closing
        self._on_end = on_end
        self._lock = anyio.Lock()
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._stream(scope, receive, send)
        finally:
            if self._on_end is not None:
                self._on_end()

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return

        async def write(event: StreamEvent) -> None:
            with anyio.fail_after(SEND_SECONDS):
                async with self._lock:
                    if self._is_over:
                        return  # nothing follows the last event, not even a heartbeat that was waiting
                    self._is_over = event.name in ("done", "error")
                    await send({"type": "http.response.body", "body": event.encoded(), "more_body": True})

        try:
            async with anyio.create_task_group() as group:
                scope_of_all = group.cancel_scope
                group.start_soon(self._until_gone, receive, scope_of_all)
                group.start_soon(self._until_closing, scope_of_all)
                group.start_soon(self._beat, write)
                await self._pump(write)
                scope_of_all.cancel()
        except BaseExceptionGroup as group_error:
            if not _is_stalled(group_error):
                raise
            return  # the reader stopped reading: the server closes the connection
        await send({"type": "http.response.body", "body": b""})

    async def _pump(self, write: Write) -> None:
        try:
            async with aclosing(self._source()) as events:
                async for event in events:
                    await write(event)
        except CitewellError as error:
            await write(event_of(error_document(error)))
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary of a stream: it ends with a word, others go on
            _log.error("a stream failed: %s", type(error).__name__)
            await write(event_of(error_document(internal_error())))

    async def _beat(self, write: Write) -> None:
        """On a steady beat, however long writing took."""
        due = anyio.current_time()
        while True:
            due += self._heartbeat_seconds
            await anyio.sleep(max(0.0, due - anyio.current_time()))
            await write(event_of(Heartbeat()))
            due = max(due, anyio.current_time() - self._heartbeat_seconds)

    async def _until_gone(self, receive: Receive, everything: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            continue
        everything.cancel()

    async def _until_closing(self, everything: anyio.CancelScope) -> None:
        await self._closing.wait()
        everything.cancel()


def _is_stalled(group: BaseExceptionGroup[BaseException]) -> bool:
    return all(isinstance(one, TimeoutError) for one in group.exceptions)


def read_last_id(header: str | None, after: int | None) -> int:
    """Where to go on: behind the last event a reader saw; -1 is the beginning."""
    if header is None or header == "":
        return -1 if after is None else after
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise Refused(400, "bad_input", "Last-Event-ID is not the id of an event.", fix="Leave it out to begin anew.")
    return int(header)
