"""Values as JSON. Every surface sends these same shapes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from citewell.errors import CitewellError

# Fields that are left out, rather than null, when there is nothing to say.
OMITTED_WHEN_NONE = frozenset({"topic_brief", "diff", "backup", "report"})
# Where evidence stands: in a pack and in the rows of a search, what a row does not have is left out of it.
_EVIDENCE = frozenset({"evidence", "exact_tag_evidence", "results", "related", "query_plan", "coverage", "topic_brief"})
_PARAMS = "next_steps"


def to_document(value: object) -> Any:
    """A value as plain JSON data; a document of `reports` gives its own."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    return _without_nothing(msgspec.to_builtins(value))


def _without_nothing(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    kept = {key: entry for key, entry in document.items() if entry is not None or key not in OMITTED_WHEN_NONE}
    return {key: _said(key, entry) for key, entry in kept.items()}


def _said(key: str, entry: Any) -> Any:
    if key in ("pack", "result"):
        # A pack is the same document wherever it stands: on its own, in a run, in a run that is shown.
        return _without_nothing(entry)
    if key == "answers" and isinstance(entry, (list, tuple)):
        return [_without_nothing(one) for one in entry]
    if key in _EVIDENCE:
        return _without_nulls(entry)
    if key == _PARAMS:
        return [{**step, "params": {name: one for name, one in step["params"].items() if one}} for step in entry]
    return entry


def _without_nulls(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_nulls(entry) for key, entry in document.items() if entry is not None}
    if isinstance(document, (list, tuple)):
        return [_without_nulls(entry) for entry in document]
    return document


def to_json(value: object) -> bytes:
    """A value as one line of JSON, UTF-8."""
    return msgspec.json.encode(to_document(value))


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong, what to do about it, and what it means for an answer and a run, where it means anything."""

    code: str
    message: str
    fix: str = ""
    answer_status: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """The one error envelope."""

    error: ErrorBody


def error_document(error: CitewellError, *, answer_status: str | None = None) -> ErrorDocument:
    run_id = getattr(error, "run_id", None)
    return ErrorDocument(ErrorBody(error.code, error.message, error.fix, answer_status, run_id))


# Types made known to msgspec before threads use them.
#
# msgspec learns a type when it is first decoded, and puts what it has so far where others find it: a second thread that
# meets a type half learned crashes the process (0.22; eight threads and one nested dataclass are enough). So whatever
# is decoded in threads is learned beforehand, in one.


_lock = threading.Lock()
_known: set[Any] = set()


def learn_types(forms: Iterable[Any]) -> None:
    """Have these types, and what they are made of, learned; one that is known costs nothing."""
    with _lock:
        for form in forms:
            if form not in _known:
                msgspec.json.Decoder(form)
                _known.add(form)
