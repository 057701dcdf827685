"""The connection under a vendor's client: what leaves this machine, and how much may come back.

Proxy variables are ignored, redirects are not followed, nothing is compressed, and only the headers named here are
sent: what a client would add about this machine, or read from variables of its own, is dropped. A reply may not be
larger than was asked for. Importing this loads the HTTP library, so only what is about to call does.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2

from citewell.models.endpoints import Endpoint
from citewell.version import __version__

CONNECT_SECONDS = 10.0
_SENT = frozenset(
    {"host", "content-type", "content-length", "accept", "connection", "anthropic-version", "transfer-encoding"}
)
_DONE = b"[DONE]"


class TooMuch(Exception):
    """More bytes than any reply to this request can have."""


@dataclass(slots=True)
class Watch:
    """What was seen of one exchange."""

    max_bytes: int
    # The moment at which it must be over, for those whom nobody else stops.
    until: float = math.inf
    # Whether a status line came: what breaks later is a cut reply.
    began: bool = False
    received: int = 0
    tail: bytes = b""

    @property
    def is_done(self) -> bool:
        """Whether the stream said that it was complete."""
        return _DONE in self.tail

    def count(self, data: bytes) -> bytes:
        self.received += len(data)
        if self.received > self.max_bytes:
            raise TooMuch
        if time.monotonic() > self.until:
            raise httpx2.ReadTimeout("not done in time")
        self.tail = (self.tail + data)[-64:]
        return data


def async_client(endpoint: Endpoint, watch: Watch, seconds: float) -> httpx2.AsyncClient:
    """A client for one exchange with this endpoint."""
    limits = time_limits(seconds)
    return httpx2.AsyncClient(transport=_AsyncWatched(endpoint, watch), timeout=limits, trust_env=False)


def client(endpoint: Endpoint, watch: Watch, seconds: float) -> httpx2.Client:
    """The same for those who wait in a thread."""
    return httpx2.Client(transport=_CountingTransport(endpoint, watch), timeout=time_limits(seconds), trust_env=False)


def time_limits(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


def _only_ours(request: httpx2.Request, endpoint: Endpoint) -> httpx2.Request:
    """The request as it leaves: the vendor's client keeps its own, with marks that are meant for itself."""
    headers = {name: value for name, value in request.headers.items() if name.lower() in _SENT}
    headers["user-agent"] = f"citewell/{__version__}"
    headers["accept-encoding"] = "identity"
    if endpoint.key and endpoint.provider.protocol == "anthropic":
        headers["x-api-key"] = endpoint.key
    elif endpoint.key:
        headers["authorization"] = f"Bearer {endpoint.key}"
    return httpx2.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


@cache
def trusted_certificates() -> Any:
    """Certificates are read once: that takes longer than a short call."""
    return httpx2.create_ssl_context(trust_env=False)


class _AsyncWatched(httpx2.AsyncBaseTransport):
    def __init__(self, endpoint: Endpoint, watch: Watch) -> None:
        self._endpoint, self._watch = endpoint, watch
        self._inner = httpx2.AsyncHTTPTransport(verify=trusted_certificates(), trust_env=False, retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(_only_ours(request, self._endpoint))
        self._watch.began = True
        return _response(response, _AsyncCounted(response.stream, self._watch))

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CountingTransport(httpx2.BaseTransport):
    def __init__(self, endpoint: Endpoint, watch: Watch) -> None:
        self._endpoint, self._watch = endpoint, watch
        self._inner = httpx2.HTTPTransport(verify=trusted_certificates(), trust_env=False, retries=0)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(_only_ours(request, self._endpoint))
        self._watch.began = True
        return _response(response, _CountingStream(response.stream, self._watch))

    def close(self) -> None:
        self._inner.close()


def _response(response: httpx2.Response, stream: Any) -> httpx2.Response:
    # We asked for no compression: unpacking what comes anyway would be unbounded.
    headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"]
    return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)


class _AsyncCounted(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._inner:
            yield self._watch.count(data)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CountingStream(httpx2.SyncByteStream):
    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def __iter__(self) -> Iterator[bytes]:
        for data in self._inner:
            yield self._watch.count(data)

    def close(self) -> None:
        self._inner.close()
