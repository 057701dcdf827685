"""URLs as names: two spellings of the same page compare equal. Nothing here decides what may be fetched."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

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
