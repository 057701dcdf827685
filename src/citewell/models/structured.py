"""Structured replies: JSON out of whatever a model wrote around it, checked against a type. Pure.

Accepted: a fence, prose before and after, trailing commas, a byte order mark. Refused: NaN and infinity, a key given
twice, single quotes, more than a megabyte, more than sixty-four levels. The first value in the text that fits counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
MAX_CHARS = 1_000_000
MAX_DEPTH = 64
# A reply that mentions more brackets than this before its JSON is no structured reply.
_MAX_STARTS = 40
_MAX_SCANNED = 4 * MAX_CHARS
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]|"', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"|,(?=\s*+[}\]])', re.DOTALL)
_PAIRS = {"{": "}", "[": "]"}


class Unstructured(ValueError):
    """A reply without JSON that fits, and why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_json(text: str, type: type[T]) -> T:
    """The value of this type that the reply holds; raises Unstructured with the reason."""
    if len(text) > MAX_CHARS:
        raise Unstructured(f"the reply is longer than {MAX_CHARS:,} characters")
    reason = ""
    for found in _values(text):
        if isinstance(found, Unstructured):
            reason = reason or found.reason
            continue
        try:
            return msgspec.convert(_clean(json.loads(found, **_STRICT)), type)
        except msgspec.ValidationError as error:
            # What was read as JSON and does not fit says more than a bracket in prose that was none.
            reason = f"the JSON does not fit: {error}"
        except (ValueError, RecursionError) as error:
            reason = reason or f"the JSON cannot be read: {_short(error)}"
    raise Unstructured(reason or "the reply holds no JSON")


def _values(text: str) -> Iterator[str | Unstructured]:
    """Everything in the text that is bracketed like JSON, outermost first, without trailing commas."""
    at, scanned = 0, 0
    for _ in range(_MAX_STARTS):
        start = min((place for place in (text.find("{", at), text.find("[", at)) if place >= 0), default=-1)
        if start < 0:
            return
        end = _end_of_value(text, start)
        if isinstance(end, Unstructured):
            yield end
            scanned += len(text) - start
            at = start + 1
        else:
            yield _STRING_OR_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text[start:end])
            scanned += 2 * (end - start)
            # Prose such as "[1]" may stand before; what is inside of a value that did not fit is not looked at.
            at = end
        if scanned > _MAX_SCANNED:
            return


def _end_of_value(text: str, start: int) -> int | Unstructured:
    """Where the bracket that opens here is closed."""
    awaited: list[str] = []
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        if token in _PAIRS:
            awaited.append(_PAIRS[token])
            if len(awaited) > MAX_DEPTH:
                return Unstructured(f"the JSON is nested more than {MAX_DEPTH} levels deep")
        elif token == '"':
            return Unstructured("the JSON is cut off inside of a text")
        elif token in ("}", "]"):
            if awaited.pop() != token:
                return Unstructured("the brackets of the JSON do not match")
            if not awaited:
                return match.end()
    return Unstructured("the JSON is cut off")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        twice = next(key for key in values if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice[:40]!r} is given twice")
    return values


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


_STRICT: dict[str, Any] = {"object_pairs_hook": _unique, "parse_constant": _constant, "parse_float": _number}


def _clean(value: Any) -> Any:
    """Half a character (a lone surrogate) cannot be stored: it becomes the mark for an unreadable one."""
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not value.isascii() else value
        case list():
            return [_clean(entry) for entry in value]
        case dict():
            return {_clean(key): _clean(entry) for key, entry in value.items()}
        case _:
            return value


def _short(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
