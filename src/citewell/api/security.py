"""The gate: what every request passes before anything else sees it, and the headers every answer has.

It stands over the whole server, mounted apps and static files included. Against a web page in the same browser: the
Host must be ours (a foreign name that resolves to this machine is refused), the Origin too, and what the browser says
about where a request comes from. Against other people: the token, where one is set. Loopback without a token trusts
every program of this machine, which could read the data folder anyway.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.problems import Refused, error_response

# Nothing may be loaded, framed or sent anywhere; a page that needs more says so itself, and only it gets more.
STRICT_CSP = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS: dict[str, str] = {
    "content-security-policy": STRICT_CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
# What a browser says of a request that its own user or our own page made.
_OUR_SITE = frozenset({b"same-origin", b"none"})
_LONGEST_TOKEN = 1_024
# Of one request: its address and all of its headers.
MAX_HEADER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """Whose requests are taken: the names this server is called by, and the token, where one is needed."""

    hosts: frozenset[str]
    token: str = ""

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> Refused | None:
        """Why a request is not taken; None where it is."""
        sent: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            sent.setdefault(name.lower(), []).append(value)
        return self._foreign_host(sent) or self._foreign_page(sent) or self._no_token(sent)

    def _foreign_host(self, sent: dict[bytes, list[bytes]]) -> Refused | None:
        hosts = sent.get(b"host", [])
        if len(hosts) == 1 and hosts[0].decode("latin-1").lower() in self.hosts:
            return None
        return foreign_host()

    def _foreign_page(self, sent: dict[bytes, list[bytes]]) -> Refused | None:
        (host,) = sent[b"host"]
        ours = b"http://" + host.lower()
        if any(origin.lower() != ours for origin in sent.get(b"origin", ())):
            return _foreign_page("The request comes from another page.")
        if any(site.lower() not in _OUR_SITE for site in sent.get(b"sec-fetch-site", ())):
            return _foreign_page("The request was made by another site.")
        return None

    def _no_token(self, sent: dict[bytes, list[bytes]]) -> Refused | None:
        if not self.token:
            return None
        given = sent.get(b"authorization", [])
        if len(given) == 1 and _is_bearer(given[0], self.token):
            return None
        return Refused(
            401,
            "unauthorized",
            "This server wants its token.",
            fix="Send it as 'Authorization: Bearer TOKEN'.",
            headers={"www-authenticate": 'Bearer realm="citewell"'},
        )


def foreign_host() -> Refused:
    return Refused(
        421, "foreign_host", "This server is not called by that name.", fix="Use the address that it printed."
    )


def headers_too_large() -> Refused:
    return Refused(431, "headers_too_large", "The headers of the request are too large.")


def _foreign_page(message: str) -> Refused:
    return Refused(403, "foreign_origin", message, fix="Open the server's own page, or use a program.")


def _is_bearer(given: bytes, token: str) -> bool:
    """One accepted form, compared in a time that says nothing about either."""
    scheme, _, value = given.partition(b" ")
    if scheme != b"Bearer" or len(value) > _LONGEST_TOKEN:
        value = b""
    same = hmac.compare_digest(hashlib.sha256(value).digest(), hashlib.sha256(token.encode()).digest())
    return same and bool(value)


def called_by(host: str, port: int, *, also: Iterable[str] = ()) -> frozenset[str]:
    """The Host headers of a server at this address."""
    shown = f"[{host}]" if ":" in host else host
    names = ["127.0.0.1", "localhost", "[::1]", shown.lower()]
    if not is_loopback(host):
        names += [name.lower() for name in also]
    return frozenset({f"{name}:{port}" for name in names} | ({*names} if port == 80 else set()))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server at this address."""
    if host.lower() == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        # A short form of an address, such as 127.1: a name cannot end in a number.
        return host.startswith("127.") and host.replace(".", "").isdigit()
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


class AccessGate:
    """The gate as ASGI, around the app and whatever is mounted in it."""

    def __init__(self, app: ASGIApp, keeper: Gatekeeper) -> None:
        self._app = app
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no route speaks anything else
            return
        refusal = headers_too_large() if _header_bytes(scope) > MAX_HEADER_BYTES else None
        refusal = refusal or self._keeper.refusal(scope["headers"])
        protected = _with_headers(send)
        if refusal is not None:
            await error_response(refusal)(scope, receive, protected)
            return
        await self._app(scope, receive, protected)


def _header_bytes(scope: Scope) -> int:
    address = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    return address + sum(len(name) + len(value) + 4 for name, value in scope["headers"])


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": with_headers(message.get("headers", []))}
        await send(message)

    return sending


def with_headers(headers: Iterable[Any]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with ours, where the answer does not say otherwise itself."""
    own = [(bytes(name).lower(), bytes(value)) for name, value in headers]
    named = {name for name, _ in own}
    return [*own, *((name, value) for name, value in _ENCODED if name not in named)]
