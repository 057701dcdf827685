"""What a run sent, and to whom: read from its log. Pure.

ask {request: {model: "openai:x", messages: […]}}   ->   to openai:x, 812 bytes, answered
read_page {url: "https://a.example/b"}              ->   one entry for each request it took
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from citewell.domain.events import RunEvent
from citewell.domain.run_reports import EgressEntry, EgressLedger, EgressOutcome
from citewell.runs.records import read_start
from citewell.text.urls import host_of

_SENDS = {"ask": "model", "search_web": "search", "read_page": "page"}
# What the guard refuses, or the ceiling of a day, before a request is made.
_UNSENT = ("blocked_url", "day_limit")


def egress_of(events: Sequence[RunEvent]) -> EgressLedger:
    """Every call of a model, every search and every page that was begun, in order."""
    outcomes = _outcomes(events)
    entries = [
        entry
        for event in events
        if event.kind == "action_intended" and event.body.get("action") in _SENDS
        for entry in _entries(event, *outcomes.get(str(event.body["digest"]), ("unknown", {})))
    ]
    asked = any(entry.kind == "model" for entry in entries)
    hosted = (asked and read_start(events[0]).request.models.is_hosted) or any(
        entry.kind != "model" for entry in entries
    )
    return EgressLedger(events[0].run_id, hosted, tuple(entries), sum(entry.bytes for entry in entries))


def _entries(event: RunEvent, outcome: EgressOutcome, seen: dict[str, Any]) -> Iterator[EgressEntry]:
    body, action = event.body["body"], event.body["action"]
    problem = seen.get("failed", {}).get("code")
    if action == "ask":
        request = body["request"]
        size = sum(len(str(message["content"]).encode("utf-8", "surrogatepass")) for message in request["messages"])
        if problem not in _UNSENT:
            yield EgressEntry(event.at, "model", str(request["model"]), str(request["purpose"]), size, outcome)
        return
    kind: Literal["page", "search"] = "page" if action == "read_page" else "search"
    purpose = f"read {body['url']}" if kind == "page" else f"search: {body['query']}"
    told = seen.get("value") or seen.get("failed", {}).get("details") or {}
    requests = told.get("requests") or []
    for one in requests:
        to = str(one["host"]) if kind == "page" else f"{body['provider']} ({one['host']})"
        size, came = int(one["sent"]), int(one["received"])
        yield EgressEntry(event.at, kind, to, purpose, size, outcome, came)
    if not requests:
        # Refused before anything was sent, or nothing is known of what it took: then it is told as what was asked.
        to = (host_of(str(body["url"])) or "") if kind == "page" else str(body["provider"])
        asked = str(body["url"] if kind == "page" else body["query"]).encode("utf-8", "surrogatepass")
        yield EgressEntry(event.at, kind, to, purpose, 0 if problem in _UNSENT else len(asked), outcome)


def _outcomes(events: Sequence[RunEvent]) -> dict[str, tuple[EgressOutcome, dict[str, Any]]]:
    """What came of each call, by its key."""
    found: dict[str, tuple[EgressOutcome, dict[str, Any]]] = {}
    for event in events:
        if event.kind == "action_abandoned":
            found[str(event.body["digest"])] = ("let_go", {})
        elif event.kind == "observation_recorded" and event.body["kind"] == "io":
            seen = event.body.get("observation") or {}
            outcome: EgressOutcome = "failed" if "failed" in seen else "answered"
            found.setdefault(str(event.body["answers"]), (outcome, seen))
    return found
