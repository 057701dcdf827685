"""Endpoints about evals: a run as a case, kept cases asked again, and the reports of it. Each is one call."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from citewell.ask import Name
from citewell.domain.answers import AnswerStatus
from citewell.evals.kept import EvalProposal, EvalReportList, EvalReportView
from citewell.evals.proposing import Review
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.operations import Answer, Call, Operation, Parameter
from citewell.surfaces.api.runs import RUN

_Keys = Annotated[tuple[Name, ...], Meta(max_length=50)]


class EvalCaseBody(Form):
    """What should have been: what is left out stays as the run had it. `keep` puts the case with the others."""

    expect: Annotated[_Keys, Meta(description="Keys the answer should have cited.")] = ()
    forbid: Annotated[_Keys, Meta(description="Keys it should not have cited.")] = ()
    status: Annotated[AnswerStatus | None, Meta(description="How it should have ended.")] = None
    texts: Annotated[_Keys, Meta(description="What the answer should say.")] = ()
    keep: bool = False


class EvalsBody(Form):
    """Which arm to run: whole answers, or the evidence alone; with a planning model where one is set."""

    kind: Literal["research", "mcp"] = "research"
    no_planner: bool = False


def _promote(call: Call) -> EvalProposal:
    body: EvalCaseBody = call.body
    review = Review(body.expect, body.forbid, body.status, body.texts)
    return call.cw.evals.promote(call.path["run_id"], review, keep=body.keep)


def _run(call: Call) -> EvalReportView:
    return call.cw.evals.run(call.body.kind, with_planner=not call.body.no_planner)


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
        value=_run,
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
