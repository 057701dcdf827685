"""URLs as names: two spellings of the same page compare equal. What may be fetched is decided in `web/guard.py`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from citewell.errors import BadInput

# Parameters that say how a page was reached, not which page it is.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "igshid", "mc_cid", "mc_eid", "ref_src", "yclid"})
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_PORTS = {"http": 80, "https": 443}


def canonical_url(url: str) -> str | None:
    """The name under which a page is compared, or None where this is no web address."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in _PORTS or not parts.hostname:
        return None
    host = parts.hostname.lower().removeprefix("www.")
    if port is not None and port not in _PORTS.values():
        host = f"{host}:{port}"
    query = urlencode([pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _is_tracking(pair[0])])
    # http and https name the same page; the scheme is not part of the name.
    return urlunsplit(("https", host, parts.path.rstrip("/"), query, ""))


def _is_tracking(name: str) -> bool:
    return name.lower() in _TRACKING or name.lower().startswith("utm_")


def host_of(url: str) -> str | None:
    """The host of a web address, without `www.`; None where it is no web address."""
    name = canonical_url(url)
    return name.removeprefix("https://").partition("/")[0].partition("?")[0].partition(":")[0] if name else None


def is_of_site(host: str, site: str) -> bool:
    """Whether a host belongs to a site named by its domain."""
    domain = site.strip().lower().removeprefix("www.").strip(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def site_of(url: str) -> str:
    """Who is behind an address: the domain somebody registered, such as `example.co.uk` for any host under it."""
    from tld import get_fld

    host = host_of(url) or url
    if host == "localhost" or _NUMBERS.fullmatch(host):
        # Behind a number there may be anybody: each port is somebody else.
        return (canonical_url(url) or url).removeprefix("https://").partition("/")[0]
    return get_fld(url, fail_silently=True) or host


# Which network addresses are public: what a program may be sent to by somebody else's link. Pure.
#
# The standard library's `is_global` lets pass forms that lead back to this machine or its network (translated and
# embedded IPv4, multicast, metadata services of clouds): only what is listed here as public is. It knows numbers, not
# names; anyone who resolves a name checks every address it has, and dials one it has checked.


_PRIVATE_V4 = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
# 6to4 and Teredo embed other addresses.
_PRIVATE_V6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_public(address: str) -> bool:
    """Whether an address, as a resolver gives it, is on the public network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            return False
        if found.ipv4_mapped is None:
            return found in _PUBLIC_V6 and found.is_global and not any(found in network for network in _PRIVATE_V6)
        found = found.ipv4_mapped
    return found.is_global and not found.is_multicast and not any(found in network for network in _PRIVATE_V4)


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


# Web addresses taken apart once, by one parser: what is checked is what is dialled. Pure.
#
# place_of("https://Example.org/a?b#c")   ->   Place("https", "example.org", 443, "/a?b")


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
