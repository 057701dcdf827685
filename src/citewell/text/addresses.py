"""Which network addresses are public: what a program may be sent to by somebody else's link. Pure.

The standard library's `is_global` lets pass forms that lead back to this machine or its network (translated and
embedded IPv4, multicast, metadata services of clouds): only what is listed here as public is. It knows numbers, not
names; whoever resolves a name checks every address it has, and dials one it has checked.
"""

from __future__ import annotations

import ipaddress

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
