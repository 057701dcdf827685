"""Evidence for a question, an answer from given evidence, and why a search came to what it came to.

A pack that a client sends is a list of places: its rows are read anew by key and hash, so what it says they say counts
for nothing. An answer from a pack belongs to the request: anyone who leaves its stream stops it, and the model with it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import anyio
import msgspec
from msgspec import Meta
from starlette.responses import Response

from citewell.answer.evidence import Truncation
from citewell.answer.prompt import PROMPT_VERSION
from citewell.api.events import RUN_EVENTS, Heartbeat, StreamEvent
from citewell.api.library import Question
from citewell.api.operations import Answer, Body, Operation, OperationCall
from citewell.api.problems import JSON, Refused, error_response
from citewell.api.runs import run_stream
from citewell.api.sse import EventStream
from citewell.ask import FILTERS, SAYS_SOMETHING, ConversationId, ModelName, ask_of, taken
from citewell.check.verdict import Citation
from citewell.errors import Busy, CitewellError
from citewell.flows.state import EXTRACTIVE_VERSION
from citewell.runs.events import DecisionMade, RunEvent, RunStarted, WarningRaised
from citewell.runs.run import ModelUse, RunResult
from citewell.search.pack import Explanation, ResearchPack
from citewell.wire import ErrorBody, ErrorDocument, to_document, to_json

# How long the first byte is held back: a model that is not there is then a status and not the end of a stream.
_HOLD_SECONDS = 5.0


_AS_TOOLS_SAY = {"topic_brief": "include_topic_brief", "planner": "use_model_planner"}
PackBody = taken(
    "PackBody",
    Body,
    (
        *("question", "limit", *(name for name in FILTERS if not name.startswith("not_")), "include_related"),
        *("related_limit", "topic_brief", "max_chars_per_doc", "planner", "history", "pinned", "option_profile"),
    ),
    instead={"question": Question},
    renamed=_AS_TOOLS_SAY,
    namespace={
        "__doc__": "What is left out comes from the option profile: `cli` has 8 rows of 700 characters, "
        "`web` 10 of 4000."
    },
)


async def _pack(call: OperationCall) -> Response:
    ask = ask_of(call.body, _AS_TOOLS_SAY)
    run_id = await call.blocking(call.cw.start_pack, ask)
    if run_id is None:
        content = await call.blocking(lambda: to_json(call.cw.pack(ask, planner=False)), heavy=True)
    else:
        content = await call.blocking(to_json, await call.cw.planned_pack(run_id))
    return Response(content, media_type=JSON)


class ExplainBody(Body):
    """A question and the pack that was found for it."""

    question: Question
    research_pack: ResearchPack


SynthesisBody = taken(
    "SynthesisBody",
    Body,
    ("question", "max_evidence_chars"),
    instead={"question": Question},
    also={"research_pack": (ResearchPack, msgspec.NODEFAULT), "model": (ModelName, "")},
    namespace={"__doc__": "A question and the whole pack that was found for it; without a model the one that is set."},
)


@dataclass(frozen=True, slots=True)
class KnownTruncation:
    """What is known of what did not fit before the answer is written; `done` has all of it."""

    evidence_budget_chars: int
    evidence_chars_used: int
    dropped_source_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SynthesisStarted:
    schema_version: Literal["research_synthesis.v1"]
    model: str
    prompt_version: str
    evidence_budget_chars: int
    truncation: KnownTruncation
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SynthesisAnswer:
    answer: str


@dataclass(frozen=True, slots=True)
class SynthesisCounts:
    """Rows that were given and are as the store has them, sources in the prompt, sentences, citations."""

    evidence: int
    in_prompt: int
    sentences: int
    citations: int


@dataclass(frozen=True, slots=True)
class SynthesisDone:
    """The end of an answer; its citations are the ones that count."""

    schema_version: Literal["research_synthesis.v1"]
    answer_status: str
    answer_warnings: tuple[str, ...]
    truncation: Truncation
    citations: tuple[Citation, ...]
    counts: SynthesisCounts
    stop_reason: str
    prompt_version: str
    provider: str
    model: str
    tool: str
    tool_version: str


SYNTHESIS_EVENTS = {
    "start": SynthesisStarted,
    "heartbeat": Heartbeat,
    "answer": SynthesisAnswer,
    "citation": Citation,
    "done": SynthesisDone,
    "error": ErrorDocument,
}
_NAMES: dict[type, str] = {form: name for name, form in SYNTHESIS_EVENTS.items()}
Spoken = SynthesisStarted | SynthesisAnswer | Citation | SynthesisDone | ErrorDocument


@dataclass(slots=True)
class _Synthesis:
    """What the log of a synthesis has said so far."""

    last: int = -1
    models: ModelUse = field(default_factory=ModelUse)
    budget: int = 0
    given: tuple[str, ...] = ()
    prepared: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)
    is_over: bool = False

    def feed(self, entry: RunEvent) -> None:
        self.last = entry.sequence
        match entry.kind:
            case "run_started" | "decision_made" | "warning_raised":
                self._learn(entry.event)
            case "run_finished":
                self.is_over = True

    def _learn(self, event: object) -> None:
        match event:
            case RunStarted(request=request):
                self.models, self.budget = request.models, request.max_evidence_chars
            case DecisionMade("reread", data):
                self.given = tuple(data["keys"])
            case DecisionMade("prepared", data):
                self.prepared = data
            case WarningRaised(code=code):
                self.warnings.append(code)

    def started(self) -> SynthesisStarted:
        used = self.prepared["sources"] if self.prepared else ()
        dropped = tuple(key for key in dict.fromkeys(self.given) if key not in used) if self.prepared else ()
        warnings = [*self.warnings, *(["evidence_truncated"] if dropped else [])]
        return SynthesisStarted(
            "research_synthesis.v1",
            self.models.writer,
            PROMPT_VERSION if self.models.writes else EXTRACTIVE_VERSION,
            self.budget,
            KnownTruncation(self.budget, self.prepared["chars"] if self.prepared else 0, dropped),
            tuple(dict.fromkeys(warnings)),
        )


async def _synthesize(call: OperationCall) -> Response:
    state = call.state
    if state.syntheses >= call.cw.settings.max_syntheses:
        raise Busy("As many answers are being written as may be at a time.", fix="Ask again in a moment.")
    state.syntheses += 1
    run_id = ""

    def on_end() -> None:
        """Anyone who read it is gone, or has all of it: the model is not kept writing."""
        state.syntheses -= 1
        if run_id:
            _stop(call, run_id)

    try:
        run_id = await call.blocking(_begin, call)
        known = await _held_back(call, run_id)
        refusal = await _unavailable(call, run_id) if known.is_over else None
    except BaseException:
        on_end()
        raise
    if refusal is not None:
        on_end()
        return refusal
    heartbeat = call.cw.settings.heartbeat_seconds
    return EventStream(lambda: _synthesis_events(call, run_id, known), heartbeat, state.closing, on_end)


def _begin(call: OperationCall) -> str:
    body: Any = call.body
    try:
        return call.cw.start_synthesis(
            body.question, body.research_pack, model=body.model, max_evidence_chars=body.max_evidence_chars
        )
    except CitewellError as error:
        if error.code == "bad_input":
            raise Refused(400, error.code, error.message, fix=error.fix) from None
        raise


async def _held_back(call: OperationCall, run_id: str) -> _Synthesis:
    """What is known once the answer is there, a sentence of it is, or it was waited for long enough."""
    known = _Synthesis()
    with anyio.move_on_after(_HOLD_SECONDS):
        async with aclosing(call.cw.runs.follow(run_id, until="left")) as entries:
            async for entry in entries:
                known.feed(entry)
                if entry.kind == "sentence_shown":
                    break
    return known


async def _unavailable(call: OperationCall, run_id: str) -> Response | None:
    """A model that is not there, told before the first byte."""
    result = await call.cw.runs.ended(run_id)
    if result.answer_status != "unavailable":
        return None
    said = _failure(result)
    return error_response(Refused(503, said.code, said.message, fix=said.fix), answer_status=said.answer_status)


async def _synthesis_events(call: OperationCall, run_id: str, known: _Synthesis) -> AsyncGenerator[StreamEvent, None]:
    yield _event(known.started())
    if not known.is_over:
        async with aclosing(call.cw.runs.follow(run_id, known.last, until="left")) as entries:
            async for entry in entries:
                known.feed(entry)
    for value in _spoken(await call.cw.runs.ended(run_id)):
        yield _event(value)


def _stop(call: OperationCall, run_id: str) -> None:
    try:
        call.cw.runs.cancel(run_id)
    except CitewellError:
        return  # it has ended by itself


def _spoken(result: RunResult) -> list[Spoken]:
    if result.answer_status in ("error", "unavailable"):
        return [ErrorDocument(_failure(result))]
    counts = SynthesisCounts(
        len(result.flow.admitted), len(result.flow.in_prompt), len(result.sentences), len(result.citations)
    )
    done = SynthesisDone(
        schema_version="research_synthesis.v1",
        answer_status=result.answer_status,
        answer_warnings=result.answer_warnings,
        truncation=result.truncation,
        citations=result.citations,
        counts=counts,
        stop_reason=result.stop_reason,
        prompt_version=result.prompt_version,
        provider=result.provider,
        model=result.model,
        tool=result.tool,
        tool_version=result.tool_version,
    )
    return [SynthesisAnswer(result.answer), *result.citations, done]


def _failure(result: RunResult) -> ErrorBody:
    if result.failure is not None:
        code, message, fix = result.failure.code, result.failure.message, result.failure.fix
    else:
        failed = ", ".join(gate.name for gate in result.gates if not gate.passed)
        code, fix = result.stop_reason, "Ask again, or look at the evidence itself."
        message = f"The answer failed its checks: {failed}." if failed else "There is no answer."
    status = "unavailable" if result.answer_status == "unavailable" else "error"
    return ErrorBody(code if status == "error" else "unavailable", message, fix, status)


def _event(value: Spoken) -> StreamEvent:
    return StreamEvent(None, _NAMES[type(value)], to_document(value))


class ChatMessage(Body):
    role: Literal["user", "assistant", "system"]
    content: Annotated[str, Meta(max_length=100_000)]


class ChatBody(Body):
    """A conversation, or its last message alone. What was answered before is no evidence and is not read."""

    # What no field says by itself: somebody asks something.
    schema_extra: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"required": ["message"]},
            {
                "required": ["messages"],
                "properties": {
                    "messages": {
                        "contains": {
                            "properties": {"role": {"const": "user"}, "content": {"pattern": SAYS_SOMETHING}},
                            "required": ["role", "content"],
                        }
                    }
                },
            },
        ]
    }
    messages: Annotated[tuple[ChatMessage, ...], Meta(min_length=1, max_length=200)] | msgspec.UnsetType = msgspec.UNSET
    message: Question | msgspec.UnsetType = msgspec.UNSET
    mode: Literal["chat", "deep_research"] = "chat"
    conversation_id: ConversationId | None = None
    model: ModelName | None = None


async def _chat(call: OperationCall) -> Response:
    body: ChatBody = call.body
    question, history = _asked(body)
    profile = "deep" if body.mode == "deep_research" else "chat"
    run_id = await call.blocking(
        lambda: call.cw.start(
            question,
            profile=profile,
            model=body.model or None,
            history=history,
            conversation_id=body.conversation_id or "",
            surface="web_chat",
        )
    )
    return await run_stream(call, run_id)


def _asked(body: ChatBody) -> tuple[str, tuple[str, ...]]:
    """The question, and the questions before it."""
    said = [] if body.messages is msgspec.UNSET else [one.content for one in body.messages if one.role == "user"]
    if body.message is not msgspec.UNSET:
        said.append(body.message)
    said = [text for text in said if text.strip()]
    if not said:
        raise Refused(
            400, "bad_input", "Nobody asks anything.", fix="Send `message`, or `messages` with one of a user."
        )
    return said[-1], tuple(said[:-1])


RESEARCH: tuple[Operation, ...] = (
    Operation(
        *("POST", "/api/research", "research_pack", "The evidence for a question, without an answer or a record."),
        Answer(ResearchPack, description="A research pack, also where nothing was found."),
        tag="research",
        respond=_pack,
        body=PackBody,
        body_example={"question": "How many passengers did the Halvard carry?", "limit": 5},
        errors={404: "A pinned key that nobody has.", 429: "Too many runs are under way."},
    ),
    Operation(
        *("POST", "/api/research/synthesize", "synthesize", "An answer from a pack."),
        Answer(description="`start`, `heartbeat`s, then `answer`, `citation`s and `done`, or `error`."),
        tag="research",
        respond=_synthesize,
        body=SynthesisBody,
        invalid=400,
        events=SYNTHESIS_EVENTS,
        errors={
            400: "Not JSON, no question, or no pack this version reads.",
            429: "As many answers are being written as may be at a time.",
            503: "The model is not available (`answer_status` is `unavailable`).",
        },
        description=(
            "The rows of the pack are read anew from the store by key and hash; one that is not there is no evidence. "
            "Nothing is recorded. Whoever leaves the stream stops the answer."
        ),
    ),
    Operation(
        *("POST", "/api/explain", "explain", "Why a search came to what it came to, without a model."),
        Answer(Explanation, description="What was tried, what is missing, what to try instead."),
        tag="research",
        value=lambda call: call.cw.explain(call.body.research_pack),
        body=ExplainBody,
        invalid=400,
        errors={400: "Not JSON, no question, or no pack this version reads."},
    ),
    Operation(
        *("POST", "/v1/chat/messages", "chat_message", "A message of a conversation, answered with the web."),
        Answer(description="The events of the run."),
        tag="research",
        respond=_chat,
        body=ChatBody,
        body_example={"message": "How many passengers did the Halvard carry?", "mode": "chat"},
        events=RUN_EVENTS,
        errors={429: "Too many runs are under way.", 503: "The server is stopping, or the model is not available."},
        description=(
            "A recorded run, as by POST /api/runs with the profile `chat` or `deep`: it searches the web with the "
            "providers that are set, and without one answers from the corpus with the warning `no_search_provider`. "
            "The run belongs to the server and goes on whoever watches."
        ),
    ),
)
