"""What a run has come to so far: everything its result is made from, and what it spent on models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from citewell.domain.answers import Doubt, Draft, Entails, Opinion, PreparedSynthesis, Verification
from citewell.domain.briefs import ReportRecord
from citewell.domain.chat import ChatReply, ChatRequest
from citewell.domain.decisions import CostLimitReached, ModelAsked
from citewell.domain.judging import ClaimPair
from citewell.domain.packs import DroppedCandidate, ResearchPack, RetrievalReport
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import JudgeResult, ModelCall, Spend
from citewell.domain.web import WebReport
from citewell.flows import costs
from citewell.flows.outside import Outside, Retrieved
from citewell.models.tokens import estimate_prompt
from citewell.runs.journal import Abandoned, Failed, Run


@dataclass(slots=True)
class Found:
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
    prepared: PreparedSynthesis | None = None
    draft: Draft | None = None
    verification: Verification | None = None
    # What a judge said so far, of the first draft and of its repair.
    scores: dict[ClaimPair, Entails] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    # What was done on the web, and what a report has gathered: made when it is asked for.
    web: Callable[[], WebReport] | None = None
    record: Callable[[], ReportRecord] | None = None
    calls: list[ModelCall] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)

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


async def retrieve(
    run: Run, found: Found, question: str, plan: QueryPlan, attempt: int = 1, source: str = ""
) -> ResearchPack:
    """Search the corpus by a plan."""
    spend = found.spend
    found.spend = replace(spend, retrieval_passes=spend.retrieval_passes + 1)
    seen: Retrieved = await run.io(Outside.retrieve, question, plan, attempt, run.request.semantic, source)
    found.count(run, seen.report)
    return seen.pack


async def ask(run: Run, found: Found, request: ChatRequest) -> ChatReply:
    """Ask a model; what it cost is counted whatever comes of it. Raises Failed or Abandoned."""
    try:
        reply = await run.io(Outside.ask, request)
    except Failed as failed:
        if "usage" in failed.details:
            _spend(found, costs.failed_call(request, failed))
        else:
            _spend(found, costs.dropped_call(request, run.request.models), costs.worst_tokens(request))
        raise
    except Abandoned:
        _spend(found, costs.dropped_call(request, run.request.models), costs.worst_tokens(request))
        raise
    _spend(found, costs.call_of(request, reply))
    return reply


def _spend(found: Found, call: ModelCall, unmetered: int = 0) -> None:
    found.spend = costs.spent(found.spend, call, unmetered)
    found.calls.append(call)


def fitted(run: Run, found: Found, wanted: ChatRequest) -> ChatRequest | None:
    """The call as far as the ceilings leave room for it, beside what is under way; None where they leave too little."""
    asked = [call.arguments["request"] for call in run.open if call.name == "ask"]
    return costs.fitted(wanted, found.spend, run.request.models, costs.reserved(asked, run.request.models))


def asked(request: ChatRequest) -> ModelAsked:
    return ModelAsked(request.model, request.purpose, estimate_prompt(request.messages), request.max_output_tokens)


def ceiling_reached(run: Run, found: Found, of_day: str = "") -> CostLimitReached:
    """What is told where a ceiling leaves no room for the next call; `of_day` where it is that of all runs of a day."""
    use, spend = run.request.models, found.spend
    return CostLimitReached(use.max_cost_usd, spend.cost_usd, use.max_tokens, spend.tokens, of_day)
