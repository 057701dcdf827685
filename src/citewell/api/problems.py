"""Errors as HTTP answers: the one place where a class becomes a status, and the one envelope they all have."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from citewell.errors import (
    BadInput,
    Busy,
    CitewellError,
    Conflict,
    Held,
    Interrupted,
    LeaseLost,
    NotFound,
    StoreUnusable,
    Unavailable,
)
from citewell.policy import NotPermitted
from citewell.wire import error_document, to_json

JSON = "application/json"


class Refused(CitewellError):
    """A request that HTTP itself gives a status: too large, not allowed, not the right kind."""

    def __init__(
        self, status: int, code: str, message: str, *, fix: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, fix=fix)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def status_of(error: CitewellError) -> int:
    """The status of an error; clients rely on it."""
    match error:
        case Refused(status=status):
            return status
        case NotPermitted():
            return 403
        case Conflict() | Held() | LeaseLost() | Interrupted():
            return 409
        case BadInput():
            return 422
        case NotFound():
            return 404
        case Busy():
            return 429
        case StoreUnusable():
            return 500
        case Unavailable():
            return 503
        case _:
            return 500


def error_response(error: CitewellError, *, answer_status: str | None = None) -> Response:
    """An error in its envelope."""
    headers = dict(error.headers) if isinstance(error, Refused) else {}
    if isinstance(error, Busy):
        headers["retry-after"] = str(error.retry_after)
    return Response(
        to_json(error_document(error, answer_status=answer_status)),
        status_of(error),
        headers=headers,
        media_type=JSON,
    )


def internal_error() -> CitewellError:
    """What a caller is told of a fault of ours: that there was one, and nothing of what was under way."""
    return Refused(500, "internal", "Something went wrong inside the server.", fix="Its terminal says what; try again.")
