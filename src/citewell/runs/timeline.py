"""A run as Markdown that a person reads. Pure: the same run gives the same text, anywhere.

Everything that came from a document, a question or an error is untrusted. It is put on one line and escaped, so that it
shows as it is written and never becomes a heading, a list, a link, an image, a tag or HTML. A viewer that turns bare
addresses into links after it has read the Markdown may still do so; nothing is fetched until somebody clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from citewell.check.layout import answer_markdown
from citewell.check.verdict import Citation, Draft
from citewell.runs.events import DecisionMade, EventKind, RunEvent
from citewell.runs.run import RunResult, StopReason
from citewell.search.rows import EvidenceRow
from citewell.text.untrusted import code, escape, markdown, wikilink

KEY_EVIDENCE_ROWS = 5
_STOPS: dict[StopReason, str] = {
    "enough_evidence": "There was enough evidence for an answer.",
    "no_evidence": "Nothing that was found answers the question.",
    "weak_evidence_budget_exhausted": "The evidence stayed weak, and everything that was allowed had been tried.",
    "max_steps_reached": "The run took more steps than it may.",
    "timeout_exceeded": "The time was over.",
    "synthesis_unavailable": "No model was there to write the answer.",
    "synthesis_failed": "Writing the answer failed.",
    "verification_failed": "The answer did not pass its checks and was not shown.",
    "planner_failed_deterministic_used": "The planning model failed; the question was planned without it.",
    "cost_limit_reached": "The run reached its limit of cost or tokens.",
    "cancelled": "Somebody cancelled the run.",
    "trace_failed": "The record of the run could not be written.",
}


def timeline(events: Sequence[RunEvent]) -> list[str]:
    """One line for each entry of the log of a run."""
    lines: list[str] = []
    intended: dict[str, tuple[str, str]] = {}
    for entry in events:
        since = _seconds(events[0].at, entry.at)
        try:
            words = _words(entry, entry.body, intended)
        except (msgspec.ValidationError, KeyError, TypeError, AttributeError):
            words = code(entry.kind)  # of another version, or of no version
        lines.append(f"- {escape(entry.at)}" + (f" (+{since:.3f} s)" if since is not None else "") + f": {words}")
    return lines


def _words(entry: RunEvent, body: dict[str, Any], intended: dict[str, tuple[str, str]]) -> str:
    match entry.kind:
        case "run_started":
            return f"the run began, Citewell {escape(str(body.get('tool_version')))}"
        case "run_finished":
            return f"the run ended: {code(str(body.get('status')))}, {code(str(body.get('stop_reason')))}"
        case "run_interrupted":
            return "the run was interrupted"
        case "run_resumed":
            return "the run was resumed"
        case "stage_entered":
            return f"stage {code(body['stage'])}"
        case "action_intended":
            intended[body["digest"]] = (body["action"], entry.at)
            return f"{code(body['action'])} begins"
        case "action_abandoned":
            return f"{code(body['action'])} is not waited for any longer"
        case "observation_recorded":
            return _observed(body, entry.at, intended)
        case "decision_made":
            decision = entry.event
            assert isinstance(decision, DecisionMade)
            return escape(decision.sentence)
        case "warning_raised":
            return f"warning {code(body['code'])}"
        case "sentence_shown":
            return f"showed sentence {body['index'] + 1} ({escape(body['verdict'])})"
        case "sentence_retracted":
            return f"took back sentence {', '.join(str(n + 1) for n in body['indexes'])}: {escape(body['reason'])}"
        case "trace_saved":
            return f"saved the trace in {code(body['path'])}"
        case "trace_failed":
            return f"the trace could not be saved: {escape(body['message'])}"
        case "display_updated":  # by 0.1.0
            kind: EventKind = "sentence_shown" if "shown" in body else "sentence_retracted"
            return _words(replace(entry, kind=kind), body[kind.removeprefix("sentence_")], intended)


def _observed(body: dict[str, Any], at: str, intended: dict[str, tuple[str, str]]) -> str:
    action, begun = intended.get(body.get("answers") or "", ("", ""))
    told = body.get("observation") or {}
    took = _seconds(begun, at) if begun else None
    after = f" after {took:.3f} s" if took is not None else ""
    # Records of earlier versions name the kind of what was seen.
    if body["kind"] == "control":
        return f"asked to {code(str(told.get('control', told.get('type', ''))))}"
    if isinstance(failed := told.get("failed"), dict):
        return f"{code(action)} failed ({code(str(failed['code']))}){after}"
    return f"{code(action)} {'gave ' + code(str(told['type'])) if told.get('type') else 'is done'}{after}"


def _seconds(start: str, end: str) -> float | None:
    """Between two moments of the log; None where the record does not hold moments, or the clock went back."""
    try:
        passed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None


def rejected_answer(result: RunResult, events: Sequence[RunEvent], draft: Draft | None) -> str | None:
    """The answer that verification refused, from the draft or the record; None where nothing was refused."""
    if result.stop_reason != "verification_failed":
        return None
    if draft is not None:
        return "\n".join(sentence.text for sentence in draft.sentences)
    seen = [event.body.get("observation") for event in events if event.kind == "observation_recorded"]
    for observation in reversed(seen):
        if isinstance(observation, dict) and observation.get("type") == "Drafted":
            return "\n".join(str(sentence["text"]) for sentence in observation["value"]["draft"]["sentences"])
    return result.answer


def render_markdown(result: RunResult, events: Sequence[RunEvent], *, draft: Draft | None = None) -> str:
    """`run.md`: the question, the answer with its sources, why they were chosen, and what happened when."""
    refused = rejected_answer(result, events, draft)
    rows = result.pack.evidence if result.pack else ()
    evidence = [line for row in rows[:KEY_EVIDENCE_ROWS] for line in _why_it_won(row)]
    if len(rows) > KEY_EVIDENCE_ROWS:
        evidence.append(f"- and {len(rows) - KEY_EVIDENCE_ROWS} more in `run.json`")
    topic: list[str] = []
    if result.pack and (brief := result.pack.topic_brief):
        pivots = [f"- {_title(pivot.label)}: {escape(pivot.reason)}" for pivot in brief.pivots]
        told = f"{escape(brief.topic)}: derived from the corpus, no evidence."
        topic = [told, "", *(pivots or ["- nothing connects it"])]
    ending = [f"{_STOPS[result.stop_reason]} ({code(result.stop_reason)})"]
    if failure := result.failure:
        ending += ["", f"Failed in {code(failure.stage)}: {escape(failure.message)} ({code(failure.code)})"]
    paths = [citation.note_path for citation in result.citations] + [row.note_path for row in rows]
    parts = [
        ("", _facts(result, events)),
        ("Question", [f"> {escape(result.question)}"]),
        ("Answer", _answer(result)) if refused is None else ("Rejected answer", _rejected(result, refused)),
        ("Sources", [line for citation in result.citations for line in _source(citation)]),
        ("Disagreements", [_disagreement(found.about, found.values, found.note) for found in result.contradictions]),
        ("Key evidence", evidence),
        ("Topic", topic),
        ("Warnings", [f"- {escape(one)}" for one in dict.fromkeys((*result.answer_warnings, *result.warnings))]),
        ("Why it stopped", ending),
        ("Notes", [f"- {wikilink(path)}" for path in dict.fromkeys(paths) if path]),
        ("Timeline", timeline(events)),
    ]
    sections = ["\n".join([f"## {title}", "", *lines] if title else lines) for title, lines in parts if lines]
    return "\n\n".join([f"# Research run {result.run_id}", *sections]) + "\n"


def _facts(result: RunResult, events: Sequence[RunEvent]) -> list[str]:
    facts = [f"- Status: {result.status}, {code(result.stop_reason)}"]
    if result.pack and (found := result.pack.coverage.answerability):
        facts.append(f"- Estimate: {escape(found.spoken)}")
    request = events[0].body.get("request") if events else None
    surface = request.get("surface") if isinstance(request, dict) else None
    facts.append(f"- Profile: {result.profile}" + (f", asked through {code(str(surface))}" if surface else ""))
    metrics = result.metrics
    if events:
        facts.append(f"- Started {escape(events[0].at)}, took {metrics.seconds:.3f} s")
    model = result.model if result.tool == "extractive" else f"{result.provider}:{result.model}"
    facts.append(f"- Made by {escape(result.tool)} with {escape(model)}, Citewell {escape(result.tool_version)}")
    if metrics.model_calls:
        known = f"{metrics.known_cost_usd:.6f} USD"
        cost = known if metrics.cost_usd is not None else f"cost unknown (at least {known})"
        facts.append(f"- Models: {metrics.model_calls} calls, {metrics.tokens} tokens, {cost}")
    return facts


def _answer(result: RunResult) -> list[str]:
    if not result.sentences:
        return [escape(line) for line in result.answer.split("\n") if line.strip()] or ["No answer was given."]
    lines = [answer_markdown(result.sentences, markdown, heading="**{}**")]
    return [*lines, "", f"*{escape(result.provenance)}*"] if result.provenance else lines


def _rejected(result: RunResult, refused: str) -> list[str]:
    failed = [
        f"{code(gate.name)}" + (f" ({escape(gate.detail)})" if gate.detail else "")
        for gate in result.gates
        if not gate.passed
    ]
    why = f" It failed: {', '.join(failed)}." if failed else ""
    lines = [f"> {escape(line)}" for line in refused.split("\n") if line.strip()]
    return [f"**Rejected by verification: this was never shown as an answer.**{why}", "", *lines]


def _source(citation: Citation) -> list[str]:
    places = [
        code(citation.source_key),
        wikilink(citation.note_path) if citation.note_path else "",
        escape(citation.url) if citation.url else "",
        f"p. {citation.page}" if citation.page is not None else "",
    ]
    where = " · ".join(place for place in places if place)
    quoted = [f"  > {escape(line)}".rstrip() for line in citation.quote.splitlines()]
    return [f"- [{citation.n}] {_title(citation.title)} · {where}", *quoted]


def _title(title: str) -> str:
    return escape(title) or "(untitled)"


def _disagreement(about: str, values: Sequence[str], note: str) -> str:
    said = f"- {escape(about)}: {' against '.join(escape(value) for value in values)}"
    return f"{said}. {escape(note)}" if note else said


def _why_it_won(row: EvidenceRow) -> list[str]:
    lines = [f"- {_title(row.title)} · {code(row.source_key)} · {row.role}, score {row.score:.3f}"]
    if row.matched_terms:
        lines.append(f"  - has: {', '.join(map(escape, row.matched_terms))}")
    if row.missing_terms:
        lines.append(f"  - lacks: {', '.join(map(escape, row.missing_terms))}")
    if row.relationship and row.related_to:
        lines.append(f"  - related: {row.relationship} {code(row.related_to)}")
    for signal in row.signals:
        detail = f" ({escape(signal.detail)})" if signal.detail else ""
        lines.append(f"  - {escape(signal.name)} {signal.value:+.3f}{detail}")
    return lines


# The titles of stages, as people read them while a run goes on.


STAGE_TITLES = {
    "begin_trace": "opening the trace",
    "plan": "planning query",
    "retrieve": "retrieving evidence",
    "inspect_top": "inspecting top evidence",
    "judge_coverage": "judging coverage",
    "optional_expand_or_retry": "retrying or expanding",
    "search": "searching",
    "read": "reading",
    "evaluate": "evaluating",
    "prepare_synthesis": "preparing evidence",
    "synthesize": "synthesizing answer",
    "verify": "verifying citations",
    "persist_trace": "saving trace",
}
