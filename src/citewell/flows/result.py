"""From what a run found to the document every surface shows. Pure, so a replay gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from citewell.answer.evidence import NearestPassage, Truncation
from citewell.answer.prompt import PROMPT_VERSION
from citewell.check.verdict import AnswerStatus, CheckedSentence, Verification
from citewell.flows.found import Findings
from citewell.reports.brief import ReportRecord
from citewell.reports.writing import REPORT_PROMPT
from citewell.runs.journal import Run
from citewell.runs.run import Exploration, FlowLedger, RunMetrics, RunResult, RunStatus
from citewell.search.pack import ResearchPack
from citewell.text.blocks import is_row, rule_under, struck, with_note
from citewell.version import __version__

EXTRACTIVE_VERSION = "extractive.v1"


def result_of(run: Run, found: Findings, tool_version: str = __version__) -> RunResult:
    """What a run that is over came to."""
    assert run.stop_reason is not None
    verification = found.verification
    status = answer_status(run, found)
    by = _answered_by(run, found)
    shown = verification if verification is not None and status in ("ok", "ok_truncated", "no_evidence") else None
    return RunResult(
        run_id=run.run_id,
        status=run_status(run, found),
        question=run.request.question,
        profile=run.request.profile,
        answer_status=status,
        answer_warnings=_warnings(run, found, status),
        answer=_answer(run, found, shown),
        truncation=found.prepared.truncation if found.prepared else Truncation(run.request.max_evidence_chars, 0),
        citations=shown.citations if shown else (),
        sentences=shown.sentences if shown else (),
        contradictions=shown.contradictions if shown else (),
        stop_reason=run.stop_reason,
        warnings=tuple(dict.fromkeys(run.warnings)),
        provider=by.provider,
        model=by.model,
        tool=by.tool,
        tool_version=tool_version,
        prompt_version=by.prompt_version,
        metrics=metrics_of(run, found),
        gates=verification.gates if verification else (),
        flow=flow_of(run, found),
        explored=_explored(run, found),
        failure=run.failure,
        doubts=found.doubts if shown else (),
        opinions=found.opinions if shown else (),
        nearest=_nearest(run, found, status),
        pack=_pack(run, found),
        web=found.web() if found.web is not None else None,
        report=_report(run, found),
    )


def _report(run: Run, found: Findings) -> ReportRecord | None:
    """What a run of a brief gathered and came to; one that failed says why there is no report."""
    if found.record is None:
        return None
    record = found.record()
    if record.report is not None or record.error:
        return record
    gates = [gate for gate in found.verification.gates if not gate.passed] if found.verification else []
    failed = f"The report failed verification: {gates[0].name} {gates[0].detail}".strip() if gates else ""
    why = run.failure.message if run.failure is not None else failed
    return replace(record, error=why or f"The run ended without a report ({run.stop_reason}).")


def _nearest(run: Run, found: Findings, status: AnswerStatus) -> tuple[NearestPassage, ...]:
    """The passages that come nearest: where nothing answers, and where the answer may not be shown."""
    if found.verification is not None and not found.verification.passed:
        return found.verification.nearest
    return found.draft.nearest if found.draft is not None and status == "no_evidence" else ()


def _pack(run: Run, found: Findings) -> ResearchPack | None:
    """The evidence, with the estimate of whoever read it for the answer: answer and estimate come from one reading."""
    likely = found.draft.answerability if found.draft is not None else None
    if found.pack is None or likely is None:
        return found.pack
    return replace(found.pack, coverage=replace(found.pack.coverage, answerability=likely))


def _explored(run: Run, found: Findings) -> Exploration:
    """What was tried and turned away; what was dropped once and shown after all is not told as dropped."""
    shown = {row.source_key for row in found.pack.evidence} if found.pack else set()
    return Exploration(
        queries_tried=tuple(found.queries_tried),
        inspected_keys=found.inspected_keys,
        rejected=found.rejected,
        open_gaps=(found.judgements[-1].missing_concepts if found.judgements else ()),
        aliases_untried=tuple(found.aliases_untried),
        dropped=tuple(one for one in found.dropped if one.source_key not in shown),
    )


@dataclass(frozen=True, slots=True)
class _AnsweredBy:
    """Who answered, or who was to answer and could not."""

    provider: str
    model: str
    tool: str
    prompt_version: str


def _answered_by(run: Run, found: Findings) -> _AnsweredBy:
    wrote = found.draft is not None and found.draft.written_by == "model"
    was_to = run.failure is not None and run.failure.stage == "synthesize" and run.request.models.writes
    own = run.request.components.get("synthesizer", "")
    if own and found.draft is not None:
        return _AnsweredBy("own", own, "synthesizer", "")
    if not wrote and not was_to:
        return _AnsweredBy("citewell", "extractive", "extractive", EXTRACTIVE_VERSION)
    calls = [call for call in found.calls if call.purpose in ("write", "repair")]
    provider, _, name = run.request.models.writer.partition(":")
    if calls:
        provider, name = calls[-1].provider, calls[-1].model
    return _AnsweredBy(provider, name, "model", PROMPT_VERSION if found.record is None else REPORT_PROMPT)


def run_status(run: Run, found: Findings) -> RunStatus:
    if run.stop_reason == "cancelled":
        return "cancelled"
    if run.stop_reason in ("verification_failed", "synthesis_failed", "synthesis_unavailable"):
        return "failed"
    has_nothing = found.draft is None if found.record is None else found.record().report is None
    return "failed" if run.failure is not None and has_nothing else "done"


def answer_status(run: Run, found: Findings) -> AnswerStatus:
    """`ok` only for an answer that was written, checked and bound to evidence."""
    if run.stop_reason == "synthesis_unavailable":
        return "unavailable"
    if run.stop_reason == "synthesis_failed":
        return "error"
    if run.stop_reason == "verification_failed" or (run.failure is not None and found.verification is None):
        return "error"
    if run.request.goal == "pack":
        return "ok" if found.pack is not None and found.pack.evidence else "no_evidence"
    if found.draft is None or found.verification is None:
        return "no_evidence" if _found_nothing(run, found) else "error"
    if found.draft.refused:
        return "no_evidence"
    truncated = found.prepared is not None and found.prepared.truncation.is_truncated
    return "ok_truncated" if truncated else "ok"


def _found_nothing(run: Run, found: Findings) -> bool:
    """Whether the run searched and came back empty; one that was stopped before, or with evidence, did not."""
    if run.stop_reason in ("cancelled", "timeout_exceeded", "max_steps_reached"):
        return found.pack is not None and not found.pack.evidence
    return run.stop_reason == "no_evidence"


def _warnings(run: Run, found: Findings, status: AnswerStatus) -> tuple[str, ...]:
    said = list(found.verification.warnings) if found.verification else []
    if _answered_by(run, found).tool == "extractive":
        said.append("extractive")
    if status == "unavailable":
        said.append("model_unavailable")
    elif run.stop_reason == "synthesis_failed" or "model_timeout" in run.warnings:
        said.append("model_error")
    if status == "no_evidence":
        said.append("no_evidence")
    if run.stop_reason == "weak_evidence_budget_exhausted":
        said.append("weak_evidence")
    if "incomplete" in run.warnings or run.stop_reason == "cancelled":
        said.append("incomplete")
    return tuple(dict.fromkeys(said))


def _answer(run: Run, found: Findings, shown: Verification | None) -> str:
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


def metrics_of(run: Run, found: Findings) -> RunMetrics:
    verification = found.verification
    answer = sum(len(sentence.text) for sentence in verification.sentences) if verification else 0
    return RunMetrics(
        seconds=round(run.elapsed, 6),
        stage_seconds=dict(sorted(run.stage_seconds.items())),
        steps=run.steps,
        variants=len(found.queries_tried),
        candidates_before_dedupe=found.candidates[0],
        candidates_after_dedupe=found.candidates[1],
        model_calls=found.spend.model_calls,
        tokens=found.spend.tokens,
        cost_usd=found.spend.cost_usd if not found.spend.unpriced_calls else None,
        known_cost_usd=found.spend.cost_usd,
        calls=tuple(found.calls),
        evidence_chars=len(found.prepared.text) if found.prepared else 0,
        answer_chars=answer,
        unsupported_rate=verification.unsupported_rate if verification else 0.0,
        contradicted_rate=verification.contradicted_rate if verification else 0.0,
        planner_status=found.plan.planner_status if found.plan else "off",
        raw_stop=(found.web().stop if found.web is not None else None) or run.stop_reason or "",
    )


def flow_of(run: Run, found: Findings) -> FlowLedger:
    """Where the evidence went, for the invariant that nothing is cited that was not shown and retrieved."""
    pack = found.pack
    admitted = (
        tuple(dict.fromkeys(row.source_key for row in (*pack.evidence, *pack.exact_tag_evidence))) if pack else ()
    )
    in_prompt = tuple(source.source_key for source in found.prepared.sources) if found.prepared else ()
    cited = tuple(citation.source_key for citation in found.verification.citations) if found.verification else ()
    return FlowLedger(
        tuple(found.retrieved_keys), admitted, tuple(dict.fromkeys(in_prompt)), tuple(dict.fromkeys(cited))
    )
