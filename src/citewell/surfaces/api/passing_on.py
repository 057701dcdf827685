"""Runs that leave this machine or come to it: exports, the page to share, imports, what a run sent; and transcripts."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from citewell.domain.errors import WorkFailed
from citewell.domain.run_reports import EgressLedger
from citewell.domain.runs import RunSummary
from citewell.domain.transcripts import ChatTranscript, TranscriptList
from citewell.exporting.exported import ExportForm
from citewell.exporting.share_page import SHARE_CSP
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.errors import JSON, Refused
from citewell.surfaces.api.operations import Answer, Call, Operation
from citewell.surfaces.api.runs import RUN
from citewell.surfaces.wire import to_json

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


class ExportQuery(Form):
    format: Annotated[
        Literal["md", "json", "zip", "bibtex", "ris", "docx", "pdf"],
        Meta(description="`zip` can be replayed elsewhere; `pdf` needs the extra `citewell[pdf]`."),
    ] = "md"


async def _export(call: Call) -> Response:
    query: ExportQuery = call.query
    name, kind, content = await call.blocking(_exported, call, query.format, heavy=True)
    # As a file, whatever it is: nothing that came from a document is ever shown as a page of ours.
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _exported(call: Call, form: ExportForm | Literal["json", "zip"]) -> tuple[str, str, bytes]:
    run_id = call.path["run_id"]
    match form:
        case "json":
            return f"citewell-{run_id}.json", JSON, to_json(call.cw.runs.shareable(run_id))
        case "zip":
            return f"{run_id}.zip", ZIP, call.cw.runs.archive(run_id)
        case _:
            file = call.cw.runs.exported(run_id, form)
            return file.name, file.media_type, file.content


async def _share(call: Call) -> Response:
    page = await call.blocking(call.cw.runs.share_page, call.path["run_id"])
    return Response(page, media_type="text/html", headers={"content-security-policy": SHARE_CSP})


async def _import(call: Call) -> Response:
    if call.content_type == ZIP:
        value: object = await call.blocking(_import_run, call)
    else:
        value = await call.blocking(call.cw.save_transcript, call.body)
    return Response(to_json(value), 201, media_type=JSON)


def _import_run(call: Call) -> RunSummary:
    try:
        return call.cw.runs.import_archive(call.content)
    except WorkFailed as error:
        raise Refused(400, "bad_input", error.message, fix=error.fix) from None


class TranscriptsQuery(Form):
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
