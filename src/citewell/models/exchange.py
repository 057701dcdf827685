"""One exchange with an endpoint: what an adapter is given, and how the errors of its vendor's client become faults."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from citewell.domain.chat import ChatRequest
from citewell.domain.errors import Unavailable
from citewell.models import faults
from citewell.models.endpoints import Endpoint
from citewell.models.incoming import Endless, Piece

INSTALL = "pip install openai anthropic genai-prices"


@dataclass(slots=True)
class Exchange:
    """A request on its way to its endpoint. Every request that is sent is counted."""

    request: ChatRequest
    endpoint: Endpoint
    is_streamed: bool
    seconds: float
    time_of_day: Callable[[], float]
    sent: Callable[[], None]

    @contextmanager
    def telling_faults(self, began: Callable[[], bool]) -> Iterator[None]:
        """Errors of the vendor's client and of the connection leave as faults; all others as they are."""
        try:
            yield
        except (faults.CallFault, Endless):
            raise
        except Exception as error:
            fault = fault_of(error, self.endpoint, began=began(), seconds=self.seconds, now=self.time_of_day())
            if fault is None:
                raise
            raise fault from None


class Adapter(Protocol):
    """Speaks the protocol of a family of endpoints."""

    def pieces(self, exchange: Exchange) -> AsyncGenerator[Piece, None]:
        """The reply as it comes; raises CallFault. Closing it closes the connection."""
        ...


# The part of a client that answers; it would load it in the middle of the first call.
_CALLED = {"openai": "openai.resources.chat.completions", "anthropic": "anthropic.resources.messages"}


def load_client(package: str) -> Any:
    """The vendor's package, loaded when first needed with all that its first call needs; raises Unavailable."""
    if find_spec(package) is None:
        raise Unavailable(f"Models need the package {package}, which is not installed.", fix=f"Install it: {INSTALL}")
    connection = importlib.import_module("citewell.models.connection")
    connection.trusted_certificates()
    importlib.import_module(_CALLED[package])
    return importlib.import_module(package)


def fault_of(
    error: BaseException, endpoint: Endpoint, *, began: bool, seconds: float, now: float
) -> faults.CallFault | None:
    """What an error of a vendor's client or of the connection means; None where it is none of theirs."""
    import httpx2

    from citewell.models.connection import TooMuch

    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and response is not None:
        body = getattr(error, "body", None)
        if status < 300:
            return faults.of_error_inside(body, endpoint)
        return faults.of_status(status, body, dict(response.headers), endpoint, now)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, (httpx2.TransportError, TooMuch)):
        cause = cause.__cause__
    match cause:
        case TooMuch():
            return faults.endless(endpoint)
        case httpx2.ConnectTimeout() | httpx2.ConnectError() | httpx2.UnsupportedProtocol():
            return faults.unreachable(endpoint)
        case httpx2.TimeoutException():
            return faults.timed_out(endpoint, round(seconds, 1))
        case httpx2.TransportError():
            return faults.cut_off(endpoint) if began else faults.unreachable(endpoint, is_broken=True)
    if hasattr(error, "body") and hasattr(error, "request"):
        # An error event inside of a stream.
        return faults.of_error_inside(error.body, endpoint)
    if isinstance(error, (ValueError, RecursionError)):
        return faults.unreadable(endpoint, "it is not the JSON it should be")
    return None


def read_body(data: bytes, endpoint: Endpoint) -> Mapping[str, Any]:
    """A whole reply; raises CallFault where it is none, or an error."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise faults.unreadable(endpoint, "it is not JSON") from None
    if not isinstance(body, dict):
        raise faults.unreadable(endpoint, "it is no JSON object")
    if body.get("error"):
        raise faults.of_error_inside(body["error"], endpoint)
    return body
