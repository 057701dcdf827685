"""The timeline of a run in words: one line for each entry of its log. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from citewell.domain.events import (
    ActionAbandoned,
    ActionIntended,
    DecisionMade,
    Event,
    ObservationRecorded,
    RunEvent,
    RunFinished,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SentenceRetracted,
    SentenceShown,
    StageEntered,
    TraceFailed,
    TraceSaved,
    WarningRaised,
)
from citewell.text.markdown import code, escape


def timeline(events: Sequence[RunEvent]) -> list[str]:
    lines: list[str] = []
    intended: dict[str, tuple[str, str]] = {}
    for entry in events:
        since = _seconds(events[0].at, entry.at)
        words = _words_of(entry, intended)
        lines.append(f"- {escape(entry.at)}" + (f" (+{since:.3f} s)" if since is not None else "") + f": {words}")
    return lines


def _words_of(entry: RunEvent, intended: dict[str, tuple[str, str]]) -> str:
    if entry.kind == "run_finished":
        # Its body holds the whole result: only how it ended is wanted here.
        return f"the run ended: {code(str(entry.body.get('status')))}, {code(str(entry.body.get('stop_reason')))}"
    if entry.kind == "run_started":
        return f"the run began, Citewell {escape(str(entry.body.get('tool_version')))}"
    try:
        event = entry.event
    except (msgspec.ValidationError, KeyError):
        return code(entry.kind)
    if isinstance(event, ActionIntended):
        intended[event.digest] = (event.action, entry.at)
    return _words(event, entry.at, intended)


def _words(event: Event, at: str, intended: dict[str, tuple[str, str]]) -> str:
    match event:
        case StageEntered(stage=stage):
            return f"stage {code(stage)}"
        case ActionIntended(action=action):
            return f"{code(action)} begins"
        case ActionAbandoned(action=action):
            return f"{code(action)} is not waited for any longer"
        case ObservationRecorded():
            return _observed(event, at, intended)
        case DecisionMade() as decision:
            return escape(decision.sentence)
        case WarningRaised(code=name):
            return f"warning {code(name)}"
        case SentenceShown(index=index, verdict=verdict):
            return f"showed sentence {index + 1} ({escape(verdict)})"
        case SentenceRetracted(indexes=indexes, reason=reason):
            return f"took back sentence {', '.join(str(index + 1) for index in indexes)}: {escape(reason)}"
        case RunInterrupted():
            return "the run was interrupted"
        case RunResumed():
            return "the run was resumed"
        case TraceSaved(path=path):
            return f"saved the trace in {code(path)}"
        case TraceFailed(message=message):
            return f"the trace could not be saved: {escape(message)}"
        case RunStarted() | RunFinished():
            return code(type(event).__name__)


def _observed(seen: ObservationRecorded, at: str, intended: dict[str, tuple[str, str]]) -> str:
    action, begun = intended.get(seen.answers or "", ("", ""))
    told = seen.observation or {}
    took = _seconds(begun, at) if begun else None
    after = f" after {took:.3f} s" if took is not None else ""
    if seen.kind == "control":
        return f"asked to {code(str(told.get('control', told.get('type', ''))))}"
    failed, kind = told.get("failed"), told.get("type")
    if isinstance(failed, dict):
        gave = f"failed ({code(str(failed['code']))})"
    else:
        # Records of earlier versions name the kind of what was seen.
        gave = f"gave {code(str(kind))}" if kind else "is done"
    return f"{code(action)} {gave}{after}"


def field_of(body: object, name: str) -> str:
    """A field of what was recorded, as text; nothing where it is not there."""
    value = body.get(name) if isinstance(body, dict) else None
    return "" if value is None else str(value)


def listed(words: Sequence[str]) -> str:
    """Untrusted words in a row."""
    return ", ".join(escape(word) for word in words)


def _seconds(start: str, end: str) -> float | None:
    """Between two moments of the log; None where the record does not hold moments, or the clock went back."""
    try:
        passed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None
