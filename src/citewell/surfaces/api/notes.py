"""Research for a note over HTTP, where it is enabled."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from citewell.domain.notes import NoteResult
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.errors import JSON, Refused
from citewell.surfaces.api.operations import Answer, Call, Operation
from citewell.surfaces.wire import to_json


class NoteBody(Form):
    """Which note to research, how deeply, and whether only to say what would change."""

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    depth: Literal["shallow", "deep"] = "shallow"
    focus: Annotated[str, Meta(max_length=500)] | None = None
    dry_run: bool = False


async def _research(call: Call) -> Response:
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
