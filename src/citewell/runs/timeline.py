"""A run as Markdown that a person reads. Pure: the same run gives the same text, anywhere.

Everything that came from a document, a question or an error is untrusted. It is put on one line and escaped, so that it
shows as it is written and never becomes a heading, a list, a link, an image, a tag or HTML. A viewer that turns bare
addresses into links after it has read the Markdown may still do so; nothing is fetched until somebody clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from citewell.check.verdict import CheckedSentence, Citation, Draft
from citewell.runs.events import (
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
from citewell.runs.run import RunResult, StopReason
from citewell.search.rows import EvidenceRow
from citewell.text.blocks import answer_blocks, cells_of, is_row, row_of, rule_under, struck, with_note
from citewell.text.untrusted import code, escape, wikilink

# The timeline of a run in words: one line for each entry of its log. Pure.


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


KEY_EVIDENCE_ROWS = 5


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
    parts = [
        ("", _facts(result, events)),
        ("Question", [f"> {escape(result.question)}"]),
        ("Answer", _answer(result)) if refused is None else ("Rejected answer", _rejected(result, refused)),
        ("Sources", [line for citation in result.citations for line in _source(citation)]),
        ("Disagreements", [_disagreement(found.about, found.values, found.note) for found in result.contradictions]),
        ("Key evidence", _key_evidence(result)),
        ("Topic", _topic(result)),
        ("Warnings", [f"- {escape(warning)}" for warning in _warnings(result)]),
        ("Why it stopped", _ending(result)),
        ("Notes", _notes(result)),
        ("Timeline", timeline(events)),
    ]
    sections = ["\n".join([f"## {title}", "", *lines] if title else lines) for title, lines in parts if lines]
    return "\n\n".join([f"# Research run {result.run_id}", *sections]) + "\n"


def _facts(result: RunResult, events: Sequence[RunEvent]) -> list[str]:
    surface = field_of(events[0].body.get("request"), "surface") if events else ""
    started = f"- Started {escape(events[0].at)}, took {result.metrics.seconds:.3f} s" if events else ""
    facts = [
        f"- Status: {result.status}, {code(result.stop_reason)}",
        _estimate(result),
        f"- Profile: {result.profile}" + (f", asked through {code(surface)}" if surface else ""),
        started,
        f"- Made by {escape(result.tool)} with {escape(_model(result))}, Citewell {escape(result.tool_version)}",
        _cost(result),
    ]
    return [fact for fact in facts if fact]


def _model(result: RunResult) -> str:
    return result.model if result.tool == "extractive" else f"{result.provider}:{result.model}"


def _cost(result: RunResult) -> str:
    """What the models took; a cost that is not known is called unknown."""
    metrics = result.metrics
    if not metrics.model_calls:
        return ""
    known = f"{metrics.known_cost_usd:.6f} USD"
    cost = known if metrics.cost_usd is not None else f"cost unknown (at least {known})"
    return f"- Models: {metrics.model_calls} calls, {metrics.tokens} tokens, {cost}"


def _estimate(result: RunResult) -> str:
    found = result.pack.coverage.answerability if result.pack else None
    return f"- Estimate: {escape(found.spoken)}" if found else ""


def _answer(result: RunResult) -> list[str]:
    if not result.sentences:
        return [escape(line) for line in result.answer.split("\n") if line.strip()] or ["No answer was given."]
    lines: list[str] = []
    for block in answer_blocks(result.sentences):
        sentence = block[0]
        if is_row(sentence.text):
            lines += [*(_table_line(row) for row in block), ""]
            continue
        if sentence.kind == "heading":
            flag = {"unsupported": " *(not proven)*", "contradicted": " *(taken back)*"}.get(sentence.verdict, "")
            lines += [f"**{escape(sentence.text)}**{flag}", ""]
            continue
        marks = "".join(f" [{n}]" for n in sentence.citations)
        flag = " *(not proven by its quote)*" if sentence.verdict == "unsupported" else ""
        text = escape(sentence.text)
        if sentence.verdict == "contradicted":
            text, flag = f"~~{text}~~", f" *(taken back: {escape(sentence.reason or 'its source says otherwise')})*"
        lines += [f"{text}{marks}{flag}", ""]
    return lines[:-1]


def _table_line(row: CheckedSentence) -> str:
    cells = row_of(tuple(escape(cell) for cell in cells_of(row.text)))
    if row.kind == "heading":
        return f"{cells}\n{rule_under(row.text)}"
    marks = " ".join(f"[{n}]" for n in row.citations)
    flag = {"unsupported": " *(not proven by its quote)*", "contradicted": " *(taken back)*"}.get(row.verdict, "")
    return with_note(struck(cells) if row.verdict == "contradicted" else cells, f"{marks}{flag}")


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


def _key_evidence(result: RunResult) -> list[str]:
    rows = result.pack.evidence if result.pack else ()
    lines = [line for row in rows[:KEY_EVIDENCE_ROWS] for line in _why_it_won(row)]
    more = len(rows) - KEY_EVIDENCE_ROWS
    return [*lines, f"- and {more} more in `run.json`"] if more > 0 else lines


def _topic(result: RunResult) -> list[str]:
    brief = result.pack.topic_brief if result.pack else None
    if brief is None:
        return []
    pivots = [f"- {_title(pivot.label)}: {escape(pivot.reason)}" for pivot in brief.pivots]
    return [f"{escape(brief.topic)}: derived from the corpus, no evidence.", "", *(pivots or ["- nothing connects it"])]


def _why_it_won(row: EvidenceRow) -> list[str]:
    lines = [f"- {_title(row.title)} · {code(row.source_key)} · {row.role}, score {row.score:.3f}"]
    if row.matched_terms:
        lines.append(f"  - has: {listed(row.matched_terms)}")
    if row.missing_terms:
        lines.append(f"  - lacks: {listed(row.missing_terms)}")
    if row.relationship and row.related_to:
        lines.append(f"  - related: {row.relationship} {code(row.related_to)}")
    for signal in row.signals:
        detail = f" ({escape(signal.detail)})" if signal.detail else ""
        lines.append(f"  - {escape(signal.name)} {signal.value:+.3f}{detail}")
    return lines


def _warnings(result: RunResult) -> list[str]:
    return list(dict.fromkeys((*result.answer_warnings, *result.warnings)))


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


def _ending(result: RunResult) -> list[str]:
    lines = [f"{_STOPS[result.stop_reason]} ({code(result.stop_reason)})"]
    if failure := result.failure:
        lines += ["", f"Failed in {code(failure.stage)}: {escape(failure.message)} ({code(failure.code)})"]
    return lines


def _notes(result: RunResult) -> list[str]:
    rows = result.pack.evidence if result.pack else ()
    paths = [citation.note_path for citation in result.citations] + [row.note_path for row in rows]
    return [f"- {wikilink(path)}" for path in dict.fromkeys(paths) if path]


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
