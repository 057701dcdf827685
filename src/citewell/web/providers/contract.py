"""The contract every provider keeps: how a query is asked, and how its reply is read. Pure.

A provider that fits `Provider` and passes `tests/web/test_providers.py` is one file and one row of `registry.py`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from citewell.domain.web import SearchHit, SourceFamily

_TAG = re.compile(r"<[^<>]{0,500}>")
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
MOST_TITLE, MOST_SNIPPET = 300, 1_500


class BadReply(Exception):
    """A reply that is not in the provider's format."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request to a provider."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is and what lets us in."""

    base_url: str
    key: str = ""


class Provider(Protocol):
    """One provider of searches."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> SourceFamily: ...

    @property
    def base_url(self) -> str:
        """Where it is unless a setting says otherwise; empty where there is no public one."""
        ...

    @property
    def interval(self) -> float:
        """Seconds to leave between two requests, by its own rules."""
        ...

    @property
    def needs_key(self) -> bool: ...

    def request(self, access: Access, query: str, limit: int) -> ProviderRequest: ...

    def hits(self, body: bytes) -> Iterator[SearchHit]:
        """What a reply holds, in its order; raises BadReply."""
        ...


def json_of(body: bytes) -> dict[str, Any]:
    """The object in a reply; raises BadReply."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadReply("not JSON") from None
    if not isinstance(found, dict):
        raise BadReply("not a JSON object")
    return found


def listed(value: object, *path: str) -> list[dict[str, Any]]:
    """The list of objects at a path; empty where there is none, BadReply where something else stands there."""
    for name in path:
        if not isinstance(value, dict):
            raise BadReply(f"no {'.'.join(path)}")
        value = value.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadReply(f"no list at {'.'.join(path)}")
    return [entry for entry in value if isinstance(entry, dict)]


def text_of(value: object, most: int = MOST_SNIPPET) -> str:
    """A piece of a reply as plain text on one line, bounded; empty for anything that is no text."""
    if not isinstance(value, str):
        return ""
    plain = html.unescape(_TAG.sub("", value[: most * 4]))
    return " ".join(plain.split())[:most]


def date_of(value: object) -> str | None:
    """A date of a reply, as far as it goes."""
    found = _DATE.match(value) if isinstance(value, str) else None
    return found[0] if found else None


def at(value: object, *path: str) -> Any:
    """What stands at a path of objects; None where anything on the way is something else."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def number_of(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 10 else None
