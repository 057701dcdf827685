"""The fetch guard: the one way by which anything of the web is fetched. Its rules:

1. http and https only; ports 80 and 443 only; no name or password in an address. One parser: what is checked is what
   is dialled (`text/urls.py`).
2. A name is resolved once a request. If any of its addresses is not public (`text/urls.py`), none is dialled; else
   those that were checked are, and no other.
3. Redirects are followed by hand, three at most, each under all of these rules; never from https to http. `Refresh`
   headers and tags in pages are not followed. Headers a caller gives go to the first origin only. Where a caller names
   sites, no hop leads to another (`permits`).
4. One deadline for everything: looking up, connecting, waiting, reading. Bytes are counted as they come and again as
   they are unpacked; both have the same limit, and no more is taken of the network. gzip and deflate are unpacked,
   once and to the end of what came; anything else is refused.
5. No proxy, cookie, or credential of the environment is used.
6. What is refused, closed and filtered look alike to anyone who asks, and no address is told.
7. Exceptions are explicit: `allow` (the setting CITEWELL_FETCH_ALLOW) names `host:port` pairs that may be anywhere, and
   `configured` is the address a user set for a provider, for requests to that origin alone.

It does not protect against what a page says (`answer/passages.py`), nor against what its bytes do to a reader
(`readers/process_pool.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpcore2
import idna

from citewell.errors import BadInput
from citewell.text.urls import Place, is_public, place_of
from citewell.version import __version__
from citewell.web.facts import FetchProblem

MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_LOCATION = 8_000
_GZIP = 31  # what zlib calls a gzip header and the largest window
# A name may have an address that leads nowhere, such as an IPv6 one where there is no IPv6.
_MOST_DIALLED, _SECONDS_AN_ADDRESS = 4, 2.0
_MOST_URL = 8_000
_URL_SAFE = "!#$%&'()*+,/:;=?@[]~"
USER_AGENT = f"citewell/{__version__} (research on request of a person)"

# Every address a name has, as text.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class FetchFailed(Exception):
    """Nothing usable came: which kind of failure, in a sentence that tells no address."""

    def __init__(
        self,
        problem: FetchProblem,
        message: str,
        *,
        status: int = 0,
        retry_after: str = "",
        requests: Sequence[Request] = (),
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.requests = tuple(requests)


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was sent: to whom, and how many bytes went and came."""

    host: str
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class FetchReply:
    """What was fetched, whole and unpacked."""

    url: str
    final_url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes
    requests: tuple[Request, ...]


async def resolve(host: str, port: int) -> list[str]:
    """Every address of a name, as the system knows it."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request as a caller wants it. Headers and body go to the first origin only."""

    url: str
    seconds: float
    max_bytes: int
    # Types of content to take; empty: any.
    accept: tuple[str, ...] = ()
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    configured: str = ""
    most_redirects: int = MOST_REDIRECTS
    # Which addresses may be asked, by the sites a person allows and denies; None: any.
    permits: Callable[[str], bool] | None = None


class Guard:
    """Fetches under the rules."""

    def __init__(self, allow: Sequence[str] = (), resolve: Resolve = resolve) -> None:
        self._allow = frozenset(entry.strip().lower() for entry in allow if entry.strip())
        self._resolve = resolve

    async def fetch(self, wanted: FetchRequest) -> FetchReply:
        """What stands at an address; raises FetchFailed. Cancelling closes the connection."""
        sent: list[Request] = []
        try:
            async with asyncio.timeout(wanted.seconds):
                return await self._follow(wanted, sent)
        except TimeoutError:
            raise FetchFailed("timeout", f"nothing came within {wanted.seconds:g} s", requests=sent) from None
        except FetchFailed as failed:
            failed.requests = tuple(sent)
            raise

    async def _follow(self, wanted: FetchRequest, sent: list[Request]) -> FetchReply:
        first = place = checked_place(wanted.url)
        url = wanted.url
        for _ in range(wanted.most_redirects + 1):
            if wanted.permits is not None and not wanted.permits(f"{place.scheme}://{_shown_host(place)}{place.path}"):
                raise FetchFailed("blocked_url", "the site is not one that may be read")
            own = place.origin == first.origin
            addresses = await self._addresses(place, wanted.configured)
            came = await self._exchange(place, addresses, wanted, sent, with_headers=own)
            if isinstance(came, FetchReply):
                return came
            url, place = _next(url, place, came)
        raise FetchFailed("other", "it is sent on from one address to the next without end")

    async def _addresses(self, place: Place, configured: str) -> Sequence[str]:
        """The addresses that may be dialled; one that may not be spoils them all."""
        host = place.host.strip("[]").rstrip(".")
        is_allowed = f"{place.host.rstrip('.')}:{place.port}" in self._allow
        if configured and not is_allowed:
            is_allowed = place.origin == place_of(configured).origin
        if not is_allowed and place.port not in (80, 443):
            raise FetchFailed("blocked_url", "the address is not one that is fetched")
        try:
            found = list(await self._resolve(host, place.port))
        except (OSError, UnicodeError):
            raise _unreachable() from None
        if not found or not (is_allowed or all(map(is_public, found))):
            raise _unreachable()
        return found[:_MOST_DIALLED]

    async def _exchange(
        self, place: Place, addresses: Sequence[str], wanted: FetchRequest, sent: list[Request], *, with_headers: bool
    ) -> FetchReply | str:
        """One request: what came, or where it sends on to."""
        headers = _headers(place, wanted, with_headers=with_headers)
        # A redirect asks again without what was posted: it is meant for one place only.
        method, body = (wanted.method, wanted.body) if not sent else ("GET", b"")
        taken = _ByteCount(wanted.max_bytes)
        connection = httpcore2.AsyncHTTPConnection(
            httpcore2.Origin(place.scheme.encode(), place.host.strip("[]").encode(), place.port),
            ssl_context=_certificates() if place.scheme == "https" else None,
            network_backend=_PinnedBackend(place, addresses, taken),
        )
        url = httpcore2.URL(
            scheme=place.scheme.encode(),
            host=place.host.strip("[]").encode(),
            port=place.port,
            target=place.path.encode(),
        )
        size = len(place.path) + sum(len(name) + len(value) + 4 for name, value in headers) + len(body)
        try:
            request = httpcore2.Request(method, url, headers=headers, content=body)
            response = await connection.handle_async_request(request)
            return await _answer(response, place, wanted, taken, sent, size)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError, ssl.SSLError):
            raise _unreachable() from None
        finally:
            sent.append(Request(place.host, size, taken.raw))
            await connection.aclose()


async def _answer(
    response: Any, place: Place, wanted: FetchRequest, taken: _ByteCount, sent: list[Request], size: int
) -> FetchReply | str:
    told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    if response.status in _REDIRECTS:
        return str(told.get("location", ""))
    if response.status != 200:
        raise FetchFailed(
            *("http_status", f"the host answered with status {response.status}"),
            status=response.status,
            retry_after=told.get("retry-after", "")[:100],
        )
    kind, charset = content_type_of(told.get("content-type", ""))
    if wanted.accept and kind not in wanted.accept:
        raise FetchFailed("unsupported_content_type", f"what stands there is {kind or 'of no kind it tells'}")
    if told.get("content-length", "").isdigit() and int(told["content-length"]) > wanted.max_bytes:
        raise too_large(wanted.max_bytes)
    unpack = taken.unpacker(told.get("content-encoding", ""))
    body = bytearray()
    async for chunk in response.stream:
        body += unpack(chunk)
    body += taken.rest()
    final = f"{place.scheme}://{_shown_host(place)}{place.path}"
    requests = (*sent, Request(place.host, size, taken.raw))
    return FetchReply(wanted.url, final, response.status, kind, charset, bytes(body), requests)


class _ByteCount:
    """Counts what comes, before and after it is unpacked."""

    def __init__(self, max_bytes: int) -> None:
        self.raw = 0
        self._max = max_bytes
        self._unpacked = 0
        self._unpacker: Any = None
        self._is_gzip = False

    @property
    def room(self) -> int:
        """What may be asked of the network at once: as much as may still come, and a byte that tells there is more."""
        return max(1, self._max - self.raw + 1)

    def unpacker(self, encoding: str) -> Callable[[bytes], bytes]:
        named = encoding.strip().lower()
        if named in ("gzip", "x-gzip"):
            self._unpacker, self._is_gzip = zlib.decompressobj(_GZIP), True
        elif named == "deflate":
            self._unpacker = zlib.decompressobj()
        elif named not in ("", "identity"):
            raise FetchFailed("unsupported_content_type", "what came is packed in a way that nobody asked for")
        return self._take

    def _take(self, chunk: bytes) -> bytes:
        self.raw += len(chunk)
        if self.raw > self._max:
            raise too_large(self._max)
        if self._unpacker is None:
            return chunk
        unpacked = bytearray()
        while chunk:
            if self._unpacker.eof:
                # gzip may be several members, one after the other, and may be filled up with zeros.
                chunk = chunk.lstrip(b"\0") if self._is_gzip else chunk
                if not chunk:
                    break
                if not self._is_gzip:
                    raise FetchFailed("parse_error", "what came goes on behind its end")
                self._unpacker = zlib.decompressobj(_GZIP)
            try:
                # Never more than may still come: the length of what is packed says nothing of what it unpacks to.
                unpacked += self._unpacker.decompress(chunk, self._max - self._unpacked - len(unpacked) + 1)
            except zlib.error:
                raise FetchFailed("parse_error", "what came cannot be unpacked") from None
            if self._unpacked + len(unpacked) > self._max:
                raise too_large(self._max)
            chunk = self._unpacker.unused_data
        self._unpacked += len(unpacked)
        return bytes(unpacked)

    def rest(self) -> bytes:
        if self._unpacker is not None and not self._unpacker.eof:
            raise FetchFailed("network_error", "the connection was cut")
        return b""


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Dials the addresses that were checked, one after the other, whatever name the request is for."""

    def __init__(self, place: Place, addresses: Sequence[str], taken: _ByteCount) -> None:
        self._place, self._addresses, self._taken = place, addresses, taken
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        assert (host, port) == (self._place.host.strip("[]"), self._place.port)
        for address in self._addresses[:-1]:
            with contextlib.suppress(httpcore2.NetworkError, httpcore2.TimeoutException):
                found = await self._inner.connect_tcp(address, port, **{**options, "timeout": _SECONDS_AN_ADDRESS})
                return _BoundedStream(found, self._taken)
        return _BoundedStream(await self._inner.connect_tcp(self._addresses[-1], port, *args, **options), self._taken)


class _BoundedStream(httpcore2.AsyncNetworkStream):
    """A connection of which no more is taken at once than may still come: a body without end is cut at its limit."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, taken: _ByteCount) -> None:
        self._inner, self._taken = inner, taken

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(min(max_bytes, self._taken.room), timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _BoundedStream(await self._inner.start_tls(*args, **options), self._taken)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def checked_place(url: str) -> Place:
    """An address taken apart under the first rule; names in other scripts are turned into what is looked up."""
    try:
        return place_of(_plain(url))
    except BadInput:
        raise FetchFailed("blocked_url", "the address is not one that is fetched") from None


def _plain(url: str) -> str:
    if len(url) > _MOST_URL:
        raise BadInput("An address is too long.")
    if url.isascii():
        return url.strip(" ")
    parts = urlsplit(url)
    try:
        host = idna.encode(parts.hostname or "", uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        raise BadInput("An address has no host that can be looked up.") from None
    if parts.username is not None:
        raise BadInput("An address has a name in it.")
    netloc = host if parts.port is None else f"{host}:{parts.port}"
    safe = [quote(part, safe=_URL_SAFE) for part in (parts.path, parts.query)]
    return urlunsplit((parts.scheme, netloc, *safe, ""))


def content_type_of(header: str) -> tuple[str, str | None]:
    """The type a header tells, and the character set."""
    kind, _, rest = header.partition(";")
    charset = next(
        (part.partition("=")[2] for part in rest.split(";") if part.strip().lower().startswith("charset=")), ""
    )
    return kind.strip().lower(), charset.strip(" \"'").lower() or None


def _next(url: str, place: Place, location: str) -> tuple[str, Place]:
    if not location or len(location) > _MOST_LOCATION:
        raise FetchFailed("blocked_url", "it is sent on to an address that is not fetched")
    here = f"{place.scheme}://{_shown_host(place)}{place.path}"
    try:
        following = checked_place(urljoin(here, location))
    except (FetchFailed, ValueError):
        raise FetchFailed("blocked_url", "it is sent on to an address that is not fetched") from None
    if place.scheme == "https" and following.scheme == "http":
        raise FetchFailed("blocked_url", "it is sent on to an address that is not fetched")
    return urljoin(here, location), following


def _shown_host(place: Place) -> str:
    is_usual = place.port == (443 if place.scheme == "https" else 80)
    return place.host if is_usual else f"{place.host}:{place.port}"


def _headers(place: Place, wanted: FetchRequest, *, with_headers: bool) -> list[tuple[str, str]]:
    headers = {"host": _shown_host(place), "user-agent": USER_AGENT, "accept-encoding": "gzip, deflate"}
    headers["accept"] = ", ".join(filter(None, wanted.accept)) or "*/*"
    headers["connection"] = "close"
    if with_headers:
        headers |= {name.lower(): value for name, value in wanted.headers.items()}
        if wanted.body:
            headers["content-length"] = str(len(wanted.body))
    return list(headers.items())


def too_large(limit: int) -> FetchFailed:
    return FetchFailed("too_large", f"it is larger than {limit:,} bytes")


def _unreachable() -> FetchFailed:
    return FetchFailed("network_error", "nothing that may be fetched answers there")


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()
