"""What a run has come to so far: everything its result is made from, and what it spends on models.

A model is called only if the whole of its prompt and of the output it may give fits under the ceilings, in USD and in
tokens, beside what is under way; so they hold whatever the model does. Tokens of a prompt are estimated high; what a
call really cost is what the provider says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from citewell.answer.confidence import windows_to_compare
from citewell.answer.evidence import Likeness, NearestPassage, PreparedSynthesis, Truncation
from citewell.answer.prompt import PROMPT_VERSION
from citewell.answer.score import QuestionEvidence
from citewell.check.judge import Judgement
from citewell.check.layout import answer_markdown, provenance
from citewell.check.verdict import AnswerStatus, Draft, Verification
from citewell.flows.judge import merge_inspection
from citewell.flows.outside import Outside
from citewell.models.messages import ChatReply, ChatRequest, Price, Usage, estimate_prompt, estimate_tokens
from citewell.reports.brief import ReportRecord
from citewell.reports.writing import REPORT_PROMPT
from citewell.runs.journal import Abandoned, Failed, Run
from citewell.runs.run import (
    Exploration,
    FlowLedger,
    JudgeResult,
    ModelCall,
    ModelUse,
    RunMetrics,
    RunResult,
    RunStatus,
    Spend,
    Stage,
)
from citewell.search.inspect import looked_for
from citewell.search.pack import DroppedCandidate, ResearchPack, RetrievalReport
from citewell.search.query import QueryPlan
from citewell.version import __version__
from citewell.web.facts import WebReport

T = TypeVar("T")
# An answer shorter than this is not worth a call.
LEAST_OUTPUT_TOKENS = 150


@dataclass(slots=True)
class Findings:
    """What a run has found, written and checked. Flows fill it; of a run that is stopped, this is the result."""

    plan: QueryPlan | None = None
    pack: ResearchPack | None = None
    candidates: tuple[int, int] = (0, 0)
    retrieved_keys: list[str] = field(default_factory=list)
    inspected_keys: tuple[str, ...] = ()
    queries_tried: list[str] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    dropped: list[DroppedCandidate] = field(default_factory=list)
    aliases_untried: list[str] = field(default_factory=list)
    judgements: list[JudgeResult] = field(default_factory=list)
    # Whether a judge could not be reached, or not be waited for: it is not asked again.
    judge_failed: bool = False
    prepared: PreparedSynthesis | None = None
    draft: Draft | None = None
    verification: Verification | None = None
    # What a judge said so far of sentences, of the first draft and of its repair.
    verdicts: dict[tuple[str, tuple[str, ...]], Judgement] = field(default_factory=dict)
    # What was done on the web, and what a report has gathered: made when it is asked for.
    web: Callable[[], WebReport] | None = None
    record: Callable[[], ReportRecord] | None = None
    calls: list[ModelCall] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    evidence: QuestionEvidence | None = None
    # How near the evidence comes to the question in meaning, and the windows that were asked about.
    likeness: Likeness = field(default_factory=Likeness)
    compared: frozenset[tuple[str, int, int]] = frozenset()

    def read(self, prepared: PreparedSynthesis, plan: QueryPlan) -> QuestionEvidence:
        """The evidence as the question concerns it, taken apart once however often it is asked for."""
        if self.evidence is None or self.evidence.prepared != prepared or not _asks_the_same(self.evidence.given, plan):
            self.evidence = QuestionEvidence(prepared, plan)
        return self.evidence

    def saw(self, *keys: str) -> None:
        """Documents that a search came upon, each once."""
        self.retrieved_keys += [key for key in dict.fromkeys(keys) if key not in self.retrieved_keys]

    def saw_rows(self, pack: ResearchPack) -> None:
        self.saw(*(row.source_key for row in (*pack.evidence, *pack.exact_tag_evidence)))

    def count(self, run: Run, report: RetrievalReport | None) -> None:
        """What a search says of itself."""
        if report is None:
            return
        if report.semantic is not None and report.semantic.problem:
            run.warn("semantic_lane_unavailable")
        before, after = self.candidates
        self.candidates = (before + report.before_dedupe, after + report.after_dedupe)
        self.dropped += report.dropped
        self.aliases_untried += [one for one in report.aliases_untried if one not in self.aliases_untried]


def _asks_the_same(one: QueryPlan, other: QueryPlan) -> bool:
    """Whether two plans are of one question; by which variants it is searched for is nothing to what answers it."""
    asked = ((plan.text_query, plan.terms, plan.concepts, plan.family, plan.only_names) for plan in (one, other))
    return next(asked) == next(asked)


def some(count: int, noun: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{count} {noun if count == 1 else noun.removesuffix('y') + 'ies' if noun.endswith('ry') else noun + 's'}"


async def retrieve(
    run: Run, found: Findings, question: str, plan: QueryPlan, attempt: int = 1, source: str = ""
) -> ResearchPack:
    """Search the corpus by a plan; with a source, by the user's own retriever."""
    spend = found.spend
    found.spend = replace(spend, retrieval_passes=spend.retrieval_passes + 1)
    source = source or run.request.components.get("retriever", "")
    seen = await run.io(Outside.retrieve, question, plan, attempt, run.request.semantic, source)
    found.count(run, seen.report)
    return seen.pack


async def or_none(run: Run, call: Awaitable[T], stage: Stage, *warnings: str) -> T | None:
    """What came of a call; none where it is not waited for, nor where it failed, which is told as a loss."""
    try:
        return await call
    except Abandoned:
        return None
    except Failed as failed:
        run.gave_up(stage, failed, *warnings)
        return None


async def read_widely(run: Run, pack: ResearchPack, room: int) -> ResearchPack:
    """A pack whose documents show what of them says most, in so many characters; as it is where that fails."""
    if not pack.evidence or room <= 0 or run.is_hurried:
        return pack
    queries, rows = looked_for(pack)
    question, request = pack.query_plan.text_query, run.request
    read = run.io(Outside.inspect, question, queries, rows, room, request.per_document, request.semantic, "")
    windows = await or_none(run, read, "retrieve", "inspection_failed")
    return merge_inspection(pack, windows) if windows is not None else pack


async def likeness_of(run: Run, found: Findings, evidence: QuestionEvidence) -> Likeness:
    """How near evidence comes to the question in meaning, where that takes part; asked once about the same windows."""
    windows = windows_to_compare(evidence)
    if run.request.semantic != "on" or run.is_hurried or not windows:
        return Likeness()
    if not found.compared.issuperset(windows):
        seen = await or_none(
            *(run, run.io(Outside.compare, evidence.plan.text_query, windows), "inspect_top"),
            "semantic_lane_unavailable",
        )
        if seen is None:
            return Likeness()
        if seen.problem:
            run.warn("semantic_lane_unavailable")
        found.likeness, found.compared = Likeness(seen.parts), frozenset(windows)
    return found.likeness


def why_not(error: Failed | Abandoned) -> str:
    """Why a call came to nothing."""
    return error.message if isinstance(error, Failed) else "it was not waited for"


# Asking models


async def ask(run: Run, found: Findings, request: ChatRequest) -> ChatReply:
    """Ask a model; what it cost is counted whatever comes of it. Raises Failed or Abandoned."""
    try:
        reply = await run.io(Outside.ask, request)
    except (Failed, Abandoned) as error:
        _count(found, *lost_call(request, run.request.models, error))
        raise
    _count(found, call_of(request, reply))
    return reply


def _count(found: Findings, call: ModelCall, unmetered: int = 0) -> None:
    found.spend = spent(found.spend, call, unmetered)
    found.calls.append(call)


def fitted(run: Run, found: Findings, wanted: ChatRequest) -> ChatRequest | None:
    """The call as far as the ceilings leave room for it, beside what is under way; None where they leave too little."""
    under_way = [call.arguments["request"] for call in run.open if call.name == "ask"]
    return affordable(wanted, found.spend, run.request.models, under_way)


def note_asked(run: Run, request: ChatRequest) -> None:
    given, most = estimate_prompt(request.messages), request.max_output_tokens
    text = f"asked {request.model} to {request.purpose}: {given} tokens in, {most} out at most"
    purpose = request.purpose
    run.note("model_asked", text, model=request.model, purpose=purpose, input_tokens=given, max_output_tokens=most)


def note_ceiling(run: Run, found: Findings, of_day: str = "") -> None:
    """A ceiling leaves no room for the next call; `of_day` where it is that of all runs of a day."""
    use, spend = run.request.models, found.spend
    usd = f"{use.max_cost_usd} USD" if use.max_cost_usd is not None else ""
    ceiling = " and ".join(filter(None, (usd, f"{use.max_tokens} tokens" if use.max_tokens is not None else "")))
    run.note(
        "cost_limit_reached",
        f"{of_day or f'the ceiling of {ceiling} leaves no room for the next call.'} Quoting instead.",
        max_cost_usd=use.max_cost_usd,
        spent_usd=spend.cost_usd,
        max_tokens=use.max_tokens,
        spent_tokens=spend.tokens,
        of_day=of_day,
    )


# What models may cost


@dataclass(frozen=True, slots=True)
class MayAsk:
    """Calls that a run may make: how many, the most each can use, and the price."""

    times: int
    each: Usage
    price: Price | None


def may_write(run: Run, max_output_tokens: int) -> tuple[MayAsk, ...]:
    """The calls that write an answer from evidence: its draft, the repair, and the judging of both."""
    use = run.request.models
    evidence = estimate_tokens("x" * run.request.max_evidence_chars)
    repair = Usage(evidence + max_output_tokens, max_output_tokens)
    return (
        MayAsk(int(use.writes), Usage(evidence, max_output_tokens), use.writer_price),
        MayAsk(run.budget.repairs if use.writes else 0, repair, use.writer_price),
        MayAsk(
            1 + run.budget.repairs if use.judge and use.writes else 0,
            Usage(evidence // 2 + max_output_tokens, max_output_tokens),
            use.judge_price,
        ),
    )


def note_cost(run: Run, calls: Sequence[MayAsk]) -> None:
    """The most the models of this run can cost, before any of them is asked: every call it may make, in full."""
    calls, use = [one for one in calls if one.times], run.request.models
    given = sum(one.times * one.each.input_tokens for one in calls)
    taken = sum(one.times * one.each.output_tokens for one in calls)
    costs = [one.times * one.price.cost(one.each) for one in calls if one.price is not None]
    usd = round(sum(costs), 6) if len(costs) == len(calls) else None
    times = sum(one.times for one in calls)
    price = "at a price nobody knows" if usd is None else f"at most {usd:.4f} USD" if usd else "free of charge"
    text = f"up to {some(times, 'model call')}, {price}"
    text += f", ceiling {use.max_cost_usd} USD" if use.max_cost_usd is not None else ""
    text += f", ceiling {use.max_tokens} tokens" if use.max_tokens is not None else ""
    run.note(
        "cost_estimated",
        text,
        calls=times,
        input_tokens=given,
        output_tokens=taken,
        usd=usd,
        max_cost_usd=use.max_cost_usd,
        max_tokens=use.max_tokens,
    )


def affordable(
    request: ChatRequest, spend: Spend, use: ModelUse, under_way: Sequence[ChatRequest] = ()
) -> ChatRequest | None:
    """The call with as much output as the ceilings leave room for; None where they leave room for too little.

    What calls still under way may use in full is reserved already.
    """
    most, prompt, price = request.max_output_tokens, estimate_prompt(request.messages), price_of(request, use)
    if use.max_cost_usd is not None:
        if price is None or spend.unpriced_calls:
            return None
        left = use.max_cost_usd - spend.cost_usd - sum(_worst_cost(one, use) for one in under_way)
        left -= price.cost(Usage(prompt, 0))
        if left < 0:
            return None
        if price.output_usd > 0:
            most = min(most, int(left * 1_000_000 / price.output_usd))
    if use.max_tokens is not None:
        used = spend.tokens + spend.unmetered_tokens + sum(map(worst_tokens, under_way))
        most = min(most, use.max_tokens - used - prompt)
    if most >= request.max_output_tokens:
        return request
    return replace(request, max_output_tokens=most) if most >= LEAST_OUTPUT_TOKENS else None


def worst_tokens(request: ChatRequest) -> int:
    """The most a call can use: its prompt, and all of the output it may give."""
    return estimate_prompt(request.messages) + request.max_output_tokens


def _worst_cost(request: ChatRequest, use: ModelUse) -> float:
    price = price_of(request, use)
    return price.cost(Usage(estimate_prompt(request.messages), request.max_output_tokens)) if price else 0.0


def price_of(request: ChatRequest, use: ModelUse) -> Price | None:
    """What the model of a call costs."""
    prices = {"plan": use.planner_price, "judge": use.judge_price, "evaluate": use.evaluator_price}
    return prices.get(request.purpose, use.writer_price)


def call_of(request: ChatRequest, reply: ChatReply) -> ModelCall:
    """A call as the metrics tell it."""
    return ModelCall(
        purpose=request.purpose,
        model=reply.model,
        provider=reply.provider,
        input_chars=request.input_chars,
        output_chars=len(reply.text),
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
        tokens_are_reported=reply.usage.is_reported,
        cost_usd=reply.cost_usd,
        attempts=reply.attempts,
    )


def lost_call(request: ChatRequest, use: ModelUse, error: Failed | Abandoned | None = None) -> tuple[ModelCall, int]:
    """A call without a usable reply, and the tokens it may have used beside what the provider told.

    What a call cost that was given up half-way is known only where it costs nothing.
    """
    provider, _, model = request.model.partition(":")
    call = ModelCall(request.purpose, model, provider, request.input_chars)
    if isinstance(error, Failed) and "usage" in error.details:
        usage, details = msgspec.convert(error.details["usage"], Usage), error.details
        return replace(
            call,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            tokens_are_reported=usage.is_reported,
            cost_usd=details["cost_usd"],
            attempts=details["attempts"],
            problem=error.code,
        ), 0
    price = price_of(request, use)
    is_free = price is not None and price.input_usd == 0 and price.output_usd == 0
    return replace(call, cost_usd=0.0 if is_free else None, problem="given_up"), worst_tokens(request)


def spent(spend: Spend, call: ModelCall, unmetered_tokens: int = 0) -> Spend:
    """What is spent with this call too; of one that was given up, the most it may have used."""
    return replace(
        spend,
        model_calls=spend.model_calls + 1,
        tokens=spend.tokens + call.input_tokens + call.output_tokens,
        cost_usd=round(spend.cost_usd + (call.cost_usd or 0.0), 9),
        unpriced_calls=spend.unpriced_calls + (call.cost_usd is None),
        unmetered_tokens=spend.unmetered_tokens + unmetered_tokens,
    )


# The document every surface shows. Pure, so a replay gives the same bytes.

EXTRACTIVE_VERSION = "extractive.v1"


def result_of(run: Run, found: Findings, tool_version: str = __version__) -> RunResult:
    """What a run that is over came to."""
    assert run.stop_reason is not None
    verification = found.verification
    status = answer_status(run, found)
    by = _answered_by(run, found)
    is_shown = status in ("ok", "ok_truncated", "no_evidence") or (
        status == "unavailable" and verification is not None and verification.passed
    )
    shown = verification if is_shown else None
    return RunResult(
        run_id=run.run_id,
        status=run_status(run, found),
        question=run.request.question,
        profile=run.request.profile,
        answer_status=status,
        answer_warnings=_warnings(run, found, status),
        answer=answer_markdown(shown.sentences) if shown else "",
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
        nearest=_nearest(run, found, status),
        provenance=_provenance(run, by, shown) if shown is not None and status != "no_evidence" else "",
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
    if not wrote and (not was_to or found.draft is not None):
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


def _provenance(run: Run, by: _AnsweredBy, shown: Verification) -> str:
    """Who wrote what is shown, from how much, and who checked it."""
    writer = f"{by.provider}:{by.model}" if by.tool == "model" else by.model if by.tool == "synthesizer" else ""
    sources = len({citation.source_key for citation in shown.citations})
    return provenance(shown.sentences, writer, run.request.judge or run.request.models.judge, sources)


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
