"""Faults: whatever goes wrong between us and a model, as a ChatFailed that says what to do.

Nothing here shows a key: what a provider says is cut short and cleaned first. That cannot catch a provider that
repeats the key in a changed form.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit

from citewell.models.endpoints import Endpoint
from citewell.models.messages import ChatFailed, ChatProblem
from citewell.text.secrets import KEY_SHAPES, MASK, Masker
from citewell.version import __version__

MAX_SAID_CHARS = 300
_SHAPES = re.compile("|".join(KEY_SHAPES.values()))
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|prompt is too long|too long for", re.I
)
_NO_MODEL = re.compile(r"model.{0,120}(?:not found|does not exist|not exist|unknown|not available)|no such model", re.I)


class CallFault(ChatFailed):
    """A failed attempt: whether another one may help, and how long the endpoint asked us to wait."""

    def __init__(
        self,
        problem: ChatProblem,
        message: str,
        *,
        fix: str = "",
        is_passing: bool = False,
    ) -> None:
        super().__init__(problem, message, fix=fix)
        self.is_passing = is_passing
        self.wait_seconds: float | None = None
        self.status = 0
        self.said = ""


def said_by(value: object, endpoint: Endpoint) -> str:
    """What a provider says of an error, short and without secrets."""
    text = _message_of(value)
    text = " ".join("".join(character if character.isprintable() else " " for character in text[:4_000]).split())
    text = Masker((endpoint.key,) if endpoint.key else ()).mask(text)
    text = _SHAPES.sub(lambda match: MASK * len(match[0]), text)
    return text if len(text) <= MAX_SAID_CHARS else f"{text[: MAX_SAID_CHARS - 1]}…"


def of_status(status: int, body: object, headers: Mapping[str, str], endpoint: Endpoint, now: float) -> CallFault:
    """An answer that is an error; `now` is the time of day that a Retry-After date is compared with."""
    said = said_by(body, endpoint)
    kind = f"{_code_of(body)} {said}"
    who = f"{endpoint.provider.name} at {endpoint.origin}"
    quoted = f": {said}" if said else "."
    fault: CallFault
    if status in (401, 403):
        fault = CallFault("unauthorized", f"{who} refuses the key (HTTP {status}){quoted}", fix=_key_fix(endpoint))
    elif status == 404 or (status == 400 and _NO_MODEL.search(said)):
        fault = unknown_model(endpoint, quoted)
    elif status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(kind)):
        fault = _too_long(endpoint, quoted)
    elif status == 402 or (status == 429 and "insufficient_quota" in kind):
        fix = "Add credit at the provider, or choose another model."
        fault = CallFault("rate_limited", f"The account at {who} has no credit left{quoted}", fix=fix)
    elif status == 429:
        fault = _rate_limited(who, quoted)
    elif status >= 500:
        fix = "Try again later, or look into the log of that server."
        fault = CallFault("server_error", f"{who} failed (HTTP {status}){quoted}", fix=fix, is_passing=True)
    elif 300 <= status < 400:
        fix = f"Set {endpoint.url_setting} to the address it points at; redirects are not followed."
        fault = CallFault("rejected", f"{who} points elsewhere (HTTP {status}).", fix=fix)
    else:
        fix = "Choose another model, or report this if the model is known to work."
        fault = CallFault("rejected", f"{who} does not accept the request (HTTP {status}){quoted}", fix=fix)
    fault.status, fault.said, fault.wait_seconds = status, said, retry_after(headers, now)
    return fault


def of_error_inside(error: object, endpoint: Endpoint) -> CallFault:
    """An error object where a reply should be, in a 200 or in its stream."""
    code = _code_of(error)
    said = said_by(error, endpoint)
    who = f"{endpoint.provider.name} at {endpoint.origin}"
    if re.search(r"\b429\b|rate_limit", code):
        return _rate_limited(who, f": {said}")
    if _TOO_LONG.search(f"{code} {said}"):
        return _too_long(endpoint, f": {said}")
    passing = bool(re.search(r"\b5\d\d\b|overloaded|server_error|api_error|timeout", code))
    fix = "Try again later, or choose another model."
    return CallFault("server_error", f"{who} reports an error: {said}", fix=fix, is_passing=passing)


def unknown_model(endpoint: Endpoint, quoted: str = ".") -> CallFault:
    get = f"Get it: ollama pull {endpoint.name}." if endpoint.provider.name == "ollama" else "Check the model's name."
    fix = f"{get} If the model is right, check the address ({endpoint.url_setting})."
    return CallFault("unknown_model", f"{endpoint.origin} has no model {endpoint.name}{quoted}", fix=fix)


def _too_long(endpoint: Endpoint, quoted: str) -> CallFault:
    fix = "Give the model a larger context, or lower --max-evidence-chars."
    return CallFault("too_long", f"The prompt does not fit into the context of {endpoint.model}{quoted}", fix=fix)


def _rate_limited(who: str, quoted: str) -> CallFault:
    fix = "Wait and try again, or choose another model."
    return CallFault("rate_limited", f"{who} takes no more requests for now{quoted}", fix=fix, is_passing=True)


def unreachable(endpoint: Endpoint, *, is_broken: bool = False) -> CallFault:
    what = "The connection broke before a reply came from" if is_broken else "Nothing answers at"
    fix = f"{endpoint.provider.start.rstrip('.')}. Or set {endpoint.url_setting}."
    return CallFault("unreachable", f"{what} {endpoint.origin} ({endpoint.provider.name}).", fix=fix, is_passing=True)


def timed_out(endpoint: Endpoint, seconds: float, *, is_idle: bool = False) -> CallFault:
    what = "sent nothing more for" if is_idle else "was not done after"
    fix = "Allow more time, or choose a smaller or faster model."
    return CallFault("timeout", f"{endpoint.model} at {endpoint.origin} {what} {seconds:g} s.", fix=fix)


def cut_off(endpoint: Endpoint) -> CallFault:
    fix = "Try again; if it happens again, look into the log of that server or of what stands before it."
    return CallFault("cut_stream", f"The reply of {endpoint.model} was cut off before its end.", fix=fix)


def unreadable(endpoint: Endpoint, why: str) -> CallFault:
    fix = f"Check that {endpoint.url_setting} is the address of an {endpoint.provider.protocol}-compatible server."
    return CallFault("bad_reply", f"The reply of {endpoint.origin} cannot be read: {why}.", fix=fix)


def endless(endpoint: Endpoint) -> CallFault:
    fix = "Choose another model: this one ignores the limit of its output."
    return CallFault("endless", f"{endpoint.model} went on far beyond the output it was asked for; stopped.", fix=fix)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait as the endpoint asks: milliseconds, seconds or a date."""
    for name, divisor in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / divisor
        except (KeyError, ValueError):
            continue
        return max(0.0, seconds) if seconds == seconds else None
    try:
        until = parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    with suppress(KeyError, ValueError, TypeError, OverflowError):
        # Its own clock, where it shows it: ours may be wrong.
        now = parsedate_to_datetime(headers["date"]).timestamp()
    return max(0.0, until - now)


def _key_fix(endpoint: Endpoint) -> str:
    if endpoint.key_withheld:
        return endpoint.key_withheld
    if endpoint.key:
        return f"CITEWELL_MODEL_API_KEY is not accepted for {endpoint.model}: check it and what it may use."
    return "Set CITEWELL_MODEL_API_KEY."


def _message_of(value: object) -> str:
    if isinstance(value, Mapping):
        inner = value.get("error", value)
        if isinstance(inner, Mapping):
            inner = inner.get("message") or inner.get("detail") or inner.get("type") or ""
        return str(inner)
    return "" if value is None else str(value)


def _code_of(value: object) -> str:
    inner = value.get("error", value) if isinstance(value, Mapping) else None
    if not isinstance(inner, Mapping):
        return ""
    return f"{inner.get('code') or ''} {inner.get('type') or ''}"


# Trying again: bounded in number and time, with jitter, as the endpoint asks, and never once text was delivered.


T = TypeVar("T")
MAX_ATTEMPTS = 3
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Time and chance, so that a test can decide both."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    monotonic: Callable[[], float] = time.monotonic
    time_of_day: Callable[[], float] = time.time


def wait_before_next(fault: CallFault, attempt: int, remaining: float, chance: float) -> float:
    """Seconds until the next attempt makes sense; raises the fault where there is none."""
    if not fault.is_passing or attempt >= MAX_ATTEMPTS:
        raise fault
    if fault.wait_seconds is None:
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1)) * (0.5 + chance / 2)
    else:
        # Everybody who was told the same moment should not come back in the same moment.
        wait = fault.wait_seconds + chance * _FIRST_WAIT / 2
    if wait < remaining:
        return wait
    if fault.wait_seconds is not None:
        told = _spoken(fault.wait_seconds)
        fault.message = f"{fault.message.rstrip('.')}. It asks to wait {told}, longer than this call may take."
        fault.args = (fault.message,)
        fault.fix = f"Try again in {told}, or choose another model."
    raise fault


async def persist(attempt: Callable[[float], Awaitable[T]], seconds: float, pace: Pace) -> T:
    """Attempt with the time that is left, again while a fault may pass; raises the last fault."""
    deadline = pace.monotonic() + seconds
    for number in range(1, MAX_ATTEMPTS + 1):
        try:
            return await attempt(deadline - pace.monotonic())
        except CallFault as fault:
            if fault.partial_text:
                raise
            wait = wait_before_next(fault, number, deadline - pace.monotonic(), pace.random())
        await pace.sleep(wait)
    raise AssertionError("the last attempt raises")


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h"


# Whether an endpoint answers and has its model: one short question for the list of models, and nothing else is sent.
#
# Proxy variables are ignored and redirects are not followed, as for the calls themselves.


SECONDS = 2.0
_MAX_BYTES = 5_000_000
# They serve one model and take any name for it.
_ANY_NAME = frozenset({"llamacpp"})


@dataclass(frozen=True, slots=True)
class Reach:
    """What was found; an empty problem is none."""

    problem: str = ""
    fix: str = ""


def look_up(endpoint: Endpoint, seconds: float = SECONDS) -> Reach:
    """Ask the endpoint for its models."""
    try:
        status, body = _get(endpoint, seconds)
    except TimeoutError:
        return Reach(f"no answer within {seconds:g} s", endpoint.provider.start)
    except (OSError, http.client.HTTPException):
        fault = unreachable(endpoint)
        return Reach("nothing answers there", fault.fix)
    if status >= 400 and status != 404:
        fault = of_status(status, _parsed(body), {}, endpoint, 0.0)
        return Reach(f"HTTP {status}: {fault.said}" if fault.said else f"HTTP {status}", fault.fix)
    names = _names(_parsed(body))
    if not names or endpoint.provider.name in _ANY_NAME or names & {endpoint.name, f"{endpoint.name}:latest"}:
        return Reach()
    fault = unknown_model(endpoint)
    return Reach("it is not among the models there", fault.fix)


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
