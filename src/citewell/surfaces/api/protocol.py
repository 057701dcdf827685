"""HTTP/1.1 as the server speaks it: bounded headers that come in time, and our own answer to what is no request.

h11 bounds what it keeps of headers that are not complete; uvicorn bounds neither the time until the first request nor
until any later one has come.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from citewell.surfaces.api.errors import JSON, Refused
from citewell.surfaces.api.security import HEADERS, foreign_host, headers_too_large
from citewell.surfaces.wire import error_document, to_json

# How long a client may take to send a request's headers, from when it could begin.
HEADER_SECONDS = 20.0


class GuardedProtocol(H11Protocol):
    """uvicorn's protocol, which waits for headers for ever and answers a broken request in plain text."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """The time runs while headers are awaited, and while a body goes on that was answered already."""
        awaits = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not awaits or self.transport.is_closing():
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Answer what could not be read, in the one envelope and with the headers of every answer."""
        if self.transport.is_closing() or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # something else is being answered on this connection
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        error = _refusal(sys.exception())
        body = to_json(error_document(error))
        headers = {"content-type": JSON, "content-length": str(len(body)), "connection": "close", **HEADERS}
        answer = h11.Response(status_code=error.status, headers=list(headers.items()))
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _refusal(error: BaseException | None) -> Refused:
    """What h11 found wrong, which uvicorn does not pass on."""
    if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
        return headers_too_large()
    if "Host: header" in str(error):
        return foreign_host()
    return Refused(400, "bad_request", "This is not an HTTP request.")
