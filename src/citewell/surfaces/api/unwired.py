"""Endpoints whose service this version does not have: they check what they are sent, and say so."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from citewell.domain.errors import Unavailable
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.errors import Refused
from citewell.surfaces.api.operations import Answer, Call, Operation, Parameter
from citewell.surfaces.api.runs import RUN


class EvalsBody(Form):
    """Which cases to run."""

    kind: Literal["research", "mcp"] = "research"
    no_planner: bool = False


class NoteBody(Form):
    """Which note to research, how deeply, and whether only to say what would change."""

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    depth: Literal["shallow", "deep"] = "shallow"
    focus: Annotated[str, Meta(max_length=500)] | None = None
    dry_run: bool = False


def _no_evals(call: Call) -> object:
    if run_id := call.path.get("run_id"):
        call.cw.runs.status(run_id)  # a run that is not there is that, whatever else is missing
    raise Unavailable("Evals cannot be run over HTTP in this version.", fix="Measure with 'citewell bench'.")


def _no_notes(call: Call) -> object:
    raise Refused(
        403, "disabled", "Writing to notes is not enabled.", fix="This version has no tool that writes to notes."
    )


_NONE = Answer(media={"application/json": {"schema": {"type": "object"}}}, description="Not in this version.")
_503 = {503: "This version has no evals over HTTP."}
REPORT = {"report": Parameter("The id of a report.", "20260105T101500", "^[A-Za-z0-9_-]{1,100}$", 100)}

UNWIRED: tuple[Operation, ...] = (
    Operation(
        *("POST", "/api/runs/{run_id}/eval-case", "eval_case", "A run as an eval case."),
        _NONE,
        tag="state",
        value=_no_evals,
        parameters=RUN,
        errors=_503,
    ),
    Operation(*("GET", "/api/evals", "list_evals", "Reports of evals."), _NONE, "state", _no_evals, errors=_503),
    Operation(
        *("POST", "/api/evals/run", "run_evals", "Run the evals."),
        _NONE,
        tag="state",
        value=_no_evals,
        body=EvalsBody,
        body_example={"kind": "research"},
        errors=_503,
    ),
    Operation(
        *("GET", "/api/evals/{report}", "get_eval", "A report of evals."),
        _NONE,
        tag="state",
        value=_no_evals,
        parameters=REPORT,
        errors=_503,
    ),
    Operation(
        *("POST", "/api/notes/research", "research_note", "Research a note and write what is found into it."),
        _NONE,
        tag="research",
        value=_no_notes,
        body=NoteBody,
        body_example={"path": "projects/tide-gauge.md", "dry_run": True},
        errors={403: "The note tool is not enabled, or the request comes from a page of another site."},
    ),
)
