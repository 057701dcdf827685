"""Endpoints about runs: started, streamed, stopped, resumed, replayed, compared. Each is one call of Citewell.

The server executes the runs that are started or resumed here, whoever watches. What a stream shows is the run's log, so
any process can stream any run, from any point.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from citewell.ask import FILTERS, ask_of, taken
from citewell.domain.errors import CitewellError, Conflict, Interrupted
from citewell.domain.run_reports import ControlReport, ReplayReport, RunDiff, RunList, RunView
from citewell.domain.runs import RunProfile, RunStatus, Surface
from citewell.engine import Citewell
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.briefs import BriefBody
from citewell.surfaces.api.errors import JSON, Refused
from citewell.surfaces.api.events import PER_ENTRY, RUN_EVENTS, RunRendering, StreamEvent
from citewell.surfaces.api.operations import Answer, Call, Operation, Parameter
from citewell.surfaces.api.reading import Question
from citewell.surfaces.api.sse import EventStream, read_last_id
from citewell.surfaces.wire import error_document, to_json

RUN_ID = "^([0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})$"
RUN = {"run_id": Parameter("The id of a run.", "20260105T101500-0a1b2c3d", RUN_ID, 28)}
_ENDED = {409: "Not in the state the run is in."}

RunBody = taken(
    "RunBody",
    Form,
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


def _start(call: Call) -> RunAccepted:
    body: Any = call.body
    if body.brief is not None or body.profile == "report":
        return accepted(call, start_report(call.cw, body))
    if body.fresh:
        raise Conflict("`fresh` is for reports; every other run is a new one.", fix="Leave it out.")
    if body.question is None:
        raise Refused(400, "bad_input", "Nothing is asked.", fix="Give a question, or a brief.")
    return accepted(call, call.cw.start(ask_of(body)))


def start_report(cw: Citewell, body: Any) -> str:
    """The run of a brief: a new one, or the stored one of an identical request."""
    if body.brief is not None and body.question is not None:
        raise Conflict("Both a question and a brief are given.", fix="Give one of them.")
    if body.brief is None and body.question is None:
        raise Refused(400, "bad_input", "Nothing is asked.", fix="Give a question, or a brief.")
    if others := [name for name in body.__struct_fields__ if name not in _OF_REPORTS and _is_set(body, name)]:
        raise Conflict(
            f"A report is asked for with a brief; {', '.join(others)} would do nothing.", fix="Put it into the brief."
        )
    given = msgspec.to_builtins(body.brief) if body.brief is not None else {"question": body.question}
    return cw.start_report(given, fresh=body.fresh, surface=body.surface).run_id


_OF_REPORTS = ("question", "profile", "brief", "fresh", "surface")


def _is_set(body: Any, name: str) -> bool:
    default = next(field.default for field in msgspec.structs.fields(RunBody) if field.name == name)
    return bool(getattr(body, name) != default)


def accepted(call: Call, run_id: str) -> RunAccepted:
    return RunAccepted(run_id, call.cw.runs.status(run_id), f"/api/runs/{run_id}/events")


class RunsQuery(Form):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many runs.")] = 20
    cursor: Annotated[str, Meta(pattern=RUN_ID, description="The id of the last run of the page before.")] | None = None
    status: Annotated[tuple[RunStatus, ...], Meta(max_length=6, description="Only in these states.")] = ()
    profile: RunProfile | None = None
    surface: Surface | None = None
    q: Annotated[str, Meta(max_length=200, description="Only questions with these words in them.")] | None = None


def _list(call: Call) -> RunList:
    query: RunsQuery = call.query
    return call.cw.runs.list(
        query.limit,
        behind=query.cursor,
        statuses=query.status,
        profile=query.profile,
        surface=query.surface,
        words=query.q or "",
    )


class RunQuery(Form):
    events: Annotated[bool, Meta(description="With the whole log.")] = False


class EventsQuery(Form):
    after: Annotated[int, Meta(ge=-1, lt=10**18, description="Only events behind this id.")] | None = None


async def _events(call: Call) -> Response:
    query: EventsQuery = call.query
    after = read_last_id(call.request.headers.get("last-event-id"), query.after)
    return await run_stream(call, call.path["run_id"], after)


async def run_stream(call: Call, run_id: str, after: int = -1) -> Response:
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


async def _run_events(call: Call, run_id: str, after: int) -> AsyncGenerator[StreamEvent, None]:
    rendering = RunRendering()
    async with aclosing(call.cw.runs.follow(run_id, until="left")) as entries:
        async for entry in entries:
            for event in rendering.feed(entry):
                if event.id is not None and event.id > after:
                    yield event
    yield await call.blocking(_end, call, run_id, rendering)


def _end(call: Call, run_id: str, rendering: RunRendering) -> StreamEvent:
    """The document of the run, or why there is none."""
    try:
        if call.cw.runs.status(run_id) == "interrupted":
            raise call.cw.runs.failure(run_id) or Interrupted(
                f"Run {run_id} was interrupted.", fix=f"Go on with POST /api/runs/{run_id}/resume.", run_id=run_id
            )
        return rendering.end(call.cw.runs.result(run_id))
    except CitewellError as error:
        return rendering.end(error_document(error))


def _cancel(call: Call) -> ControlReport:
    return call.cw.runs.cancel(call.path["run_id"])


def _finish(call: Call) -> ControlReport:
    """A running one is asked; one that nobody executes is gone on with here, to its end."""
    run_id = call.path["run_id"]
    if call.cw.runs.status(run_id) in ("interrupted", "queued"):
        call.cw.runs.resume(run_id, finish=True)
        return ControlReport(run_id, "finish", "running", "nobody was executing it: finished here")
    return call.cw.runs.finish(run_id)


def _resume(call: Call) -> RunAccepted:
    run_id = call.path["run_id"]
    call.cw.runs.resume(run_id)
    return accepted(call, run_id)


class ReplayBody(Form):
    """How to play a run back: byte for byte, or today's code on what it observed."""

    tolerant: bool = False


def _replay(call: Call) -> ReplayReport:
    return call.cw.runs.replay(call.path["run_id"], tolerant=call.body.tolerant)


class DiffQuery(Form):
    against: Annotated[
        str,
        Meta(pattern=f"^today$|{RUN_ID}", description="Another run, or what today's corpus and code make of it."),
    ] = "today"


async def _diff(call: Call) -> Response:
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
        value=_cancel,
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
        value=_replay,
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
