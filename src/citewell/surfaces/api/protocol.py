"""HTTP/1.1 as the server speaks it: bounded headers, and our own answer also where a request cannot be read at all."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from citewell.surfaces.api.errors import JSON, Refused
from citewell.surfaces.api.security import HEADERS
from citewell.surfaces.wire import error_document, to_json

MAX_HEADER_BYTES = 64 * 1024
# How long a client may take to send a request's headers.
HEADER_SECONDS = 20.0


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which sets no bound on headers and answers a broken request in plain text."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._header_bytes = 0
        self._has_asked = False
        self._late: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_later(HEADER_SECONDS, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    def _too_late(self) -> None:
        if not self._has_asked and not self.transport.is_closing():
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0

    def on_headers_complete(self) -> None:
        self._has_asked = True
        super().on_headers_complete()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            raise ValueError("the headers are too large")  # the parser stops and `send_400_response` answers

    def send_400_response(self, msg: str) -> None:
        """Answer what could not be read, in the one envelope and with the headers of every answer."""
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            self.transport.close()  # something else is being answered on this connection
            return
        too_large = self._header_bytes > MAX_HEADER_BYTES
        error = Refused(
            431 if too_large else 400,
            "headers_too_large" if too_large else "bad_request",
            "The headers of the request are too large." if too_large else "This is not an HTTP request.",
        )
        body = to_json(error_document(error))
        headers = {"content-type": JSON, "content-length": str(len(body)), "connection": "close", **HEADERS}
        lines = b"".join(f"{name}: {value}\r\n".encode("ascii") for name, value in headers.items())
        self.transport.write(STATUS_LINE[error.status] + lines + b"\r\n" + body)
        self.transport.close()
