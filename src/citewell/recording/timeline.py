"""The timeline of a run in words: one line for each entry of its log. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from citewell.domain.events import RunEvent
from citewell.recording.markdown import code, escape


def timeline(events: Sequence[RunEvent]) -> list[str]:
    lines: list[str] = []
    intended: dict[str, str] = {}
    names: dict[str, str] = {}
    for event in events:
        digest = field_of(event.body, "digest" if event.kind == "action_intended" else "answers")
        if event.kind == "action_intended":
            intended[digest], names[digest] = event.at, field_of(event.body, "action")
        took = _seconds(intended[digest], event.at) if digest in intended else None
        words = _words(event, names.get(digest, ""), took)
        since = _seconds(events[0].at, event.at)
        lines.append(f"- {escape(event.at)}" + (f" (+{since:.3f} s)" if since is not None else "") + f": {words}")
    return lines


def _words(event: RunEvent, action: str, took: float | None) -> str:
    body = event.body
    match event.kind:
        case "run_started":
            return f"the run began, Citewell {escape(field_of(body, 'tool_version'))}"
        case "stage_entered":
            return f"stage {code(field_of(body, 'stage'))}"
        case "action_intended":
            return f"{code(field_of(body, 'action'))} begins"
        case "observation_recorded":
            seen = field_of(body.get("observation"), "type")
            after = f" after {took:.3f} s" if took is not None else ""
            gave = f"gave {code(seen)}" if action and seen else code(seen) if seen else "is done"
            return f"{code(action)} {gave}{after}" if action else f"{gave}{after}"
        case "decision_made":
            data = body.get("data")
            return decision_in_words(field_of(body, "name"), data if isinstance(data, dict) else {})
        case "run_finished":
            return f"the run ended: {code(field_of(body, 'status'))}, {code(field_of(body, 'stop_reason'))}"
        case "run_interrupted":
            return "the run was interrupted"
        case "run_resumed":
            return "the run was resumed"
        case "display_updated":
            return _displayed(body)
        case _:
            return f"{code(event.kind)} {_pairs(body)}".rstrip()


def decision_in_words(name: str, data: dict[str, Any]) -> str:
    """What was decided, as a sentence; a decision without words of its own shows its data."""
    words = _DECISIONS.get(name)
    return words(data) if words else f"decided {code(name)} {_pairs(data)}".rstrip()


def _planned(data: dict[str, Any]) -> str:
    variants = _items(data, "variants")
    return f"planned {len(variants)} searches for {listed(_items(data, 'concepts')) or 'the question'}"


def _judged(data: dict[str, Any]) -> str:
    missing = _items(data, "missing_concepts")
    lacks = f"; missing {listed(missing)}" if missing else ""
    action = field_of(data, "retry_action")
    then = f"; next {code(action)}" if action not in ("", "none") else ""
    return f"judged {code(field_of(data, 'verdict'))}: {escape(field_of(data, 'reason'))}{lacks}{then}"


def _merged(verb: str) -> Callable[[dict[str, Any]], str]:
    def words(data: dict[str, Any]) -> str:
        accepted, rejected = _items(data, "accepted"), _items(data, "rejected")
        return f"{verb}: accepted {_keys(accepted) or 'nothing'}, rejected {_keys(rejected) or 'nothing'}"

    return words


def _verified(data: dict[str, Any]) -> str:
    failed = _items(data, "failed_gates")
    return f"verification failed: {_keys(failed)}" if failed else "every gate passed"


def _drafted(data: dict[str, Any]) -> str:
    why = f" ({escape(field_of(data, 'reason'))})" if field_of(data, "reason") else ""
    return (
        f"declined to answer{why}" if data.get("refused") else f"drafted {field_of(data, 'sentences')} sentences{why}"
    )


def _stopped(data: dict[str, Any]) -> str:
    why = f": {escape(field_of(data, 'why'))}" if field_of(data, "why") else ""
    return f"stopped, {code(field_of(data, 'stop_reason'))}{why}"


def _failed(data: dict[str, Any]) -> str:
    return (
        f"{code(field_of(data, 'stage'))} failed: {escape(field_of(data, 'message'))} ({code(field_of(data, 'code'))})"
    )


def _call(data: dict[str, Any]) -> str:
    asked = f"asked {code(field_of(data, 'model'))} to {escape(field_of(data, 'purpose'))}"
    return f"{asked}: {field_of(data, 'input_tokens')} tokens in, {field_of(data, 'max_output_tokens')} out at most"


def _cost(data: dict[str, Any]) -> str:
    usd = data.get("usd")
    most = f"at most {usd:.4f} USD" if isinstance(usd, (int, float)) else "a cost nobody knows"
    ceiling = f", ceiling {escape(field_of(data, 'max_cost_usd'))} USD" if data.get("max_cost_usd") is not None else ""
    return f"estimated {most} in {field_of(data, 'calls')} calls{ceiling}"


def _planner_merged(data: dict[str, Any]) -> str:
    if field_of(data, "error"):
        return f"the planner's reply could not be read: {escape(field_of(data, 'error'))}"
    dropped = _items(data, "dropped")
    left_out = f"; left out {listed(dropped)}" if dropped else ""
    return f"the planner added {listed(_items(data, 'accepted')) or 'nothing'}{left_out}"


def _displayed(body: dict[str, Any]) -> str:
    """What a person saw while the answer was written; its text is in the log."""
    if isinstance(gone := body.get("retracted"), dict):
        numbers = ", ".join(str(index + 1) for index in gone.get("indexes", []))
        return f"took back sentence {numbers}: {escape(field_of(gone, 'reason'))}"
    shown = body.get("shown")
    index = shown.get("index", 0) if isinstance(shown, dict) else 0
    return f"showed sentence {index + 1} ({escape(field_of(shown, 'verdict'))})"


_DECISIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "planned": _planned,
    "retrieved": lambda data: (
        f"rows found: {len(_items(data, 'keys'))}. {escape(field_of(data, 'recall_note'))}".rstrip()
    ),
    "topic_briefed": lambda data: (
        f"briefed on {escape(field_of(data, 'topic'))}: {field_of(data, 'nodes')} nodes, "
        f"{field_of(data, 'edges')} edges"
    ),
    "judged": _judged,
    "retried": _merged("searched again"),
    "expanded": _merged("followed links"),
    "prepared": lambda data: (
        f"gave {len(_items(data, 'sources'))} sources, {escape(field_of(data, 'chars'))} characters, to the answer"
    ),
    "drafted": _drafted,
    "verified": _verified,
    "gathering_ended": lambda data: f"gathering ended: {escape(field_of(data, 'why'))}",
    "action_failed": _failed,
    "cost_estimated": _cost,
    "cost_limit_reached": lambda data: (
        f"the ceiling of {field_of(data, 'max_cost_usd')} USD leaves no room for the next call "
        f"({field_of(data, 'spent_usd')} USD spent): quoting instead"
    ),
    "planner_asked": lambda data: f"asked {code(field_of(data, 'model'))} to plan: {escape(field_of(data, 'why'))}",
    "planner_skipped": lambda data: f"planned without a model: {escape(field_of(data, 'why'))}",
    "planner_failed": lambda data: f"went on without the planner: {escape(field_of(data, 'error'))}",
    "planner_merged": _planner_merged,
    "model_asked": _call,
    "repair_asked": lambda data: f"asked for a repair: {listed(_items(data, 'faults'))}",
    "reviewed": lambda data: f"the reviewer doubts {listed(_items(data, 'doubts')) or 'nothing'}",
    "review_failed": lambda data: f"went on without a review: {escape(field_of(data, 'why'))}",
    "repair_rejected": lambda data: f"kept the first draft: {escape(field_of(data, 'why'))}",
    "writing_ended": lambda data: f"writing ended: {escape(field_of(data, 'why'))}",
    "stopped": _stopped,
}


def field_of(body: object, name: str) -> str:
    """A field of what was recorded, as text; nothing where it is not there."""
    value = body.get(name) if isinstance(body, dict) else None
    return "" if value is None else str(value)


def _items(data: dict[str, Any], name: str) -> list[str]:
    value = data.get(name)
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else []


def listed(words: Sequence[str]) -> str:
    """Untrusted words in a row."""
    return ", ".join(escape(word) for word in words)


def _keys(keys: Sequence[str]) -> str:
    return ", ".join(code(key) for key in keys)


def _pairs(data: dict[str, Any]) -> str:
    return ", ".join(f"{escape(str(name))}: {escape(str(value))}" for name, value in sorted(data.items()))


def _seconds(start: str, end: str) -> float | None:
    """Between two moments of the log; None where the record does not hold moments, or the clock went back."""
    try:
        passed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None
