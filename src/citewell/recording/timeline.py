"""The timeline of a run in words: one line for each entry of its log. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from citewell.domain import decisions as decided
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
        case DecisionMade(decision=decision):
            return decision_in_words(decision)
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


def decision_in_words(decision: decided.Decision) -> str:
    """What was decided, as a sentence; a decision of another version shows its data."""
    match decision:
        case decided.SearchesPlanned(variants=variants, concepts=concepts):
            return f"planned {len(variants)} searches for {listed(concepts) or 'the question'}"
        case decided.EvidenceFound(keys=keys, recall_note=note):
            return f"rows found: {len(keys)}. {escape(note)}".rstrip()
        case decided.EvidenceReread(keys=keys, refused=refused):
            left_out = f"; refused {listed(refused)}" if refused else ""
            return f"read {len(keys)} given rows anew{left_out}"
        case decided.TopicBriefAdded(topic=topic, nodes=nodes, edges=edges):
            return f"briefed on {escape(topic)}: {nodes} nodes, {edges} edges"
        case decided.CoverageJudged():
            return _judged(decision)
        case decided.RetryMerged(accepted=accepted, rejected=rejected):
            return f"searched again: {_merged(accepted, rejected)}"
        case decided.ExpansionMerged(accepted=accepted, rejected=rejected):
            return f"followed links: {_merged(accepted, rejected)}"
        case decided.EvidencePrepared(sources=sources, chars=chars):
            return f"gave {len(sources)} sources, {chars} characters, to the answer"
        case decided.AnswerDrafted(sentences=count, refused=refused, reason=reason):
            why = f" ({escape(reason)})" if reason else ""
            return f"declined to answer{why}" if refused else f"drafted {count} sentences{why}"
        case decided.AnswerVerified(failed_gates=failed):
            return f"verification failed: {_keys(failed)}" if failed else "every gate passed"
        case decided.ActionGivenUp(stage=stage, message=message, code=name):
            return f"{code(stage)} failed: {escape(message)} ({code(name)})"
        case decided.RunStopped(stop_reason=reason, why=why):
            return f"stopped, {code(reason)}" + (f": {escape(why)}" if why else "")
        case decided.StageEnded(stage=stage, seconds=seconds):
            return f"{escape(stage)} took longer than {seconds:g} s"
        case decided.GatheringEnded(why=why):
            return f"gathering ended: {escape(why)}"
        case decided.WritingEnded(why=why):
            return f"writing ended: {escape(why)}"
        case decided.TopicsChosen(topics=topics, chosen_by=who):
            return f"{escape(who)} chose {len(topics)} topics: {listed([one.topic for one in topics])}"
        case decided.TopicSkipped(topic=topic, why=why):
            return f"left out {escape(topic)}: {escape(why)}"
        case decided.NoteWritten(path=path, changed=changed, dry_run=dry_run):
            done = "would be changed" if dry_run and changed else "was changed" if changed else "stays as it is"
            return f"the note {code(path)} {done}"
        case decided.OtherDecision(name=name, data=data):
            pairs = ", ".join(f"{escape(str(key))}: {escape(str(value))}" for key, value in sorted(data.items()))
            return f"decided {code(name)} {pairs}".rstrip()
        case _:
            return _web_decision(decision) or _report_decision(decision) or _model_decision(decision)


def _web_decision(decision: decided.Decision) -> str:
    """What was decided about the web; nothing for any other decision."""
    match decision:
        case decided.WebRoundBegun(loop=loop, max_loops=most, queries=queries, providers=providers):
            return f"round {loop} of {most}: asked {listed(providers)} for {listed(queries)}"
        case decided.WebHitsFound(provider=provider, query=query, urls=urls):
            return f"{code(provider)} found {len(urls)} pages for {escape(query)}"
        case decided.PageChosen(url=url, reason=reason):
            return f"chose {code(url)}" + (f": {escape(reason)}" if reason else "")
        case decided.PageTaken(source_key=key, url=url, flags=flags):
            return f"read {code(url)} as {code(key)}" + (f" ({listed(flags)})" if flags else "")
        case decided.SourceTurnedAway(source=source, reason=reason):
            return f"left out {code(source)}: {escape(reason)}"
        case decided.WebAssessed(reason=reason, gaps=gaps, queries=queries, by=by):
            lacks = f"; missing {listed(gaps)}" if gaps else ""
            then = f"; next {listed(queries)}" if queries else ""
            return f"{escape(by)}: {escape(reason)}{lacks}{then}"
        case decided.WebLoopEnded(stop=stop, reason=reason, pages=pages, queries=queries):
            return f"the web loop ended, {code(stop)}: {escape(reason)} ({pages} pages, {queries} queries)"
        case _:
            return ""


def _report_decision(decision: decided.Decision) -> str:
    match decision:
        case decided.SubQueriesPlanned(queries=queries, planned_by=by, families=families):
            return f"{escape(by)} planned {listed(queries)}, to be looked for in {listed(families)}"
        case decided.FamilySkipped(family=family, reason=reason):
            return f"{code(family)} is left out: {escape(reason)}"
        case decided.DuplicatesDropped(items=items, duplicates=duplicates):
            return f"of {items} passages {len(duplicates)} are copies: {listed(duplicates) or 'none'}"
        case decided.SourcesTriaged(kept=kept, dropped=dropped, judged_by=by):
            return f"{escape(by)} kept {listed(kept) or 'nothing'} and dropped {listed(dropped) or 'nothing'}"
        case decided.ReportBound(claims=claims, citations=citations, unresolved=unresolved):
            left = f"; unresolved: {listed(unresolved)}" if unresolved else ", all resolved"
            return f"{claims} claims, {citations} citations{left}"
        case _:
            return ""


def _model_decision(decision: decided.Decision) -> str:
    """What was decided about models."""
    match decision:
        case decided.CostEstimated():
            return _cost(decision)
        case decided.CostLimitReached(of_day=said) if said:
            return f"{escape(said)} Quoting instead."
        case decided.CostLimitReached(ceiling=ceiling, spent_usd=usd, spent_tokens=tokens):
            spent = f"{usd} USD" if decision.max_tokens is None else f"{usd} USD and {tokens} tokens"
            return f"the ceiling of {ceiling} leaves no room for the next call ({spent} spent): quoting instead"
        case decided.ModelAsked(model=model, purpose=purpose, input_tokens=given, max_output_tokens=most):
            return f"asked {code(model)} to {escape(purpose)}: {given} tokens in, {most} out at most"
        case decided.PlannerAsked(model=model, why=why):
            return f"asked {code(model)} to plan: {escape(why)}"
        case decided.PlannerSkipped(why=why):
            return f"planned without a model: {escape(why)}"
        case decided.PlannerFailed(error=error):
            return f"went on without the planner: {escape(error)}"
        case decided.PlannerMerged(accepted=accepted, dropped=dropped, error=error):
            if error:
                return f"the planner's reply could not be read: {escape(error)}"
            left_out = f"; left out {listed(dropped)}" if dropped else ""
            return f"the planner added {listed(accepted) or 'nothing'}{left_out}"
        case decided.ClaimsScored(judge=judge, pairs=pairs):
            return f"{code(judge)} judged {pairs} sentences"
        case decided.JudgeFailed(why=why):
            return f"sentences are checked by rules alone: {escape(why)}"
        case decided.PassagesRead(reader=reader, passages=passages):
            return f"{code(reader)} read {passages} passages"
        case decided.ReaderFailed(why=why):
            return f"passages are chosen without the reader: {escape(why)}"
        case decided.RepairAsked(faults=faults):
            return f"asked for a repair: {listed(faults)}"
        case decided.RepairRejected(why=why):
            return f"kept the first draft: {escape(why)}"
        case decided.AnswerReviewed(doubts=doubts, opinions=opinions):
            thinks = f"; of what is not proven it thinks {listed(opinions)}" if opinions else ""
            return f"the reviewer doubts {listed(doubts) or 'nothing'}{thinks}"
        case decided.ReviewFailed(why=why):
            return f"went on without a review: {escape(why)}"
        case _:
            return code(decision.name)


def _judged(decision: decided.CoverageJudged) -> str:
    lacks = f"; missing {listed(decision.missing_concepts)}" if decision.missing_concepts else ""
    then = f"; next {code(decision.retry_action)}" if decision.retry_action != "none" else ""
    return f"judged {code(decision.verdict)}: {escape(decision.reason)}{lacks}{then}"


def _merged(accepted: Sequence[str], rejected: Sequence[str]) -> str:
    return f"accepted {_keys(accepted) or 'nothing'}, rejected {_keys(rejected) or 'nothing'}"


def _cost(decision: decided.CostEstimated) -> str:
    most = f"at most {decision.usd:.4f} USD" if decision.usd is not None else "a cost nobody knows"
    ceiling = f", ceiling {decision.max_cost_usd} USD" if decision.max_cost_usd is not None else ""
    ceiling += f", ceiling {decision.max_tokens} tokens" if decision.max_tokens is not None else ""
    return f"estimated {most} in {decision.calls} calls{ceiling}"


def field_of(body: object, name: str) -> str:
    """A field of what was recorded, as text; nothing where it is not there."""
    value = body.get(name) if isinstance(body, dict) else None
    return "" if value is None else str(value)


def listed(words: Sequence[str]) -> str:
    """Untrusted words in a row."""
    return ", ".join(escape(word) for word in words)


def _keys(keys: Sequence[str]) -> str:
    return ", ".join(code(key) for key in keys)


def _seconds(start: str, end: str) -> float | None:
    """Between two moments of the log; None where the record does not hold moments, or the clock went back."""
    try:
        passed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None
