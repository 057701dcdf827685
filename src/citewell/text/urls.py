"""URLs as names: two spellings of the same page compare equal. Nothing here decides what may be fetched."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

# Parameters that say how a page was reached, not which page it is.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "igshid", "mc_cid", "mc_eid", "ref_src", "yclid"})
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
