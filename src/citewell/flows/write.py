"""From evidence to an answer, the same for every run: draft → judge → verify → repair once → keep the texts.

A model writes only where one is chosen, there is evidence, and its cost fits. Whatever it does, the evidence stays:
time that runs out and a ceiling that is reached leave a quoted answer, marked incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from citewell.answer.confidence import texts_to_read, windows_to_compare
from citewell.answer.disagreement import in_sections
from citewell.answer.draft import declines, read_answer
from citewell.answer.evidence import Likeness, PreparedSource, PreparedSynthesis, Readings, as_meant, prepare_synthesis
from citewell.answer.prompt import faults_of, repair_request, rules, write_request
from citewell.answer.quote import extract
from citewell.check.judge import judge_request, judged_by_scores, pairs_of, read_verdicts, sentences_to_judge
from citewell.check.verdict import Citation, Draft, Verification
from citewell.check.verify import verify
from citewell.flows.outside import Outside
from citewell.flows.state import (
    Findings,
    ask,
    fitted,
    likeness_of,
    note_asked,
    note_ceiling,
    or_none,
    read_widely,
    retrieve,
    some,
    why_not,
)
from citewell.models.messages import ChatRequest
from citewell.reports.brief import SubQuestion
from citewell.reports.quotes import QuotedQuery
from citewell.runs.journal import ANSWER_GRACE_SECONDS, STAGE_TIMEOUT, Abandoned, Failed, Run
from citewell.runs.run import Failure, RunRequest, StopReason
from citewell.search.conversation import ChatPrompt
from citewell.search.pack import ResearchPack
from citewell.search.plan import plan_question
from citewell.search.query import QueryPlan
from citewell.search.rows import EvidenceRow

IN_SECTIONS = ("deep",)
UNAVAILABLE = ("unreachable", "unauthorized", "unknown_model", "rate_limited")
# Seconds a small model of this machine may take over the sentences of a draft, loading it included.
JUDGE_SECONDS = 12.0
# The same for a reader over the passages of a question; then they are chosen without it.
READER_SECONDS = 6.0
_LEAST_REPAIR_SECONDS = 5.0
_EMPTY = ("empty_answer", "The model's reply has no answer in it.", "Ask with another model.")
# The problem of a call that the ceiling for all runs of a day has no room for.
DAY_LIMIT = "day_limit"


@dataclass(frozen=True, slots=True)
class WritingForm:
    """How one kind of run writes: what a model is asked, how its reply is read, what is quoted where none writes."""

    request: Callable[[PreparedSynthesis, float], ChatRequest]
    read: Callable[[str, PreparedSynthesis, bool, bool], Draft]
    quote: Callable[[PreparedSynthesis, Likeness, Readings], Coroutine[Any, Any, Draft]]
    # The user's own synthesizer and verifier, where they are chosen.
    synthesizer: str = ""
    verifier: str = ""


def answer_form(run: Run, found: Findings, refusal: Callable[[Draft], Draft] = lambda draft: draft) -> WritingForm:
    """An answer to a question; a refusal may have words of its own."""
    request, sections = run.request, run.request.profile in IN_SECTIONS
    use, own = request.models, request.components.get("synthesizer", "")

    def wanted(prepared: PreparedSynthesis, seconds: float) -> ChatRequest:
        return write_request(prepared, use.writer, use.max_output_tokens, seconds, in_sections=sections)

    def read(reply: str, prepared: PreparedSynthesis, is_repair: bool, is_cut: bool) -> Draft:
        draft = read_answer(reply, prepared, is_repair=is_repair, is_cut=is_cut)
        return refusal(draft) if draft.refused else draft

    async def quote(prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
        assert found.plan is not None
        plan = found.plan
        if own:
            return await drafted_by(run, own, (QuotedQuery(SubQuestion(0, request.question), plan, prepared),))
        draft = extract(found.read(prepared, plan), likeness, readings)
        draft = in_sections(draft, prepared) if sections else draft
        return refusal(draft) if draft.refused else draft

    return WritingForm(wanted, read, quote, own, request.components.get("verifier", ""))


async def drafted_by(run: Run, synthesizer: str, queries: tuple[QuotedQuery, ...]) -> Draft:
    """What the user's own synthesizer writes; one that fails ends the run."""
    try:
        return await run.io(Outside.draft_report, synthesizer, queries)
    except Failed as failed:
        run.gave_up("synthesize", failed)
        run.end("synthesis_failed", Failure("synthesize", failed.code, failed.message, failed.fix))


async def answer(run: Run, found: Findings, form: WritingForm | None = None) -> NoReturn:
    """Answer from the pack, and end the run."""
    assert found.pack is not None
    form, request, use = form or answer_form(run, found), run.request, run.request.models
    # The rules a model gets beside the evidence come out of the same budget.
    taken = len(rules(in_sections=request.profile in IN_SECTIONS)) if use.writes else 0
    prepared = packed(run, found.pack, request.max_evidence_chars, taken)
    evidence = found.read(prepared, found.pack.query_plan)
    likeness = await likeness_of(run, found, evidence)
    run.enter("prepare_synthesis")
    writing = Writing(run, found, form, prepared, found.plan or found.pack.query_plan, likeness)
    writing.may_read = not use.writes and bool(windows_to_compare(evidence))
    await writing.stands()
    run.end(stop_reason(run, found))


def packed(run: Run, pack: ResearchPack, chars: int, taken: int = 0) -> PreparedSynthesis:
    """Evidence as it is written from; a hosted model is shown no secrets."""
    use = run.request.models
    return prepare_synthesis(pack, chars, taken, run.request.reserves, withhold_secrets=use.writes and use.is_hosted)


def packed_each(run: Run, packs: Sequence[ResearchPack], least: int, *, is_shared: bool) -> list[PreparedSynthesis]:
    """The same of several parts, which share the budget where all go to a model at once."""
    most = run.request.max_evidence_chars
    chars = max(least, most // len(packs)) if is_shared and packs else most
    return [packed(run, pack, chars) for pack in packs]


def may_be_asked(run: Run) -> bool:
    """Whether there is time for a model to write."""
    return not run.is_hurried and "writing" not in run.over and run.seconds_left > ANSWER_GRACE_SECONDS


def seconds_to_write(run: Run, most: float = 600.0) -> float:
    """How long a model may take, so that what it leaves out can still be quoted."""
    return round(max(min(most, run.seconds_left - ANSWER_GRACE_SECONDS), 1.0), 3)


class Writing:
    """Evidence that is packed, and what is made of it."""

    def __init__(
        self,
        run: Run,
        found: Findings,
        form: WritingForm,
        prepared: PreparedSynthesis,
        plan: QueryPlan,
        likeness: Likeness | None = None,
    ) -> None:
        self.run, self.found, self.form = run, found, form
        self.prepared, self.plan, self.likeness = prepared, plan, likeness or Likeness()
        # Whether a reader may be asked about the passages of an answer by quotation.
        self.may_read = False
        found.prepared = prepared
        sources, withheld = [source.source_key for source in prepared.sources], prepared.withheld_source_keys
        chars = len(prepared.text) or sum(len(source.text) for source in prepared.sources)
        text = f"{some(len(sources), 'source')}, {chars} characters, go to the answer"
        text += f"; withheld: {', '.join(withheld)}" if withheld else ""
        run.note("prepared", text, sources=sources, chars=chars, withheld=withheld)
        if withheld:
            run.warn("secrets_withheld")

    async def stands(self) -> bool:
        """Write or quote, check, and keep what is cited; whether it may be shown and cites anything."""
        run, found = self.run, self.found
        # No evidence, no model call; and none once the time for it is over.
        nothing = not self.prepared.sources or (found.judgements and found.judgements[-1].verdict == "no_evidence")
        if run.request.models.writes and not self.form.synthesizer and not nothing and may_be_asked(run):
            await self._write()
        else:
            await self._check(await self._quoted())
        checked = found.verification
        if checked is None or not checked.passed or not checked.citations:
            return False
        await keep_texts(run, checked.citations)
        return True

    # Quoting

    async def _quoted(self) -> Draft:
        """An answer by quotation: its passages are read by a reader where one takes part."""
        run, readings = self.run, Readings()
        meant = as_meant(self.plan, self.prepared.read_as).text_query
        seconds = min(READER_SECONDS, run.seconds_left - ANSWER_GRACE_SECONDS)
        if self.may_read and run.request.reader and not run.is_hurried and seconds > 0:
            read = texts_to_read(self.found.read(self.prepared, self.plan), self.likeness)
            readings = await self._readings(meant, read, round(seconds, 3))
        run.enter("synthesize")
        return await self.form.quote(self.prepared, self.likeness, readings)

    async def _readings(self, question: str, texts: tuple[str, ...], seconds: float) -> Readings:
        """What the reader says; one that cannot be used, or is not waited for, costs its opinion and nothing else."""
        run, reader = self.run, self.run.request.reader
        try:
            found = await run.io(Outside.read_answers, reader, question, texts, seconds)
        except (Failed, Abandoned) as error:
            run.note("reader_failed", f"passages are chosen without the reader: {why_not(error)}", why=why_not(error))
            run.warn("reader_unavailable")
            return Readings()
        count = len(found)
        run.note("passages_read", f"{reader} read {some(count, 'passage')}", reader=reader, passages=count)
        return Readings(texts, found)

    # Writing

    async def _write(self) -> None:
        """A model writes, once more where its draft does not hold."""
        run, found = self.run, self.found
        seconds = round(max(run.seconds_left - ANSWER_GRACE_SECONDS, 1.0), 3)
        request = fitted(run, found, self.form.request(self.prepared, seconds))
        if request is None:
            at_ceiling(run, found)
            await self._check(await self._quoted())
            return
        note_asked(run, request)
        written = await self._drafted(request, is_first=True)
        if written is None:
            await self._check(await self._quoted())
            return
        text, draft = written
        prepared, pack = self.prepared, found.pack
        more = await self._look_again(draft)
        if more is not None:
            first = await self._check(draft)
            again = await self._written_from(more)
            better = await self._check(again) if again is not None else None
            if better is None or (first is not None and badness(better) > badness(first)):
                self.prepared = found.prepared = prepared
                found.pack = pack
                found.draft, found.verification = draft, first
            return
        if draft.problems:
            await self._repair(request, text, draft, None)
            return
        checked = await self._check(draft)
        if checked is not None and (_failed_gates(checked) or faults_of(draft, checked.sentences)):
            await self._repair(request, text, draft, checked)

    async def _look_again(self, draft: Draft) -> PreparedSynthesis | None:
        """Where a draft says that something is missing: the evidence with more of the documents it cites, if any."""
        run, found, request = self.run, self.found, self.run.request
        missed = [one.text for one in draft.sentences if one.kind == "gap"]
        cited = tuple(dict.fromkeys(quote.source_key for one in draft.sentences for quote in one.quotes))
        may = run.budget.repairs > 0 and not run.is_cut_short and found.record is None and not request.components
        if not (missed and cited and may) or found.pack is None or request.goal == "synthesis":
            return None
        question = f"{request.question} {' '.join(missed)}"[:1_000]
        limits = replace(request.limits, limit=max(len(cited), 1), include_related=False)
        plan = plan_question(ChatPrompt(question, pinned=cited), request.filters, limits, include_topic_brief=False)
        looked = retrieve(run, found, question, plan, attempt=2)
        pack = await or_none(run, looked, "synthesize", "retry_failed")
        if pack is None:
            return None
        pack = replace(pack, evidence=tuple(row for row in pack.evidence if row.source_key in cited))
        wide = await read_widely(run, pack, request.max_evidence_chars // 2)
        fresh = [row for row in wide.evidence if not any(_overlap(row, one) for one in self.prepared.sources)]
        text = f"looked again in what is cited: {some(len(fresh), 'passage')} more"
        run.note("looked_again", text, keys=[row.source_key for row in fresh])
        if not fresh:
            return None
        own = [row for row in found.pack.evidence if row.source_key in cited]
        others = [row for row in found.pack.evidence if row.source_key not in cited]
        found.pack = replace(found.pack, evidence=(*own, *fresh, *others))
        taken = len(rules(in_sections=request.profile in IN_SECTIONS))
        return packed(run, found.pack, request.max_evidence_chars, taken)

    async def _written_from(self, prepared: PreparedSynthesis) -> Draft | None:
        """The answer, written again from more evidence; this takes the place of a repair."""
        run, found = self.run, self.found
        seconds = round(max(run.seconds_left - ANSWER_GRACE_SECONDS, 1.0), 3)
        request = fitted(run, found, self.form.request(prepared, seconds))
        if request is None:
            return None
        found.spend = replace(found.spend, repairs=found.spend.repairs + 1)
        self.prepared = found.prepared = prepared
        note_asked(run, request)
        again = await self._drafted(replace(request, purpose="repair"), is_first=False)
        if again is not None and again[1].sentences and not again[1].refused:
            return again[1]
        return None

    async def _drafted(self, request: ChatRequest, *, is_first: bool) -> tuple[str, Draft] | None:
        """What a model wrote, read; None where it is not waited for: the first draft or quotations take its place."""
        run, found = self.run, self.found
        try:
            reply = await ask(run, found, request)
        except Abandoned:
            self._not_waited_for(is_first=is_first)
            return None
        except Failed as failed:
            if failed.code == DAY_LIMIT and is_first:
                at_ceiling(run, found, failed.message)
                return None
            run.gave_up("synthesize", failed)
            if failed.code == STAGE_TIMEOUT:
                self._not_waited_for(is_first=is_first)
            elif is_first and failed.code != "timeout":
                await self._give_up(failed.code, failed.message, failed.fix)
            elif is_first:
                run.finishing = "timeout_exceeded"
                run.warn("incomplete", "model_timeout")
            return None
        if reply.finish == "refusal" or declines(reply.text):
            if not is_first:
                return None
            await self._give_up("model_refused", "The model declined to answer.", "Ask with another model.")
        is_cut = reply.finish == "length"
        if is_cut:
            run.warn("incomplete", "answer_cut_off")
        run.enter("synthesize")
        draft = self.form.read(reply.text, self.prepared, request.purpose == "repair", is_cut)
        self._show(draft)
        if not draft.problems and not draft.sentences and is_first:
            await self._give_up(*_EMPTY)
        return reply.text, draft

    async def _repair(self, first: ChatRequest, written: str, draft: Draft, checked: Verification | None) -> None:
        """The one repair, if there is time and money for it; of both drafts, the one that holds better."""
        run, found = self.run, self.found
        faults = faults_of(draft, checked.sentences if checked else ())
        seconds = run.seconds_left - ANSWER_GRACE_SECONDS
        may = run.budget.repairs > 0 and not run.is_cut_short and seconds >= _LEAST_REPAIR_SECONDS
        request = fitted(run, found, repair_request(first, written, faults, round(seconds, 3))) if may else None
        if request is None:
            if checked is None:
                if draft.written_by == "model" and not draft.sentences:
                    await self._give_up(*_EMPTY)
                await self._check(draft)
            return
        found.spend = replace(found.spend, repairs=found.spend.repairs + 1)
        run.note("repair_asked", f"asked for a repair: {'; '.join(faults)}", faults=faults)
        note_asked(run, request)
        again = await self._drafted(request, is_first=checked is None)
        if again is None and checked is None:
            await self._check(await self._quoted())
            return
        if again is not None:
            second = again[1]
            if not second.sentences and checked is None:
                await self._give_up(*_EMPTY)
            if second.sentences:
                better = await self._check(second)
                if checked is None or better is None or badness(better) <= badness(checked):
                    return
        found.draft, found.verification = draft, checked
        why = "the first draft holds better"
        run.note("repair_rejected", f"kept the first draft: {why}", why=why)

    def _show(self, draft: Draft) -> None:
        self.found.draft = draft
        count, why = len(draft.sentences), f" ({draft.reason})" if draft.reason else ""
        self.run.note(
            "drafted",
            f"declined to answer{why}" if draft.refused else f"drafted {some(count, 'sentence')}{why}",
            sentences=count,
            refused=draft.refused,
            reason=draft.reason,
            problems=draft.problems,
            written_by=draft.written_by,
        )

    def _not_waited_for(self, *, is_first: bool) -> None:
        self.run.warn("incomplete")
        if is_first and not self.run.is_hurried:
            self.run.finishing = "timeout_exceeded"
            self.run.warn("model_timeout")

    async def _give_up(self, code: str, message: str, fix: str) -> NoReturn:
        """No model answers: what it was to answer from is quoted, and the run says what failed."""
        reason: StopReason = "synthesis_unavailable" if code in UNAVAILABLE else "synthesis_failed"
        if reason == "synthesis_unavailable" and self.found.record is None and not self.run.is_hurried:
            checked = await self._check(await self._quoted())
            if checked is not None:
                await keep_texts(self.run, checked.citations)
        self.run.end(reason, Failure("synthesize", code, message, fix))

    # Checking

    async def _check(self, draft: Draft) -> Verification | None:
        """Have a draft judged where a judge is set, and verify it; None where the verifier broke."""
        run, found, prepared = self.run, self.found, self.prepared
        if found.draft is not draft:
            self._show(draft)
        await judge_draft(run, found, draft, prepared)
        run.enter("verify")
        asked = (run.request.question, draft, prepared, self.plan, run.budget.citations)
        try:
            if self.form.verifier:
                checked = await run.io(Outside.verify, self.form.verifier, *asked)
            else:
                checked = verify(*asked, judgements=found.verdicts)
        except Exception as error:  # noqa: BLE001  a broken verifier must not hide the evidence: it is shown as unchecked
            failed = Failed(error.code if isinstance(error, Failed) else type(error).__name__, str(error)[:500])
            run.failure = Failure("verify", failed.code, failed.message)
            run.gave_up("verify", failed, "verifier_failed")
            found.verification = None
            return None
        found.verification = checked
        failed_gates = _failed_gates(checked)
        run.note(
            "verified",
            f"verification failed: {', '.join(failed_gates)}" if failed_gates else "every gate passed",
            failed_gates=failed_gates,
            unsupported_rate=checked.unsupported_rate,
            contradicted_rate=checked.contradicted_rate,
        )
        return checked


async def judge_draft(run: Run, found: Findings, draft: Draft, prepared: PreparedSynthesis) -> None:
    """Have those sentences judged that no judge has seen and whose wording decides nothing.

    Without a judge, or where it fails, they stay unchecked: that carries no mark of approval or doubt.
    """
    use, small = run.request.models, run.request.judge
    asked = tuple(one for one in sentences_to_judge(draft, prepared) if one.key not in found.verdicts)
    seconds = round(run.seconds_left - ANSWER_GRACE_SECONDS, 3)
    if not (small or use.judge) or not asked or run.is_hurried or found.judge_failed:
        return
    if seconds <= 0:
        run.warn("judge_unavailable")
        return
    problem = ""
    try:
        if small:
            pairs = pairs_of(asked)
            said = await run.io(Outside.judge_claims, small, pairs, min(JUDGE_SECONDS, seconds))
            found.verdicts |= judged_by_scores(asked, dict(zip(pairs, said, strict=True)), small)
        elif request := fitted(run, found, judge_request(asked_with(run.request), asked, use.judge, seconds)):
            note_asked(run, request)
            reply = await ask(run, found, request)
            verdicts, problem = read_verdicts(reply.text, asked, prepared, draft, use.judge)
            found.verdicts |= verdicts
        else:
            problem = "the ceiling for cost or tokens leaves no room for it"
    except (Failed, Abandoned) as error:
        problem, found.judge_failed = why_not(error), True
    count = sum(one.key in found.verdicts for one in asked)
    if problem:
        run.note("judge_failed", f"not every sentence could be judged: {problem}", why=problem)
        run.warn("judge_unavailable")
    if count:
        run.note("claims_judged", f"{small or use.judge} judged {some(count, 'sentence')}", judge=small or use.judge)


def _overlap(row: EvidenceRow, source: PreparedSource) -> bool:
    """Whether a row shows a part of what a source shows already."""
    same = (row.source_key, row.span.content_hash) == (source.source_key, source.span.content_hash)
    return same and row.span.start < source.span.end and source.span.start < row.span.end


def asked_with(request: RunRequest) -> str:
    """The question with the ones before it, which it may lean on."""
    earlier = "; ".join(one.question for one in request.conversation.history[-3:])
    return f"{request.question} (asked before: {earlier})" if earlier else request.question


def at_ceiling(run: Run, found: Findings, of_day: str = "") -> None:
    """A ceiling leaves no room for the call: what there is is quoted, and said to be not all."""
    note_ceiling(run, found, of_day)
    run.finishing = "cost_limit_reached"
    run.warn("incomplete", *(("day_limit_reached",) if of_day else ()))


async def keep_texts(run: Run, citations: tuple[Citation, ...]) -> None:
    """Keep the texts that are cited for as long as the run exists."""
    texts = tuple(dict.fromkeys((one.source_key, one.span.content_hash) for one in citations))
    if await or_none(run, run.io(Outside.keep_texts, texts), "persist_trace", "texts_not_kept"):
        run.warn("source_removed_during_run")


def badness(checked: Verification) -> tuple[bool, float, float]:
    """What makes a draft worse than another, the gravest first; what nobody judged may be contradicted too."""
    claims = [one for one in checked.sentences if one.kind == "claim" and one.verdict != "not_a_claim"]
    unread = sum(one.check.kind == "none" for one in claims)
    wrong = sum(one.verdict == "contradicted" for one in claims)
    missing = sum(one.verdict == "unsupported" and one.check.kind != "none" for one in claims)
    count = max(1, len(claims))
    return not checked.passed, (wrong + unread) / count, missing / count


def _failed_gates(checked: Verification) -> tuple[str, ...]:
    return tuple(gate.name for gate in checked.gates if not gate.passed)


def stop_reason(run: Run, found: Findings) -> StopReason:
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
