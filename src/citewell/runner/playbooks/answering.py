"""The answering moves, the same for every profile: prepare → write or extract → verify → keep the cited texts. Pure.

Where a judge is set, it is asked before a model's draft is verified; without its answer, verification goes by rules.
A model writes only where one is chosen, there is evidence, and its cost fits. Its draft gets one repair. Whatever it
does, the evidence stays: time that runs out and a ceiling that is reached leave a quoted answer, marked incomplete.
"""

from __future__ import annotations

from dataclasses import replace

from citewell.domain.answers import Draft, Likeness, PreparedSynthesis, Readings, Verification
from citewell.domain.chat import ChatReply, ChatRequest
from citewell.domain.decisions import (
    ActionGivenUp,
    AnswerDrafted,
    AnswerReviewed,
    AnswerVerified,
    ClaimsScored,
    Decision,
    EvidencePrepared,
    JudgeFailed,
    ModelAsked,
    PassagesRead,
    ReaderFailed,
    RepairAsked,
    RepairRejected,
    ReviewFailed,
    RunStopped,
)
from citewell.domain.runs import Failure, StopReason
from citewell.models.tokens import estimate_prompt
from citewell.runner import budgets
from citewell.runner.actions import (
    Action,
    AnswersRead,
    Ask,
    AskFailed,
    ClaimsJudged,
    Compare,
    Compared,
    Extract,
    JudgeClaims,
    JudgedPair,
    KeepTexts,
    Prepare,
    ReadAnswers,
    ReadDraft,
    ReadReview,
    Reviewed,
    Verify,
    stage_of,
)
from citewell.runner.playbooks.transitions import Transition
from citewell.runner.profiles import ANSWER_GRACE_SECONDS, JUDGE_SECONDS, READER_SECONDS
from citewell.runner.state import RunState
from citewell.synthesis.drafting import declines
from citewell.synthesis.judging import pairs_to_judge
from citewell.synthesis.meant import as_meant
from citewell.synthesis.prompt import faults_of, repair_request, rules, write_request
from citewell.synthesis.read_answers import MAX_READ
from citewell.synthesis.review import review_request

IN_SECTIONS = ("deep",)
UNAVAILABLE = ("unreachable", "unauthorized", "unknown_model", "rate_limited")
_LEAST_REPAIR_SECONDS = 5.0


def prepare(state: RunState, decisions: tuple[Decision, ...] = ()) -> Transition:
    """Pack the evidence; the rules a model gets beside it come out of the same budget."""
    assert state.pack is not None
    use = state.request.models
    taken = len(rules(in_sections=_in_sections(state))) if use.writes else 0
    hosted = use.writes and use.is_hosted
    request = state.request
    # What is to be compared is what is to be read.
    by_meaning = not use.writes and (request.semantic == "on" or bool(request.reader))
    packing = Prepare(state.pack, request.max_evidence_chars, taken, hosted, request.reserves, by_meaning)
    return Transition(state, (packing,), decisions)


def prepared(state: RunState, ready: PreparedSynthesis, to_compare: tuple[str, ...] = ()) -> Transition:
    """The evidence is packed: a model writes, or sentences are quoted, compared by meaning where that takes part."""
    sources = tuple(source.source_key for source in ready.sources)
    decision = EvidencePrepared(sources, len(ready.text), tuple(ready.withheld_source_keys))
    after = replace(state, prepared=ready)
    if ready.withheld_source_keys:
        after = replace(after, warnings=(*state.warnings, "secrets_withheld"))
    if _model_writes(after, ready):
        taken = _write(after, ready)
    elif to_compare and after.request.semantic == "on" and not after.is_hurried:
        taken = Transition(after, (Compare(_meant(after), to_compare),))
    else:
        taken = _read(after, to_compare) or _extract(after)
    return taken.after(decision)


def _meant(state: RunState) -> str:
    """The question, as it was read where it was misspelled."""
    assert state.plan is not None
    assert state.prepared is not None
    return as_meant(state.plan, state.prepared.read_as).text_query


def compared(state: RunState, action: Compare, seen: Compared) -> Transition:
    """The similarities are there, or are not to be had: quote."""
    if seen.problem and "semantic_lane_unavailable" not in state.warnings:
        state = replace(state, warnings=(*state.warnings, "semantic_lane_unavailable"))
    if seen.similarities:
        state = replace(state, likeness=Likeness(action.texts, seen.similarities))
    return _read(state, action.texts) or _extract(state)


def _read(state: RunState, texts: tuple[str, ...]) -> Transition | None:
    """Have the best passages read, if a reader is set and there is time."""
    reader, seconds = state.request.reader, min(READER_SECONDS, state.seconds_left - ANSWER_GRACE_SECONDS)
    if not reader or not texts or state.is_hurried or seconds <= 0:
        return None
    return Transition(state, (ReadAnswers(reader, _meant(state), texts[:MAX_READ], round(seconds, 3)),))


def answers_read(state: RunState, action: ReadAnswers, seen: AnswersRead) -> Transition:
    """The reader has answered: quote with what it says."""
    found = _extract(state, Readings(action.texts, seen.answers))
    return found.after(PassagesRead(action.reader, len(seen.answers)))


def unread(state: RunState, why: str = "it was not waited for") -> Transition:
    """A reader that cannot be used, or that nobody waits for any longer, costs its opinion and nothing else."""
    warned = replace(state, warnings=(*state.warnings, "reader_unavailable"))
    return _extract(warned).after(ReaderFailed(why))


def _model_writes(state: RunState, ready: PreparedSynthesis) -> bool:
    """No evidence, no model call; and none once the time for it is over."""
    nothing = not ready.sources or (bool(state.judgements) and state.judgements[-1].verdict == "no_evidence")
    has_time = not state.is_hurried and state.seconds_left > ANSWER_GRACE_SECONDS
    return state.request.models.writes and not nothing and has_time


def _in_sections(state: RunState) -> bool:
    return state.request.profile in IN_SECTIONS


def _extract(state: RunState, readings: Readings | None = None) -> Transition:
    assert state.prepared is not None
    assert state.plan is not None
    quoting = Extract(state.prepared, state.plan, state.likeness, _in_sections(state), readings or Readings())
    return Transition(state, (quoting,))


def _write(state: RunState, ready: PreparedSynthesis) -> Transition:
    use = state.request.models
    seconds = round(max(state.seconds_left - ANSWER_GRACE_SECONDS, 1.0), 3)
    wanted = write_request(ready, use.writer, use.max_output_tokens, seconds, in_sections=_in_sections(state))
    request = budgets.fitted(wanted, use.writer_price, state.spend, use, budgets.reserved(state))
    if request is None:
        return _at_ceiling(state)
    return Transition(replace(state, write_request=request), (Ask(request),), (_asked(request),))


def _asked(request: ChatRequest) -> ModelAsked:
    tokens = estimate_prompt(request.messages)
    return ModelAsked(request.model, request.purpose, tokens, request.max_output_tokens)


def _at_ceiling(state: RunState, of_day: str = "") -> Transition:
    """The ceiling leaves no room for the call: quote what there is, and say that it is not all."""
    warnings = ("incomplete", budgets.DAY_LIMIT) if of_day else ("incomplete",)
    ended = replace(state, finishing="cost_limit_reached", warnings=(*state.warnings, *warnings))
    return replace(_extract(ended), decisions=(budgets.ceiling_reached(state, of_day),))


def replied(state: RunState, request: ChatRequest, reply: ChatReply) -> Transition:
    """A model wrote something: read it, unless it declined."""
    assert state.prepared is not None
    if reply.finish == "refusal" or declines(reply.text):
        return _given_up(state, "model_refused", "The model declined to answer.", "Ask with another model.")
    cut = reply.finish == "length"
    after = replace(
        state, written=reply.text, warnings=(*state.warnings, "incomplete", "answer_cut_off") if cut else state.warnings
    )
    return Transition(after, (ReadDraft(reply.text, state.prepared, request.purpose == "repair", cut),))


def ask_failed(state: RunState, seen: AskFailed) -> Transition:
    """A model that gave no usable reply: the first draft where there is one, else what the failure means."""
    decision = ActionGivenUp("synthesize", seen.problem, seen.message)
    if state.first_draft is not None:
        return _with_first(state).after(decision)
    if seen.problem == "day_limit":
        return _at_ceiling(state, seen.message)
    if seen.problem == "timeout":
        late = replace(state, finishing="timeout_exceeded", warnings=(*state.warnings, "incomplete", "model_timeout"))
        return _extract(late).after(decision)
    return _given_up(state, seen.problem, seen.message, seen.fix).after(decision)


def writing_over(state: RunState) -> Transition:
    """A model that still writes or reviews is not waited for: its first draft, or quotations, take its place."""
    if state.verification is not None and state.first_draft is None:
        return unreviewed(state, "it was not waited for")
    if state.first_draft is not None:
        return _with_first(replace(state, warnings=(*state.warnings, "incomplete")))
    if state.is_hurried:
        return _extract(replace(state, warnings=(*state.warnings, "incomplete")))
    late = replace(state, finishing="timeout_exceeded", warnings=(*state.warnings, "incomplete", "model_timeout"))
    return _extract(late)


def _given_up(state: RunState, code: str, message: str, fix: str) -> Transition:
    reason: StopReason = "synthesis_unavailable" if code in UNAVAILABLE else "synthesis_failed"
    failure = Failure("synthesize", code, message, fix)
    ended = replace(state, failure=failure, stop_reason=reason)
    return Transition(ended, (), (RunStopped(reason, message),))


def drafted(state: RunState, draft: Draft) -> Transition:
    """A draft: check it, or have what is plainly wrong with it mended first."""
    decision = AnswerDrafted(len(draft.sentences), draft.refused, draft.reason, tuple(draft.problems), draft.written_by)
    after = replace(state, draft=draft)
    if draft.problems and (again := _repair(after, draft, None)) is not None:
        return again.after(decision)
    if draft.written_by == "model" and not draft.sentences:
        gone = _given_up(after, "empty_answer", "The model's reply has no answer in it.", "Ask with another model.")
        return gone.after(decision)
    return (_judge(after, draft) or _verify(after, draft)).after(decision)


def _judge(state: RunState, draft: Draft) -> Transition | None:
    """Ask the judge of what it was not asked before, if one is set and there is time."""
    assert state.prepared is not None
    judge, seconds = state.request.judge, min(JUDGE_SECONDS, state.seconds_left - ANSWER_GRACE_SECONDS)
    if not judge or state.is_hurried or "judge_unavailable" in state.warnings or seconds <= 0:
        return None
    known = {one.pair for one in state.scores}
    pairs = tuple(pair for pair in pairs_to_judge(draft, state.prepared) if pair not in known)
    return Transition(state, (JudgeClaims(judge, pairs, round(seconds, 3)),)) if pairs else None


def judged(state: RunState, asked: JudgeClaims, seen: ClaimsJudged) -> Transition:
    """The judge has answered: verify with what it says."""
    assert state.draft is not None
    scores = tuple(JudgedPair(pair, score) for pair, score in zip(asked.pairs, seen.scores, strict=False))
    after = replace(state, scores=(*state.scores, *scores))
    return _verify(after, state.draft).after(ClaimsScored(asked.judge, len(scores)))


def unjudged(state: RunState, why: str = "it was not waited for") -> Transition:
    """A judge that cannot be used, or that nobody waits for any longer, costs its opinion and nothing else."""
    assert state.draft is not None
    warned = replace(state, warnings=(*state.warnings, "judge_unavailable"))
    return _verify(warned, state.draft).after(JudgeFailed(why))


def _verify(state: RunState, draft: Draft) -> Transition:
    assert state.prepared is not None
    assert state.plan is not None
    check = Verify(
        *(state.request.question, draft, state.prepared, state.plan, state.budget.citations),
        scores=state.scores,
        verifier=state.request.report.own("verifier") if state.request.report is not None else "",
    )
    return Transition(state, (check,))


def _repair(state: RunState, draft: Draft, checked: Verification | None) -> Transition | None:
    """The one repair, if there is time and money for it."""
    use, first = state.request.models, state.write_request
    if first is None or state.spend.repairs >= state.budget.repairs or state.finish_requested:
        return None
    seconds = state.seconds_left - ANSWER_GRACE_SECONDS
    if seconds < _LEAST_REPAIR_SECONDS:
        return None
    faults = faults_of(draft, checked.sentences if checked else ())
    wanted = repair_request(first, state.written, faults, round(seconds, 3))
    request = budgets.fitted(wanted, use.writer_price, state.spend, use, budgets.reserved(state))
    if request is None:
        return None
    spend = replace(state.spend, repairs=state.spend.repairs + 1)
    kept = (draft, checked) if checked is not None else None
    after = replace(state, spend=spend, first_draft=kept)
    return Transition(after, (Ask(request),), (RepairAsked(tuple(faults)), _asked(request)))


def verified(state: RunState, verification: Verification) -> Transition:
    """The verdict is in: show it, have contradicted sentences mended once, or fall back on the better draft."""
    assert state.draft is not None
    failed = tuple(gate.name for gate in verification.gates if not gate.passed)
    decision = AnswerVerified(failed, verification.unsupported_rate, verification.contradicted_rate)
    after = replace(state, verification=verification)
    if state.first_draft is not None:
        return _better(after, verification).after(decision)
    if state.draft.written_by == "model" and (failed or verification.contradicted_rate > 0):
        again = _repair(after, state.draft, verification)
        if again is not None:
            return again.after(decision)
    return _keep(after).after(decision)


def _better(state: RunState, second: Verification) -> Transition:
    """Of the first draft and its repair, the one that holds; the repair where both do and it is no worse."""
    assert state.first_draft is not None
    _, first = state.first_draft
    if _faults(second) <= _faults(first):
        return _keep(replace(state, first_draft=None))
    return _with_first(state)


def _faults(checked: Verification) -> tuple[bool, float, float]:
    """What makes a draft worse than another, the gravest first."""
    return not checked.passed, checked.contradicted_rate, checked.unsupported_rate


def _with_first(state: RunState) -> Transition:
    """Go back to the draft before the repair."""
    assert state.first_draft is not None
    draft, verification = state.first_draft
    back = replace(state, draft=draft, verification=verification, first_draft=None)
    return _keep(back).after(RepairRejected("the first draft holds better"))


def _keep(state: RunState) -> Transition:
    """The answer stands: have it reviewed where a reviewer is chosen, then keep the texts it cites."""
    verification = state.verification
    assert verification is not None
    if not verification.passed or not verification.citations:
        return ended(state)
    return _review(state, verification) or _keep_texts(state, verification)


def _review(state: RunState, verification: Verification) -> Transition | None:
    use = state.request.models
    seconds = state.seconds_left - ANSWER_GRACE_SECONDS
    by_model = state.draft is not None and state.draft.written_by == "model"
    if (
        not use.reviewer
        or not by_model
        or state.finish_requested
        or seconds < _LEAST_REPAIR_SECONDS
        or state.prepared is None
    ):
        return None
    wanted = review_request(state.prepared, verification, use.reviewer, round(seconds, 3))
    request = budgets.fitted(wanted, use.reviewer_price, state.spend, use, budgets.reserved(state))
    return Transition(state, (Ask(request),), (_asked(request),)) if request is not None else None


def review_replied(state: RunState, reply: ChatReply) -> Transition:
    assert state.verification is not None
    return Transition(state, (ReadReview(reply.text, state.verification),))


def reviewed(state: RunState, seen: Reviewed) -> Transition:
    """Doubts and opinions go beside the answer; they change nothing in it."""
    assert state.verification is not None
    if seen.error:
        return unreviewed(state, f"its reply could not be read: {seen.error}")
    warnings = (*state.warnings, "review_doubts") if seen.doubts else state.warnings
    by = state.request.models.reviewer
    opinions = tuple(replace(one, model=by) for one in seen.opinions)
    decision = AnswerReviewed(
        tuple(f"{one.sentence}: {one.kind}" for one in seen.doubts),
        tuple(f"{one.sentence}: {one.opinion}" for one in opinions),
    )
    after = replace(state, doubts=seen.doubts, opinions=opinions, warnings=warnings)
    kept = _keep_texts(after, state.verification)
    return kept.after(decision)


def unreviewed(state: RunState, message: str) -> Transition:
    """A review that failed costs nothing but the review."""
    assert state.verification is not None
    warned = replace(state, warnings=(*state.warnings, "review_failed"))
    return _keep_texts(warned, state.verification).after(ReviewFailed(message))


def _keep_texts(state: RunState, verification: Verification) -> Transition:
    texts = dict.fromkeys((citation.source_key, citation.span.content_hash) for citation in verification.citations)
    return Transition(state, (KeepTexts(tuple(texts)),))


def ended(state: RunState) -> Transition:
    """The run is over."""
    reason = stop_reason(state)
    return Transition(replace(state, stop_reason=reason), (), (RunStopped(reason),))


def stop_reason(state: RunState) -> StopReason:
    """Why a run that came to its end came to it."""
    if state.verification is not None and not state.verification.passed:
        return "verification_failed"
    if state.finishing is not None:
        return state.finishing
    if state.draft is None or state.draft.refused:
        return "no_evidence"
    # A loop that failed did so while it gathered: what there is without it is weak evidence.
    if state.web is not None and state.web.stop in ("budget_exhausted", "error") and not state.finish_requested:
        return "weak_evidence_budget_exhausted"
    if state.request.goal == "synthesis" or (state.judgements and state.judgements[-1].verdict == "enough_evidence"):
        return "enough_evidence"
    return "weak_evidence_budget_exhausted"


def failed(state: RunState, action: Action, failure: Failure) -> Transition:
    """What a failed action of answering means."""
    decision = ActionGivenUp(failure.stage, failure.code, failure.message)
    match action:
        case Compare():
            return _extract(replace(state, warnings=(*state.warnings, "semantic_lane_unavailable"))).after(decision)
        case Verify():
            # A broken verifier must not hide the evidence: the answer is shown as unchecked, with the warning.
            unchecked = replace(state, warnings=(*state.warnings, "verifier_failed"), failure=failure)
            return replace(ended(unchecked), decisions=(decision,))
        case KeepTexts():
            return replace(ended(replace(state, warnings=(*state.warnings, "texts_not_kept"))), decisions=(decision,))
        case _:
            reason: StopReason = "synthesis_failed" if stage_of(action) in _WRITING else "no_evidence"
            over = replace(state, failure=failure, stop_reason=reason)
            return Transition(over, (), (decision, RunStopped(reason)))


_WRITING = ("prepare_synthesis", "synthesize")
