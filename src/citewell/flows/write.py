"""From evidence to an answer, the same for every run: draft → judge → repair once → verify → review → keep the texts.

A model writes only where one is chosen, there is evidence, and its cost fits. Whatever it does, the evidence stays:
time that runs out and a ceiling that is reached leave a quoted answer, marked incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from citewell.domain.answers import Draft, Likeness, PreparedSynthesis, Readings, Verification
from citewell.domain.chat import ChatRequest
from citewell.domain.decisions import (
    ActionGivenUp,
    AnswerDrafted,
    AnswerReviewed,
    AnswerVerified,
    ClaimsScored,
    EvidencePrepared,
    JudgeFailed,
    PassagesRead,
    ReaderFailed,
    RepairAsked,
    RepairRejected,
    ReviewFailed,
)
from citewell.domain.judging import ClaimPair
from citewell.domain.runs import Failure, StopReason
from citewell.flows.found import Found, ask, asked, ceiling_reached, fitted
from citewell.flows.outside import Outside
from citewell.runs.journal import ANSWER_GRACE_SECONDS, STAGE_TIMEOUT, Abandoned, Failed, Run
from citewell.synthesis.drafting import declines, read_answer
from citewell.synthesis.extract import extract
from citewell.synthesis.judging import pairs_to_judge
from citewell.synthesis.likeness import texts_to_compare
from citewell.synthesis.meant import as_meant
from citewell.synthesis.packing import prepare_synthesis
from citewell.synthesis.prompt import faults_of, repair_request, rules, write_request
from citewell.synthesis.read_answers import MAX_READ
from citewell.synthesis.review import read_review, review_request
from citewell.synthesis.sections import in_sections
from citewell.synthesis.verify import verify

IN_SECTIONS = ("deep",)
UNAVAILABLE = ("unreachable", "unauthorized", "unknown_model", "rate_limited")
# Seconds a judge may take over the sentences of a draft, loading it included; then verification goes by rules.
JUDGE_SECONDS = 12.0
# The same for a reader over the passages of a question; then they are chosen without it.
READER_SECONDS = 6.0
_LEAST_REPAIR_SECONDS = 5.0
# The problem of a call that the ceiling for all runs of a day has no room for.
DAY_LIMIT = "day_limit"


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of run writes: what a model is asked, how its reply is read, what is quoted where none writes."""

    request: Callable[[PreparedSynthesis, float], ChatRequest]
    read: Callable[[str, PreparedSynthesis, bool, bool], Draft]
    quote: Callable[[PreparedSynthesis, Likeness, Readings], Coroutine[Any, Any, Draft]]
    # The user's own verifier, where one is chosen.
    verifier: str = ""


def answer_form(run: Run, found: Found, refusal: Callable[[Draft], Draft] = lambda draft: draft) -> Form:
    """An answer to a question; a refusal may have words of its own."""
    use, sections = run.request.models, run.request.profile in IN_SECTIONS

    def request(prepared: PreparedSynthesis, seconds: float) -> ChatRequest:
        return write_request(prepared, use.writer, use.max_output_tokens, seconds, in_sections=sections)

    def read(reply: str, prepared: PreparedSynthesis, is_repair: bool, is_cut: bool) -> Draft:
        draft = read_answer(reply, prepared, is_repair=is_repair, is_cut=is_cut)
        return refusal(draft) if draft.refused else draft

    async def quote(prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
        assert found.plan is not None
        draft = extract(prepared, found.plan, likeness, readings)
        draft = in_sections(draft, prepared) if sections else draft
        return refusal(draft) if draft.refused else draft

    return Form(request, read, quote)


async def answer(run: Run, found: Found, form: Form | None = None) -> NoReturn:
    """Answer from the pack, and end the run."""
    assert found.pack is not None
    form = form or answer_form(run, found)
    use, request = run.request.models, run.request
    run.enter("prepare_synthesis")
    # The rules a model gets beside the evidence come out of the same budget.
    taken = len(rules(in_sections=request.profile in IN_SECTIONS)) if use.writes else 0
    prepared = prepare_synthesis(
        *(found.pack, request.max_evidence_chars, taken, request.reserves),
        withhold_secrets=use.writes and use.is_hosted,
    )
    show_prepared(run, found, prepared)
    if model_writes(run, found, prepared):
        stands = await write(run, found, form)
    else:
        # What is to be compared is what is to be read.
        by_meaning = not use.writes and (request.semantic == "on" or bool(request.reader))
        texts = texts_to_compare(prepared, found.pack.query_plan) if by_meaning else ()
        stands = await check(run, found, form, await quoted(run, found, form, texts))
    if stands:
        await keep_texts(run, found)
    run.end(stop_reason(run, found))


def show_prepared(run: Run, found: Found, prepared: PreparedSynthesis) -> None:
    """The evidence is packed: what an answer may be made from."""
    found.prepared = prepared
    sources = tuple(source.source_key for source in prepared.sources)
    run.decide(EvidencePrepared(sources, len(prepared.text), tuple(prepared.withheld_source_keys)))
    if prepared.withheld_source_keys:
        run.warn("secrets_withheld")


def model_writes(run: Run, found: Found, prepared: PreparedSynthesis) -> bool:
    """No evidence, no model call; and none once the time for it is over."""
    nothing = not prepared.sources or (bool(found.judgements) and found.judgements[-1].verdict == "no_evidence")
    has_time = not run.is_hurried and run.seconds_left > ANSWER_GRACE_SECONDS
    return run.request.models.writes and not nothing and has_time


# Quoting


async def quoted(run: Run, found: Found, form: Form, texts: tuple[str, ...] = ()) -> Draft:
    """An answer by quotation: passages are compared by meaning and read by a reader where these take part."""
    assert found.prepared is not None
    likeness, readings = Likeness(), Readings()
    if texts and run.request.semantic == "on" and not run.is_hurried:
        likeness = await _compared(run, _meant(found), texts)
    seconds = min(READER_SECONDS, run.seconds_left - ANSWER_GRACE_SECONDS)
    if texts and run.request.reader and not run.is_hurried and seconds > 0:
        readings = await _readings(run, _meant(found), texts[:MAX_READ], round(seconds, 3))
    run.enter("synthesize")
    return await form.quote(found.prepared, likeness, readings)


def _meant(found: Found) -> str:
    """The question, as it was read where it was misspelled."""
    assert found.plan is not None
    assert found.prepared is not None
    return as_meant(found.plan, found.prepared.read_as).text_query


async def _compared(run: Run, question: str, texts: tuple[str, ...]) -> Likeness:
    try:
        seen = await run.io(Outside.compare, question, texts)
    except Failed as failed:
        run.decide(ActionGivenUp("prepare_synthesis", failed.code, failed.message))
        run.warn("semantic_lane_unavailable")
        return Likeness()
    if seen.problem:
        run.warn("semantic_lane_unavailable")
    return Likeness(texts, seen.similarities) if seen.similarities else Likeness()


async def _readings(run: Run, question: str, texts: tuple[str, ...], seconds: float) -> Readings:
    """What the reader says; one that cannot be used, or is not waited for, costs its opinion and nothing else."""
    reader = run.request.reader
    try:
        answers = await run.io(Outside.read_answers, reader, question, texts, seconds)
    except (Failed, Abandoned) as error:
        run.decide(ReaderFailed(_why(error)))
        run.warn("reader_unavailable")
        return Readings()
    run.decide(PassagesRead(reader, len(answers)))
    return Readings(texts, answers)


def _why(error: Failed | Abandoned) -> str:
    return error.message if isinstance(error, Failed) else "it was not waited for"


# Writing


async def write(run: Run, found: Found, form: Form) -> bool:
    """A model writes, once more where its draft does not hold; whether what stands may be shown and cites anything."""
    assert found.prepared is not None
    seconds = round(max(run.seconds_left - ANSWER_GRACE_SECONDS, 1.0), 3)
    request = fitted(run, found, form.request(found.prepared, seconds))
    if request is None:
        at_ceiling(run, found)
        return await check(run, found, form, await quoted(run, found, form))
    run.decide(asked(request))
    written = await _written(run, found, form, request, None)
    if written is None:
        return await check(run, found, form, await quoted(run, found, form))
    text, draft = written
    checked: Verification | None = None
    if not draft.problems:
        await check(run, found, form, draft)
        checked = found.verification
    if draft.problems or (checked is not None and (_failed_gates(checked) or checked.contradicted_rate > 0)):
        return await _repaired(run, found, form, request, text, draft, checked)
    return _stands(found)


async def _written(
    run: Run, found: Found, form: Form, request: ChatRequest, first: tuple[Draft, Verification] | None
) -> tuple[str, Draft] | None:
    """What a model wrote, read; None where it is not waited for, and the first draft or quotations take its place."""
    assert found.prepared is not None
    try:
        reply = await ask(run, found, request)
    except Abandoned:
        _not_waited_for(run, first)
        return None
    except Failed as failed:
        if failed.code == DAY_LIMIT and first is None:
            at_ceiling(run, found, failed.message)
            return None
        run.decide(ActionGivenUp("synthesize", failed.code, failed.message))
        if failed.code == STAGE_TIMEOUT:
            _not_waited_for(run, first)
        elif first is None and failed.code != "timeout":
            _give_up(run, failed.code, failed.message, failed.fix)
        elif first is None:
            run.finishing = "timeout_exceeded"
            run.warn("incomplete", "model_timeout")
        return None
    if reply.finish == "refusal" or declines(reply.text):
        if first is not None:
            return None
        _give_up(run, "model_refused", "The model declined to answer.", "Ask with another model.")
    is_cut = reply.finish == "length"
    if is_cut:
        run.warn("incomplete", "answer_cut_off")
    run.enter("synthesize")
    draft = form.read(reply.text, found.prepared, request.purpose == "repair", is_cut)
    show_draft(run, found, draft)
    if not draft.problems and not draft.sentences and first is None:
        _give_up(run, "empty_answer", "The model's reply has no answer in it.", "Ask with another model.")
    return reply.text, draft


def at_ceiling(run: Run, found: Found, of_day: str = "") -> None:
    """A ceiling leaves no room for the call: what there is is quoted, and said to be not all."""
    run.decide(ceiling_reached(run, found, of_day))
    run.finishing = "cost_limit_reached"
    run.warn("incomplete", *(("day_limit_reached",) if of_day else ()))


def show_draft(run: Run, found: Found, draft: Draft) -> None:
    found.draft = draft
    run.decide(
        AnswerDrafted(len(draft.sentences), draft.refused, draft.reason, tuple(draft.problems), draft.written_by)
    )


def _not_waited_for(run: Run, first: tuple[Draft, Verification] | None) -> None:
    run.warn("incomplete")
    if first is None and not run.is_hurried:
        run.finishing = "timeout_exceeded"
        run.warn("model_timeout")


def _give_up(run: Run, code: str, message: str, fix: str) -> None:
    reason: StopReason = "synthesis_unavailable" if code in UNAVAILABLE else "synthesis_failed"
    run.end(reason, Failure("synthesize", code, message, fix))


async def _repaired(
    run: Run,
    found: Found,
    form: Form,
    first: ChatRequest,
    written: str,
    draft: Draft,
    checked: Verification | None,
) -> bool:
    """The one repair, if there is time and money for it; of both drafts, the one that holds better."""
    faults = faults_of(draft, checked.sentences if checked else ())
    seconds = run.seconds_left - ANSWER_GRACE_SECONDS
    may = run.budget.repairs > 0 and not run.is_cut_short and seconds >= _LEAST_REPAIR_SECONDS
    request = fitted(run, found, repair_request(first, written, faults, round(seconds, 3))) if may else None
    if request is None:
        return _stands(found) if checked is not None else await _unrepaired(run, found, form, draft)
    found.spend = replace(found.spend, repairs=found.spend.repairs + 1)
    run.decide(RepairAsked(tuple(faults)), asked(request))
    kept = (draft, checked) if checked is not None else None
    again = await _written(run, found, form, request, kept)
    if again is None and kept is None:
        return await check(run, found, form, await quoted(run, found, form))
    if again is not None:
        second = again[1]
        if not second.sentences and kept is None:
            _give_up(run, "empty_answer", "The model's reply has no answer in it.", "Ask with another model.")
        if second.sentences or kept is None:
            await check(run, found, form, second)
            assert found.verification is not None or "verifier_failed" in run.warnings
            if kept is None or found.verification is None or _faults(found.verification) <= _faults(kept[1]):
                return _stands(found)
    assert kept is not None
    found.draft, found.verification = kept
    run.decide(RepairRejected("the first draft holds better"))
    return _stands(found)


async def _unrepaired(run: Run, found: Found, form: Form, draft: Draft) -> bool:
    """A draft with problems that nobody mends: it is checked as it is."""
    if draft.written_by == "model" and not draft.sentences:
        _give_up(run, "empty_answer", "The model's reply has no answer in it.", "Ask with another model.")
    return await check(run, found, form, draft)


def _faults(checked: Verification) -> tuple[bool, float, float]:
    """What makes a draft worse than another, the gravest first."""
    return not checked.passed, checked.contradicted_rate, checked.unsupported_rate


def _failed_gates(checked: Verification) -> tuple[str, ...]:
    return tuple(gate.name for gate in checked.gates if not gate.passed)


def _stands(found: Found) -> bool:
    return found.verification is not None and found.verification.passed and bool(found.verification.citations)


# Checking


async def check(run: Run, found: Found, form: Form, draft: Draft) -> bool:
    """Have a draft judged where a judge is set, and verify it; whether it stands and cites anything."""
    assert found.prepared is not None
    assert found.plan is not None
    if found.draft is not draft:
        show_draft(run, found, draft)
    scores = await _scores(run, found, draft)
    run.enter("verify")
    question, most = run.request.question, run.budget.citations
    try:
        if form.verifier:
            checked = await run.io(Outside.verify, form.verifier, question, draft, found.prepared, found.plan, most)
        else:
            checked = verify(question, draft, found.prepared, found.plan, most, scores=scores)
    except Exception as error:  # noqa: BLE001  a broken verifier must not hide the evidence: it is shown as unchecked
        code = error.code if isinstance(error, Failed) else type(error).__name__
        run.failure = Failure("verify", code, str(error)[:500])
        run.decide(ActionGivenUp("verify", code, str(error)[:500]))
        run.warn("verifier_failed")
        found.verification = None
        return False
    found.verification = checked
    run.decide(AnswerVerified(_failed_gates(checked), checked.unsupported_rate, checked.contradicted_rate))
    return _stands(found)


async def _scores(run: Run, found: Found, draft: Draft) -> dict[ClaimPair, Any]:
    """What the judge says of pairs it was not asked about before; nothing where none is set, or it is not to be had."""
    assert found.prepared is not None
    judge, seconds = run.request.judge, min(JUDGE_SECONDS, run.seconds_left - ANSWER_GRACE_SECONDS)
    if not judge or run.is_hurried or "judge_unavailable" in run.warnings or seconds <= 0:
        return dict(found.scores)
    pairs = tuple(pair for pair in pairs_to_judge(draft, found.prepared) if pair not in found.scores)
    if not pairs:
        return dict(found.scores)
    try:
        said = await run.io(Outside.judge_claims, judge, pairs, round(seconds, 3))
    except (Failed, Abandoned) as error:
        run.decide(JudgeFailed(_why(error)))
        run.warn("judge_unavailable")
        return dict(found.scores)
    scored = dict(zip(pairs, said, strict=False))
    found.scores |= scored
    run.decide(ClaimsScored(judge, len(scored)))
    return dict(found.scores)


async def keep_texts(run: Run, found: Found) -> None:
    """The answer stands: have it reviewed where a reviewer is chosen, then keep the texts it cites."""
    assert found.verification is not None
    await _review(run, found, found.verification)
    citations = found.verification.citations
    texts = tuple(dict.fromkeys((one.source_key, one.span.content_hash) for one in citations))
    try:
        missing = await run.io(Outside.keep_texts, texts)
    except Failed as failed:
        run.decide(ActionGivenUp("persist_trace", failed.code, failed.message))
        run.warn("texts_not_kept")
        return
    if missing:
        run.warn("source_removed_during_run")


async def _review(run: Run, found: Found, checked: Verification) -> None:
    """Doubts and opinions go beside the answer; they change nothing in it. A review that fails costs only itself."""
    use, seconds = run.request.models, run.seconds_left - ANSWER_GRACE_SECONDS
    by_model = found.draft is not None and found.draft.written_by == "model"
    if not use.reviewer or not by_model or run.is_cut_short or seconds < _LEAST_REPAIR_SECONDS or not found.prepared:
        return
    request = fitted(run, found, review_request(found.prepared, checked, use.reviewer, round(seconds, 3)))
    if request is None:
        return
    run.decide(asked(request))
    try:
        reply = await ask(run, found, request)
    except (Failed, Abandoned) as error:
        run.decide(ReviewFailed(_why(error)))
        run.warn("review_failed")
        return
    doubts, problem, opinions = read_review(reply.text, checked)
    if problem:
        run.decide(ReviewFailed(f"its reply could not be read: {problem}"))
        run.warn("review_failed")
        return
    found.doubts = doubts
    found.opinions = tuple(replace(one, model=use.reviewer) for one in opinions)
    run.decide(
        AnswerReviewed(
            tuple(f"{one.sentence}: {one.kind}" for one in doubts),
            tuple(f"{one.sentence}: {one.opinion}" for one in found.opinions),
        )
    )
    if doubts:
        run.warn("review_doubts")


def stop_reason(run: Run, found: Found) -> StopReason:
    """Why a run that came to its end came to it."""
    if found.verification is not None and not found.verification.passed:
        return "verification_failed"
    if run.finishing is not None:
        return run.finishing
    if found.draft is None or found.draft.refused:
        return "no_evidence"
    # A loop that failed did so while it gathered: what there is without it is weak evidence.
    web_stop = found.web().stop if found.web is not None else None
    if web_stop in ("budget_exhausted", "error") and not run.is_cut_short:
        return "weak_evidence_budget_exhausted"
    if run.request.goal == "synthesis" or (found.judgements and found.judgements[-1].verdict == "enough_evidence"):
        return "enough_evidence"
    return "weak_evidence_budget_exhausted"
