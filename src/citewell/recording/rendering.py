"""A run as Markdown that a person reads. Pure: the same run gives the same text, anywhere.

Everything that came from a document, a question or an error is untrusted. It is put on one line and escaped, so that it
shows as it is written and never becomes a heading, a list, a link, an image, a tag or HTML. A viewer that turns bare
addresses into links after it has read the Markdown may still do so; nothing is fetched until somebody clicks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from citewell.domain.answers import Citation, Draft
from citewell.domain.events import RunEvent
from citewell.domain.evidence import EvidenceRow
from citewell.domain.runs import RunResult, StopReason

KEY_EVIDENCE_ROWS = 5

_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
# `%%` is a comment in Obsidian, `==` a highlight, `$` a formula, `#` a tag, `^` a block id.
_MARKUP = re.compile(r"[\\`*_\[\]#|~$^{}]|!(?=\[)|%(?=%)|(?<=%)%|=(?==)|(?<==)=|:(?=//)|(?<=www)\.", re.IGNORECASE)
_OPENING = re.compile(r"[-+=]|\d{1,9}(?=[.)](?:\s|$))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Begins with a word character: Dataview runs code that begins with `=` or `$=`.
_PLAIN_KEY = re.compile(r"\w[\w./:@+,=~ -]*")
_LINKABLE = re.compile(r"[^\[\]|#^<>&`*\\:%$=~!{}\x00-\x1f\x7f]+")


def escape(text: str) -> str:
    """Untrusted text on one line, as literal Markdown."""
    line = " ".join(_HIDDEN.sub("", text).split())
    line = re.sub("[&<>]", lambda match: _ENTITIES[match[0]], _MARKUP.sub(r"\\\g<0>", line))
    if opening := _OPENING.match(line):
        end = opening.end()
        return f"\\{line}" if not opening[0].isdigit() else f"{line[:end]}\\{line[end:]}"
    return line


def code(text: str) -> str:
    """A key or a name as code, where it has nothing in it that could end the code."""
    return f"`{text}`" if _PLAIN_KEY.fullmatch(text) and text.strip() == text else escape(text)


def fence(text: str, language: str = "text") -> str:
    """Untrusted text as it is, character by character, in a block that nothing inside it can close."""
    marks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 3)
    return f"{marks}{language}\n{text}\n{marks}\n"


def wikilink(note_path: str) -> str:
    """A note's path as an Obsidian link; one whose name would break the link is only named."""
    name = re.sub(r"\.(md|markdown)$", "", note_path)
    if name == " ".join(name.split()) and not _HIDDEN.search(name) and _LINKABLE.fullmatch(name):
        return f"[[{name}]]"
    return escape(note_path)


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
        ("Timeline", _timeline(events)),
    ]
    sections = ["\n".join([f"## {title}", "", *lines] if title else lines) for title, lines in parts if lines]
    return "\n\n".join([f"# Research run {result.run_id}", *sections]) + "\n"


def _facts(result: RunResult, events: Sequence[RunEvent]) -> list[str]:
    surface = _field(events[0].body.get("request"), "surface") if events else ""
    started = f"- Started {escape(events[0].at)}, took {result.metrics.seconds:.3f} s" if events else ""
    facts = [
        f"- Status: {result.status}, {code(result.stop_reason)}",
        _estimate(result),
        f"- Profile: {result.profile}" + (f", asked through {code(surface)}" if surface else ""),
        started,
        f"- Made by {escape(result.tool)} with {escape(result.model)}, Citewell {escape(result.tool_version)}",
    ]
    return [fact for fact in facts if fact]


def _estimate(result: RunResult) -> str:
    found = result.pack.coverage.answerability if result.pack else None
    return f"- Estimate: {escape(found.spoken)}" if found else ""


def _answer(result: RunResult) -> list[str]:
    if not result.sentences:
        return [escape(line) for line in result.answer.split("\n") if line.strip()] or ["No answer was given."]
    lines: list[str] = []
    for sentence in result.sentences:
        marks = "".join(f" [{n}]" for n in sentence.citations)
        flag = " *(not supported by its source)*" if sentence.verdict == "unsupported" else ""
        lines += [f"{escape(sentence.text)}{marks}{flag}", ""]
    return lines[:-1]


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
    ]
    where = " · ".join(place for place in places if place)
    return [f"- [{citation.n}] {_title(citation.title)} · {where}", f"  > {escape(citation.quote)}"]


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
        lines.append(f"  - has: {_listed(row.matched_terms)}")
    if row.missing_terms:
        lines.append(f"  - lacks: {_listed(row.missing_terms)}")
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
    "cost_limit_reached": "The run reached its limit of cost.",
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


# The timeline


def _timeline(events: Sequence[RunEvent]) -> list[str]:
    lines: list[str] = []
    intended: dict[str, str] = {}
    names: dict[str, str] = {}
    for event in events:
        digest = _field(event.body, "digest" if event.kind == "action_intended" else "answers")
        if event.kind == "action_intended":
            intended[digest], names[digest] = event.at, _field(event.body, "action")
        took = _seconds(intended[digest], event.at) if digest in intended else None
        words = _words(event, names.get(digest, ""), took)
        since = _seconds(events[0].at, event.at)
        lines.append(f"- {escape(event.at)}" + (f" (+{since:.3f} s)" if since is not None else "") + f": {words}")
    return lines


def _words(event: RunEvent, action: str, took: float | None) -> str:
    body = event.body
    match event.kind:
        case "run_started":
            return f"the run began, Citewell {escape(_field(body, 'tool_version'))}"
        case "stage_entered":
            return f"stage {code(_field(body, 'stage'))}"
        case "action_intended":
            return f"{code(_field(body, 'action'))} begins"
        case "observation_recorded":
            seen = _field(body.get("observation"), "type")
            after = f" after {took:.3f} s" if took is not None else ""
            gave = f"gave {code(seen)}" if action and seen else code(seen) if seen else "is done"
            return f"{code(action)} {gave}{after}" if action else f"{gave}{after}"
        case "decision_made":
            data = body.get("data")
            return decision_in_words(_field(body, "name"), data if isinstance(data, dict) else {})
        case "run_finished":
            return f"the run ended: {code(_field(body, 'status'))}, {code(_field(body, 'stop_reason'))}"
        case "run_interrupted":
            return "the run was interrupted"
        case "run_resumed":
            return "the run was resumed"
        case _:
            return f"{code(event.kind)} {_pairs(body)}".rstrip()


def decision_in_words(name: str, data: dict[str, Any]) -> str:
    """What was decided, as a sentence; a decision without words of its own shows its data."""
    words = _DECISIONS.get(name)
    return words(data) if words else f"decided {code(name)} {_pairs(data)}".rstrip()


def _planned(data: dict[str, Any]) -> str:
    variants = _items(data, "variants")
    return f"planned {len(variants)} searches for {_listed(_items(data, 'concepts')) or 'the question'}"


def _judged(data: dict[str, Any]) -> str:
    missing = _items(data, "missing_concepts")
    lacks = f"; missing {_listed(missing)}" if missing else ""
    action = _field(data, "retry_action")
    then = f"; next {code(action)}" if action not in ("", "none") else ""
    return f"judged {code(_field(data, 'verdict'))}: {escape(_field(data, 'reason'))}{lacks}{then}"


def _merged(verb: str) -> Callable[[dict[str, Any]], str]:
    def words(data: dict[str, Any]) -> str:
        accepted, rejected = _items(data, "accepted"), _items(data, "rejected")
        return f"{verb}: accepted {_keys(accepted) or 'nothing'}, rejected {_keys(rejected) or 'nothing'}"

    return words


def _verified(data: dict[str, Any]) -> str:
    failed = _items(data, "failed_gates")
    return f"verification failed: {_keys(failed)}" if failed else "every gate passed"


def _drafted(data: dict[str, Any]) -> str:
    why = f" ({escape(_field(data, 'reason'))})" if _field(data, "reason") else ""
    return f"declined to answer{why}" if data.get("refused") else f"drafted {_field(data, 'sentences')} sentences{why}"


def _stopped(data: dict[str, Any]) -> str:
    why = f": {escape(_field(data, 'why'))}" if _field(data, "why") else ""
    return f"stopped, {code(_field(data, 'stop_reason'))}{why}"


def _failed(data: dict[str, Any]) -> str:
    return f"{code(_field(data, 'stage'))} failed: {escape(_field(data, 'message'))} ({code(_field(data, 'code'))})"


_DECISIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "planned": _planned,
    "retrieved": lambda data: (
        f"rows found: {len(_items(data, 'keys'))}. {escape(_field(data, 'recall_note'))}".rstrip()
    ),
    "topic_briefed": lambda data: (
        f"briefed on {escape(_field(data, 'topic'))}: {_field(data, 'nodes')} nodes, {_field(data, 'edges')} edges"
    ),
    "judged": _judged,
    "retried": _merged("searched again"),
    "expanded": _merged("followed links"),
    "prepared": lambda data: (
        f"gave {len(_items(data, 'sources'))} sources, {escape(_field(data, 'chars'))} characters, to the answer"
    ),
    "drafted": _drafted,
    "verified": _verified,
    "gathering_ended": lambda data: f"gathering ended: {escape(_field(data, 'why'))}",
    "action_failed": _failed,
    "stopped": _stopped,
}


def _field(body: object, name: str) -> str:
    value = body.get(name) if isinstance(body, dict) else None
    return "" if value is None else str(value)


def _items(data: dict[str, Any], name: str) -> list[str]:
    value = data.get(name)
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else []


def _listed(words: Sequence[str]) -> str:
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
