"""Web addresses taken apart once, by one parser: what is checked is what is dialled. Pure.

place_of("https://Example.org/a?b#c")   ->   Place("https", "example.org", 443, "/a?b")
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from citewell.domain.errors import BadInput

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9.])?|\[[0-9a-f:.]{2,45}\]", re.IGNORECASE)
_STRANGE = re.compile(r"[\x00-\x20\x7f\\]|[^\x00-\x7f]")
Scheme = Literal["http", "https"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request goes, taken apart once: what is checked is what is dialled."""

    scheme: Scheme
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


def place_of(url: str) -> Place:
    """An address taken apart; raises BadInput where it is none that is ever fetched."""
    if _STRANGE.search(url):
        raise BadInput("An address has characters that none has.", fix="Write it in plain letters, without spaces.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadInput("An address cannot be read.", fix="Write https://host:port/….") from None
    if parts.scheme.lower() not in ("http", "https") or parts.username is not None or parts.password is not None:
        raise BadInput("Only https addresses without a name or password in them are fetched.", fix="Use https://….")
    scheme: Scheme = "https" if parts.scheme.lower() == "https" else "http"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(scheme, _host_of(parts), port or (443 if scheme == "https" else 80), path)


def _host_of(parts: SplitResult) -> str:
    # As it is written: what the library makes of it must be the same, or two readers could take it for two hosts.
    written = parts.netloc.rpartition("@")[2]
    host = (parts.hostname or "").lower()
    plain = f"[{host}]" if ":" in host else host
    named = written.lower().startswith(plain) and written[len(plain) : len(plain) + 1] in ("", ":")
    if not host or not named or not _HOST.fullmatch(plain):
        raise BadInput("An address has no host that can be looked up.", fix="Write https://host/….")
    return plain
