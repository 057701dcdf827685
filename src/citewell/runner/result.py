"""From a run's state to the document every surface shows. Pure, so a replay gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from citewell.briefs.writing import REPORT_PROMPT
from citewell.domain.answers import AnswerStatus, CheckedSentence, NearestPassage, Truncation, Verification
from citewell.domain.briefs import ReportRecord
from citewell.domain.events import Entry, RunFinished, RunStarted
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import Exploration, FlowLedger, RunMetrics, RunResult, RunStatus
from citewell.runner.actions import digest
from citewell.runner.state import RunState
from citewell.synthesis.prompt import PROMPT_VERSION
from citewell.text.table_lines import is_row, rule_under, struck, with_note
from citewell.version import __version__

EXTRACTIVE_VERSION = "extractive.v1"


def result_of(run_id: str, state: RunState, tool_version: str = __version__) -> RunResult:
    """What a run that is over came to."""
    assert state.stop_reason is not None
    verification = state.verification
    status = answer_status(state)
    by = _answered_by(state)
    shown = verification if verification is not None and status in ("ok", "ok_truncated", "no_evidence") else None
    return RunResult(
        run_id=run_id,
        status=run_status(state),
        question=state.request.question,
        profile=state.request.profile,
        answer_status=status,
        answer_warnings=_warnings(state, status),
        answer=_answer(state, shown),
        truncation=state.prepared.truncation if state.prepared else Truncation(state.request.max_evidence_chars, 0),
        citations=shown.citations if shown else (),
        sentences=shown.sentences if shown else (),
        contradictions=shown.contradictions if shown else (),
        stop_reason=state.stop_reason,
        warnings=tuple(dict.fromkeys(state.warnings)),
        provider=by.provider,
        model=by.model,
        tool=by.tool,
        tool_version=tool_version,
        prompt_version=by.prompt_version,
        metrics=metrics_of(state),
        gates=verification.gates if verification else (),
        flow=flow_of(state),
        explored=_explored(state),
        failure=state.failure,
        doubts=state.doubts if shown else (),
        opinions=state.opinions if shown else (),
        nearest=_nearest(state, status),
        pack=_pack(state),
        web=state.web.report() if state.web is not None else None,
        report=_report(state),
    )


def _report(state: RunState) -> ReportRecord | None:
    """What a run of a brief gathered and came to; one that failed says why there is no report."""
    if state.report is None or state.request.report is None:
        return None
    record = state.report.record(state.request.report)
    if record.report is not None or record.error:
        return record
    gates = [gate for gate in state.verification.gates if not gate.passed] if state.verification else []
    failed = f"The report failed verification: {gates[0].name} {gates[0].detail}".strip() if gates else ""
    why = state.failure.message if state.failure is not None else failed
    return replace(record, error=why or f"The run ended without a report ({state.stop_reason}).")


def _nearest(state: RunState, status: AnswerStatus) -> tuple[NearestPassage, ...]:
    """The passages that come nearest: where nothing answers, and where the answer may not be shown."""
    if state.verification is not None and not state.verification.passed:
        return state.verification.nearest
    return state.draft.nearest if state.draft is not None and status == "no_evidence" else ()


def _pack(state: RunState) -> ResearchPack | None:
    """The evidence, with the estimate of whoever read it for the answer: answer and estimate come from one reading."""
    found = state.draft.answerability if state.draft is not None else None
    if state.pack is None or found is None:
        return state.pack
    return replace(state.pack, coverage=replace(state.pack.coverage, answerability=found))


def _explored(state: RunState) -> Exploration:
    """What was tried and turned away; what was dropped once and shown after all is not told as dropped."""
    shown = {row.source_key for row in state.pack.evidence} if state.pack else set()
    return Exploration(
        queries_tried=state.queries_tried,
        inspected_keys=state.inspected_keys,
        rejected=state.rejected,
        open_gaps=state.open_gaps,
        aliases_untried=state.aliases_untried,
        dropped=tuple(one for one in state.dropped if one.source_key not in shown),
    )


@dataclass(frozen=True, slots=True)
class _AnsweredBy:
    """Who answered, or who was to answer and could not."""

    provider: str
    model: str
    tool: str
    prompt_version: str


def _answered_by(state: RunState) -> _AnsweredBy:
    wrote = state.draft is not None and state.draft.written_by == "model"
    was_to = state.failure is not None and state.failure.stage == "synthesize" and state.request.models.writes
    if not wrote and not was_to:
        return _AnsweredBy("citewell", "extractive", "extractive", EXTRACTIVE_VERSION)
    calls = [call for call in state.calls if call.purpose in ("write", "repair")]
    provider, _, name = state.request.models.writer.partition(":")
    if calls:
        provider, name = calls[-1].provider, calls[-1].model
    return _AnsweredBy(provider, name, "model", PROMPT_VERSION if state.report is None else REPORT_PROMPT)


def cancelled_result(run_id: str, started: RunStarted) -> tuple[list[Entry], RunResult]:
    """The end of a run whose record this version cannot play back: closed as it is."""
    request = started.request
    result = RunResult(
        run_id=run_id,
        status="cancelled",
        question=request.question,
        profile=request.profile,
        answer_status="error",
        answer_warnings=("incomplete",),
        answer="",
        truncation=Truncation(request.max_evidence_chars, 0),
        citations=(),
        sentences=(),
        contradictions=(),
        stop_reason="cancelled",
        warnings=("incomplete",),
        provider="citewell",
        model="extractive",
        tool="extractive",
        tool_version=started.tool_version,
        prompt_version=EXTRACTIVE_VERSION,
        metrics=RunMetrics(),
    )
    return [Entry.of(RunFinished(result.status, result.stop_reason, digest(result), result))], result


def run_status(state: RunState) -> RunStatus:
    if state.stop_reason == "cancelled":
        return "cancelled"
    if state.stop_reason in ("verification_failed", "synthesis_failed", "synthesis_unavailable"):
        return "failed"
    has_nothing = state.draft is None if state.report is None else state.report.report is None
    return "failed" if state.failure is not None and has_nothing else "done"


def answer_status(state: RunState) -> AnswerStatus:
    """`ok` only for an answer that was written, checked and bound to evidence."""
    if state.stop_reason == "synthesis_unavailable":
        return "unavailable"
    if state.stop_reason == "synthesis_failed":
        return "error"
    if state.stop_reason == "verification_failed" or (state.failure is not None and state.verification is None):
        return "error"
    if state.request.goal == "pack":
        return "ok" if state.pack is not None and state.pack.evidence else "no_evidence"
    if state.draft is None or state.verification is None:
        return "no_evidence" if _found_nothing(state) else "error"
    if state.draft.refused:
        return "no_evidence"
    truncated = state.prepared is not None and state.prepared.truncation.is_truncated
    return "ok_truncated" if truncated else "ok"


def _found_nothing(state: RunState) -> bool:
    """Whether the run searched and came back empty; one that was stopped before, or with evidence, did not."""
    if state.stop_reason in ("cancelled", "timeout_exceeded", "max_steps_reached"):
        return state.pack is not None and not state.pack.evidence
    return state.stop_reason == "no_evidence"


def _warnings(state: RunState, status: AnswerStatus) -> tuple[str, ...]:
    found = list(state.verification.warnings) if state.verification else []
    if _answered_by(state).tool == "extractive":
        found.append("extractive")
    if status == "unavailable":
        found.append("model_unavailable")
    elif state.stop_reason == "synthesis_failed" or "model_timeout" in state.warnings:
        found.append("model_error")
    if status == "no_evidence":
        found.append("no_evidence")
    if state.stop_reason == "weak_evidence_budget_exhausted":
        found.append("weak_evidence")
    if "incomplete" in state.warnings or state.stop_reason == "cancelled":
        found.append("incomplete")
    return tuple(dict.fromkeys(found))


def _answer(state: RunState, shown: Verification | None) -> str:
    if shown is None:
        return ""
    return "\n".join(_line(sentence) for sentence in shown.sentences).strip("\n")


def _line(sentence: CheckedSentence) -> str:
    if is_row(sentence.text):
        return _table_line(sentence)
    if sentence.kind == "heading":
        flag = {"unsupported": " (not proven)", "contradicted": " (taken back)"}.get(sentence.verdict, "")
        return f"\n## {sentence.text}{flag}\n"
    marks = "".join(f" [{n}]" for n in sentence.citations)
    if sentence.verdict == "contradicted":
        return f"~~{sentence.text}~~{marks} (taken back: {sentence.reason or 'its source says otherwise'})"
    flag = " (not proven by its quote)" if sentence.verdict == "unsupported" else ""
    return f"{sentence.text}{marks}{flag}"


def _table_line(sentence: CheckedSentence) -> str:
    """A header with its rule, or a row with its marks and its verdict in the last cell."""
    if sentence.kind == "heading":
        return f"\n{sentence.text}\n{rule_under(sentence.text)}"
    marks = " ".join(f"[{n}]" for n in sentence.citations)
    if sentence.verdict == "contradicted":
        reason = (sentence.reason or "its source says otherwise").replace("|", "¦")
        return with_note(struck(sentence.text), f"{marks} (taken back: {reason})")
    flag = " (not proven by its quote)" if sentence.verdict == "unsupported" else ""
    return with_note(sentence.text, f"{marks}{flag}")


def metrics_of(state: RunState) -> RunMetrics:
    verification = state.verification
    answer = sum(len(sentence.text) for sentence in verification.sentences) if verification else 0
    return RunMetrics(
        seconds=round(state.elapsed, 6),
        stage_seconds=dict(sorted(state.stage_seconds.items())),
        steps=state.steps,
        variants=len(state.queries_tried),
        candidates_before_dedupe=state.candidates[0],
        candidates_after_dedupe=state.candidates[1],
        model_calls=state.spend.model_calls,
        tokens=state.spend.tokens,
        cost_usd=state.spend.cost_usd if not state.spend.unpriced_calls else None,
        known_cost_usd=state.spend.cost_usd,
        calls=state.calls,
        evidence_chars=len(state.prepared.text) if state.prepared else 0,
        answer_chars=answer,
        unsupported_rate=verification.unsupported_rate if verification else 0.0,
        contradicted_rate=verification.contradicted_rate if verification else 0.0,
        planner_status=state.plan.planner_status if state.plan else "off",
        raw_stop=(state.web.stop if state.web is not None else None) or state.stop_reason or "",
    )


def flow_of(state: RunState) -> FlowLedger:
    """Where the evidence went, for the invariant that nothing is cited that was not shown and retrieved."""
    pack = state.pack
    admitted = (
        tuple(dict.fromkeys(row.source_key for row in (*pack.evidence, *pack.exact_tag_evidence))) if pack else ()
    )
    in_prompt = tuple(source.source_key for source in state.prepared.sources) if state.prepared else ()
    cited = tuple(citation.source_key for citation in state.verification.citations) if state.verification else ()
    return FlowLedger(state.retrieved_keys, admitted, tuple(dict.fromkeys(in_prompt)), tuple(dict.fromkeys(cited)))
