"""What a run sent, and to whom: read from its log. Pure.

action_intended Ask {request: {model: "openai:x", messages: […]}}   ->   to openai:x, 812 bytes, answered
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.events import RunEvent
from citewell.domain.run_reports import EgressEntry, EgressLedger, EgressOutcome
from citewell.runner.playback import read_start

_ASK = "Ask"
_OUTCOMES: dict[str, EgressOutcome] = {"Replied": "answered", "AskFailed": "failed"}


def egress_of(events: Sequence[RunEvent]) -> EgressLedger:
    """Every call of a model that was begun, in order."""
    outcomes = _outcomes(events)
    entries = [
        _entry(event, outcomes.get(str(event.body.get("digest")), "unknown"))
        for event in events
        if event.kind == "action_intended" and event.body.get("action") == _ASK
    ]
    hosted = bool(entries) and read_start(events[0]).request.models.is_hosted
    return EgressLedger(events[0].run_id, hosted, tuple(entries), sum(entry.bytes for entry in entries))


def _entry(event: RunEvent, outcome: EgressOutcome) -> EgressEntry:
    request = event.body["body"]["request"]
    size = sum(len(str(message["content"]).encode("utf-8", "surrogatepass")) for message in request["messages"])
    return EgressEntry(event.at, "model", str(request["model"]), str(request["purpose"]), size, outcome)


def _outcomes(events: Sequence[RunEvent]) -> dict[str, EgressOutcome]:
    found: dict[str, EgressOutcome] = {}
    for event in events:
        if event.kind == "action_abandoned":
            found[str(event.body["digest"])] = "let_go"
        elif event.kind == "observation_recorded":
            seen = event.body.get("observation") or {}
            if outcome := _OUTCOMES.get(str(seen.get("type"))):
                found[str(event.body.get("answers"))] = outcome
    return found
