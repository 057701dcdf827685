"""Whether an endpoint answers and has its model: one short question for the list of models, and nothing else is sent.

Proxy variables are ignored and redirects are not followed, as for the calls themselves.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from citewell.models import faults
from citewell.models.endpoints import Endpoint
from citewell.version import __version__

SECONDS = 2.0
_MAX_BYTES = 5_000_000
# They serve one model and take any name for it.
_ANY_NAME = frozenset({"llamacpp"})


@dataclass(frozen=True, slots=True)
class Found:
    """What was found; an empty problem is none."""

    problem: str = ""
    fix: str = ""


def look_up(endpoint: Endpoint, seconds: float = SECONDS) -> Found:
    """Ask the endpoint for its models."""
    try:
        status, body = _get(endpoint, seconds)
    except TimeoutError:
        return Found(f"no answer within {seconds:g} s", endpoint.provider.start)
    except (OSError, http.client.HTTPException):
        fault = faults.unreachable(endpoint)
        return Found("nothing answers there", fault.fix)
    if status >= 400 and status != 404:
        fault = faults.of_status(status, _parsed(body), {}, endpoint, 0.0)
        return Found(f"HTTP {status}: {fault.said}" if fault.said else f"HTTP {status}", fault.fix)
    names = _names(_parsed(body))
    if not names or endpoint.provider.name in _ANY_NAME or names & {endpoint.name, f"{endpoint.name}:latest"}:
        return Found()
    fault = faults.unknown_model(endpoint)
    return Found("it is not among the models there", fault.fix)


def _get(endpoint: Endpoint, seconds: float) -> tuple[int, bytes]:
    parts = urlsplit(endpoint.base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    headers = {"user-agent": f"citewell/{__version__}", "accept": "application/json"}
    path = f"{parts.path}/models"
    if endpoint.provider.protocol == "anthropic":
        path = f"{parts.path}/v1/models?limit=1000"
        headers |= {"anthropic-version": "2023-06-01"} | ({"x-api-key": endpoint.key} if endpoint.key else {})
    elif endpoint.key:
        headers["authorization"] = f"Bearer {endpoint.key}"
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read(_MAX_BYTES)
    finally:
        connection.close()


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _names(body: object) -> set[str]:
    rows = body.get("data") if isinstance(body, dict) else None
    return {str(row.get("id")) for row in rows if isinstance(row, dict)} if isinstance(rows, list) else set()
