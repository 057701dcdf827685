"""Endpoints about runs: started, streamed, stopped, resumed, replayed, compared. Each is one call of Citewell.

The server executes the runs that are started or resumed here, whoever watches. What a stream shows is the run's log, so
any process can stream any run, from any point.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field
from starlette.responses import Response

from citewell.api.events import PER_ENTRY, RUN_EVENTS, RunRendering, StreamEvent
from citewell.api.library import Question
from citewell.api.operations import Answer, Body, Operation, OperationCall, Parameter
from citewell.api.problems import JSON, Refused
from citewell.api.sse import EventStream, read_last_id
from citewell.ask import FILTERS, Name, ask_of, taken
from citewell.check.verdict import AnswerStatus
from citewell.errors import CitewellError, Conflict, Interrupted, WorkFailed
from citewell.evals.kept import EvalProposal, EvalReportList, EvalReportView
from citewell.evals.propose import Review
from citewell.export.formats import ExportForm
from citewell.export.share import SHARE_CSP
from citewell.notes.task import NoteResult
from citewell.reports.brief import DEFAULT_FLOOR, DEFAULT_SECONDS, DEFAULT_SUB_QUERIES, MAX_SUB_QUERIES
from citewell.reports.model import ResearchRun, ResearchRunList
from citewell.runs.reports import (
    ChatTranscript,
    ControlReport,
    EgressLedger,
    ReplayReport,
    RunDiff,
    RunList,
    RunView,
    TranscriptList,
)
from citewell.runs.run import RunStatus, RunSummary
from citewell.search.query import RunProfile, Surface
from citewell.wire import error_document, to_json

# A brief as a request has it, and the endpoints that list and show reports.


RUN_ID = "^([0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})$"
RUN = {"run_id": Parameter("The id of a run.", "20260105T101500-0a1b2c3d", RUN_ID, 28)}
_REPORT = {"run_id": Parameter("The id of a run of a brief.", "report-5b1f09ac77e1d2c3-1", RUN_ID, 28)}


class SourcesBody(Body):
    """Which families of sources may be used; one takes part only where somebody can be asked for it."""

    knowledge: bool = True
    web: bool = True
    academic: bool = True
    code: bool = True


class ScopeBody(Body):
    """Which part of the corpus the brief is about."""

    project_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    collections: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()
    tags: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()


class LimitsBody(Body):
    """What the run may spend."""

    max_cost_usd: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    max_seconds: Annotated[float, Meta(ge=5, le=3_600)] = DEFAULT_SECONDS
    max_sub_queries: Annotated[int, Meta(ge=1, le=MAX_SUB_QUERIES)] = DEFAULT_SUB_QUERIES


class BriefBody(Body):
    """What a report is to be about."""

    question: Question
    context: Annotated[str, Meta(max_length=20_000)] = ""
    sub_questions: Annotated[tuple[Question, ...], Meta(max_length=MAX_SUB_QUERIES - 1)] = ()
    scope: ScopeBody = field(default_factory=ScopeBody)
    sources: SourcesBody = field(default_factory=SourcesBody)
    credibility_floor: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_FLOOR
    limits: LimitsBody = field(default_factory=LimitsBody)


class ReportsQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many reports.")] = 20
    project_id: Annotated[str, Meta(max_length=200, description="Only of this project.")] | None = None
    status: Annotated[RunStatus, Meta(description="Only in this state.")] | None = None
    brief_id: Annotated[str, Meta(pattern="^brief-[0-9a-f]{16}$", description="Every attempt at one brief.")] | None = (
        None
    )


def _list_reports(call: OperationCall) -> ResearchRunList:
    query: ReportsQuery = call.query
    if query.brief_id is not None:
        return call.cw.reports().of_brief(query.brief_id)
    return call.cw.reports().list(query.limit, project_id=query.project_id, status=query.status)


REPORTS: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/reports", "list_reports", "Runs of briefs, newest first."),
        Answer(ResearchRunList, description="With how many claims and citations each has."),
        tag="reports",
        value=_list_reports,
        query=ReportsQuery,
    ),
    Operation(
        *("GET", "/api/reports/{run_id}", "get_report", "A run of a brief: plan, passages, verdicts, report."),
        Answer(ResearchRun, description="While it is under way, the brief and its state."),
        tag="reports",
        value=lambda call: call.cw.reports().get(call.path["run_id"]),
        parameters=_REPORT,
        description="It is begun with `POST /api/runs`, and streamed, stopped, replayed and exported as any run.",
    ),
)

_ENDED = {409: "Not in the state the run is in."}

RunBody = taken(
    "RunBody",
    Body,
    (
        *("profile", "model", "planner", "planner_model", "planner_timeout", "limit", "max_chars_per_doc", *FILTERS),
        *("topic", "topic_brief", "max_evidence_chars", "max_cost", "max_tokens", "timeout", "semantic", "trace"),
        *("history", "pinned"),
    ),
    instead={
        "profile": Annotated[
            Literal["local", "chat", "deep", "report"],
            Meta(description="`chat`, `deep` and `report` also search the web, with the providers that are set."),
        ],
        "semantic": bool,
        "trace": Annotated[bool, Meta(description="False: nothing is recorded, and the run cannot be resumed.")],
    },
    also={
        "surface": (
            Annotated[Literal["web_chat", "web_research_api"], Meta(description="What the record says of who asked.")],
            "web_research_api",
        ),
        "question": (Question | None, None),
        "brief": (BriefBody | None, None),
        "fresh": (
            Annotated[bool, Meta(description="Of a report: another attempt, though there is one of this brief.")],
            False,
        ),
    },
    namespace={
        "__doc__": """The options of `citewell research`; what is left out is as the settings have it.

    A brief, or a question with the profile `report`, becomes a report; of the other options it takes `fresh` alone.
    """,
        # A type alone cannot say that one of the two is needed.
        "schema_extra": {
            "anyOf": [
                {"required": ["question"], "properties": {"question": {"type": "string"}}},
                {"required": ["brief"], "properties": {"brief": {"type": "object"}}},
            ]
        },
    },
)


@dataclass(frozen=True, slots=True)
class RunAccepted:
    """A run that was taken on, and where it is streamed."""

    run_id: str
    status: RunStatus
    events: str


def _start(call: OperationCall) -> RunAccepted:
    body: Any = call.body
    if body.brief is None and body.question is None:
        raise Refused(400, "bad_input", "Nothing is asked.", fix="Give a question, or a brief.")
    if body.brief is None and body.profile != "report":
        if body.fresh:
            raise Conflict("`fresh` is for reports; every other run is a new one.", fix="Leave it out.")
        return _accepted(call, call.cw.start(ask_of(body)))
    if body.brief is not None and body.question is not None:
        raise Conflict("Both a question and a brief are given.", fix="Give one of them.")
    of_reports = ("question", "profile", "brief", "fresh", "surface")
    fields = [one for one in msgspec.structs.fields(RunBody) if one.name not in of_reports]
    if others := [one.name for one in fields if getattr(body, one.name) != one.default]:
        raise Conflict(
            f"A report is asked for with a brief; {', '.join(others)} would do nothing.", fix="Put it into the brief."
        )
    # A new run, or the stored one of an identical request.
    given = msgspec.to_builtins(body.brief) if body.brief is not None else {"question": body.question}
    return _accepted(call, call.cw.start_report(given, fresh=body.fresh, surface=body.surface).run_id)


def _accepted(call: OperationCall, run_id: str) -> RunAccepted:
    return RunAccepted(run_id, call.cw.runs.status(run_id), f"/api/runs/{run_id}/events")


class RunsQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many runs.")] = 20
    cursor: Annotated[str, Meta(pattern=RUN_ID, description="The id of the last run of the page before.")] | None = None
    status: Annotated[tuple[RunStatus, ...], Meta(max_length=6, description="Only in these states.")] = ()
    profile: RunProfile | None = None
    surface: Surface | None = None
    q: Annotated[str, Meta(max_length=200, description="Only questions with these words in them.")] | None = None


def _list(call: OperationCall) -> RunList:
    query: RunsQuery = call.query
    return call.cw.runs.list(
        query.limit,
        behind=query.cursor,
        statuses=query.status,
        profile=query.profile,
        surface=query.surface,
        words=query.q or "",
    )


class RunQuery(Body):
    events: Annotated[bool, Meta(description="With the whole log.")] = False


class EventsQuery(Body):
    after: Annotated[int, Meta(ge=-1, lt=10**18, description="Only events behind this id.")] | None = None


async def _events(call: OperationCall) -> Response:
    query: EventsQuery = call.query
    after = read_last_id(call.request.headers.get("last-event-id"), query.after)
    return await run_stream(call, call.path["run_id"], after)


async def run_stream(call: OperationCall, run_id: str, after: int = -1) -> Response:
    """The stream of a run behind an event; nothing is left to say where that was the last one."""
    if after >= 0:
        last = await call.blocking(call.cw.runs.last_entry, run_id)
        if after > last * PER_ENTRY + PER_ENTRY - 1:
            raise Conflict("No event of this run has that id yet.", fix="Leave it out to begin anew.")
        is_over = after == last * PER_ENTRY + PER_ENTRY - 1
        if is_over and await call.blocking(call.cw.runs.status, run_id) in ("done", "failed", "cancelled"):
            return Response(status_code=204)
    else:
        await call.blocking(call.cw.runs.status, run_id)
    settings = call.cw.settings
    return EventStream(lambda: _run_events(call, run_id, after), settings.heartbeat_seconds, call.state.closing)


async def _run_events(call: OperationCall, run_id: str, after: int) -> AsyncGenerator[StreamEvent, None]:
    rendering = RunRendering()
    async with aclosing(call.cw.runs.follow(run_id, until="left")) as entries:
        async for entry in entries:
            for event in rendering.feed(entry):
                if event.id is not None and event.id > after:
                    yield event
    yield await call.blocking(_end, call, run_id, rendering)


def _end(call: OperationCall, run_id: str, rendering: RunRendering) -> StreamEvent:
    """The document of the run, or why there is none."""
    try:
        if call.cw.runs.status(run_id) == "interrupted":
            raise call.cw.runs.failure(run_id) or Interrupted(
                f"Run {run_id} was interrupted.", fix=f"Go on with POST /api/runs/{run_id}/resume.", run_id=run_id
            )
        return rendering.end(call.cw.runs.result(run_id))
    except CitewellError as error:
        return rendering.end(error_document(error))


def _finish(call: OperationCall) -> ControlReport:
    """A running one is asked; one that nobody executes is gone on with here, to its end."""
    run_id = call.path["run_id"]
    if call.cw.runs.status(run_id) in ("interrupted", "queued"):
        call.cw.runs.resume(run_id, finish=True)
        return ControlReport(run_id, "finish", "running", "nobody was executing it: finished here")
    return call.cw.runs.finish(run_id)


def _resume(call: OperationCall) -> RunAccepted:
    run_id = call.path["run_id"]
    call.cw.runs.resume(run_id)
    return _accepted(call, run_id)


class ReplayBody(Body):
    """How to play a run back: byte for byte, or today's code on what it observed."""

    tolerant: bool = False


class DiffQuery(Body):
    against: Annotated[
        str,
        Meta(pattern=f"^today$|{RUN_ID}", description="Another run, or what today's corpus and code make of it."),
    ] = "today"


async def _diff(call: OperationCall) -> Response:
    against: str = call.query.against
    found = await call.cw.runs.diff_async(call.path["run_id"], None if against == "today" else against)
    return Response(await call.blocking(to_json, found), media_type=JSON)


_ACCEPTED = Answer(
    RunAccepted,
    202,
    "It is under way.",
    example={
        "run_id": "20260105T101500-0a1b2c3d",
        "status": "running",
        "events": "/api/runs/20260105T101500-0a1b2c3d/events",
    },
    links=dict.fromkeys(
        ("get_run", "run_events", "cancel_run", "finish_run", "replay_run", "diff_run", "resume_run"),
        "$response.body#/run_id",
    ),
)

RUNS: tuple[Operation, ...] = (
    Operation(
        *("POST", "/api/runs", "start_run", "Answer a question in a recorded run."),
        _ACCEPTED,
        tag="runs",
        value=_start,
        body=RunBody,
        body_example={"question": "How many passengers did the Halvard carry?", "tags": [], "pinned": []},
        errors={
            403: "A policy forbids it, or the request comes from a page of another site.",
            404: "A pinned key, or a collection, that nobody has.",
            409: "Not as things are.",
            429: "Too many runs are under way.",
            503: "The server is stopping, or the model is not available.",
        },
        description="The run belongs to the server and goes on whoever watches; beyond its places it waits (`queued`).",
    ),
    Operation(
        *("GET", "/api/runs", "list_runs", "Recorded runs, newest first."),
        Answer(RunList, description="One page; `next` is the cursor of the one behind it."),
        tag="runs",
        value=_list,
        query=RunsQuery,
        errors={404: "No run has the id of the cursor."},
    ),
    Operation(
        *("GET", "/api/runs/{run_id}", "get_run", "A run as it was, and what became of its sources since."),
        Answer(RunView, description="Its result where it has one; `events` on demand."),
        tag="runs",
        value=lambda call: call.cw.runs.show(call.path["run_id"], with_events=call.query.events),
        query=RunQuery,
        parameters=RUN,
    ),
    Operation(
        *("GET", "/api/runs/{run_id}/events", "run_events", "The events of a run, as they come."),
        Answer(description="A stream of events.", also={204: "Everything was seen already."}),
        tag="runs",
        respond=_events,
        query=EventsQuery,
        parameters=RUN,
        header_parameters={
            "Last-Event-ID": {
                "description": "The id of the last event that was seen.",
                "schema": {"type": "string", "pattern": "^[0-9]{0,18}$"},
            }
        },
        events=RUN_EVENTS,
        errors={400: "`Last-Event-ID` is no id.", 409: "No event of this run has that id yet."},
        description=(
            "`id` is an integer that only grows; `Last-Event-ID` or `after` goes on behind it, without gap or "
            "duplicate. Heartbeats have none. The stream ends with `done`, which holds the document of `citewell "
            "research --json`, or with `error` where there is none. Whoever leaves changes nothing for the run."
        ),
    ),
    Operation(
        *("POST", "/api/runs/{run_id}/cancel", "cancel_run", "Stop a run for good."),
        Answer(ControlReport, 202, "It was asked, or closed where nobody executed it."),
        tag="runs",
        value=lambda call: call.cw.runs.cancel(call.path["run_id"]),
        parameters=RUN,
        errors=_ENDED,
    ),
    Operation(
        *("POST", "/api/runs/{run_id}/finish", "finish_run", "Have a run answer now, with what is there."),
        Answer(ControlReport, 202, "It was asked, or is finished here."),
        tag="runs",
        value=_finish,
        parameters=RUN,
        errors={**_ENDED, 429: "Too many runs are under way."},
    ),
    Operation(
        *("POST", "/api/runs/{run_id}/resume", "resume_run", "Go on with an interrupted run."),
        _ACCEPTED,
        tag="runs",
        value=_resume,
        parameters=RUN,
        errors={**_ENDED, 429: "Too many runs are under way."},
    ),
    Operation(
        *("POST", "/api/runs/{run_id}/replay", "replay_run", "Play a run back from its record."),
        Answer(ReplayReport, description="Whether it came to the same, byte for byte."),
        tag="runs",
        value=lambda call: call.cw.runs.replay(call.path["run_id"], tolerant=call.body.tolerant),
        is_heavy=True,
        body=ReplayBody,
        body_example={"tolerant": False},
        parameters=RUN,
        errors=_ENDED,
    ),
    Operation(
        *("GET", "/api/runs/{run_id}/diff", "diff_run", "Two runs compared, or a run with today."),
        Answer(RunDiff, description="Answer, evidence, citations, plan, cost."),
        tag="runs",
        respond=_diff,
        query=DiffQuery,
        parameters=RUN,
        errors={409: "The run has not ended, or asked a model that would have to be asked again.", 429: "Too busy."},
    ),
)


# Research for a note over HTTP, where it is enabled.


class NoteBody(Body):
    """Which note to research, how deeply, and whether only to say what would change."""

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    depth: Literal["shallow", "deep"] = "shallow"
    focus: Annotated[str, Meta(max_length=500)] | None = None
    dry_run: bool = False


async def _research(call: OperationCall) -> Response:
    cw, wanted = call.cw, call.body
    if not cw.settings.note_tool:
        raise Refused(
            403, "disabled", "Writing to notes is not enabled.", fix="The user can enable it: CITEWELL_NOTE_TOOL=true."
        )
    start = partial(
        cw.start_note,
        wanted.path,
        depth=wanted.depth,
        focus=wanted.focus,
        dry_run=wanted.dry_run,
        from_here=False,
        surface="rest",
    )
    run_id = await call.blocking(start)
    await cw.runs.ended(run_id)
    return Response(await call.blocking(lambda: to_json(cw.note_result(run_id))), media_type=JSON)


NOTES: tuple[Operation, ...] = (
    Operation(
        *("POST", "/api/notes/research", "research_note", "Research a note and write what is found into it."),
        Answer(NoteResult, description="What became of the note; with `dry_run` what would have, as a diff."),
        tag="research",
        respond=_research,
        body=NoteBody,
        body_example={"path": "projects/tide-gauge.md", "dry_run": True},
        errors={
            403: "The note tool is not enabled, or the request comes from a page of another site.",
            404: "No note has that path.",
            409: "The note was changed meanwhile, or cannot take a section.",
            429: "Too many runs are under way.",
            500: "The note could not be written; it is as it was.",
            503: "The model is not available.",
        },
        description="The run belongs to the server and goes on if the caller leaves. `run_id` names its record.",
    ),
)


# Runs that leave this machine or come to it: exports, the page to share, imports, what a run sent; and transcripts.


ZIP = "application/zip"
_FILE = {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
_KINDS = (
    "text/markdown",
    ZIP,
    "application/x-bibtex",
    "application/x-research-info-systems",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/pdf",
)


class ExportQuery(Body):
    format: Annotated[
        Literal["md", "json", "zip", "bibtex", "ris", "docx", "pdf"],
        Meta(description="`zip` can be replayed elsewhere; `pdf` needs the extra `citewell[pdf]`."),
    ] = "md"


async def _export(call: OperationCall) -> Response:
    query: ExportQuery = call.query
    name, kind, content = await call.blocking(_exported, call, query.format, heavy=True)
    # As a file, whatever it is: nothing that came from a document is ever shown as a page of ours.
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _exported(call: OperationCall, form: ExportForm | Literal["json", "zip"]) -> tuple[str, str, bytes]:
    run_id = call.path["run_id"]
    match form:
        case "json":
            return f"citewell-{run_id}.json", JSON, to_json(call.cw.runs.shareable(run_id))
        case "zip":
            return f"{run_id}.zip", ZIP, call.cw.runs.archive(run_id)
        case _:
            file = call.cw.runs.exported(run_id, form)
            return file.name, file.media_type, file.content


async def _share(call: OperationCall) -> Response:
    page = await call.blocking(call.cw.runs.share_page, call.path["run_id"])
    return Response(page, media_type="text/html", headers={"content-security-policy": SHARE_CSP})


async def _import(call: OperationCall) -> Response:
    if call.content_type == ZIP:
        value: object = await call.blocking(_import_run, call)
    else:
        value = await call.blocking(call.cw.save_transcript, call.body)
    return Response(to_json(value), 201, media_type=JSON)


def _import_run(call: OperationCall) -> RunSummary:
    try:
        return call.cw.runs.import_archive(call.content)
    except WorkFailed as error:
        raise Refused(400, "bad_input", error.message, fix=error.fix) from None


class TranscriptsQuery(Body):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many conversations.")] = 20


_CONVERSATION = {
    "schema_version": "chat_transcript.v1",
    "conversation_id": "c-1",
    "turns": [{"question_id": "q1", "question": "Who lit the lamp?"}],
}

PASSING_ON: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/runs/{run_id}/export", "export_run", "A finished run as a file."),
        Answer(
            media={JSON: {"schema": {"type": "object"}}, **dict.fromkeys(_KINDS, _FILE)},
            description="The file, as an attachment.",
            headers={"Content-Disposition": "The name of the file."},
        ),
        tag="runs",
        respond=_export,
        query=ExportQuery,
        parameters=RUN,
        errors={
            409: "It has not ended, or its answer failed verification.",
            503: "The library for PDF is not installed, or no font shows the script.",
        },
    ),
    Operation(
        *("GET", "/api/runs/{run_id}/share", "share_run", "A finished run as a page to pass on."),
        Answer(media={"text/html": {"schema": {"type": "string"}}}, description="A page without internals."),
        tag="runs",
        respond=_share,
        parameters=RUN,
        errors={409: "It has not ended, or its answer failed verification."},
    ),
    Operation(
        *("GET", "/api/runs/{run_id}/egress", "run_egress", "What a run sent, to whom and when."),
        Answer(EgressLedger, description="Calls of models, searches and pages that were read, in order."),
        tag="runs",
        value=lambda call: call.cw.runs.egress(call.path["run_id"]),
        parameters=RUN,
    ),
    Operation(
        *("POST", "/api/runs/import", "import_run", "Put an exported run or a saved conversation on record here."),
        Answer(
            media={JSON: {"schema": {"type": "object"}}},
            status=201,
            description="The run as the list shows it, or the conversation.",
        ),
        tag="runs",
        respond=_import,
        body=ChatTranscript,
        body_example=_CONVERSATION,
        other_bodies={ZIP: {"schema": {"type": "string", "contentMediaType": ZIP}}},
        errors={400: "Not an export of Citewell, or damaged.", 409: "There is a run of this id already."},
        description="Everything is checked against its hashes; nothing of it is executed.",
    ),
    Operation(
        *("GET", "/api/transcripts", "list_transcripts", "Saved conversations."),
        Answer(TranscriptList, description="The ones saved last come first."),
        tag="runs",
        value=lambda call: call.cw.transcripts(call.query.limit),
        query=TranscriptsQuery,
    ),
    Operation(
        *("POST", "/api/transcripts", "save_transcript", "Save a conversation, or save it anew."),
        Answer(ChatTranscript, 201, "It is saved; it is never indexed."),
        tag="runs",
        value=lambda call: call.cw.save_transcript(call.body),
        body=ChatTranscript,
        body_example=_CONVERSATION,
    ),
)


# Endpoints about evals: a run as a case, kept cases asked again, and the reports of it. Each is one call.


_Keys = Annotated[tuple[Name, ...], Meta(max_length=50)]


class EvalCaseBody(Body):
    """What should have been: what is left out stays as the run had it. `keep` puts the case with the others."""

    expect: Annotated[_Keys, Meta(description="Keys the answer should have cited.")] = ()
    forbid: Annotated[_Keys, Meta(description="Keys it should not have cited.")] = ()
    status: Annotated[AnswerStatus | None, Meta(description="How it should have ended.")] = None
    texts: Annotated[_Keys, Meta(description="What the answer should say.")] = ()
    keep: bool = False


class EvalsBody(Body):
    """Which arm to run: whole answers, or the evidence alone; with a planning model where one is set."""

    kind: Literal["research", "mcp"] = "research"
    no_planner: bool = False


def _promote(call: OperationCall) -> EvalProposal:
    body: EvalCaseBody = call.body
    review = Review(body.expect, body.forbid, body.status, body.texts)
    return call.cw.evals.promote(call.path["run_id"], review, keep=body.keep)


REPORT = {"report": Parameter("The id of a report.", "20260105T101500-0a1b2c3d", "^[0-9]{8}T[0-9]{6}-[0-9a-f]{8}$", 24)}

EVALS: tuple[Operation, ...] = (
    Operation(
        *("POST", "/api/runs/{run_id}/eval-case", "eval_case", "A run as an eval case."),
        Answer(EvalProposal, description="The cases, and where they were put if they were kept."),
        tag="evals",
        value=_promote,
        body=EvalCaseBody,
        body_example={"expect": ["note:vault/projects/tide-gauge"], "keep": False},
        parameters=RUN,
        errors={409: "The run has not ended."},
    ),
    Operation(
        *("GET", "/api/evals", "list_evals", "Reports of evals."),
        Answer(EvalReportList, description="Newest first, and how many cases are kept."),
        tag="evals",
        value=lambda call: call.cw.evals.reports(),
    ),
    Operation(
        *("POST", "/api/evals/run", "run_evals", "Ask every kept case again."),
        Answer(EvalReportView, description="The report, which is kept."),
        tag="evals",
        # Not among the few threads that searches need: it waits for models, and is one at a time.
        value=lambda call: call.cw.evals.run(call.body.kind, with_planner=not call.body.no_planner),
        body=EvalsBody,
        body_example={"kind": "research"},
        errors={409: "No case is kept yet.", 429: "They are being run already."},
    ),
    Operation(
        *("GET", "/api/evals/{report}", "get_eval", "A report of evals."),
        Answer(EvalReportView, description="Every case, failed ones first."),
        tag="evals",
        value=lambda call: call.cw.evals.report(call.path["report"]),
        parameters=REPORT,
    ),
)
