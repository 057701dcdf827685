"""A brief as a request has it, and the endpoints that list and show reports."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from citewell.ask import Name
from citewell.domain.briefs import DEFAULT_FLOOR, DEFAULT_SECONDS, DEFAULT_SUB_QUERIES, MAX_SUB_QUERIES
from citewell.domain.runs import RunStatus
from citewell.reports.models import ResearchRun, ResearchRunList
from citewell.surfaces.api.bodies import Form
from citewell.surfaces.api.operations import Answer, Call, Operation, Parameter
from citewell.surfaces.api.reading import Question

REPORT_ID = "^([0-9]{8}T[0-9]{6}-[0-9a-f]{8}|report-[0-9a-f]{16}-[0-9]{1,4})$"
_REPORT = {"run_id": Parameter("The id of a run of a brief.", "report-5b1f09ac77e1d2c3-1", REPORT_ID, 28)}


class SourcesBody(Form):
    """Which families of sources may be used; one takes part only where somebody can be asked for it."""

    knowledge: bool = True
    web: bool = True
    academic: bool = True
    code: bool = True


class ScopeBody(Form):
    """Which part of the corpus the brief is about."""

    project_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    collections: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()
    tags: Annotated[tuple[Name, ...], Meta(max_length=50)] = ()


class LimitsBody(Form):
    """What the run may spend."""

    max_cost_usd: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    max_seconds: Annotated[float, Meta(ge=5, le=3_600)] = DEFAULT_SECONDS
    max_sub_queries: Annotated[int, Meta(ge=1, le=MAX_SUB_QUERIES)] = DEFAULT_SUB_QUERIES


class BriefBody(Form):
    """What a report is to be about."""

    question: Question
    context: Annotated[str, Meta(max_length=20_000)] = ""
    sub_questions: Annotated[tuple[Question, ...], Meta(max_length=MAX_SUB_QUERIES - 1)] = ()
    scope: ScopeBody = field(default_factory=ScopeBody)
    sources: SourcesBody = field(default_factory=SourcesBody)
    credibility_floor: Annotated[float, Meta(ge=0, le=1)] = DEFAULT_FLOOR
    limits: LimitsBody = field(default_factory=LimitsBody)


class ReportsQuery(Form):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many reports.")] = 20
    project_id: Annotated[str, Meta(max_length=200, description="Only of this project.")] | None = None
    status: Annotated[RunStatus, Meta(description="Only in this state.")] | None = None
    brief_id: Annotated[str, Meta(pattern="^brief-[0-9a-f]{16}$", description="Every attempt at one brief.")] | None = (
        None
    )


def _list(call: Call) -> ResearchRunList:
    query: ReportsQuery = call.query
    if query.brief_id is not None:
        return call.cw.reports().of_brief(query.brief_id)
    return call.cw.reports().list(query.limit, project_id=query.project_id, status=query.status)


REPORTS: tuple[Operation, ...] = (
    Operation(
        *("GET", "/api/reports", "list_reports", "Runs of briefs, newest first."),
        Answer(ResearchRunList, description="With how many claims and citations each has."),
        tag="reports",
        value=_list,
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
