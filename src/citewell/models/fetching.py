"""The one way a file of a model is fetched: asked for by a person, and guarded against wherever its address leads.

Only https, on its own port, and only public addresses: every address of a name is checked, and the one that was checked
is dialled. An address that the user configured may be anywhere, and http where it is this machine. Redirects are
followed by hand, each under the same rules, five at most. No proxy is used, no credential sent, nothing unpacked. There
is a limit of bytes and one of time for the whole exchange. Blocked, closed and unknown look alike to whoever asks.

It does not protect against a host that serves a bad model: that is what hashes are for (`downloading.py`).
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import urljoin

from citewell.domain.errors import BadInput, Unavailable, WorkFailed
from citewell.text.addresses import is_loopback, is_public
from citewell.text.places import Place, place_of
from citewell.version import __version__

MOST_HOPS = 5
STALL_SECONDS = 30.0
CHUNK = 256 * 1024
_MOST_LOCATION = 8_000
_AGAIN = "Run it again: it goes on where it stopped."
_OFFLINE = (
    "Check your connection. Without one: fetch the folder elsewhere and name it in the setting, or set "
    "CITEWELL_MODELS_URL to a mirror you can reach."
)

# Every address a name has, as text.
Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """Every address of a name, as the system knows it."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(slots=True)
class Answer:
    """What a host answered in the end; `declared` has the headers of every hop, the first that named one counting."""

    status: int
    headers: Mapping[str, str]
    declared: Mapping[str, str]
    body: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetches under the rules; `configured` is the address a user set, which may be anywhere."""

    configured: str = ""
    resolve: Resolve = resolve
    monotonic: Callable[[], float] = time.monotonic
    stall_seconds: float = STALL_SECONDS

    @contextlib.contextmanager
    def open(self, url: str, headers: Mapping[str, str], seconds: float) -> Iterator[Answer]:
        """Ask for an address; raises Unavailable, BadInput or WorkFailed. The connection ends with the block."""
        until = self.monotonic() + seconds
        place, declared = place_of(url), dict[str, str]()
        asked = place.host
        for _ in range(MOST_HOPS + 1):
            with self._exchange(place, asked, headers, until) as connection:
                response = connection.answered
                found = {name.lower(): value for name, value in response.getheaders()}
                declared = {**found, **declared}
                if response.status not in (301, 302, 303, 307, 308):
                    yield Answer(response.status, found, declared, self._body(connection, until))
                    return
                place = self._next(place, found.get("location", ""))
        raise WorkFailed(f"{asked} sends from one address to the next without end.", fix="Try again later.")

    def _next(self, place: Place, location: str) -> Place:
        if location and len(location) <= _MOST_LOCATION:
            here = f"{place.scheme}://{place.host}:{place.port}{place.path}"
            with contextlib.suppress(BadInput, ValueError):
                return place_of(urljoin(here, location))
        raise WorkFailed("The host sends on to an address that is not fetched.", fix="Try again later.")

    @contextlib.contextmanager
    def _exchange(self, place: Place, asked: str, headers: Mapping[str, str], until: float) -> Iterator[_Dialled]:
        """One request and what answers it; errors name the host that was asked for, never where it led."""
        address = self._address(place, asked)
        connection = _Dialled(place, address, min(self.stall_seconds, self._left(until)))
        # A host that gives a byte now and then never runs into the limit of one read: the whole has its own.
        ending = threading.Timer(self._left(until), connection.end)
        ending.daemon = True
        ending.start()
        sent = {"user-agent": f"citewell/{__version__}", "accept": "*/*", "accept-encoding": "identity", **headers}
        try:
            try:
                connection.request("GET", place.path, headers=sent)
                connection.answered = connection.getresponse()
            except (OSError, ValueError, http.client.HTTPException):
                raise _unreachable(asked) from None
            yield connection
        finally:
            ending.cancel()
            connection.leave()

    def _address(self, place: Place, asked: str) -> str:
        """The address to dial, out of those that may be; one that may not be spoils them all."""
        try:
            found = list(self.resolve(place.host, place.port))
        except (OSError, UnicodeError):
            raise _unreachable(asked) from None
        is_configured = bool(self.configured) and place.origin == place_of(self.configured).origin
        if is_configured and place.scheme == "http":
            allowed = bool(found) and all(map(is_loopback, found))
        elif is_configured:
            allowed = bool(found)
        else:
            allowed = place.scheme == "https" and place.port == 443 and bool(found) and all(map(is_public, found))
        if not allowed:
            raise _unreachable(asked)
        return found[0]

    def _body(self, connection: _Dialled, until: float) -> Iterator[bytes]:
        while True:
            try:
                data = connection.answered.read1(CHUNK)
            except (OSError, ValueError, http.client.HTTPException):
                raise WorkFailed("The connection was cut.", fix=_AGAIN) from None
            if connection.is_ended:
                raise WorkFailed("It took too long.", fix=_AGAIN)
            if not data:
                return
            yield data
            self._left(until)

    def _left(self, until: float) -> float:
        left = until - self.monotonic()
        if left <= 0:
            raise WorkFailed("It took too long.", fix=_AGAIN)
        return left


def _unreachable(host: str) -> Unavailable:
    return Unavailable(f"Nothing that may be fetched answers at {host}.", fix=_OFFLINE)


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


class _Dialled(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name it was checked for."""

    answered: http.client.HTTPResponse
    is_ended = False
    _opened: socket.socket | None = None

    def __init__(self, place: Place, address: str, seconds: float) -> None:
        super().__init__(place.host.strip("[]"), place.port, timeout=seconds)
        self._place, self._address = place, address

    def connect(self) -> None:
        opened = socket.create_connection((self._address, self._place.port), self.timeout)
        if self._place.scheme == "https":
            opened = _certificates().wrap_socket(opened, server_hostname=self._place.host.strip("[]"))
        # Kept apart: the connection forgets its socket once a host says that it will close it.
        self.sock = self._opened = opened

    def end(self) -> None:
        """Cut it off, from another thread."""
        self.is_ended = True
        if self._opened is not None:
            with contextlib.suppress(OSError):
                self._opened.shutdown(socket.SHUT_RDWR)

    def leave(self) -> None:
        """Close everything of it, read or not."""
        if hasattr(self, "answered"):
            self.answered.close()
        self.close()
        if self._opened is not None:
            self._opened.close()
