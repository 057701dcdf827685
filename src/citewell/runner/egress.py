"""What a run sent, and to whom: read from its log. Pure.

action_intended Ask {request: {model: "openai:x", messages: […]}}   ->   to openai:x, 812 bytes, answered
action_intended ReadPage {url: "https://a.example/b"}               ->   one entry for each request it took
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from citewell.domain.events import RunEvent
from citewell.domain.run_reports import EgressEntry, EgressLedger, EgressOutcome
from citewell.runner.playback import read_start
from citewell.text.urls import host_of

_SENDS = ("Ask", "SearchWeb", "ReadPage")
_OUTCOMES: dict[str, EgressOutcome] = {
    "Replied": "answered",
    "AskFailed": "failed",
    "WebSearched": "answered",
    "PageKept": "answered",
    "WebFailed": "failed",
    "ActionFailed": "failed",
}
# What the guard refuses before a request is made.
_UNSENT = ("blocked_url",)


def egress_of(events: Sequence[RunEvent]) -> EgressLedger:
    """Every call of a model, every search and every page that was begun, in order."""
    seen = _seen(events)
    entries = [
        entry
        for event in events
        if event.kind == "action_intended" and event.body.get("action") in _SENDS
        for entry in _entries(event, *seen.get(str(event.body.get("digest")), ("unknown", {})))
    ]
    asked = any(entry.kind == "model" for entry in entries)
    hosted = (asked and read_start(events[0]).request.models.is_hosted) or any(
        entry.kind != "model" for entry in entries
    )
    return EgressLedger(events[0].run_id, hosted, tuple(entries), sum(entry.bytes for entry in entries))


def _entries(event: RunEvent, outcome: EgressOutcome, value: dict[str, Any]) -> Iterator[EgressEntry]:
    body = event.body["body"]
    if value.get("problem") == "day_limit":
        return  # nothing was asked
    if event.body.get("action") == "Ask":
        request = body["request"]
        size = sum(len(str(message["content"]).encode("utf-8", "surrogatepass")) for message in request["messages"])
        yield EgressEntry(event.at, "model", str(request["model"]), str(request["purpose"]), size, outcome)
        return
    is_page = event.body.get("action") == "ReadPage"
    purpose = f"read {body['url']}" if is_page else f"search: {body['query']}"
    requests = value.get("requests") or []
    for one in requests:
        to = str(one["host"]) if is_page else f"{body['provider']} ({one['host']})"
        size, came = int(one["sent"]), int(one["received"])
        yield EgressEntry(event.at, "page" if is_page else "search", to, purpose, size, outcome, came)
    if not requests:
        # Refused before anything was sent, or nothing is known of what it took: then it is told as what was asked.
        to = (host_of(str(body["url"])) or "") if is_page else str(body["provider"])
        asked = str(body["url"] if is_page else body["query"]).encode("utf-8", "surrogatepass")
        size = 0 if value.get("problem") in _UNSENT else len(asked)
        yield EgressEntry(event.at, "page" if is_page else "search", to, purpose, size, outcome)


def _seen(events: Sequence[RunEvent]) -> dict[str, tuple[EgressOutcome, dict[str, Any]]]:
    """What came of each action, by its digest."""
    found: dict[str, tuple[EgressOutcome, dict[str, Any]]] = {}
    for event in events:
        if event.kind == "action_abandoned":
            found[str(event.body["digest"])] = ("let_go", {})
        elif event.kind == "observation_recorded":
            seen = event.body.get("observation") or {}
            if outcome := _OUTCOMES.get(str(seen.get("type"))):
                found[str(event.body.get("answers"))] = (outcome, dict(seen.get("value") or {}))
    return found
