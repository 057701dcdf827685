"""Values as JSON. Every surface sends these same shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from citewell.domain.errors import CitewellError

# Fields that are left out, rather than null, when there is nothing to say.
OMITTED_WHEN_NONE = frozenset({"topic_brief"})


def to_document(value: object) -> Any:
    """A value as plain JSON data."""
    return _without_nothing(msgspec.to_builtins(value))


def _without_nothing(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    kept = {key: entry for key, entry in document.items() if entry is not None or key not in OMITTED_WHEN_NONE}
    # A pack is the same document wherever it stands: on its own, in a run, in a run that is shown.
    return {key: _without_nothing(entry) if key in ("pack", "result") else entry for key, entry in kept.items()}


def to_json(value: object) -> bytes:
    """A value as one line of JSON, UTF-8."""
    return msgspec.json.encode(to_document(value))


@dataclass(frozen=True, slots=True)
class ErrorBody:
    code: str
    message: str
    fix: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """The one error envelope."""

    error: ErrorBody


def error_document(error: CitewellError) -> ErrorDocument:
    return ErrorDocument(ErrorBody(error.code, error.message, error.fix, getattr(error, "run_id", None)))
